"""How attention came to be: what a run writes into its bundle, and files that are altered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save

from mirada import TranslationModel, bundle
from mirada.errors import BundleError
from mirada.inspection.snapshots import Snapshot, dump_history, load_history

EXAMPLE = Snapshot(
    [" a", " b", "</s>"], [" c", "</s>"], ["decoder.0.cross", "decoder.1.cross"], torch.zeros(2, 4, 2, 3)
)
TAKEN = {step: torch.full((2, 4, 2, 3), 1 / 3, dtype=torch.float16) for step in (50, 0, 25)}
ABOUT = {"steps": [0, 25, 50], "source": EXAMPLE.source, "target": EXAMPLE.target, "paths": EXAMPLE.paths}


def written(weights: torch.Tensor, about: object, **more: torch.Tensor) -> bytes:
    return save({"weights": weights, **more}, {"history": json.dumps(about)})


def test_a_history_survives_its_file() -> None:
    content = dump_history(EXAMPLE, TAKEN)
    found = load_history(content, "attention.safetensors")
    assert found.about() == ABOUT
    assert found.weights.shape == (3, 2, 4, 2, 3)
    assert torch.equal(found.weights[1], TAKEN[25])


def test_snapshots_of_another_example_are_not_written() -> None:
    """As when a run is resumed by a version that takes another example."""
    other = {75: torch.full((2, 4, 2, 5), 1 / 5, dtype=torch.float16)}
    content = dump_history(EXAMPLE, {**other, **TAKEN})
    assert load_history(content, "attention.safetensors").about() == ABOUT


GOOD = torch.stack(list(TAKEN.values()))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"nothing", "altered or damaged"),
        (save({"weights": GOOD}), "of what"),
        (save({"weights": GOOD}, {"history": "[1"}), "of what"),
        (written(GOOD, {**ABOUT, "steps": [0, 25, -1]}), "of what: steps"),
        (written(GOOD, {**ABOUT, "steps": [0, 50, 25]}), "not in order"),
        (written(GOOD, {**ABOUT, "source": ["a"]}), r"weights of \[3, 2, 4, 2, 3\]"),
        (written(GOOD, {**ABOUT, "paths": []}), "of what: paths"),
        (written(GOOD.float(), ABOUT), "one tensor"),
        (written(GOOD[0], ABOUT), "5 axes"),
        (written(GOOD, ABOUT, more=GOOD.clone()), "one tensor"),
        (written(GOOD / 0, ABOUT), "not finite"),
        (written(GOOD * 9, ABOUT), "beyond"),
    ],
)
def test_an_altered_file_is_refused_in_one_line(content: bytes, what: str) -> None:
    with pytest.raises(BundleError, match=what) as refused:
        load_history(content, "attention.safetensors")
    assert str(refused.value).startswith("attention.safetensors: ")
    assert "\n" not in str(refused.value)


def test_a_bundle_has_the_history_of_its_training(trained: TranslationModel) -> None:
    content = bundle.read_optional(trained.path, bundle.ATTENTION)
    assert content is not None
    found = load_history(content, bundle.ATTENTION)
    assert found.steps[:4] == [0, 25, 35, 50]
    assert found.steps[-1] == 500
    assert found.paths == ["decoder.0.cross"]
    assert found.weights.shape[1:] == (1, 2, len(found.target), len(found.source))
    np.testing.assert_allclose(found.weights.float().sum(-1), 1.0, atol=2e-3)
    assert (found.source[-1], found.target[-1]) == ("</s>", "</s>")
    dev = bundle.read_dev(trained.path)
    assert dev is not None
    assert "".join(found.source[:-1]).strip() in {json.loads(line)[0] for line in dev.splitlines()}
    entropy = -(found.weights.float() * found.weights.float().clamp_min(1e-6).log()).sum(-1).mean((1, 2, 3))
    assert entropy[-1] < entropy[0] - 0.5  # from blur to alignment


def test_a_bundle_without_it_still_opens(trained: TranslationModel, tmp_path: Path) -> None:
    import shutil

    import mirada

    copy = tmp_path / "copy"
    shutil.copytree(trained.path, copy, ignore=shutil.ignore_patterns("run"))
    (copy / bundle.ATTENTION).unlink()
    assert bundle.read_optional(copy, bundle.ATTENTION) is None
    assert mirada.load(copy, TranslationModel).translate("el gato ve el tren").text == "the cat sees the train"


def test_both_directions_share_one_history(both_ways: TranslationModel) -> None:
    content = bundle.read_optional(both_ways.path, bundle.ATTENTION)
    assert content is not None
    found = load_history(content, bundle.ATTENTION)
    assert (found.steps[0], found.steps[-1]) == (0, 12)
    assert found.source[0].startswith("<to:")
