"""Published text classifiers and taggers become bundles for these tasks, with the same predictions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import mirada
from mirada.errors import DataError
from mirada.exchange import import_checkpoint, read_checkpoint
from tests.command import run
from tests.exchange.checkpoints import WORDS, save_bert

CLASSES, TAGS = "BertForSequenceClassification", "BertForTokenClassification"
NAMED = {0: "negative", 1: "neutral", 2: "positive"}
ENTITIES = {0: "O", 1: "B-PER", 2: "I-PER"}
TEXTS = ["the baby is crying!", "", "a", "books on the TABLE, the tables are 日 zz", "the baby's crying. " * 3]


def saved(folder: Path, kind: str, names: dict[int, str], **choices: Any) -> Any:
    """A checkpoint whose choices are clear and differ: its weights are large."""
    theirs = save_bert(folder, kind, id2label=names, label2id={name: id for id, name in names.items()}, **choices)
    with torch.no_grad():
        for name, weights in theirs.named_parameters():
            if weights.ndim > 1 and "position" not in name:
                weights.mul_(5)
    theirs.save_pretrained(folder)
    return theirs


def configure(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def theirs_ids(text: str) -> Tensor:
    """[CLS] text [SEP] as the tokenizer of `transformers` has it."""
    from transformers import BertTokenizer

    return torch.tensor([BertTokenizer(vocab={word: id for id, word in enumerate(WORDS)})(text)["input_ids"]])


# --- classes of texts ---


def test_text_classification_matches_transformers(tmp_path: Path) -> None:
    theirs = saved(tmp_path / "published", CLASSES, NAMED)
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    model = mirada.load(tmp_path / "bundle", device="cpu")
    assert model.labels == ["negative", "neutral", "positive"]
    expected = [theirs(input_ids=theirs_ids(text)).logits.softmax(-1)[0].tolist() for text in TEXTS]
    assert len({row.index(max(row)) for row in expected}) > 1
    for found in (model.classify(TEXTS), [model.classify(text) for text in TEXTS]):
        for answer, row in zip(found, expected, strict=True):
            assert [answer.probabilities[name] for name in model.labels] == pytest.approx(row, abs=1e-5)
    assert model.card["imported"]["notes"] == model.card["imported"]["untrained"] == []
    done = run("classify", tmp_path / "bundle", *[text for text in TEXTS if text], "--threads", 1)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [
        NAMED[row.index(max(row))] for text, row in zip(TEXTS, expected, strict=True) if text
    ]


def test_a_text_as_long_as_the_model_takes_is_read_whole(tmp_path: Path) -> None:
    theirs = saved(tmp_path / "published", CLASSES, NAMED)
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    model = mirada.load(tmp_path / "bundle", device="cpu")
    words = [random.Random(1).choice(["the", "baby", "is", "on"]) for _ in range(40)]
    for count, cut in ((30, 0), (40, 10)):
        found = model.classify(" ".join(words[:count]))
        row = theirs(input_ids=theirs_ids(" ".join(words[:30]))).logits.softmax(-1)[0]
        assert found.probabilities["neutral"] == pytest.approx(row[1].item(), abs=1e-5)
        assert found.cut == cut


def taught(folder: Path, data: str) -> Any:
    """The bundle in a folder, after two more steps."""
    options = ("--base", folder / "bundle", "--steps", 2, "--threads", 1, "--out", folder / "out")
    done = run("train", folder / data, *options)
    assert done.returncode == 0, done.stderr
    return mirada.load(folder / "out")


def test_a_classifier_can_be_fine_tuned(tmp_path: Path) -> None:
    saved(tmp_path / "published", CLASSES, {0: "bad", 1: "good"})
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    chance = random.Random(1)
    texts = dict.fromkeys(" ".join(chance.choice(WORDS[6:16]) for _ in range(6)) for _ in range(40))
    rows = "".join(f"{text}\t{'good' if 'baby' in text else 'bad'}\n" for text in texts)
    (tmp_path / "reviews.tsv").write_text(f"text\tlabel\n{rows}")
    assert taught(tmp_path, "reviews.tsv").labels == ["bad", "good"]
    assert run("evaluate", tmp_path / "bundle", tmp_path / "reviews.tsv", "--threads", 1).returncode == 0


# --- tags of words ---


@pytest.mark.parametrize("pooler", [False, True])
def test_tagging_matches_transformers(tmp_path: Path, pooler: bool) -> None:
    theirs = saved(tmp_path / "published", TAGS, ENTITIES)
    if pooler:  # as older checkpoints have it
        weights = load_file(tmp_path / "published/model.safetensors")
        more = {"bert.pooler.dense.weight": torch.ones(12, 12), "bert.pooler.dense.bias": torch.ones(12)}
        save_file({**weights, **more}, tmp_path / "published/model.safetensors")
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    model = mirada.load(tmp_path / "bundle", device="cpu")
    assert model.labels == ["O", "B-PER", "I-PER"]
    assert model.card["imported"]["untrained"] == ([] if pooler else ["pooler"])
    # Words, and which of their pieces (after [CLS]) is a word's first one.
    texts = {
        "the baby is crying": [0, 1, 2, 3],
        "tables, books!": [0, 2, 3, 5],
        "the baby doesn't on bab": [0, 1, 2, 5, 6],
    }
    seen = set()
    for found in (model.tag(list(texts)), [model.tag(text) for text in texts]):
        for words, (text, places) in zip(found, texts.items(), strict=True):
            logits = theirs(input_ids=theirs_ids(text)).logits[0, 1:-1]
            rows = logits[places].softmax(-1)
            assert [word.tag for word in words] == [ENTITIES[int(place)] for place in rows.argmax(-1)]
            assert [word.probability for word in words] == pytest.approx(rows.max(-1).values.tolist(), abs=1e-5)
            seen |= {word.tag for word in words}
    assert len(seen) > 1
    done = run("tag", tmp_path / "bundle", "the baby", "--threads", 1)
    assert done.stdout == "".join(f"{word.word}\t{word.tag}\n" for word in model.tag("the baby")) + "\n"


def test_a_tagger_can_be_fine_tuned(tmp_path: Path) -> None:
    saved(tmp_path / "published", TAGS, ENTITIES)
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    chance = random.Random(1)
    sentences = dict.fromkeys(tuple(chance.choice(WORDS[6:16]) for _ in range(6)) for _ in range(40))
    tagged = ("".join(f"{w}\t{'B-PER' if w == 'baby' else 'O'}\n" for w in words) for words in sentences)
    (tmp_path / "tagged.conll").write_text("\n".join(tagged))
    assert taught(tmp_path, "tagged.conll").labels == ["O", "B-PER", "I-PER"]
    assert run("evaluate", tmp_path / "bundle", tmp_path / "tagged.conll", "--threads", 1).returncode == 0


# --- names ---


def test_without_names_classes_have_numbers(tmp_path: Path) -> None:
    saved(tmp_path, CLASSES, {0: "a", 1: "b", 2: "c"})
    configure(tmp_path, id2label=None)
    assert read_checkpoint(tmp_path).preprocessor.labels == ["LABEL_0", "LABEL_1", "LABEL_2"]
    configure(tmp_path, id2label={"2": "x", "0": "y", "1": "x"})
    assert read_checkpoint(tmp_path).preprocessor.labels == ["y", "x (1)", "x (2)"]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (CLASSES, {"problem_type": "multi_label_classification"}, "problem_type='multi_label_classification' is not"),
        (CLASSES, {"problem_type": "regression"}, "problem_type='regression' is not"),
        (
            CLASSES,
            {"id2label": {"0": "a", "1": "b"}},
            "should name the classes 0 to 2 of classifier.weight, not 2 names",
        ),
        (CLASSES, {"id2label": {"1": "a", "2": "b", "3": "c"}}, "should name the classes 0 to 2"),
        (CLASSES, {"id2label": ["a", "b", "c"]}, "should name the classes 0 to 2"),
        (CLASSES, {"id2label": None, "num_labels": 5}, "classifier.weight has 3 rows; config.json has num_labels=5"),
        (CLASSES, {"architectures": ["BertForMultipleChoice"]}, "architectures=['BertForMultipleChoice']"),
        (CLASSES, {"architectures": None}, "architectures=None"),
        (CLASSES, {"architectures": [["x"], {}]}, "architectures=[['x'], {}]"),
        (TAGS, {"id2label": {"0": "O"}}, "should name the classes 0 to 2"),
    ],
)
def test_unsupported_settings_are_refused(tmp_path: Path, kind: str, change: dict[str, Any], message: str) -> None:
    saved(tmp_path, kind, NAMED)
    configure(tmp_path, **change)
    with pytest.raises(DataError) as caught:
        read_checkpoint(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "spoil", "message"),
    [
        (CLASSES, {"bert.pooler.dense.weight": None, "bert.pooler.dense.bias": None}, "has no pooler.dense.weight"),
        (CLASSES, {"bert.pooler.dense.bias": None}, "has no bert.pooler.dense.bias"),
        (
            CLASSES,
            {"classifier.weight": None},
            "which BertForSequenceClassification requires",
        ),
        (CLASSES, {"classifier.bias": None}, "has no classifier.bias"),
        (CLASSES, {"classifier.weight": torch.ones(3, 11)}, "classifier.weight has the shape [3, 11]"),
        (CLASSES, {"classifier.weight": torch.ones(1, 12)}, "classifier.weight has one row"),
        (TAGS, {"classifier.weight": None}, "which BertForTokenClassification requires"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    tmp_path: Path, kind: str, spoil: dict[str, Tensor | None], message: str
) -> None:
    saved(tmp_path, kind, NAMED)
    weights = {**load_file(tmp_path / "model.safetensors"), **spoil}
    save_file({name: tensor for name, tensor in weights.items() if tensor is not None}, tmp_path / "model.safetensors")
    with pytest.raises(DataError) as caught:
        read_checkpoint(tmp_path)
    assert message in str(caught.value)
