"""Documents of every kind: found by name or content, kept in their encoding, refused with one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mirada.documents import document, formats, read_document
from mirada.errors import DataError, UsageError
from tests.documents.shouting import opened, same, shouted, texts


def test_there_is_a_format_for_each_kind() -> None:
    assert set(formats()) == {"", "html", "markdown", "srt", "vtt", "csv", "tsv", "jsonl", "tmx", "docx", "odt"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_and_what_is_around_them(tmp_path: Path, encoding: str, newline: str) -> None:
    content = f"{newline}  hola mundo\t{newline}{newline}123{newline}<b>el gato</b> &amp;".encode(encoding)
    found = opened(tmp_path / "a.txt", content)
    assert texts(found) == ["hola mundo", "<b>el gato</b> &amp;"]
    assert same(found) == content
    new = found.write(["hello", "a < b"]).decode(encoding)
    assert new == f"{newline}  hello\t{newline}{newline}123{newline}a < b"


def test_gzip_and_the_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "page.gz").write_bytes(gzip.compress(b"<!doctype html><p>hola"))
    assert shouted(read_document(tmp_path / "page.gz")) == b"<!doctype html><p>HOLA"


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"a.pdf: this document format is not supported; supported are text, csv"):
        read_document(tmp_path / "a.pdf")
    with pytest.raises(DataError, match=r"none.html: no such file"):
        read_document(tmp_path / "none.html")
    with pytest.raises(DataError, match=r"a.txt, line 2: a NUL byte"):
        opened(tmp_path / "a.txt", b"a\nb\0c")
    monkeypatch.setattr(document, "LARGEST", 10)
    with pytest.raises(DataError, match=r"a.html: more than 0 MiB, too large"):
        opened(tmp_path / "a.html", b"<p>hola mundo")


def test_a_translation_with_other_tags_is_not_written(tmp_path: Path) -> None:
    found = opened(tmp_path / "a.html", "<p>\nel <b>gato</b> ve")
    assert found.write(["the cat sees"]) == b"<p>\nthe cat sees"
    for wrong in ("the <b>cat", "the <i>cat</i>", "<b>the</b> <b>cat</b>"):
        with pytest.raises(DataError, match=r"a.html, line 2: its translation has different tags"):
            found.write([wrong])
