"""Bundles: equal weights give equal bytes, and what does not fit is refused by name."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest
import torch

import mirada
from mirada import bundle
from mirada.contracts import Sizes
from mirada.errors import BundleError
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.tasks.translation.model import TranslationModel
from tests.killing import kills

TINY = TransformerConfig(width=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=8)


def model(seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(TINY, Sizes(20, 20))


def test_equal_weights_equal_bytes(tmp_path: Path, trained: TranslationModel) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        bundle.write(tmp_path / name, model(1), {"x": name}, {"note": name}, trained.preprocessor.files())
    contents = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert contents[0] == contents[1]


def test_weights_go_from_model_to_model() -> None:
    first, second = model(1), model(2)
    bundle.put_weights(second, bundle.weights_of(first), "here")
    for expected, got in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(expected, got)


def test_tied_weights_are_stored_once() -> None:
    assert sum(tensor.numel() for tensor in bundle.weights_of(model(1)).values()) == sum(
        parameter.numel() for parameter in model(1).parameters()
    )


def test_weights_that_do_not_fit_are_named() -> None:
    weights = bundle.weights_of(model(1))
    name = "encoder.layers.0.feed_forward.inner.weight"
    with pytest.raises(BundleError, match=name):
        bundle.put_weights(model(1), {**weights, name: torch.zeros(3, 3)}, "here")
    with pytest.raises(BundleError, match="1 differ"):
        bundle.put_weights(model(1), {k: v for k, v in weights.items() if k != name}, "here")
    with pytest.raises(BundleError, match="extra"):
        bundle.put_weights(model(1), {**weights, "extra": torch.zeros(1)}, "here")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"format": 99}, "newer"),
        ({"format": "1"}, "damaged"),
        ({"files": {"../../etc/passwd": "0"}}, "damaged"),
        ({"files": {}}, "model.safetensors"),
    ],
)
def test_cards_that_are_wrong_are_refused(
    trained: TranslationModel, tmp_path: Path, damage: dict[str, object], reason: str
) -> None:
    shutil.copytree(trained.path, tmp_path / "b", ignore=shutil.ignore_patterns("run"))
    card = json.loads((tmp_path / "b" / "card.json").read_text())
    (tmp_path / "b" / "card.json").write_text(json.dumps({**card, **damage}))
    with pytest.raises(BundleError, match=reason):
        mirada.load(tmp_path / "b")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.yaml"])
def test_a_changed_byte_is_noticed(trained: TranslationModel, tmp_path: Path, name: str) -> None:
    shutil.copytree(trained.path, tmp_path / "b", ignore=shutil.ignore_patterns("run"))
    content = bytearray((tmp_path / "b" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b" / name).write_bytes(content)
    with pytest.raises(BundleError, match="altered or damaged"):
        mirada.load(tmp_path / "b")


def test_a_loaded_model_is_the_trained_one(trained: TranslationModel) -> None:
    again = mirada.load(trained.path)
    assert again.translate("el gato ve el tren") == trained.translate("el gato ve el tren")
    assert again.card["scores"]["scores"][0]["name"] == "BLEU"
    assert again.card["data"]["training"] + again.card["data"]["dev"] == 1500


class TestPublishing:
    """A new bundle takes the place of an old one."""

    @staticmethod
    def publish(folder: Path, seed: int, **optional: str) -> None:
        files = {name.replace("__", "/").replace("_", "."): text.encode() for name, text in optional.items()}
        extra = {f"only.{seed}": b"x", "tokenizer.json": str(seed).encode()}
        config, card = {"train": {"seed": seed}}, {"task": "translation", "seed": seed}
        bundle.publish(folder, model(seed), config, card, extra, files)

    @staticmethod
    def seed_of(folder: Path) -> int:
        """Which bundle is in place; all its files must be of that one."""
        found = bundle.read(folder)
        seed = int(found.card["seed"])
        assert found.config == {"train": {"seed": seed}}
        assert found.files["tokenizer.json"] == str(seed).encode()
        expected = bundle.weights_of(model(seed))
        assert all(torch.equal(tensor, expected[name]) for name, tensor in found.weights.items())
        return seed

    def test_files_of_the_old_one_go_and_others_stay(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        self.publish(tmp_path, 1, data__dev_jsonl="old", data__excluded_tsv="left out")
        self.publish(tmp_path, 2, data__dev_jsonl="new")
        there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        bundled = {"model.safetensors", "config.yaml", "card.json", "tokenizer.json", "only.2", "data/dev.jsonl"}
        assert there == {*bundled, "notes.txt"}
        assert bundle.read_dev(tmp_path) == "new"

    def test_a_kill_at_any_moment_leaves_the_old_or_the_new_one_whole(self, tmp_path: Path) -> None:
        out, kept = tmp_path / "out", tmp_path / "kept"
        kept.mkdir()
        self.publish(kept, 1, data__dev_jsonl="1", data__excluded_tsv="left out")

        def restore() -> None:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(kept, out)

        seeds = []
        for _ in kills(restore, lambda: self.publish(out, 2, data__dev_jsonl="2")):
            seeds.append(self.seed_of(out))
            assert bundle.read_dev(out) == str(seeds[-1])
            bundle.finish_publishing(out)
            assert self.seed_of(out) == seeds[-1]
            shutil.rmtree(out / bundle.PARTIAL, ignore_errors=True)
            there = {path.name for path in out.rglob("*")}
            assert f"only.{3 - seeds[-1]}" not in there
            assert bundle.NEW not in there
        assert seeds == sorted(seeds)
        assert set(seeds) == {1, 2}

    def test_a_reader_never_sees_half_of_one(self, tmp_path: Path) -> None:
        self.publish(tmp_path, 1)
        done = threading.Event()

        def work() -> None:
            for number in range(20):
                self.publish(tmp_path, 1 + number % 2)
            done.set()

        writer = threading.Thread(target=work)
        writer.start()
        while not done.is_set():
            assert bundle.read(tmp_path).card["seed"] in (1, 2)
        writer.join()

    def test_no_paths_and_no_text_of_the_data_are_handed_on(self, tmp_path: Path) -> None:
        config = {"data": {"files": ["/home/ana/texts/pairs.tsv"], "vectors": "/home/ana/v.txt", "sign": "/"}}
        config["check"] = {"files": ["/data", "/data/a"], "note": "docs/data"}
        config["train"] = {"base": "/home/ana/es-en", "optimizer": "muon"}
        card = {
            "task": "translation",
            "data": {
                "notes": ["/home/ana/texts/pairs.tsv: TSV, /data/b/c.po"],
                "findings": [{"count": 1, "examples": ["secreto"]}],
                "classes": {"examples": 3},
            },
            "base": {"path": "/home/ana/es-en"},
            "scores": {
                "size": 3,
                "misses": [["a.png", "secreto", "b"]],
                "damage": [{"lost": 1, "examples": ["secreto"]}],
                "classes": {"examples": 3},
            },
        }
        bundle.write(tmp_path, model(1), config, card, {}, {"data/dev.jsonl": b"secreto"})
        handed_on = [path.read_text() for path in (tmp_path / "config.yaml", tmp_path / "card.json")]
        assert not any("/home" in text or "secreto" in text for text in handed_on)
        found = bundle.read(tmp_path)
        assert found.config["data"] == {"files": ["pairs.tsv"], "vectors": "v.txt", "sign": "/"}
        assert found.config["check"] == {"files": ["data", "a"], "note": "docs/data"}
        assert found.config["train"] == {"base": "es-en", "optimizer": "muon"}
        assert found.card["data"].pop("classes") == {"examples": 3}
        assert found.card["data"] == {"notes": ["pairs.tsv: TSV, data/b/c.po"], "findings": [{"count": 1}]}
        assert found.card["scores"] == {"size": 3, "damage": [{"lost": 1}], "classes": {"examples": 3}}

    def test_what_quotes_the_data_may_be_left_out(self, tmp_path: Path) -> None:
        self.publish(tmp_path, 1, data__dev_jsonl="text")
        shutil.rmtree(tmp_path / "data")
        assert self.seed_of(tmp_path) == 1
        assert bundle.read_dev(tmp_path) is None
