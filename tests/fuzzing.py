"""Good files of every format, damaged at random: reading gives pairs or a MiradaError of one line, and loses nothing.

Each record holds a word of its own. Damage touches one place; a record elsewhere must still be found in some pair,
unless the file is refused. (A compiled catalog is tables of offsets: damage there may lead anywhere, so it only must
not crash.)
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGALRM, alarm, signal

from mirada.data.checks import CheckConfig
from mirada.data.readers import Wanted
from mirada.data.sources import DataConfig
from mirada.errors import MiradaError
from mirada.tasks.translation.data import TranslationData

Rows = list[tuple[str, str]]
SECONDS = 20
"""After which a reading counts as hung."""
WANTED = Wanted(source_language="es", target_language="en")


def rows(chance: random.Random) -> Rows:
    """Texts with their own words, some of them awkward."""
    awkward = ["", " ", "ñandú", '"', "'", "a\u2028b", "😀", "%s {x} <b>&amp;</b>", "\\n", "#", ",;|", "msgid", "עברית"]
    return [
        (f"fuente{i}a {chance.choice(awkward)}", f"word{i}a {chance.choice(awkward)}")
        for i in range(chance.randint(1, 12))
    ]


def tsv(texts: Rows) -> bytes:
    return "".join(f"{s}\t{t}\n" for s, t in texts).encode()


def table(texts: Rows) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows([("es", "en"), *texts])
    return out.getvalue().encode()


def jsonl(texts: Rows) -> bytes:
    return "".join(json.dumps({"es": s, "en": t}, ensure_ascii=len(s) % 2 == 0) + "\n" for s, t in texts).encode()


def tmx(texts: Rows) -> bytes:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;")

    units = "".join(
        f'<tu><tuv xml:lang="es"><seg>{escaped(s)}</seg></tuv>'
        f'<tuv xml:lang="en-US"><seg>{escaped(t)}<ph x="1">q</ph></seg></tuv></tu>\n'
        for s, t in texts
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="es"/><body>\n{units}</body></tmx>\n'.encode()


def po(texts: Rows) -> bytes:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    header = 'msgid ""\nmsgstr ""\n"Language: en\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    return (header + "".join(f"#: f.c:1\nmsgid {quoted(s)}\nmsgstr {quoted(t)}\n\n" for s, t in texts)).encode()


def mo(texts: Rows) -> bytes:
    header = ("", "Language: en\nContent-Type: text/plain; charset=UTF-8\n")
    sides = [[text.encode() for text in side] for side in zip(*sorted([header, *texts]), strict=True)]
    count, place, tables, blob = len(sides[0]), 28 + 16 * len(sides[0]), b"", b""
    for side in sides:
        for text in side:
            tables += struct.pack("<II", len(text), place + len(blob))
            blob += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, place) + tables + blob


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "tsv": tsv, "csv": table, "jsonl": jsonl, "tmx": tmx, "po": po, "mo": mo,
}  # fmt: skip

NASTY = [
    b"\0", b"\xff", b"\xc3", b'"', b"\t", b"\r", b"\n", b"\r\n", b"<", b">", b"&", b"&x;", b"]]>", b"<!--", b"\\", b"{",
    b"[", b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"#~ ", b"#, fuzzy\n", b'msgid "', b"msgstr[9] ", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"9" * 5000, b"[" * 3000, b"\xed\xa0\x80", b"<tu>", b"</tu>", b"\x1f\x8b", b"=", b";", b"sep=,\n",
    b"\x1a", b"\xff" * 9,
]  # fmt: skip


def damaged(content: bytes, chance: random.Random) -> tuple[bytes, int, int]:
    """The content with one place damaged, and the begin and end of what was touched in the original."""
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.choice([0, 1, 1, 1, 2, 3, 8, 40, 400]))
    how = chance.randrange(7)
    if how == 0:
        return content[:at], at, len(content)
    if how == 1:
        return content[:at] + content[end:], at, end
    if how == 2:
        return content[:at] + content[at:end] * chance.randint(2, 5) + content[end:], at, end
    if how == 3:
        return content[:at] + bytes(chance.randrange(256) for _ in range(end - at)) + content[end:], at, end
    new = chance.choice(NASTY)
    return content[:at] + new + content[end if how == 4 else at :], at, end


def trial(folder: Path, seed: int) -> str:
    """One damaged file, read; returns what came of it: "read" or "refused". Anything else is an AssertionError."""
    chance = random.Random(seed)
    name = chance.choice(list(FORMATS))
    texts = rows(chance)
    content = FORMATS[name](texts)
    bad, begin, end = damaged(content, chance)
    packed = chance.random() < 0.1
    path = folder / f"fuzz.{name}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(bad, 1) if packed else bad)
    data = DataConfig(files=(str(path),), source_language="es", target_language="en",
                      invalid_bytes=chance.choice(["refuse", "drop"]))  # fmt: skip
    with _limit(f"seed {seed}, {name}"):
        try:
            files = data.open()
            pairs = list(files)
            if chance.random() < 0.1:
                TranslationData({"data": data, "check": CheckConfig()}).examine(lambda what, done, total: None, None)
        except MiradaError as error:
            message = str(error)
            assert "\n" not in message, f"seed {seed}: {message!r}"
            assert message.isprintable(), f"seed {seed}: {message!r}"
            return "refused"
    if name in ("tsv", "jsonl"):
        mark = b"\n" if b"\n" in bad else b"\r"  # without any LF, lines end as on old Macs
        ends = bad.count(mark) + (not bad.endswith(mark) and bool(bad))
        assert len(pairs) == ends, f"seed {seed}: {len(pairs)} pairs of {ends} lines"
    if name != "mo":
        everything = "\0".join(text for pair in pairs for text in pair.fields)
        for source, target in _untouched(name, texts, content, begin, end):
            for word in (source.split()[0], target.split()[0]):
                assert word in everything, f"seed {seed}: {word} of a {name} file was lost"
    return "read"


def _untouched(name: str, texts: Rows, content: bytes, begin: int, end: int) -> Iterator[tuple[str, str]]:
    """The records that the damage cannot have reached: whole lines away from it (in a table, not its header either)."""
    for source, target in texts:
        first = content.find(source.split()[0].encode())
        last = content.find(target.split()[0].encode())
        around = content.rfind(b"\n", 0, first) - 20, content.find(b"\n", last) + 20
        header = name == "csv" and begin <= content.find(b"\n")
        if not header and (end < around[0] or begin > around[1]):
            yield source, target


@contextmanager
def _limit(what: str) -> Iterator[None]:
    def hung(*_: object) -> None:
        raise AssertionError(f"{what}: hung")

    before = signal(SIGALRM, hung)
    alarm(SECONDS)
    try:
        yield
    finally:
        alarm(0)
        signal(SIGALRM, before)
