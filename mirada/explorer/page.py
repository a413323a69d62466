"""The file: template, style, script and models as one HTML page that requests nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mirada.errors import MiradaError, UsageError, counted
from mirada.explorer.entry import Explored, Packed, pack, reads_text, why_not
from mirada.explorer.link import WEB, link
from mirada.explorer.recorded import record
from mirada.explorer.weights import PRECISIONS, Precision, suggest_precision
from mirada.files import write_bytes

FORMAT = 1
LARGEST = 40 * 10**6
"""The most bytes of a page: browsers are slow to open larger ones."""
COMPRESSED = 0.9
"""About how far gzip compresses random numbers, to refuse a page that would be too large before it is made."""


@dataclass(frozen=True)
class Page:
    """A page that was written."""

    path: Path
    size: int
    """Its size in bytes."""
    models: list[str]
    """What it has of each model, in words."""

    def __str__(self) -> str:
        shown = "; ".join(self.models)
        return f"{self.path}, {self.size / 1e6:.1f} MB: {shown}. Open it in a browser; it needs no network."


def write_page(
    models: Sequence[Explored],
    out: str | Path,
    *,
    sentence: str | None = None,
    traces: Sequence[str] = (),
    precision: str | None = None,
) -> Page:
    """Write the page of a model, or of two that are compared."""
    path = Path(out)
    check_name(path)
    traces = (traces,) if isinstance(traces, str) else traces
    given = _checked(models, sentence, traces, precision)
    packs = [record(model, traces) if traces else pack(model, sentence, given) for model in models]
    content = rendered(packs, " · ".join(one.entry["name"] for one in packs)).encode("utf-8")
    if len(content) > LARGEST:
        raise _too_large(models, len(content), traces, packs[0].entry["precision"])
    try:
        write_bytes(path, content)
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written ({error.strerror})") from None
    return Page(path, len(content), [_described(one.entry) for one in packs])


def _described(entry: Mapping[str, Any]) -> str:
    recorded = entry["recorded"]
    what = f"{counted(len(recorded), 'recorded sentence')}" if recorded else f"weights in {entry['precision']}"
    return f"{entry['name']} ({entry['architecture']}, {entry['parameters']:,} parameters), {what}"


def check_name(path: Path) -> None:
    """Refuse a name that is not one of a new page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {path}: is a page; name it {path.stem or 'page'}.html")
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: there is no directory {path.parent}; make it first")
    if path.is_dir():
        raise UsageError(f"--out {path}: is a directory; choose another name")


def _checked(
    models: Sequence[Explored], sentence: str | None, traces: Sequence[str], precision: str | None
) -> Precision | None:
    """Refuse what no page can be made of, before anything is computed; the precision, if one is given."""
    if not 1 <= len(models) <= 2:
        raise UsageError(f"a page shows one model, or two to compare; {len(models)} were given")
    wanted = next((one for one in PRECISIONS if one == precision), None)
    if precision is not None and wanted is None:
        raise UsageError(f"--precision {precision}: there are {', '.join(PRECISIONS)}")
    for given, option in ((sentence, f"--sentence {sentence!r:.40}"), (precision, f"--precision {precision}")):
        if traces and given is not None:
            raise UsageError(f"{option}: --trace records sentences without the weights; leave one of the two out")
    for model in models:
        if not hasattr(model, "path") or not hasattr(model, "preprocessor"):
            raise UsageError(f"{model!r:.60}: is not a model; a page is made of what mirada.load returns")
    _check_pair(*models)
    for model in models:
        if traces and not reads_text(model):
            raise UsageError(f"--trace: {model.path} is a model for {model.card['task']}, which reads no sentences")
        if not traces and (why := why_not(model)):
            hint = f"; {WAY_OUT}" if reads_text(model) else ""
            raise UsageError(f"{model.path}: {why}{hint}")
    least = sum(_least_size(model, wanted) for model in models)
    if not traces and least > LARGEST:
        raise _too_large(models, least, traces, wanted or suggest_precision(models[0].parameters))
    return wanted


WAY_OUT = 'record what it computes for chosen sentences instead: --trace "…"'


def _check_pair(first: Explored, second: Explored | None = None) -> None:
    """Refuse two models that cannot be compared on one sentence."""
    if second is None:
        return
    tasks = first.card["task"], second.card["task"]
    if tasks[0] != tasks[1]:
        raise UsageError(f"{first.path} is for {tasks[0]} and {second.path} for {tasks[1]}: they cannot be compared")
    ways = [_languages(model) for model in (first, second)]
    if ways[0] != ways[1]:
        raise UsageError(
            f"{first.path} translates {ways[0]} and {second.path} {ways[1]}: only models of the same languages "
            "can be compared"
        )


def _languages(model: Explored) -> str:
    languages = model.card.get("languages") or {}
    arrow = "↔" if languages.get("direction") == "both" else "→"
    return f"{languages.get('source') or '?'} {arrow} {languages.get('target') or '?'}"


def _least_size(model: Explored, precision: Precision | None) -> int:
    """The least number of bytes that the weights of a model take."""
    width = 4 if (precision or suggest_precision(model.parameters)) == "float32" else 2
    return int(model.parameters * width * COMPRESSED * 4 / 3)


def _too_large(models: Sequence[Explored], size: int, traces: Sequence[str], precision: str) -> MiradaError:
    names = " and ".join(str(model.path) for model in models)
    if traces:
        way = "record fewer or shorter sentences"
    elif precision == "float32" and size / 2 < LARGEST:
        way = f"write --precision float16, or {WAY_OUT}"
    else:
        way = WAY_OUT
    return UsageError(f"{names}: the page would have {size / 1e6:,.0f} MB, and at most {LARGEST / 1e6:.0f} fit; {way}")


# ── the text ──────────────────────────────────────────────────────────────────────────────────────────────────────


def rendered(packs: Sequence[Packed], title: str) -> str:
    """The page of packed models."""
    style, program = _style(), _program()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(program)} blob:",
            "worker-src blob:",
            f"style-src {_digest(style)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    template = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    template.loader = FileSystemLoader(WEB)
    return template.get_template("index.html").render(
        policy=html.escape(policy, quote=False),
        title=html.escape(title),
        style=style,
        data=_data(packs),
        program=program,
    )


def _data(packs: Sequence[Packed]) -> str:
    """The models and their blobs as elements that no browser runs."""
    models = {"format": FORMAT, "models": [one.entry for one in packs]}
    parts = [f'<script type="application/json" id="models">{in_html(models)}</script>']
    for number, one in enumerate(packs):
        for name, text in one.blobs.items():
            assert re.fullmatch(r"[A-Za-z0-9+/=]*", text), name
            parts.append(f'<script type="text/plain" id="{_blob_id(name, number)}">{text}</script>')
    return "\n".join(parts)


def _blob_id(name: str, number: int) -> str:
    """The id of a blob of model n: weights-n, recorded-n-k."""
    kind, dash, place = name.partition("-")
    return f"{kind}-{number}{dash}{place}"


def in_html(value: Mapping[str, Any]) -> str:
    """JSON that may stand in a script element: whatever it says, it ends none, begins none and comments nothing out."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    unsafe = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    safe = re.sub("[<>&\u2028\u2029]", lambda found: unsafe[found[0]], text)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", safe)


@cache
def _style() -> str:
    sheets = sorted(WEB.glob("*.css"), key=lambda sheet: (sheet.name != "style.css", sheet.name))
    text = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    assert "</style" not in text.lower()
    return text


@cache
def _program() -> str:
    return link()


def _digest(text: str) -> str:
    """How a Content-Security-Policy names a text that may be used."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
