"""Subtitles: cues are translated, times stay, lines are wrapped again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.errors import DataError
from tests.documents.shouting import opened, same, shouted, texts

SRT = r"""1
00:00:01,000 --> 00:00:02,000
Hola <i>mundo</i>, esto es
una prueba.

2
00:00:03,000 --> 00:00:04,000 X1:1
- ¿Qué?
- Nada & <b>más</b>.

3
00:00:05,000 --> 00:00:06,000
{\an8}♪ la la ♪

4
00:00:07,000 --> 00:00:08,000
123
"""
VTT = """WEBVTT - un título

STYLE
::cue { color: red }

NOTE nada
de nada

intro
00:01.000 --> 00:02.000 align:start
<v Ana>Hola <00:01.500>mundo &amp; más</v>

00:00:03.000 --> 00:00:04.000
fin"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_srt(tmp_path: Path, newline: str) -> None:
    content = "\ufeff" + SRT.replace("\n", newline)
    document = opened(tmp_path / "a.srt", content)
    assert texts(document) == ["Hola <i>mundo</i>, esto es una prueba.", "¿Qué?", "Nada & <b>más</b>.", "♪ la la ♪"]
    assert [segment.place for segment in document.segments] == ["line 3", "line 8", "line 9", "line 13"]
    assert same(document) == content.encode()
    new = shouted(document).decode()
    assert new == (
        content.replace("Hola <i>mundo</i>, esto es", "HOLA <i>MUNDO</i>, ESTO")
        .replace("una prueba.", "ES UNA PRUEBA.")
        .replace("¿Qué?", "¿QUÉ?")
        .replace("Nada & <b>más</b>.", "NADA & <b>MÁS</b>.")
        .replace("la la", "LA LA")
    )


def test_sounds_and_songs_are_segments_of_their_own(tmp_path: Path) -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n"
    content = (
        f"{cue}<i>[SE ABRE\nLA PUERTA]</i>\n\n{cue}<i>[UN GOLPE]</i>\n¿Quién\nes?\n(RÍE)\n\n{cue}♪ La la ♪\n♪ Lo lo ♪\n"
    )
    document = opened(tmp_path / "a.srt", content)
    assert texts(document) == ["[SE ABRE LA PUERTA]", "[UN GOLPE]", "¿Quién es?", "(RÍE)", "♪ La la ♪", "♪ Lo lo ♪"]
    expected = content.replace("¿Quién\nes?", "¿QUIÉN\nES?").replace("La la", "LA LA").replace("Lo lo", "LO LO")
    assert shouted(document).decode() == expected


def test_vtt(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.vtt", VTT)
    assert texts(document) == ["Hola <x1/>mundo & más", "fin"]
    new = document.write(["a --> b & <x1/>&lt;c>", "end"]).decode()
    assert new == VTT.replace("Hola <00:01.500>mundo &amp; más", "a --&gt; b &amp; <00:01.500>&lt;c>").replace(
        "fin", "end"
    )


def test_lines_are_of_similar_length_and_not_too_long(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.srt", SRT)
    long = " ".join(["palabra"] * 15)  # 119 characters
    new = document.write([long, "a", "b", "palabra " * 6 + "fin"]).decode().split("\n\n")
    assert [len(line) for line in new[0].split("\n")[2:]] == [39, 39, 39]
    assert new[2].split("\n")[2:] == ["{\\an8}palabra palabra palabra palabra palabra", "palabra fin"]
    balanced = document.write(["una palabra y otra palabra y <i>otra palabra más</i>", "a", "b", "c"]).decode()
    assert balanced.split("\n")[2:4] == ["una palabra y otra palabra", "y <i>otra palabra más</i>"]


def test_what_is_no_subtitles(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.srt: has no cues"):
        opened(tmp_path / "a.srt", "hola\n")
    with pytest.raises(DataError, match=r"a.vtt, line 1: WebVTT begins with WEBVTT"):
        opened(tmp_path / "a.vtt", "00:01.000 --> 00:02.000\nhola")
    with pytest.raises(DataError, match=r"a.srt, line 3: not UTF-8: byte 0xf1"):
        opened(tmp_path / "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nma\xf1ana".encode("latin-1"))
