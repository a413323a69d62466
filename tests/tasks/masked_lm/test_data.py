"""Documents with gaps: what is hidden, how often, and that an epoch is the same whenever it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada.contracts import EOS
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import DataError
from mirada.tasks.masked_lm.data import DOES_NOT, FOLLOWS, DocumentsConfig, MaskedBatches, documents
from tests.preparing import prepare
from tests.traced import MODELS

WORDS = [f"w{number}" for number in range(200)]
TOKENIZER = Tokenizer.learn([" ".join(WORDS)], 300, "words", mask=True)


def batches(lengths: list[int], **settings: Any) -> MaskedBatches:
    """Documents whose words count up from where the last one ended, so that what follows can be told."""
    offsets = np.cumsum([0, *lengths])
    ids = 10 + np.arange(offsets[-1]) % 180
    config = DocumentsConfig(files=("x",), **{"length": 32, **settings})
    return MaskedBatches(ids, offsets, TOKENIZER, config, budget=320, seed=3)


def test_a_blank_line_stands_between_documents(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\nEl perro duerme.\nEl gato no.\n\n  \nOtro texto.\r\n", encoding="utf-8")
    assert [(record.fields, record.line) for record in documents(str(path))] == [
        (("El perro duerme. El gato no.",), 3),
        (("Otro texto.",), 7),
    ]


def test_a_test_set_is_read_as_the_training_data_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "test.txt"
    path.write_bytes(b"El ni\xf1o duerme.\n")
    model = MODELS["bert"][0]()
    monkeypatch.setattr(model, "score", list)
    model.config["data"] = {"invalid_bytes": "refuse"}
    with pytest.raises(DataError, match="line 1: not UTF-8"):
        model.evaluate(path)
    model.config["data"] = {"invalid_bytes": "drop"}
    assert model.evaluate(path) == ["El ni\ufffdo duerme."]


def test_fifteen_in_a_hundred_words_are_hidden_as_published() -> None:
    plan = batches([900] * 60)
    hidden = masked = kept = words = 0
    for rows in plan.epoch(0):
        batch = plan.load(rows)
        assert batch.truth is not None
        truth, inputs = batch.truth[:, 1:], batch.inputs
        gaps = truth.ne(0)
        words += int((batch.mask & (inputs != EOS)).sum())
        hidden += int(gaps.sum())
        masked += int(inputs[gaps].eq(TOKENIZER.mask or 0).sum())
        kept += int((inputs[gaps] == truth[gaps]).sum())
        assert not (gaps & ~batch.mask).any()
        assert int(gaps.sum()) == round(0.15 * int((batch.mask & (inputs != EOS)).sum()))
    assert hidden / words == pytest.approx(0.15, abs=0.01)
    assert masked / hidden == pytest.approx(0.8, abs=0.02)
    assert kept / hidden == pytest.approx(0.1, abs=0.02)


def test_spans_follow_each_other_half_of_the_time_and_are_marked() -> None:
    plan = batches([300] * 40, hidden=1e-9)
    answers = []
    for rows in plan.epoch(1):
        batch = plan.load(rows)
        assert batch.truth is not None
        assert batch.segments is not None
        for ids, segment, length, truth in zip(
            batch.inputs.tolist(),
            batch.segments.tolist(),
            batch.lengths.tolist(),
            batch.truth[:, 0].tolist(),
            strict=True,
        ):
            cut = ids.index(EOS)
            a, b = ids[:cut], ids[cut + 1 : length - 1]
            assert ids[length - 1] == EOS
            assert segment[: cut + 1] == [0] * (cut + 1)
            assert segment[cut + 1 : length] == [1] * (length - cut - 1)
            if truth == FOLLOWS:
                assert b[0] == 10 + (a[-1] - 9) % 180
            answers.append(truth)
    assert set(answers) == {FOLLOWS, DOES_NOT}
    assert answers.count(FOLLOWS) / len(answers) == pytest.approx(0.5, abs=0.06)
    alone = batches([300] * 40, next_sentence=False)
    unasked = alone.load(alone.epoch(0)[0]).truth
    assert unasked is not None
    assert set(unasked[:, 0].tolist()) == {0}


def test_a_span_that_does_not_follow_is_from_another_document() -> None:
    lengths = [20, 3000, 50, 700]  # most windows are of one document
    plan, ends = batches(lengths), np.cumsum(lengths)
    rows = np.concatenate(plan.epoch(0))
    a, b = np.searchsorted(ends, rows[:, 0], "right"), np.searchsorted(ends, rows[:, 2], "right")
    assert set(a[rows[:, 4] == DOES_NOT]) == {0, 1, 2, 3} == set(b[rows[:, 4] == DOES_NOT])
    assert (a != b)[rows[:, 4] == DOES_NOT].all()
    assert (a == b)[rows[:, 4] == FOLLOWS].all()


def test_nothing_is_asked_where_there_is_no_other_document() -> None:
    plan = batches([900, 2])
    assert set(np.concatenate(plan.epoch(0))[:, 4]) == {0}


def test_an_epoch_is_the_same_again_and_another_one_differs() -> None:
    first, again = batches([200, 90, 5, 40]), batches([200, 90, 5, 40])
    for one, two in zip(first.epoch(2), again.epoch(2), strict=True):
        np.testing.assert_array_equal(one, two)
        assert first.load(one).inputs.equal(again.load(two).inputs)
    assert sum(map(len, first.epoch(2))) > 0
    assert not np.array_equal(np.concatenate(first.epoch(2)), np.concatenate(first.epoch(3)))
    assert 0 <= first.padding() < 0.5


def test_every_word_is_read_in_every_epoch() -> None:
    plan = batches([400, 33, 64], next_sentence=False, length=34)
    seen = np.zeros(497, dtype=int)
    for begin, _, _, end, _, _ in np.concatenate(plan.epoch(0)):
        seen[begin:end] += 1
    assert seen.max() == 1
    assert seen.sum() >= 497 - 3 * 4 * 2  # but for ends too short to hide anything in


def test_data_that_nothing_can_be_learned_from_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("una sola línea", encoding="utf-8")
    with pytest.raises(DataError, match="has 1 document; masked modelling needs at least two"):
        prepare("masked_lm", tmp_path / "data", data=DocumentsConfig(files=(str(path),)), tokenizer=TokenizerConfig())


def test_no_document_is_on_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n\n".join(f"documento número {n} de la lista" for n in range(60)), encoding="utf-8")
    data = DocumentsConfig(files=(str(path),), hold_out=0.2)
    prepared = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig(unit="words"))
    assert (prepared.about.training, prepared.about.dev) == (48, 12)
    again = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig(unit="words"))
    assert again.dev == prepared.dev
    assert again.preprocessor.tokenizer.mask == prepared.preprocessor.tokenizer.mask == 4


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    path, dev = tmp_path / "many.txt", tmp_path / "dev.txt"
    texts = ["uno dos tres cuatro cinco", "seis siete ocho nueve diez", "no", "once doce trece catorce"]
    path.write_text("\n\n".join([*texts, texts[0]]), encoding="utf-8")
    dev.write_text(f"{texts[3]}\n\nquince dieciséis diecisiete", encoding="utf-8")
    data = DocumentsConfig(files=(str(path),), dev=(str(dev),))
    prepared = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig(unit="words"))
    assert (prepared.about.training, prepared.about.dev) == (2, 2)
    assert prepared.about.excluded == {
        "too_few_tokens": 1,
        "in_dev": 1,
        "duplicate": 1,
    }
    listed = (tmp_path / "data" / "excluded.tsv").read_text(encoding="utf-8").splitlines()
    assert sorted(tuple(line.split("\t")[:2]) for line in listed) == [
        (str(path), "5"),
        (str(path), "7"),
        (str(path), "9"),
    ]


def test_what_is_held_out_can_be_measured_with(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n\n".join([*(f"palabra {n}" for n in range(300)), "uno dos tres cuatro cinco"]), encoding="utf-8")
    data = DocumentsConfig(files=(str(path),))
    prepared = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig(unit="characters"))
    assert prepared.dev == ["uno dos tres cuatro cinco"]


def test_a_large_dev_part_is_cut_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirada.tasks.masked_lm.data.MAX_DEV_CHARACTERS", 50)
    path = tmp_path / "many.txt"
    path.write_text("\n\n".join(f"el documento número {n} es este" for n in range(100)), encoding="utf-8")
    data = DocumentsConfig(files=(str(path),), hold_out=0.1)
    prepared = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig(unit="words"))
    assert (prepared.about.training, len(prepared.dev)) == (90, 2)
    assert prepared.about.notes == ["2 documents (60 characters) of the dev set are used for evaluation, 8 are not"]


def test_bytes_that_are_no_utf8_are_refused_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_bytes(b"uno dos tres cuatro\n\ncaf\xe9 seis siete ocho\n\nnueve diez once doce")
    with pytest.raises(DataError, match=r"many.txt, line 3: not UTF-8"):
        prepare("masked_lm", tmp_path / "data", data=DocumentsConfig(files=(str(path),)), tokenizer=TokenizerConfig())
    data = DocumentsConfig(files=(str(path),), invalid_bytes="drop")
    prepared = prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig())
    assert prepared.about.findings == {"replaced_bytes": 1}


def test_a_dev_part_without_documents_is_refused(tmp_path: Path) -> None:
    path, dev = tmp_path / "many.txt", tmp_path / "dev.txt"
    path.write_text("uno dos tres cuatro\n\ncinco seis siete ocho", encoding="utf-8")
    dev.write_text("\n\n", encoding="utf-8")
    data = DocumentsConfig(files=(str(path),), dev=(str(dev),))
    with pytest.raises(DataError, match=r"dev.txt: has no documents to evaluate with"):
        prepare("masked_lm", tmp_path / "data", data=data, tokenizer=TokenizerConfig())


def test_another_word_is_never_a_special_one() -> None:
    plan = batches([900] * 60, hidden=0.5)
    special = TOKENIZER.mask or 0
    inputs = np.concatenate([plan.load(rows).inputs.flatten().numpy() for rows in plan.epoch(0)])
    assert set(inputs[inputs <= special].tolist()) == {0, EOS, special}  # padding, ends and gaps
