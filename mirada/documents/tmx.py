"""TMX, translation memories: units that have the model's source language and not its target get a translation.

It is put behind the source variant (`tuv`), or into an empty target variant, and says that a machine made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from mirada import __version__
from mirada.data.readers.pair import matches
from mirada.data.text import shown_path
from mirada.documents.document import Block, Document, Format, Options, TextDocument, read_bytes, trimmed
from mirada.documents.xml import Mark, Token, attribute, end_of, escape, inline_pieces, read_xml
from mirada.errors import DataError, UsageError

ORIGIN = '<prop type="x-origin">MT</prop>'
"""What marks a machine translation."""


@dataclass
class _Variant:
    """A `tuv`, by the numbers of its tokens."""

    language: str
    first: int
    last: int
    segment: tuple[int, int] | None = None
    """The tokens `<seg>` and `</seg>`."""


@dataclass
class _Unit:
    variants: list[_Variant] = field(default_factory=list)


def read(path: str, options: Options) -> Document:
    """A translation memory, to be filled in the target language."""
    name = shown_path(path)
    if not options.source_language or not options.target_language:
        raise UsageError(f"{name}: the model has no languages, so it cannot fill a translation memory")
    source, tokens = read_xml(read_bytes(path), name)
    root = next(token for token in tokens if token.kind in ("start", "void"))
    if root.name != "tmx":
        raise DataError(f"{name}: is XML whose root element is {root.name}, not TMX")
    units = list(_units(tokens, source.text))
    languages = Counter(variant.language for unit in units for variant in unit.variants)
    there = [tag for tag, _ in languages.most_common() if matches(options.target_language, tag)]
    if units and not any(matches(options.source_language, tag) for tag in languages):
        shown = ", ".join(tag for tag, _ in languages.most_common(20))
        raise DataError(
            f"{name}: has no text in {options.source_language}, the model's source language; it has {shown}"
        )
    target = there[0] if there else options.target_language
    blocks = [
        block
        for unit in units
        for block in _blocks(unit, tokens, source.text, options.source_language, target, options.target_language)
    ]
    return TextDocument(source, blocks)


def _units(tokens: Sequence[Token], text: str) -> Iterator[_Unit]:
    """The units with their variants."""
    for at, token in enumerate(tokens):
        if (token.kind, token.name) != ("start", "tu"):
            continue
        unit = _Unit()
        inside = at + 1
        end = end_of(tokens, at)
        while inside < end:
            if (tokens[inside].kind, tokens[inside].name) == ("start", "tuv"):
                unit.variants.append(_variant(tokens, inside, text))
            inside = end_of(tokens, inside) + 1
        yield unit


def _variant(tokens: Sequence[Token], at: int, text: str) -> _Variant:
    tag = text[tokens[at].start : tokens[at].end]
    variant = _Variant((attribute(tag, "xml:lang") or attribute(tag, "lang")).strip(), at, end_of(tokens, at))
    inside = at + 1
    while inside < variant.last:
        if tokens[inside].name == "seg":
            variant.segment = inside, end_of(tokens, inside)
        inside = end_of(tokens, inside) + 1
    return variant


def _blocks(unit: _Unit, tokens: Sequence[Token], text: str, source: str, tag: str, target: str) -> Iterator[Block]:
    """The translation that a unit lacks."""
    from_ = next((one for one in unit.variants if matches(source, one.language) and one.segment), None)
    if from_ is None or from_.segment is None:
        return
    to = next((one for one in unit.variants if matches(target, one.language) and one is not from_), None)
    first, last = from_.segment
    pieces = trimmed(list(inline_pieces(tokens, first + 1, last, text, lambda token: _inline(token, text))), text)
    if not pieces:
        return
    inner = text[tokens[first].end : pieces[0].start], text[pieces[-1].end : tokens[last].start]
    if to is None:
        at = tokens[from_.last].end
        previous = text[tokens[from_.first - 1].start : tokens[from_.first - 1].end]
        indent = "" if previous.strip() else previous
        begin = f'{indent}<tuv xml:lang={quoteattr(tag)} creationtool="Mirada"'
        begin += f' creationtoolversion="{__version__}">{ORIGIN}<seg>{inner[0]}'
        yield Block(pieces, escape, target=(at, at), fills=True, frame=(begin, f"{inner[1]}</seg></tuv>"))
    elif to.segment and not text[tokens[to.segment[0]].end : tokens[to.segment[1]].start].strip():
        start, end = tokens[to.segment[0]].start, tokens[to.segment[1]].end  # <seg></seg> or <seg/>
        yield Block(
            pieces, escape, target=(start, end), fills=True, frame=(f"{ORIGIN}<seg>{inner[0]}", f"{inner[1]}</seg>")
        )


def _inline(token: Token, text: str) -> Mark:
    """`hi` encloses text. `bpt` and `ept` are a pair, and each holds another program's markup, as `ph` and `it` do."""
    tag = text[token.start : token.end]
    if token.name == "hi":
        return Mark("hi", tag)
    if token.name in ("bpt", "ept"):
        return Mark(f"pt{attribute(tag, 'i')}", role="open" if token.name == "bpt" else "close")
    return Mark()


FORMATS = {"tmx": Format(read)}
