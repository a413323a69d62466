"""Texts to continue: read whole, split by position, spelt so that they come back exactly."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.contracts import BOS, EOS
from mirada.data.preparation import Prepared
from mirada.data.stream import Stream
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.data.tokenizer_learning import UNK, Unit
from mirada.errors import BundleError, DataError
from mirada.tasks.language_model import data as texts
from mirada.tasks.language_model.data import (
    LanguageModelData,
    TextConfig,
    find_cut,
    open_texts,
    read_lines,
)
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, StreamDecoder, TextCodec, lines_of
from tests.preparing import prepare

any_text = settings(derandomize=True, max_examples=60, deadline=None, database=None)

CHARACTER = st.integers(0, 0x10FFFF).filter(lambda code: not 0xD800 <= code < 0xE000).map(chr)

QUIXOTE = "En un lugar de la Mancha,\n\n  de cuyo nombre\tno quiero  \nacordarme, año 1605 — no ha mucho 👶漢字\n" * 8
"""Blank lines, spaces at both ends of lines, tabs, digits, letters of several bytes."""


def codec(unit: Unit, text: str = QUIXOTE, size: int = 320) -> TextCodec:
    return TextCodec(Tokenizer.learn(lines_of(text), size, unit))


UNITS: dict[Unit, TextCodec] = {unit: codec(unit) for unit in ("subwords", "characters", "words", "symbols")}


def quiet(what: str, done: int, total: int) -> None:
    """Nobody listens."""


def prepared(folder: Path, text: str | bytes, unit: Unit = "characters", **data: object) -> Prepared:
    (folder / "book.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    config = TextConfig.model_validate({"files": (str(folder / "book.txt"),), **data})
    return prepare(
        "language_model", folder / "data", data=config, tokenizer=TokenizerConfig(unit=unit, normalize=False)
    )


# --- text to ids and back ---


@pytest.mark.parametrize("unit", ["subwords", "characters"])
def test_a_text_comes_back_exactly(unit: Unit) -> None:
    for text in (QUIXOTE, QUIXOTE[5:], QUIXOTE[:-1], "\n\nlugar", " no", "  no", "\n no\n\n  no\n", ""):
        assert UNITS[unit].text_of(UNITS[unit].read(text)) == text


@any_text
@given(st.lists(st.one_of(st.sampled_from(" \n\r\t\u2028añ漢👶<s>"), CHARACTER), max_size=60).map("".join))
def test_subwords_spell_any_text(text: str) -> None:
    assert UNITS["subwords"].text_of(UNITS["subwords"].read(text)) == text


def test_a_word_is_the_same_subword_at_the_beginning_of_a_line() -> None:
    subwords = UNITS["subwords"]
    ids = subwords.read("lugar lugar\nlugar lugar\n")
    half = len(ids) // 2
    assert ids[:half] == ids[half:]
    assert ids[0] == ids[1] == subwords.read("lugar")[0]


@pytest.mark.parametrize("unit", ["words", "symbols"])
def test_each_line_is_a_sequence(unit: Unit) -> None:
    ids = UNITS[unit].read("lugar  de la\n\nno quiero")
    assert [id == EOS for id in ids] == [False] * 3 + [True, True] + [False] * 2
    assert UNITS[unit].text_of(ids) == "lugar de la\n\nno quiero"
    assert UNITS[unit].text_of([*ids, EOS]) == "lugar de la\n\nno quiero\n"


def test_notes_are_symbols() -> None:
    notes = codec("symbols", "C4 E4 G4\nC#5 R/2 <s>\n")
    assert notes.text_of(notes.read("C4 R/2 C#5\nG4\n")) == "C4 R/2 C#5\nG4\n"
    assert notes.unknown("C4 H9 H9 E4\nX\n") == ["H9", "X"]


def test_what_is_unknown() -> None:
    assert UNITS["characters"].unknown("lugar ß de\nßœ") == ["ß", "œ"]
    assert UNITS["subwords"].unknown("ß") == []
    assert UNITS["characters"].text_of(UNITS["characters"].read("aßa")) == "a�a"


def test_a_text_opens_behind_a_line_end() -> None:
    assert UNITS["words"].opening == [BOS, EOS]
    newline = UNITS["characters"].read("\n")
    assert UNITS["characters"].opening == [BOS, *newline]
    assert UNITS["subwords"].opening == [BOS, *UNITS["subwords"].read("\n")]
    assert codec("characters", "abc" * 100).opening == [BOS]  # it has never seen a line end


# --- writing ---


@any_text
@given(unit=st.sampled_from(list(UNITS)), seed=st.integers(0, 2**20), size=st.integers(0, 25))
def test_a_stream_decoder_writes_what_the_ids_spell(unit: Unit, seed: int, size: int) -> None:
    spell = UNITS[unit]
    ids = np.random.default_rng(seed).integers(EOS if spell.sequences else UNK, spell.tokenizer.size, size).tolist()
    before = ids[: size // 3]
    if spell.text_of(before).endswith("�"):  # half a character before it begins is not its concern
        before = []
    decoder = StreamDecoder(spell, [BOS, *before])
    written = [decoder.write(id) for id in ids[len(before) :]]
    assert spell.text_of(before) + "".join(written) + decoder.end() == spell.text_of(ids)


def test_a_stream_decoder_holds_back_half_a_character() -> None:
    bytes_only = codec("subwords", "aaa\n", 300)  # no merges to speak of: 👶 is four units
    ids = bytes_only.read("a👶ñ")
    decoder = StreamDecoder(bytes_only, [])
    assert [piece for piece in map(decoder.write, ids) if piece] in (["a", "👶", "ñ"], ["", "a", "👶", "ñ"])
    assert decoder.end() == ""
    decoder = StreamDecoder(bytes_only, [])
    assert "".join(map(decoder.write, ids[:-1])) == "a👶"
    assert decoder.end() == "�"


# --- reading ---


def test_lines_of_several_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.gz"
    one.write_bytes("\ufeffuno\r\ndos\u2028\n\ntres".encode())
    two.write_bytes(gzip.compress(b"four\nfive"))
    assert list(read_lines([str(one), str(two)])) == ["uno\n", "dos\u2028\n", "\n", "tres\n", "four\n", "five"]


def test_lines_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"good\nni\xf1o\nfine\n")
    assert list(read_lines([str(path)], True)) == ["good\n", "fine\n"]
    assert [record.line for record in open_texts([str(path)], True) if record.problem == "invalid_bytes"] == [2]
    with pytest.raises(DataError, match=r"mixed.txt, line 2: not UTF-8"):
        list(read_lines([str(path)]))


# --- splitting ---


@any_text
@given(
    st.lists(st.text("ab \n", min_size=0, max_size=30), min_size=1, max_size=40).map(lambda p: "\n".join(p) + "\n"),
    st.floats(0.01, 0.99),
)
def test_the_cut_is_near_and_at_a_line_end_if_one_is(text: str, share: float) -> None:
    held = round(share * len(text))
    cut = find_cut(lines_of(text), len(text), share)
    assert abs(cut - (len(text) - held)) <= held / 2
    ends = [place for place in range(1, len(text)) if text[place - 1] == "\n"]
    if any(abs(place - (len(text) - held)) <= held / 2 for place in ends):
        assert cut in ends
        assert abs(cut - (len(text) - held)) == min(abs(place - (len(text) - held)) for place in ends)


def test_a_text_of_one_line_is_cut_between_words_or_anywhere() -> None:
    words = "hola mundo " * 100
    cut = find_cut([words], len(words), 0.1)
    assert words[cut - 1] == " "
    assert abs(cut - 990) <= 11
    assert find_cut(["x" * 1000], 1000, 0.1) == 900
    assert find_cut(["x" * 20_000_000], 20_000_000, 0.5) == 20_000_000 - texts.MAX_DEV


@pytest.mark.parametrize("unit", ["characters", "subwords"])
@pytest.mark.parametrize("text", [QUIXOTE, "abcabcabd" * 100], ids=["lines", "one line"])
def test_training_and_dev_are_the_text_and_the_stream_is_training(tmp_path: Path, unit: Unit, text: str) -> None:
    found = prepared(tmp_path, text, unit, hold_out=0.2)
    dev = "".join(found.dev)
    assert text.endswith(dev)
    assert 0.1 <= len(dev) / len(text) <= 0.3
    spell, ids = TextCodec(found.preprocessor.tokenizer), found.store.ids.tolist()
    assert ids[0] == BOS
    assert BOS not in ids[1:]
    assert spell.text_of(ids[1:]) + dev == text
    report = found.about
    assert (report.characters, report.dev_characters) == (len(text) - len(dev), len(dev))
    assert report.tokens == len(ids) - 1 == found.preprocessor.counts.sum()
    assert found.preprocessor.counts[spell.read("a")[0]] == ids.count(spell.read("a")[0])
    assert report.dev_tokens == len(spell.read(dev))
    assert report.held_out


def test_words_of_lines(tmp_path: Path) -> None:
    found = prepared(tmp_path, QUIXOTE, "words")
    ids = found.store.ids.tolist()
    assert ids.count(EOS) == report_lines(found) == found.preprocessor.counts[EOS]
    assert found.about.words == len(QUIXOTE.split()) - len("".join(found.dev).split())


def report_lines(found: Prepared) -> int:
    assert found.about.lines == QUIXOTE.count("\n") - len(found.dev)
    return found.about.lines


def test_a_dev_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dev.txt").write_text("uno dos\ntres\ncuatro")
    found = prepared(tmp_path, QUIXOTE, dev=(str(tmp_path / "dev.txt"),))
    assert found.dev == ["uno dos\n", "tres\n", "cuatro"]
    assert found.about.characters == len(QUIXOTE)
    assert not found.about.held_out
    assert found.about.notes == []
    monkeypatch.setattr(texts, "MAX_DEV", 10)
    (tmp_path / "data" / "prepared.json").unlink()
    found = prepared(tmp_path, QUIXOTE, dev=(str(tmp_path / "dev.txt"),))
    assert found.dev == ["uno dos\n", "tr"]
    assert "first 10 characters" in found.about.notes[0]


def test_what_is_prepared_is_opened_again(tmp_path: Path) -> None:
    first = prepared(tmp_path, QUIXOTE)
    (tmp_path / "book.txt").unlink()
    config = TextConfig(files=(str(tmp_path / "book.txt"),))
    again = prepare("language_model", tmp_path / "data", data=config, tokenizer=TokenizerConfig(unit="characters"))
    assert again.about == first.about
    assert again.dev == first.dev
    assert again.preprocessor.counts.tolist() == first.preprocessor.counts.tolist()
    assert isinstance(again.store, Stream)
    assert again.store.fingerprint == first.store.fingerprint


def test_lines_left_out_are_listed(tmp_path: Path) -> None:
    found = prepared(tmp_path, QUIXOTE.encode() + b"\xff\xfe broken\n" + QUIXOTE.encode(), invalid_bytes="drop")
    place = QUIXOTE.count("\n") + 1
    assert sum(found.about.excluded.values()) == 1
    listed = (tmp_path / "data" / "excluded.tsv").read_text().split("\t")
    assert listed[:2] == [str(tmp_path / "book.txt"), str(place)]
    assert TextCodec(found.preprocessor.tokenizer).text_of(found.store.ids.tolist()) + "".join(found.dev) == 2 * QUIXOTE


def test_the_units_of_a_base_are_kept(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(QUIXOTE)
    base = UNITS["words"].tokenizer
    config = TextConfig(files=(str(tmp_path / "book.txt"),))
    units = TokenizerConfig(unit="words")
    known = LanguageModelPreprocessor(UNITS["words"], np.zeros(base.size, np.int64))
    found = prepare("language_model", tmp_path / "data", data=config, tokenizer=units, base=known)
    assert found.preprocessor.tokenizer.to_json() == base.to_json()


# --- faults ---


def test_too_little(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"book.txt: 0 characters in 0 lines; training needs at least 200"):
        prepared(tmp_path, "")
    with pytest.raises(DataError, match=r"12 characters in 2 lines"):
        prepared(tmp_path, "hola\nmundo!\n")
    with pytest.raises(DataError, match=r"the dev set has 2 characters and 1 tokens.*hold_out"):
        prepared(tmp_path, "x" * 200 + "yy", "symbols", hold_out=0.01)


def test_damaged_counts() -> None:
    files = LanguageModelPreprocessor(UNITS["words"], np.arange(UNITS["words"].tokenizer.size)).files()
    assert LanguageModelPreprocessor.read(files, Path()).counts.tolist() == json.loads(files["counts.json"])
    for content in (
        b"",
        b"{}",
        files["counts.json"].replace(b"[0, ", b"["),
        files["counts.json"].replace(b"[0, ", b"[-3, "),
        files["counts.json"].replace(b"[0, ", b'["a", '),
        files["counts.json"].replace(b"[0, ", b"[99999999999999999999, "),
        files["counts.json"].replace(b"[0, ", b"[[0], "),
    ):
        with pytest.raises(BundleError, match=r"counts\.json"):
            LanguageModelPreprocessor.read({**files, "counts.json": content}, Path())


def test_dev_lines_as_json() -> None:
    dev = lines_of('a "quoted"\u2028 line\n\n\\n\nlast')
    assert LanguageModelData.load(LanguageModelData.dump(dev)) == dev
    assert [json.loads(line) for line in LanguageModelData.dump(dev).split("\n")[:-1]] == dev
