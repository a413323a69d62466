"""Subtitles, SRT and WebVTT: the text of each cue is a segment, whatever lines it is on; its translation is wrapped.

A line that begins with a dash is somebody else speaking, and a segment of its own, as are sounds in brackets and lines
of songs. Time codes, settings, styles, notes and regions stay.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial

from mirada.documents import inline
from mirada.documents.document import (
    Block,
    Document,
    Format,
    Options,
    Piece,
    Source,
    TextDocument,
    one_line,
    read_source,
    trimmed,
)
from mirada.errors import DataError

WIDTH = 42
"""Characters in a line of subtitles, as is the custom; a cue that has longer ones may get such again."""

_SRT_TIME = re.compile(r"[ \t]*\d+:\d\d:\d\d[,.]\d{1,3}[ \t]*-->[ \t]*\d+:\d\d:\d\d[,.]\d{1,3}[^\r\n]*")
_VTT_TIME = re.compile(r"[ \t]*(?:\d+:)?\d\d:\d\d\.\d{3}[ \t]+-->[ \t]+(?:\d+:)?\d\d:\d\d\.\d{3}[^\r\n]*")
_LINE = re.compile(r"[^\r\n]*(\r\n|\r|\n|\Z)")
_MARKUP = re.compile(r"</?[A-Za-z][^<>\r\n]*>|<\d[\d:.]*>|\{\\[^{}\r\n]*\}|</>")
_SOUND = re.compile(r"(?:<[^<>]*>|\{\\[^{}]*\})*\s*(?:\[[^\[\]]*\]|\([^()]*\)|[♪♫#].*)\s*(?:</[^<>]*>)*\s*")
_SPEAKER = re.compile(r"(?:<[^<>]*>|\{\\[^{}]*\})*\s*[-–—]\s*")


def read_srt(path: str, options: Options) -> Document:
    """Subtitles in SRT."""
    return _document(read_source(path), _SRT_TIME, escaped=False)


def read_vtt(path: str, options: Options) -> Document:
    """Subtitles in WebVTT, where & and < are escaped."""
    source = read_source(path)
    if not re.match(r"WEBVTT(?:\s|\Z)", source.text):
        raise DataError(f"{source.name}, line 1: WebVTT begins with WEBVTT, and this file does not; is it SRT (.srt)?")
    return _document(source, _VTT_TIME, escaped=True)


def _document(source: Source, time: re.Pattern[str], escaped: bool) -> Document:
    cues = list(_cues(source.text, time))
    if source.text.strip() and not cues and not (escaped and "-->" not in source.text):
        raise DataError(f"{source.name}: has no cues: there is no line with times (00:00:01,000 --> 00:00:02,000)")
    blocks = [block for start, end in cues for block in _blocks(source.text, start, end, escaped)]
    return TextDocument(source, blocks)


def _cues(text: str, time: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the text of each cue is: after a line with times, up to a blank line."""
    start: int | None = None
    for line in _LINE.finditer(text):
        blank = not line[0].strip()
        if start is not None and (blank or line.end() == len(text)):
            yield start, line.start() if blank else line.end()
            start = None
        elif start is None and time.fullmatch(line[0].rstrip("\r\n")):
            start = line.end()
        if line.end() == len(text):
            return


def _blocks(text: str, start: int, end: int, escaped: bool) -> Iterator[Block]:
    """The segments of a cue: its lines together, but speakers, whose lines begin with a dash, sounds, songs apart."""
    lines = [match.span() for match in re.finditer(r"[^\r\n]+", text[start:end])]
    groups: list[list[tuple[int, int]]] = []
    sound = False
    for first, last in lines:
        span = start + first, start + last
        speaks = len(lines) > 1 and _SPEAKER.match(text, *span)
        before, sound = sound, _SOUND.fullmatch(text, *span) is not None
        if not groups or speaks or before or sound:
            groups.append([])
        groups[-1].append(span)
    for group in groups:
        raw = text[group[0][0] : group[-1][1]]
        pieces = list(_pieces(text, group[0][0], group[-1][1], escaped))
        if kept := trimmed(pieces, text):
            newline = "\r\n" if "\r\n" in text[start:end] else "\r" if "\r" in text[start:end] else "\n"
            longest = max(len(_MARKUP.sub("", line)) for line in raw.splitlines())
            wrap = partial(_wrapped, count=len(group), width=max(WIDTH, longest), newline=newline)
            yield Block(kept, _escape if escaped else str, wrap)


def _pieces(text: str, start: int, end: int, escaped: bool) -> Iterator[Piece]:
    """The texts and tags of a range. The dash of a speaker stays."""
    if dash := _SPEAKER.match(text, start, end):
        yield Piece(start, dash.end())
        start = dash.end()
    done = start
    for match in (*_MARKUP.finditer(text, start, end), None):
        at = match.start() if match else end
        if at > done:
            said = text[done:at]
            yield Piece(done, at, one_line(html.unescape(said) if escaped else said))
        if match:
            done = match.end()
            name = re.match(r"</?([A-Za-z]\w*)", match[0])
            role = "void" if not name else "close" if match[0].startswith("</") else "open"
            yield Piece(*match.span(), None, name[1].lower() if name else "", role, match[0])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("-->", "--&gt;")


def _wrapped(text: str, count: int, width: int, newline: str) -> str:
    """A text on as many lines as there were, of similar length; on more if they would be too long."""
    hidden = inline.TAG.sub(lambda tag: tag[0].replace(" ", "\0"), one_line(text))  # no break inside of a tag
    words = hidden.split(" ")
    for limit in range(max(1, _size(hidden) // count), width + 1):
        lines = _lines(words, limit)
        if len(lines) <= count and max(map(_size, lines)) <= limit:
            break
    else:
        lines = _lines(words, width)
    return newline.join(lines).replace("\0", " ")


def _lines(words: list[str], width: int) -> list[str]:
    """Words on lines of at most that width, as far as they fit."""
    lines = [words[0]]
    for word in words[1:]:
        if _size(lines[-1]) + 1 + _size(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _size(text: str) -> int:
    """The characters that are seen."""
    return len(inline.meant(inline.TAG.sub("", text)))


FORMATS = {"srt": Format(read_srt), "vtt": Format(read_vtt)}
