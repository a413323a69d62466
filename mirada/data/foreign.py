"""Files that are not lines of text, or not only: known by name or by their first bytes, with the way out."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from mirada.data.text import StrPath, faults_named, opened, shown_path
from mirada.errors import UsageError

_COLUMN = "save the column of its texts as a text file, one per line"
_PANDOC = "convert it to text first: `pandoc -t plain --wrap=none {name} -o {text}`"
_EXPORT = "save it as plain text (UTF-8) first"
_SPOKEN = "save the spoken lines as a text file, one per line"
_JSON = "save its texts as a text file, one per line: `jq -r .text {name} > {text}`"
_MARKUP = "save its texts as a text file, one per line"
_STRINGS = "convert it to a gettext catalog (.po), which can be filled in"

_KINDS = {
    "po": ("a gettext catalog", _MARKUP),
    "tmx": ("a translation memory (TMX)", _MARKUP),
    "xliff": ("XLIFF", "convert it to a gettext catalog, which can be filled in: `xliff2po {name} {catalog}`"),
    "mo": ("a compiled catalog", "convert it to a .po, which can be filled in: `msgunfmt {name} -o {catalog}`"),
    "csv": ("a table (CSV)", _COLUMN),
    "tsv": ("a table (TSV)", "save the column of its texts as a text file: `cut -f 1 {name} > {text}`"),
    "json": ("JSON", _JSON),
    "jsonl": ("JSON, one object per line (JSONL)", _JSON),
    "yaml": ("YAML", _MARKUP),
    "srt": ("subtitles (SRT)", _SPOKEN),
    "vtt": ("subtitles (WebVTT)", _SPOKEN),
    "subtitles": ("subtitles", _SPOKEN),
    "html": ("HTML", _PANDOC),
    "markdown": ("Markdown", _PANDOC),
    "latex": ("LaTeX", _PANDOC),
    "rst": ("reStructuredText", _PANDOC),
    "xml": ("XML", _MARKUP),
    "docx": ("a Word document (DOCX)", _PANDOC),
    "odt": ("an OpenDocument text (ODT)", _PANDOC),
    "epub": ("an EPUB book", _PANDOC),
    "rtf": ("rich text (RTF)", _PANDOC),
    "office": ("an office document", _EXPORT),
    "zip": ("a zip archive or an office document", _EXPORT),
    "pdf": ("a PDF", "extract its text first: `pdftotext {name} {text}`"),
    "strings": ("a file of interface texts", _STRINGS),
    "wiki": ("a text with wiki or AsciiDoc markup", _MARKUP),
    "template": ("a page with program code in it", _MARKUP),
    "style": ("a style sheet", _MARKUP),
    "settings": ("a file of settings", _MARKUP),
    "code": ("source code", _MARKUP),
    "xz": ("an xz file", "unpack it: `xz -d {name}`"),
    "bzip2": ("a bzip2 file", "unpack it: `bzip2 -d {name}`"),
    "zstd": ("a zstd file", "unpack it: `zstd -d {name}`"),
}
"""What each kind is called, and what to do with it."""

_BINARY = {"mo", "docx", "odt", "epub", "office", "zip", "pdf", "xz", "bzip2", "zstd"}
"""Kinds that have no lines that could be taken as they are."""

_SUFFIXES = {
    "txt": "", "text": "", "po": "po", "pot": "po",
    "tmx": "tmx", "xliff": "xliff", "xlf": "xliff", "sdlxliff": "xliff", "mqxliff": "xliff", "mo": "mo", "gmo": "mo",
    "csv": "csv", "tsv": "tsv", "tab": "tsv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "yaml": "yaml",
    "yml": "yaml", "srt": "srt", "vtt": "vtt", "ass": "subtitles", "ssa": "subtitles", "sub": "subtitles",
    "html": "html", "htm": "html", "xhtml": "html", "md": "markdown", "markdown": "markdown", "mdx": "markdown",
    "tex": "latex", "rst": "rst", "xml": "xml", "docx": "docx", "odt": "odt", "epub": "epub", "rtf": "rtf",
    "doc": "office", "xls": "office", "xlsx": "office", "ods": "office", "ppt": "office", "pptx": "office",
    "odp": "office", "zip": "zip", "pdf": "pdf", "properties": "strings", "strings": "strings", "resx": "strings",
    "arb": "strings", "resw": "strings", "ftl": "strings", "stringsdict": "strings",
    "xz": "xz", "bz2": "bzip2", "zst": "zstd", "sbv": "subtitles", "ttml": "subtitles", "dfxp": "subtitles",
    "svg": "xml", "xsl": "xml", "xslt": "xml", "xsd": "xml", "plist": "xml", "dita": "xml", "dbk": "xml",
    "ltx": "latex", "ipynb": "json", "json5": "json",
}  # fmt: skip
_MARKED = {
    "wiki": "adoc asciidoc wiki mediawiki textile typ",
    "template": "php phtml jsp asp aspx cshtml erb ejs handlebars mustache twig jinja jinja2 j2 njk liquid haml pug "
    "vue svelte astro",
    "style": "css scss sass less",
    "settings": "toml ini cfg conf env desktop",
    "code": "py pyi js mjs cjs jsx tsx java c h cc cpp cxx hpp hh rb go rs swift kt kts scala lua sh bash zsh fish bat "
    "cmd ps1 r jl sql dart hs ex exs erl clj vbs proto graphql cmake gradle groovy diff patch",
}
_SUFFIXES |= {suffix: kind for kind, suffixes in _MARKED.items() for suffix in suffixes.split()}
"""What files are by the ends of their names, but for those that are languages as well: train.pl, train.cs, train.ts."""

_HEAD = 4096

_XML = rb"(?is)(?>\s+|<\?xml.*?\?>|<!--.*?-->)*+"
_BEGINNINGS = (
    (rb"\xde\x12\x04\x95|\x95\x04\x12\xde", "mo"),
    (rb"PK\x03\x04", "zip"),
    (rb"\xd0\xcf\x11\xe0", "office"),
    (rb"%PDF-", "pdf"),
    (rb"\{\\rtf", "rtf"),
    (rb"\xfd7zXZ\x00", "xz"),
    (rb"BZh[1-9]", "bzip2"),
    (rb"\x28\xb5\x2f\xfd", "zstd"),
    (_XML + rb"(?:<!DOCTYPE\s+tmx|<tmx[\s>])", "tmx"),
    (_XML + rb"<xliff[\s>]", "xliff"),
    (_XML + rb"(?:<!DOCTYPE\s+html|<html[\s>])", "html"),
    (rb"\s*<\?xml\s|<\0\?\0x|\0<\0\?", "xml"),
    (rb"(?i)<\?php\s", "template"),
    (rb"#!\s*/", "code"),
    (rb"WEBVTT(?:\s|$)", "vtt"),
    (rb"\s*\d+\r?\n\d\d:\d\d:\d\d[,.]\d{3} --> ", "srt"),
    (rb'(?>\s+|#[^\n]*\n)*+msgid[ \t]+"', "po"),
)
"""How the files of a kind begin, after a byte order mark."""


def foreign(path: StrPath) -> str:
    """What kind of file this is, by its name or else its first bytes; nothing if it is lines of text."""
    file = Path(path)
    suffix = Path(file.name.lower().removesuffix(".gz")).suffix[1:]
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if file.exists() and not file.is_file():  # a pipe gives its first bytes only once
        return ""
    with faults_named(path), opened(path) as stream:
        head = stream.read(_HEAD)
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"):
        head = head.removeprefix(mark)
    kind = next((kind for beginning, kind in _BEGINNINGS if re.match(beginning, head)), "")
    return kind or ("jsonl" if _is_object(head) else "")


def _is_object(head: bytes) -> bool:
    """Whether the first line is an object of JSON."""
    try:
        return head.lstrip().startswith(b"{") and isinstance(json.loads(head.lstrip().partition(b"\n")[0]), dict)
    except (ValueError, RecursionError):
        return False


def refuse_foreign(path: Path, *, allowed: tuple[str, ...] = ()) -> None:
    """Say what a file is that is not lines of text, and what to do with it."""
    kind = foreign(path)
    if not kind or kind in allowed:
        return
    what, hint = _KINDS[kind]
    name = shown_path(path)
    stem = name.removesuffix(".gz").removesuffix(Path(name.removesuffix(".gz")).suffix)
    names = {"name": name, "text": f"{stem}.txt", "catalog": f"{stem}.po"}
    advice = hint.format(**{key: shlex.quote(value) for key, value in names.items()})
    lines = "" if kind in _BINARY else ", or read its lines as text: --as-text"
    raise UsageError(f"--file {name}: is {what}, not lines of text; {advice}{lines}")
