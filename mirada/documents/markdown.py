"""Markdown: paragraphs, headings, list items and cells, with their inline markup as tags; HTML inside of it as HTML.

`markdown-it-py` finds the blocks and runs its inline rules; each rule is watched, which says where its markup is.
Front matter, code, link targets and reference definitions stay as they are.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mirada.documents import html as pages
from mirada.documents import inline
from mirada.documents.document import (
    Block,
    Document,
    Format,
    Options,
    Piece,
    Raw,
    Source,
    TextDocument,
    append,
    one_line,
    partners,
    read_source,
    trimmed,
)
from mirada.errors import UsageError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?\1[ \t]*(?:\r?\n|$)")
_FOOTNOTE = r"\[\^[^\]\s]+\]"
_MARKS = re.compile(rf"{_FOOTNOTE}:?|\A\[[ xX]\](?=\s)")
_KEPT = re.compile(
    r"""\$\$.+?\$\$ | (?<![\\$\w])\$(?=[^\s$])[^$`\n]*(?<=[^\s\\])\$(?![\w$])    # formulas: $$ … $$, $x$
    | \{[#.:][^{}\n]*\}                                                          # {#name .class}
    | (?<![\w:]):[a-z][\w+-]*:(?![\w:])                                          # :smile:""",
    re.VERBOSE | re.DOTALL,
)
"""What stays inside of a text, in the Markdown of GitHub, Pandoc and site generators."""
_BREAK = re.compile(
    rf"""\n(?:{_FOOTNOTE}:|:(?=[ \t]))                             # a footnote, a definition
    | (?:\A|\n)(?:\[![A-Za-z]+\][-+]?[ \t]*(?=\n|\Z)               # [!NOTE]
        |:::+[^\n]*                                                # ::: note
        |(?:!!!|\?\?\?\+?)[ ][\w-]+(?:[ ]+"[^"\n]*")?[ \t]*(?=\n|\Z)    # !!! note "title"
      )\n?""",
    re.VERBOSE,
)
"""What begins a line of a paragraph that is a block of its own, or all of such a line."""
_TITLE = re.compile(r"""\s(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|\(((?:\\.|[^()\\])*)\))\s*\)$""", re.DOTALL)
_KEPT_HTML = frozenset(["code", "kbd", "samp", "var", "tt", "script", "style"])


class _Span(NamedTuple):
    """A range of a block's content that an inline rule has taken."""

    rule: str
    start: int
    end: int
    token: Token | None = None


@dataclass
class _Watch:
    """What the inline rules have taken of the content that is being parsed."""

    state: Any = None
    spans: list[_Span] = field(default_factory=list)

    def rule(self, name: str, function: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
        """The rule, watched."""

        def watched(state: StateInline, silent: bool) -> bool:
            if silent or (self.state is not None and state is not self.state):  # looking ahead, or inside of an image
                return function(state, silent)
            self.state = state
            start, count, mark = state.pos, len(state.tokens), len(self.spans)
            label = state.md.helpers.parseLinkLabel(state, start, True) if name == "link" else 0
            if not function(state, silent):
                del self.spans[mark:]
                return False
            self._add(name, state, start, count, mark, label)
            return True

        return watched

    def _add(self, name: str, state: StateInline, start: int, count: int, mark: int, label: int) -> None:
        new = state.tokens[count:]
        if name in ("emphasis", "strikethrough"):  # a token for each delimiter; later it shows which of them are markup
            tokens = [token for token in new if token.type == "text" and set(token.content) <= set("*_~")]
            width = 1 if name == "emphasis" else 2
            at = state.pos - width * len(tokens)
            self.spans += [_Span(name, at + width * n, at + width * (n + 1), token) for n, token in enumerate(tokens)]
        elif name == "link":
            self.spans.insert(mark, _Span("link_open", start, start + 1, new[0] if new else None))
            self.spans.append(_Span("link_close", label, state.pos))
        else:
            self.spans.append(_Span(name, start, state.pos, new[-1] if new else None))


def _parser() -> tuple[MarkdownIt, _Watch]:
    """A parser of CommonMark with tables and strikethrough, whose inline rules are watched."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise UsageError(
            "Markdown needs the package markdown-it-py; install it: pip install 'mirada[documents]'"
        ) from None
    parser, watch = MarkdownIt("commonmark").enable(["table", "strikethrough"]), _Watch()
    ruler = parser.inline.ruler
    for name, function in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        ruler.at(name, watch.rule(name, function))
    return parser, watch


def _no_footnote(parser: MarkdownIt) -> Callable[[StateBlock, int, int, bool], bool]:
    """The rule of reference definitions, for which `[^1]: https://…` would be one."""
    ruler = parser.block.ruler
    rule = dict(zip(ruler.get_active_rules(), ruler.getRules(""), strict=True))["reference"]

    def checked(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        is_footnote = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
        return not is_footnote and bool(rule(state, start, end, silent))

    return checked


class _Blocks:
    """Collects the blocks of a Markdown text."""

    def __init__(self, source: Source):
        self.text = source.text
        self.parser, self.watch = _parser()
        front = _FRONT_MATTER.match(self.text)
        self.begin = front.end() if front else 0
        body = self.text[self.begin :]
        # As markdown-it counts lines: CR LF and CR are line ends, too.
        self.lines = [self.begin, *(self.begin + match.end() for match in re.finditer(r"\r\n?|\n", body))]
        self.lines.append(len(self.text))
        self.found: list[Block] = []
        self.notes: list[str] = []
        self.env: dict[str, Any] = {}
        self.parser.block.ruler.at("reference", _no_footnote(self.parser), {"alt": []})
        # Blocks only: the inline rules run on each block by itself, below.
        self.parser.core.ruler.disable("inline")
        tokens = self.parser.parse(body, self.env)
        cell = ""
        for token in tokens:
            if token.type == "tr_open":
                cursor = self.lines[(token.map or [0])[0]]
            if token.type in ("th_open", "td_open", "paragraph_open", "heading_open"):
                cell = token.type
            if token.type == "html_block" and token.map:
                start, end = (self.lines[line] for line in token.map)
                self.found += pages.blocks_of(self.text[start:end], start)
            elif token.type == "inline" and token.map and token.content.strip():
                if cell in ("th_open", "td_open"):
                    ranges, cursor = self._cell(token.content, cursor)
                else:
                    ranges = self._ranges(token.content, token.map)
                if ranges:
                    self._add(token.content, ranges, cell)
                else:
                    line = source.line(self.lines[token.map[0]])
                    self.notes.append(f"line {line}: its tabs are not supported, so it is left unchanged")

    def _cell(self, content: str, cursor: int) -> tuple[list[tuple[int, int]], int]:
        """Where a table cell is, after those before it; its bars are escaped in the text."""
        line_end = self.lines[bisect_right(self.lines, cursor)]
        for written in (content, content.replace("|", "\\|")):
            at = self.text.find(written, cursor, line_end)
            if at >= 0:
                return [(at, at + len(written))], at + len(written)
        return [], cursor

    def _ranges(self, content: str, lines: Sequence[int]) -> list[tuple[int, int]]:
        """Where each line of a block's content is; nothing if it cannot be told."""
        ranges = []
        for number, line in enumerate(content.split("\n")):
            if lines[0] + number + 1 >= len(self.lines):
                return []
            start, end = self.lines[lines[0] + number], self.lines[lines[0] + number + 1]
            at = self.text.rfind(line, start, end)
            if at < 0:
                return []
            ranges.append((at, at + len(line)))
        return ranges

    def _add(self, content: str, ranges: list[tuple[int, int]], kind: str) -> None:
        """Add the blocks of a content that is at these places of the text, a range for each of its lines."""
        bars = kind in ("th_open", "td_open")
        if bars:
            content = self.text[slice(*ranges[0])]  # with escaped bars, which are escapes for the inline rules as well
        places = [at for start, end in ranges for at in range(start, end + 1)]  # each line with its end

        def moved(piece: Piece) -> Piece:
            start = places[piece.start]
            return replace(piece, start=start, end=places[piece.end - 1] + 1 if piece.end > piece.start else start)

        self.inner: list[Piece] = []
        begins = {start for start, _ in ranges} if kind == "paragraph_open" else set()
        for pieces in self._pieces(content):
            if kept := trimmed([moved(piece) for piece in pieces], self.text):
                at_begin = kept[0].start in begins
                self.found.append(
                    _MarkdownBlock(kept, partial(escape, bars=bars), one_line, source=self.text, at_begin=at_begin)
                )
        for piece in self.inner:
            if kept := trimmed([moved(piece)], self.text):
                self.found.append(_MarkdownBlock(kept, partial(escape, bars=bars, quote=piece.name), one_line))

    def _pieces(self, content: str) -> Iterator[list[Piece]]:
        """The inline markup of a content and the texts between, at their places in it; a list for each hard break."""
        self.watch.state, self.watch.spans = None, []
        self.parser.inline.parse(content, self.parser, self.env, [])
        found = [_Span("kept", *match.span()) for match in _KEPT.finditer(content)]
        found += [_Span("break", *match.span()) for match in _BREAK.finditer(content)]
        spans = sorted([*found, *self.watch.spans], key=lambda span: (span.start, span.rule != "link_open"))
        pieces: list[Piece] = []
        kept: Piece | None = None  # the tag of an HTML element that is not translated
        done = 0
        for span in spans:
            made = self._piece(span, content) if span.start >= done else None
            if made is None:
                continue
            if kept is not None:
                if made.name == kept.name and made.role == "close":
                    pieces.append(Piece(kept.start, made.end))
                    done, kept = made.end, None
                continue
            pieces += _texts(content, done, made.start)
            done = made.end
            if made.role == "open" and _is_kept(made) and f"</{made.name}>" in content[done:].lower():
                kept = made
            elif made.name == "hardbreak":
                yield pieces
                pieces = []
            else:
                append(pieces, made)
        yield pieces + _texts(content, done, len(content))

    def _piece(self, span: _Span, content: str) -> Piece | None:
        """The markup of a span; None if it is text."""
        rule, start, end, token = span
        raw = content[start:end]
        if rule in ("kept", "break"):
            return Piece(start, end, None, "hardbreak" if rule == "break" else "")
        if rule in ("backticks", "autolink"):
            is_markup = token is not None and (token.type != "text" or rule == "autolink")
            return Piece(start, end) if is_markup else None
        if rule == "image" and token is not None:
            self.inner.append(Piece(start + 2, start + 2 + len(token.content), _meant(token.content)))
            self._read_title(content, start, end)
            return Piece(start, end)
        if rule == "html_inline":
            name = re.match(r"</?([A-Za-z][\w-]*)", raw)
            role = "close" if raw.startswith("</") else "void" if raw.endswith("/>") else "open"
            word = name[1].lower() if name else ""
            role = "void" if not name or word in inline.VOID else role
            return Piece(start, end, None, word, role, raw)
        if rule == "link_open":
            return Piece(start, end, None, "[", "open", short="a")
        if rule == "link_close":
            self._read_title(content, start, end)
            return Piece(start, end, None, "[", "close", raw)
        if rule in ("emphasis", "strikethrough") and token is not None and token.type.endswith(("_open", "_close")):
            kind, _, role = token.type.partition("_")
            if kind == "strong":  # the other of two delimiters is an empty text
                start, end = (start - 1, end) if role == "open" else (start, end + 1)
            return Piece(start, end, None, kind, role)
        if rule in ("newline", "escape") and token is not None and token.type == "hardbreak":
            return Piece(len(content[:start].rstrip(" ")), end, None, "hardbreak")
        return None

    def _read_title(self, content: str, start: int, end: int) -> None:
        """Take the title of a link or an image, which people read."""
        if match := _TITLE.search(content, start, end):
            number = match.lastindex or 1
            quote = "\"')"[number - 1]
            self.inner.append(Piece(*match.span(number), _meant(match[number]), quote))


def _is_kept(piece: Piece) -> bool:
    """Whether what an HTML tag encloses is not translated."""
    return piece.name in _KEPT_HTML or bool(re.search(r"""\stranslate\s*=\s*["']?no\b""", piece.tag, re.IGNORECASE))


def _texts(content: str, start: int, end: int) -> list[Piece]:
    """The text of a range, and the footnote marks and check boxes in it."""
    pieces, done = [], start
    for match in _MARKS.finditer(content, start, end):
        if match.start() > done:
            pieces.append(Piece(done, match.start(), _meant(content[done : match.start()])))
        pieces.append(Piece(*match.span()))
        done = match.end()
    if end > done:
        pieces.append(Piece(done, end, _meant(content[done:end])))
    return pieces


def _meant(raw: str) -> str:
    """The text that is meant, without escapes and entities."""
    parts = re.split(r"(\\[!-/:-@\[-`{-~])", raw)
    return one_line("".join(part[1] if number % 2 else html.unescape(part) for number, part in enumerate(parts)))


_MARKUP = re.compile(r"[\\`\[\]]|(?<=\S)\*|\*(?=\S)|(?<![^\W_])_|_(?![^\W_])|~~|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_BLOCK_MARKUP = re.compile(r"(?:\d{1,9}(?=[.)](?:\s|$)))?(?=(?:#{1,6}|[-+*.)])(?:\s|$)|>|~~~|[-=_* ]+$)")


def escape(text: str, bars: bool = False, quote: str = "") -> str:
    """A text as Markdown: what would be markup gets a backslash, also a quote around the text and bars in a cell."""
    text = _MARKUP.sub(lambda match: "&amp;" if match[0] == "&" else "\\" + match[0], text)
    for character in quote + "|" * bars:
        text = text.replace(character, "\\" + character)
    return text


@dataclass
class _MarkdownBlock(Block):
    """A block of Markdown."""

    source: str = ""
    at_begin: bool = False
    """Whether it begins a paragraph, where a number or a sign could begin a list or a heading instead."""

    def written(self, translation: str, raw: Raw) -> str:
        text = super().written(translation.strip(), raw)  # spaces in front of it could make it a block of code
        if self.at_begin and (match := _BLOCK_MARKUP.match(text)):
            text = match[0] + "\\" + text[match.end() :]
        return text

    def _markup(self, piece: Piece | None, raw: Raw) -> str:
        written = super()._markup(piece, raw)
        if piece is not None and piece.tag in ("]", "][]"):  # the text is the name of the reference, and that stays
            return f"][{self._label(piece)}]"
        return written

    def _label(self, closing: Piece) -> str:
        at = self.pieces.index(closing)
        opening = {end: start for start, end in partners(self.pieces)}.get(at, at)
        return self.source[self.pieces[opening].end : closing.start]


def read(path: str, options: Options) -> Document:
    """A Markdown text. A paragraph that is wrapped over several lines becomes one line."""
    source = read_source(path)
    blocks = _Blocks(source)
    return TextDocument(source, blocks.found, blocks.notes)


FORMATS = {"markdown": Format(read)}
