"""Classifying images: alone as among others, a file as an array, whatever the size; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from mirada.contracts import Sizes
from mirada.data.images.batches import Images
from mirada.data.images.format import Format
from mirada.data.images.pixels import Pixels
from mirada.errors import BundleError, ConfigError, DataError, InputError
from mirada.models.vit import ViTConfig
from mirada.tasks.image_classification.data import ImagePreprocessor, Report
from mirada.tasks.image_classification.model import ImageClassification, ImageClassificationModel
from mirada.tasks.image_classification.task import ImageClassificationTask
from mirada.training.run import build

LABELS = ["circle", "square", "triangle"]


def noise(*shape: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def model_of(
    shape: tuple[int, int, int, int], scale: tuple[float, float] | None = None, **more: Any
) -> ImageClassificationModel:
    """A model with random weights that are large enough to have opinions."""
    channels = shape[0]
    preprocessor = ImagePreprocessor(LABELS, Format(shape, (0.4,) * channels, (0.3,) * channels, scale))
    task, config = ImageClassificationTask(), ViTConfig(width=16, heads=2, layers=2, patch=4, dropout=0.0, **more)
    torch.manual_seed(1)
    network = task.network(config, preprocessor)
    with torch.no_grad():
        network.get_parameter("output.weight").mul_(5)
    return ImageClassificationModel(Path("shapes"), {}, {}, network, preprocessor, torch.device("cpu"))


@pytest.fixture(scope="module")
def grey() -> ImageClassificationModel:
    return model_of((1, 1, 12, 16))


def test_a_picture_is_classified_alike_alone_and_among_others(grey: ImageClassificationModel) -> None:
    images = list(noise(20, 12, 16))
    together = grey.classify(images)
    assert len({found.label for found in together}) > 1
    for found, image in zip(together, images, strict=True):
        alone = grey.classify(image)
        assert alone.label == found.label
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-6)
        assert sum(found.probabilities.values()) == pytest.approx(1)
        assert list(found.probabilities.values()) == sorted(found.probabilities.values(), reverse=True)


@pytest.mark.parametrize("shape", [(12, 16), (12, 16, 3), (30, 20), (9, 40, 3)])
def test_a_file_and_an_array_give_the_same(
    grey: ImageClassificationModel, tmp_path: Path, shape: tuple[int, ...]
) -> None:
    pixels = noise(*shape)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    from_file, from_array = grey.classify([tmp_path / "a.png", pixels])
    assert from_file.probabilities == pytest.approx(from_array.probabilities, abs=1e-6)
    height, width = shape[:2]
    said = () if (height, width) == (12, 16) else (f"resized from {width}×{height} to 16×12",)
    assert from_file.notes == from_array.notes == said


def test_fractions_and_bytes_give_the_same() -> None:
    pixels = noise(12, 16)
    by_bytes, by_unit = model_of((1, 1, 12, 16)).classify([pixels, pixels / 255])
    assert by_bytes.probabilities == pytest.approx(by_unit.probabilities, abs=1e-6)
    scaled = model_of((1, 1, 12, 16), scale=(0.0, 16.0))  # learned from numbers from 0 to 16
    by_16 = scaled.classify(pixels / 255 * 16)
    assert by_16.probabilities == pytest.approx(by_bytes.probabilities, abs=1e-6)


def test_many_files_are_answered_in_order_and_faults_among_them(grey: ImageClassificationModel, tmp_path: Path) -> None:
    pixels = noise(3, 12, 16)
    Image.fromarray(pixels[0]).save(tmp_path / "a.png")
    (tmp_path / "b.png").touch()
    np.savez(tmp_path / "c.npz", images=pixels[1:])
    np.savez(tmp_path / "d.npz", images=noise(2, 5, 12, 16))
    names = [str(tmp_path / name) for name in ("a.png", "b.png", "c.npz", "d.npz", "a.png")]
    answers = list(grey.classify_files(names))
    assert [isinstance(found, ImageClassification) for found in answers] == [True, False, True, True, False, True]
    assert [found.problem is None for found in answers] == [True, False, True, True, False, True]
    places = [found.image.removeprefix(f"{tmp_path}/") for found in answers]
    assert places == ["a.png", "b.png", "c.npz, image 1", "c.npz, image 2", "d.npz", "a.png"]
    expected = grey.classify(list(pixels))
    found = [found for found in answers if isinstance(found, ImageClassification)]
    for one, other in zip(found, [*expected, expected[0]], strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)


def test_frames_have_to_fit() -> None:
    videos = model_of((1, 4, 8, 8), frames=2)
    assert videos.classify(noise(4, 8, 8)).label in LABELS
    with pytest.raises(InputError, match=r"image 1: has 1 frame; the model shapes reads videos of 4 frames, from an"):
        videos.classify(noise(8, 8))
    with pytest.raises(InputError, match=r"image 2: has 5 frames; the model shapes reads images"):
        model_of((1, 1, 8, 8)).classify([noise(8, 8), noise(5, 8, 8)])
    assert videos.try_it == "mirada classify shapes videos.npz"


@pytest.mark.parametrize(("frames", "depth"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 1), (8, 2)])
def test_a_video_is_cut_in_pairs_of_frames_where_it_can_be(frames: int, depth: int) -> None:
    model = model_of((1, frames, 8, 8))
    assert model.network.patches.frames == depth
    assert model.network.config.patches((1, frames, 8, 8)) == 4 * frames // depth
    assert model.classify(noise(frames, 8, 8) if frames > 1 else noise(8, 8)).label in LABELS
    assert ViTConfig(frames=1).frames_for(frames) == 1


def test_scores_are_those_of_its_own_answers(grey: ImageClassificationModel, tmp_path: Path) -> None:
    pixels = noise(30, 12, 16)
    said = [found.label for found in grey.classify(list(pixels))]
    truth = [*said[:20], *("square" if label != "square" else "circle" for label in said[20:])]
    dev = Images(pixels[:, None, :, :, None], truth, [str(number) for number in range(30)])
    score = grey.score(dev)
    assert score.score("accuracy") == pytest.approx(100 * 20 / 30)
    assert score.summary.endswith("on 30 images")
    assert score.as_dict()["unit"] == "images"
    look = grey.validate(dev, 30)
    assert (look.measure, look.score) == ("accuracy", pytest.approx(100 * 20 / 30))
    assert look.example == ("0", said[0], said[0])
    np.savez(tmp_path / "test.npz", x_test=pixels, y_test=truth, x_train=pixels[:1], y_train=truth[:1])
    assert grey.evaluate(tmp_path / "test.npz") == score
    for number, (image, label) in enumerate(zip(pixels, truth, strict=True)):
        (tmp_path / "test" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "test" / label / f"{number}.png")
    assert grey.evaluate(tmp_path / "test").confusion == score.confusion


def test_a_test_set_that_does_not_fit_is_refused(grey: ImageClassificationModel, tmp_path: Path) -> None:
    np.savez(tmp_path / "test.npz", images=noise(2, 12, 16), labels=["square", "star"])
    with pytest.raises(DataError, match=r"test.npz, image 2: has the label 'star', which the model shapes does not"):
        grey.evaluate(tmp_path / "test.npz")
    (tmp_path / "test" / "square").mkdir(parents=True)
    (tmp_path / "test" / "square" / "a.png").write_text("hello")
    with pytest.raises(
        DataError, match=r"a\.png: is not an image .*; a test set has to be whole: correct it or remove"
    ):
        grey.evaluate(tmp_path / "test")


@pytest.mark.parametrize(
    ("size", "model", "said"),
    [
        (30, {}, "data.size=30 cannot be cut into patches of 7×7: set data.size=28, or model.patch"),
        (28, {"patch": 5}, "data.size=28 cannot be cut into patches of 5×5: set data.size=25, or model.patch"),
        (28, {}, None),
        (28, {"patch": 4}, None),
    ],
)
def test_the_patch_has_to_divide_the_size(size: int, model: dict[str, Any], said: str | None) -> None:
    values = {"task": "image_classification", "data": {"files": ["x"], "size": size}, "model": {"name": "vit", **model}}
    task, built = build(values)
    if said is None:
        task.check(built)
        return
    with pytest.raises(ConfigError) as caught:
        task.check(built)
    assert str(caught.value) == said


def test_a_kit_comes_back_from_its_files() -> None:
    preprocessor = ImagePreprocessor(
        ["a", "ü\udcff"], Format((3, 2, 8, 8), (0.1, 0.2, 0.3), (1.0, 1.0, 2.0), (0.0, 16.0))
    )
    assert ImageClassificationTask().open(preprocessor.files(), Path("x")) == preprocessor
    assert preprocessor.sizes == Sizes(3, 2, numeric_inputs=True, shape=(3, 2, 8, 8))


def spoil(change: Callable[[str], str]) -> bytes:
    preprocessor = ImagePreprocessor(["a", "b"], Format((1, 1, 8, 8), (0.5,), (0.5,)))
    return change(preprocessor.files()["pictures.json"].decode()).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"[]",
        spoil(lambda text: text.replace('"mean": [0.5]', '"mean": []')),
        spoil(lambda text: text.replace("[1, 1, 8, 8]", "[1, 8, 8]")),
        spoil(lambda text: text.replace("[1, 1, 8, 8]", "[1, 0, 8, 8]")),
        spoil(lambda text: text.replace('"std"', '"spread"')),
    ],
)
def test_a_damaged_kit_is_refused(content: bytes) -> None:
    with pytest.raises(BundleError, match=r"pictures\.json: does not describe images"):
        ImageClassificationTask().open({"pictures.json": content}, Path("x"))


def test_a_report_is_told(grey: ImageClassificationModel) -> None:
    card = {"data": {**vars(Report(training=20, dev=5, excluded={"x": 2}, classes={"a": 1}, format="8×8, grey"))}}
    assert dict(ImageClassificationTask().describe(card)) == {
        "labels": "a 1",
        "data": "20 images, 8×8, grey, 2 left out",
        "dev": "5 images",
    }
