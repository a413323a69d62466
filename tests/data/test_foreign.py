"""Files that are not lines of text are known by name, else by their first bytes, and refused with the way out."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from mirada.data.foreign import foreign, refuse_foreign
from mirada.errors import DataError, UsageError

TMX = '<?xml version="1.0"?>\n<!-- a --><!-- b -->\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("memory.tmx", "a translation memory (TMX)", "--as-text"),
        ("memory.TMX.gz", "a translation memory (TMX)", "--as-text"),
        ("pairs.csv", "a table (CSV)", "save the column"),
        ("pairs.tsv", "a table (TSV)", "`cut -f 1 {folder}/pairs.tsv > {folder}/pairs.txt`"),
        ("rows.jsonl", "JSONL", "`jq -r .text"),
        ("film.srt", "subtitles (SRT)", "spoken lines"),
        ("film.vtt", "subtitles (WebVTT)", "spoken lines"),
        ("page.html", "HTML", "`pandoc -t plain"),
        ("README.md", "Markdown", "`pandoc -t plain"),
        ("letter.docx", "a Word document", "`pandoc -t plain --wrap=none {folder}/letter.docx -o {folder}/letter.txt`"),
        ("letter.odt", "an OpenDocument text", "`pandoc"),
        ("app.xlf", "XLIFF", "`xliff2po {folder}/app.xlf {folder}/app.po`"),
        ("app.mo", "a compiled catalog", "`msgunfmt {folder}/app.mo -o {folder}/app.po`"),
        ("page.php", "a page with program code in it", "--as-text"),
        ("app.py", "source code", "--as-text"),
        ("app.JS.gz", "source code", "--as-text"),
        ("page.css", "a style sheet", "--as-text"),
        ("app.toml", "a file of settings", "--as-text"),
        ("app.yaml", "YAML", "--as-text"),
        ("app.json", "JSON", "--as-text"),
        ("app.xml", "XML", "--as-text"),
        ("thesis.tex", "LaTeX", "`pandoc -t plain"),
        ("page.adoc", "AsciiDoc", "--as-text"),
        ("text.txt.xz", "an xz file", "`xz -d {folder}/text.txt.xz`"),
    ],
)
def test_known_by_name(tmp_path: Path, name: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse_foreign(tmp_path / name)
    assert f"--file {tmp_path / name}: is " in str(caught.value)
    assert what in str(caught.value)
    assert hint.format(folder=tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", ["app.mo", "a.docx", "a.zip", "a.pdf"])
def test_no_lines_are_promised_of_what_has_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse_foreign(tmp_path / name)
    assert "--as-text" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (TMX.encode(), "tmx"),
        (b"\xef\xbb\xbf<tmx>", "tmx"),
        (TMX.encode("utf-16"), "xml"),
        (gzip.compress(TMX.encode(), mtime=0), "tmx"),
        (b'<?xml version="1.0"?><xliff version="1.2">', "xliff"),
        (b'<?xml version="1.0"?><resources>', "xml"),
        (b"\n<!doctype html>\n", "html"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\n", "vtt"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHola\r\n", "srt"),
        (b'{"es": "hola", "en": "hello"}\n{"es"', "jsonl"),
        (b"<?php\necho 1;\n", "template"),
        (b"#!/usr/bin/env python3\n", "code"),
        (b"PK\x03\x04....", "zip"),
        (b"%PDF-1.7", "pdf"),
        (b"\xde\x12\x04\x95....", "mo"),
        (b'# comment\n#, fuzzy\nmsgid ""\nmsgstr ""\n', "po"),
        (b"", ""),
        (b"el gato ve el tren\n", ""),
        (b"{name} sees <b>\n", ""),
        (b"1\nuno\n", ""),
        (b"<!-- --><!---->" * 300, ""),
    ],
)
@pytest.mark.parametrize("name", ["input", "train.es"])
def test_known_by_the_first_bytes(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert foreign(tmp_path / name) == kind
    (tmp_path / "input.txt").write_bytes(content)
    assert foreign(tmp_path / "input.txt") == ""  # who calls it text means that


@pytest.mark.parametrize("suffix", ["", ".txt", ".text", ".log", ".es", ".pl", ".cs", ".ts", ".src", ".1"])
def test_text_may_have_any_other_name(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"input{suffix}").write_text("el gato ve el tren\n")
    refuse_foreign(tmp_path / f"input{suffix}")


def test_a_pipe_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert foreign(tmp_path / "pipe") == ""
    with pytest.raises(DataError, match="no such file"):
        foreign(tmp_path / "none")
