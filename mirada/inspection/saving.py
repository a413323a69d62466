"""Attention in files (pictures, pages, arrays, JSON), as a table for a terminal, and as a frame in a notebook."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mirada.errors import UsageError
from mirada.files import check_writable, write_output
from mirada.inspection.attention import Attention, AttentionMap
from mirada.inspection.drawing import draw, label
from mirada.inspection.figures import check_kind_of_file

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (*PICTURES, ".html", ".json", ".npz")
MAX_PAGE = 3_000_000
"""The most weights in a page; more are slow in a browser."""
MAX_FRAME = 200_000
"""The most weights that a notebook shows as a page; more are shown as a picture."""
NAMED = 3
"""The most keys that a table names for each query."""
LEAST = 0.05
"""The least weight of a key in a table, except for the largest."""


def check_ending(path: Path, option: str = "") -> None:
    """Refuse a file whose name does not end as one of attention."""
    check_kind_of_file(path, ENDINGS, option)


def files_of(path: Path, hypotheses: int) -> list[Path]:
    """The files to write: a picture for each hypothesis (look.png, look-2.png), else one file for all."""
    if path.suffix.lower() not in PICTURES:
        return [path]
    return [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, hypotheses + 1))]


def save_attention(attention: Attention, path: Path, kind: str = "heads") -> None:
    """Write an attention as the ending of the file's name says."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending in PICTURES:
        for hypothesis, file in zip(attention.hypotheses, files_of(path, len(attention.hypotheses)), strict=True):
            check_writable(file, UsageError)
            draw(hypothesis, file, kind)
    elif ending == ".npz":
        write_output(path, _arrays(attention))
    else:
        write_output(path, page(attention) if ending == ".html" else _json(attention))


def _json(attention: Attention) -> str:
    return json.dumps(attention.as_dict(), ensure_ascii=False) + "\n"


def _arrays(attention: Attention) -> bytes:
    """Weights by the names of their parts, with their tokens; the second hypothesis' names begin with "2."."""
    arrays: dict[str, Any] = {}
    for number, hypothesis in enumerate(attention.hypotheses, 1):
        before = f"{number}." if number > 1 else ""
        arrays |= {f"{before}text": np.array(hypothesis.text), f"{before}output": np.array(hypothesis.output or "")}
        arrays[f"{before}without"] = np.array(hypothesis.without, dtype=np.str_)
        if hypothesis.score is not None:
            arrays[f"{before}score"] = np.array(hypothesis.score)
        for name, part in hypothesis.parts.items():
            arrays[f"{before}{name}"] = part.weights
            arrays |= {f"{before}{name}.layers": np.array(part.layers), f"{before}{name}.heads": np.array(part.heads)}
            for side, row in (("queries", part.queries), ("keys", part.keys)):
                arrays[f"{before}{name}.{side}"] = np.array(row.pieces, dtype=np.str_)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────


def table(attention: Attention) -> str:
    """A table of the most attended keys of each query, by the average over layers and heads."""
    part = attention.main
    which = [f"layer {part.layers[0]}"] if len(part.layers) == 1 else [f"{len(part.layers)} layers"]
    which += [f"head {part.heads[0]}"] if len(part.heads) == 1 else [f"the average of {len(part.heads)} heads"]
    lines = [attention.text] if attention.output is None else [f"{attention.text} → {attention.output}"]
    which += [f"without {', '.join(attention.without)}"] * bool(attention.without)
    lines.append(f"{part.name}, {', '.join(which)}: what looks, and what it looks at most")
    queries = [label(piece) for piece in part.queries.pieces]
    keys = told_apart(part.keys.pieces)
    widest = max(map(width, queries), default=0)
    for query, weights in zip(queries, part.mean(), strict=True):
        best = np.argsort(-weights, kind="stable")[:NAMED].tolist()
        named = [key for place, key in enumerate(best) if not place or weights[key] >= LEAST]
        seen = [f"{keys[key]} {weights[key]:.2f}" for key in named]
        lines.append(f"  {padded(query, widest)}  {'   '.join(map(visible, seen))}")
    return "\n".join(lines)


def told_apart(pieces: Sequence[str]) -> list[str]:
    """Tokens as they are shown; those that occur several times with their places: el[0], el[4]."""
    labels = [label(piece) for piece in pieces]
    count = Counter(labels)
    return [f"{one}[{place}]" if count[one] > 1 else one for place, one in enumerate(labels)]


def width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return sum(
        0 if unicodedata.category(letter) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def padded(text: str, columns: int) -> str:
    """A text with spaces after it, so many columns of a terminal wide."""
    return visible(text) + " " * (columns - width(text))


def visible(text: str) -> str:
    """A text with � for control characters."""
    return "".join(letter if letter.isprintable() or letter == "\u200d" else "\ufffd" for letter in text)


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def page(attention: Attention) -> str:
    """A page that shows all parts, layers and heads: one HTML file, which loads nothing."""
    size = sum(part.weights.size for each in attention.hypotheses for part in each.parts.values())
    if size > MAX_PAGE:
        raise UsageError(
            f"a page of {size:,} weights is more than a browser reads well ({MAX_PAGE:,}); choose a part, layer or "
            "head, or write .npz"
        )
    style, script = (_template(name) for name in ("attention.css", "attention.js"))
    first = attention.hypotheses[0]
    values = {
        "STYLE_HASH": _digest(style),
        "SCRIPT_HASH": _digest(script),
        "TITLE": escape(first.text if first.output is None else f"{first.text} → {first.output}"),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _data(attention),
    }
    before, *parts = _template("attention.html").split("{{")
    for part in parts:
        name, after = part.split("}}", 1)
        before += values[name] + after
    return before


@cache
def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _data(attention: Attention) -> str:
    """The data of the page as JSON that is safe inside HTML."""
    found = [
        {
            "text": each.text,
            "output": each.output,
            "without": list(each.without),
            "score": each.score,
            "picture": _picture(each) if each.main.image is not None else None,
            "parts": [_part(part) for part in each.parts.values()],
            "main": each.main.name,
        }
        for each in attention.hypotheses
    ]
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _part(part: AttentionMap) -> dict[str, Any]:
    sides = {}
    for side, row in (("queries", part.queries), ("keys", part.keys)):
        pieces, words = ([*map(label, one.pieces)] for one in (row, row.merged()))
        sides[side] = {"pieces": pieces, "words": words, "of": row.words()}
    weights = np.round(part.weights.astype(np.float64) * 1000).astype(int)  # thousandths: half the bytes
    return {"name": part.name, "layers": part.layers, "heads": part.heads, **sides, "weights": weights.tolist()}


def _picture(attention: Attention) -> str:
    """The picture of an attention as a data URL."""
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw(attention, content)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def notebook_frame(attention: Attention) -> str:
    """The page in a frame; a picture if there are many weights."""
    size = sum(part.weights.size for each in attention.hypotheses for part in each.parts.values())
    if size > MAX_FRAME:
        return f'<img src="{_picture(attention)}">'
    tall = 24 * max(max(len(part.queries), len(part.keys)) for part in attention.parts.values()) + 240
    inner = escape(page(attention), quote=True)
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{inner}" title="attention" '
        f'style="width:100%;height:{min(tall, 900)}px;border:0"></iframe>'
    )
