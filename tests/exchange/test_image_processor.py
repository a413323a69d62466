"""preprocessor_config.json is followed as in `transformers`, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mirada
from mirada.errors import DataError
from mirada.exchange import import_checkpoint, read_checkpoint
from tests.exchange.checkpoints import save_vit

SCALE = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("vit")
    return folder, save_vit(folder)


def summary(folder: Path, settings: dict[str, Any]) -> None:
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"do_normalize": False},
        {"do_rescale": False},
        {"do_rescale": False, "do_normalize": False},
        {"rescale_factor": 1 / 127.5},
        {"rescale_factor": 0.01, "do_normalize": False},
        {"do_resize": False, "size": 224},
        {"size": 8},
        {"size": {"height": 8, "width": 8}, "resample": 2},
        {"do_normalize": False, "image_std": [0, 0, 0], "image_mean": None},
        {"image_mean": None, "image_std": None},
    ],
)
def test_pixels_are_scaled_the_same(published: tuple[Path, Any], tmp_path: Path, settings: dict[str, Any]) -> None:
    from transformers import ViTImageProcessor

    folder, theirs = published
    summary(folder, {**SCALE, **settings})
    image = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    whole = {key: value for key, value in {**SCALE, **settings}.items() if value is not None}
    processor = ViTImageProcessor(**{"size": {"height": 8, "width": 8}, **whole})
    x = processor(torch.from_numpy(image).permute(2, 0, 1), return_tensors="pt")["pixel_values"].float()
    import_checkpoint(folder, tmp_path / "bundle")
    model = mirada.load(tmp_path / "bundle", device="cpu")
    torch.testing.assert_close(model.preprocessor.format.tensor(image[None, None])[:, :, 0], x, atol=1e-4, rtol=1e-5)
    expected = theirs(pixel_values=x).logits.softmax(-1)[0].tolist()
    assert [model.classify(image).probabilities[label] for label in model.labels] == pytest.approx(expected, abs=1e-5)
    assert model.card["imported"]["notes"] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_std": [0.2, 0, 0.4]}, "image_std should be above 0, not [0.2, 0, 0.4]"),
        ({"image_std": [0.2, -1, 0.4]}, "image_std should be above 0"),
        ({"image_std": [0.2, float("nan"), 0.4]}, "image_std should be 3 numbers, not [0.2, nan, 0.4]"),
        ({"image_mean": [0.2, float("inf"), 0.4]}, "image_mean should be 3 numbers"),
        ({"image_mean": [True, 0.1, 0.4]}, "image_mean should be 3 numbers"),
        ({"image_mean": [0.1]}, "image_mean should be 3 numbers, not [0.1]"),
        ({"rescale_factor": 0}, "rescale_factor should be a number above 0, not 0"),
        ({"rescale_factor": float("nan")}, "rescale_factor should be a number above 0"),
        ({"rescale_factor": "1/255"}, "rescale_factor should be a number above 0, not '1/255'"),
        ({"do_rescale": "no"}, "do_rescale should be true or false, not 'no'"),
        ({"do_center_crop": True}, "do_center_crop=true is not supported"),
        ({"size": 224}, "size=224 is not the model's image size, 8×8"),
        ({"size": {"shortest_edge": 8}}, "size={'shortest_edge': 8} is not the model's"),
        ({"resample": 9}, "resample should be a number from 0 to 5, not 9"),
        ({"resample": [1]}, "resample should be a number from 0 to 5"),
    ],
)
def test_unsupported_preprocessing_is_refused(
    published: tuple[Path, Any], settings: dict[str, Any], message: str
) -> None:
    summary(published[0], {**SCALE, **settings})
    with pytest.raises(DataError) as caught:
        read_checkpoint(published[0])
    assert message in str(caught.value)
    assert "preprocessor_config.json: " in str(caught.value)


def test_another_resampling_filter_is_noted(published: tuple[Path, Any]) -> None:
    summary(published[0], {**SCALE, "resample": 3})
    (note,) = read_checkpoint(published[0]).notes
    assert "bilinear" in note
    assert "bicubic" in note


def test_without_a_file_the_default_scale_is_noted(published: tuple[Path, Any]) -> None:
    (published[0] / "preprocessor_config.json").unlink(missing_ok=True)
    imported = read_checkpoint(published[0])
    images = imported.preprocessor.format
    assert images.mean == images.std == (0.5, 0.5, 0.5)
    assert "has no preprocessor_config.json" in imported.notes[0]
