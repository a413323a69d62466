"""Imported models are fine-tuned with the command line: for the same task on new data, or for another task."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mirada
from mirada.exchange import import_checkpoint
from tests.command import refused, run
from tests.exchange.checkpoints import save_bert, save_gpt2, save_marian, save_vit

ENGLISH = ["the", "baby", "is", "crying", "book", "on", "tables", "a", "b", "y"]
SPANISH = {"el": "the", "bebé": "baby", "llora": "cries"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles of published models, and data for fine-tuning."""
    found, chance = tmp_path_factory.mktemp("fine-tuning"), random.Random(1)
    save_gpt2(found / "gpt2-published")
    save_bert(found / "bert-published")
    save_bert(found / "minilm-published", "BertModel")
    save_marian(found / "marian-published")
    for name in ("gpt2", "bert", "minilm", "marian"):
        import_checkpoint(found / f"{name}-published", found / name)

    def sentence() -> str:
        return " ".join(chance.choice(ENGLISH) for _ in range(6))

    texts = dict.fromkeys(sentence() for _ in range(60))
    with (found / "reviews.csv").open("w", newline="") as out:
        labels = ("good" if "baby" in text else "bad" for text in texts)
        csv.writer(out).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    tagged = ("".join(f"{word}\t{'N' if len(word) > 3 else 'X'}\n" for word in text.split()) for text in texts)
    (found / "tagged.conll").write_text("\n".join(tagged))
    (found / "book.txt").write_text("\n\n".join(". ".join(sentence() for _ in range(3)) for _ in range(20)))
    pairs = dict.fromkeys(tuple(chance.choice(list(SPANISH)) for _ in range(chance.randint(1, 8))) for _ in range(60))
    lines = (f"{' '.join(words)}\t{' '.join(SPANISH[word] for word in words)}\n" for words in pairs)
    (found / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return found


def fine_tune(folder: Path, base: str, text: str, task: str, out: Path, **settings: Any) -> Any:
    """Fine-tune for two steps with a tiny learning rate; the weights stay the base's. Returns the model and stderr."""
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key.replace('_', '.', 1)}={value}")]
    options = ["--task", task, "--base", folder / base, "--steps", 2, "--threads", 1, "--set", "train.lr=1e-7"]
    done = run("train", folder / text, *options, *chosen, "--out", out)
    assert done.returncode == 0, done.stderr
    return mirada.load(out), done.stderr


@pytest.mark.parametrize("base", ["gpt2", "bert", "minilm"])
def test_for_tagging(base: str, folder: Path, tmp_path: Path) -> None:
    model, _ = fine_tune(folder, base, "tagged.conll", "tagging", tmp_path / "out")
    assert [word for word, *_ in model.tag("the baby is on tables")] == ["the", "baby", "is", "on", "tables"]
    assert model.config["train"]["batch_tokens"] == 500  # by the data
    old, new = mirada.load(folder / base).network.state_dict(), model.network.state_dict()
    torch.testing.assert_close(new["embedding.weight"], old["embedding.weight"], atol=1e-5, rtol=0)


@pytest.mark.parametrize("base", ["gpt2", "bert", "minilm"])
def test_for_classification(base: str, folder: Path, tmp_path: Path) -> None:
    model, _ = fine_tune(folder, base, "reviews.csv", "classification", tmp_path / "out")
    assert model.classify("the baby").label in ("good", "bad")
    assert model.config["data"]["max_tokens"] == model.config["model"]["max_length"] - 2
    old, new = mirada.load(folder / base).network.state_dict(), model.network.state_dict()
    shared = [name for name in new if name in old and new[name].shape == old[name].shape]
    assert len(shared) > 20
    for name in shared:
        torch.testing.assert_close(new[name], old[name], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("base", "text", "task", "length"),
    [
        ("gpt2", "book.txt", "language_model", {"length": 24}),
        ("bert", "book.txt", "masked_lm", {"length": 30}),
        ("marian", "pairs.tsv", "translation", {"max_tokens": 37}),
    ],
)
def test_for_the_same_task(
    base: str, text: str, task: str, length: dict[str, int], folder: Path, tmp_path: Path
) -> None:
    model, _ = fine_tune(folder, base, text, task, tmp_path / "out")
    assert length.items() <= model.config["data"].items()  # what the base takes, which is less than usual
    scores = model.card["base"]
    assert set(scores["before"]) == {"new"}  # the dev set of the base is not known
    name, value = next(iter(scores["before"]["new"].items()))
    assert scores["after"]["new"][name] == pytest.approx(value, rel=0.02)
    use = {"language_model": "The baby", "masked_lm": "the [MASK]", "translation": "el bebé"}[task]
    verb = {"language_model": "generate", "masked_lm": "fill", "translation": "translate"}[task]
    done = run(verb, tmp_path / "out", use, *(["--tokens", 3] if task == "language_model" else []), "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert mirada.load(folder / base).preprocessor.files().keys() == model.preprocessor.files().keys()


def test_a_fine_tuned_gpt2_reads_the_text_unsplit(folder: Path, tmp_path: Path) -> None:
    model, _ = fine_tune(folder, "gpt2", "book.txt", "language_model", tmp_path / "out")
    stream = torch.from_numpy(_stream(tmp_path / "out"))
    text = (folder / "book.txt").read_text()[: model.card["data"]["characters"]]
    assert stream.tolist() == [1, *model.preprocessor.tokenizer.encode([text])[0]]
    assert model.config["tokenizer"]["unit"] == "subwords"


def _stream(out: Path) -> Any:
    from mirada.data.stream import Stream

    return Stream(out / "run" / "data" / "stream").ids.astype("int64")


def test_lengths_are_those_of_the_base_unless_set(folder: Path, tmp_path: Path) -> None:
    model, _ = fine_tune(folder, "bert", "book.txt", "masked_lm", tmp_path / "short", data_length=20)
    assert model.config["data"]["length"] == 20
    said = refused(
        "train",
        folder / "book.txt",
        "--base",
        folder / "bert",
        "--set",
        "data.length=40",
        "--out",
        tmp_path / "x",
        code=2,
    )
    assert "data.length=40: the model takes 31; lower it, or --set model.max_length=41" in said
    assert f"{folder / 'marian'} is for translation" in refused(
        "train",
        folder / "reviews.csv",
        "--task",
        "classification",
        "--base",
        folder / "marian",
        "--out",
        tmp_path / "x",
        code=2,
    )


def test_an_imported_marian_learns(folder: Path, tmp_path: Path) -> None:
    losses: list[float] = []
    mirada.train(
        folder / "pairs.tsv",
        base=folder / "marian",
        out=tmp_path / "out",
        steps=30,
        settings={"train": {"threads": 1, "batch_tokens": 600, "lr": 0.02, "validate_every": 1000}},
        listen=lambda event: losses.append(event.figures["loss"]) if "loss" in event.figures else None,
    )
    assert losses[-1] < losses[0] - 0.5


def test_for_other_image_classes(tmp_path: Path) -> None:
    save_vit(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "vit")
    pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=pixels, labels=["red", "blue"] * 20)
    model, said = fine_tune(tmp_path, "vit", "images.npz", "classification", tmp_path / "out")
    assert "'blue', 'red'" in said
    assert model.labels == ["blue", "red"]
    base = mirada.load(tmp_path / "vit", device="cpu").network
    torch.testing.assert_close(model.network.patches.linear.weight, base.patches.linear.weight, atol=1e-5, rtol=0)
