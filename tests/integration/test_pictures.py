"""Images and videos as a person meets them: folders or an .npz, learned, asked, scored, resumed, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mirada
from mirada.builtin.shapes import moving_shapes
from mirada.errors import ConfigError
from mirada.tasks.image_classification.model import ImageClassificationModel
from tests.command import refused, run
from tests.data.images.samples import png_header

SMALL: dict[str, Any] = {
    "model": {"width": 16, "heads": 2, "layers": 1, "dropout": 0.0},
    "train": {"batch_tokens": 256, "lr": 1e-2, "warmup": 5, "threads": 1},
}
VIT = ("--task", "classification", "--model", "vit")
ONE = ("--threads", 1)


def bars(count: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Images of 8×8 with a bright bar across or along, in noise."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 80, (count, 8, 8), dtype=np.uint8)
    labels = []
    for image in pixels:
        place, along = random.integers(1, 7), bool(random.integers(2))
        (image.T if along else image)[place] += 150
        labels.append("along" if along else "across")
    return pixels, labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bars") / "images"
    for number, (image, label) in enumerate(zip(*bars(120), strict=True)):
        (path / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path / label / f"{number:03}.png")
    return path


def train(files: Path, out: Path, **more: Any) -> Any:
    return mirada.train(files, task="classification", model="vit", out=out, **{"settings": SMALL, **more})


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ImageClassificationModel:
    return train(folder, tmp_path_factory.mktemp("model") / "bars", steps=150)


def test_classification_by_a_model_that_sees_is_learned_from_pictures(model: ImageClassificationModel) -> None:
    assert isinstance(model, ImageClassificationModel)
    assert model.card["task"] == "image_classification"
    pixels, labels = bars(40, seed=9)
    assert [found.label for found in model.classify(list(pixels))] == labels
    opened = mirada.load(model.path)
    assert opened.classify(pixels[0]).probabilities == model.classify(pixels[0]).probabilities


def test_the_command_line_trains_asks_scores_and_tells(folder: Path, tmp_path: Path) -> None:
    done = run("train", folder, *VIT, "--out", tmp_path / "b", "--preset", "tiny", "--steps", 2, *ONE)
    assert done.returncode == 0, done.stderr
    assert "images, 8×8, grey" in done.stderr
    assert "120 files in 2 folders, one class each" in done.stderr
    assert "[--set data.augment=false]" in done.stderr
    assert "on 12 images" in done.stderr
    assert "task        image_classification" in run("info", tmp_path / "b").stdout
    assert run("evaluate", tmp_path / "b", folder, *ONE).stdout.startswith("images: 120\n")


def test_a_folder_of_folders_is_a_folder_of_pictures(folder: Path, tmp_path: Path) -> None:
    (folder / ".hidden").touch()
    plain = mirada.train(folder, task="classification", out=tmp_path / "b", steps=1, settings=SMALL)
    (folder / ".hidden").unlink()
    assert plain.card["model"] == "vit"


def test_pictures_are_asked_for_by_name_by_list_and_by_archive(model: ImageClassificationModel, tmp_path: Path) -> None:
    pixels, labels = bars(3, seed=4)
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image).save(path)
    by_name = run("classify", model.path, *paths, *ONE)
    assert [line.split("\t")[0] for line in by_name.stdout.splitlines()] == labels
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in paths))
    assert run("classify", model.path, "--file", tmp_path / "list.txt", *ONE).stdout == by_name.stdout
    np.savez(tmp_path / "all.npz", images=pixels)
    rows = [
        json.loads(line)
        for line in run("classify", model.path, tmp_path / "all.npz", "--json", *ONE).stdout.splitlines()
    ]
    assert [row["label"] for row in rows] == labels
    assert rows[2]["image"] == f"{tmp_path}/all.npz, image 3"


def test_what_cannot_be_read_leaves_its_line_empty(model: ImageClassificationModel, tmp_path: Path) -> None:
    Image.fromarray(bars(1)[0][0].repeat(2, 1)).save(tmp_path / "wide.png")
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "huge.png").write_bytes(png_header(10_000, 10_000))
    done = run("classify", model.path, *(tmp_path / name for name in ("text.png", "wide.png", "huge.png")), *ONE)
    assert done.returncode == 1
    first, second, third = done.stdout.split("\n")[:3]
    assert (first, third) == ("", "")
    assert second.split("\t")[0] in model.labels
    said = done.stderr.splitlines()
    assert said[0].startswith(f"mirada: {tmp_path}/text.png: is not an image (PNG, ")
    assert said[0].endswith("; its line is left empty")
    assert said[1] == f"mirada: {tmp_path}/wide.png: resized from 16×8 to 8×8"
    assert said[2] == (f"mirada: {tmp_path}/huge.png: has over 64 megapixels (10,000×10,000); its line is left empty")
    np.savez(tmp_path / "other.npz", faces=np.zeros((2, 8, 8), np.uint8))
    frames = [Image.fromarray(image) for image in bars(2)[0]]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    done = run("classify", model.path, *(tmp_path / name for name in ("other.npz", "moving.gif")), *ONE)
    assert (done.returncode, done.stdout.split("\n")[0]) == (1, "")
    assert done.stdout.split("\n")[1].split("\t")[0] in model.labels
    assert "other.npz: has no array of images" in done.stderr
    assert "moving.gif: only its first frame is read" in done.stderr
    assert refused("classify", model.path, tmp_path / "wide.png", "--why", code=2).startswith("mirada: --why: ")


def test_a_resumed_run_with_warps_equals_an_uninterrupted_one(folder: Path, tmp_path: Path) -> None:
    schedule = {**SMALL["train"], "schedule": "constant", "warmup": 0, "checkpoint_every": 4}
    settings = {**SMALL, "train": schedule, "data": {"augment": True, "flip": True}}
    settings["model"] = {**SMALL["model"], "dropout": 0.1}
    whole = train(folder, tmp_path / "whole", steps=14, settings=settings)
    train(folder, tmp_path / "part", steps=9, settings=settings)  # 7 batches an epoch: in the middle of the second
    mirada.train(resume=tmp_path / "part", steps=14)
    last = "run/checkpoints/step-00000014.safetensors"
    assert (tmp_path / "part" / last).read_bytes() == (whole.path / last).read_bytes()
    still = train(folder, tmp_path / "still", steps=14, settings={**settings, "data": {"augment": False}})
    assert (still.path / last).read_bytes() != (whole.path / last).read_bytes()


def test_a_model_goes_on_from_another(model: ImageClassificationModel, folder: Path, tmp_path: Path) -> None:
    pixels, labels = bars(30, seed=6)
    np.savez(tmp_path / "more.npz", images=pixels, labels=labels)
    further = mirada.train(tmp_path / "more.npz", base=model.path, out=tmp_path / "b", steps=2, threads=1)
    assert further.preprocessor.format == model.preprocessor.format
    assert further.card["base"]["before"]["old"]["accuracy"] == model.card["scores"]["scores"][0]["value"]
    np.savez(tmp_path / "other.npz", images=pixels, labels=["along"] * 15 + ["aslant"] * 15)
    done = run("train", tmp_path / "other.npz", "--base", model.path, "--out", tmp_path / "c", "--steps", 1, *ONE)
    assert "the base does not know the label 'aslant': its output layer is trained anew" in done.stderr
    assert "34 are initialized randomly" in done.stderr
    taught = mirada.load(tmp_path / "c")
    assert taught.labels == ["along", "aslant"]
    assert taught.classify(pixels[0]).label in taught.labels


def test_a_video_is_read_along_time(tmp_path: Path) -> None:
    videos, labels = moving_shapes(60, seed=1, frames=4, size=8)
    np.savez(tmp_path / "v.npz", images=videos, labels=labels)
    settings = {**SMALL, "model": {**SMALL["model"], "frames": 2, "patch": 4}}
    model = train(tmp_path / "v.npz", tmp_path / "b", steps=2, settings=settings)
    assert model.preprocessor.format.shape == (1, 4, 8, 8)
    assert model.card["data"]["noun"] == "videos"
    done = run("classify", model.path, tmp_path / "v.npz", *ONE)
    assert len(done.stdout.splitlines()) == 60


def faults() -> dict[str, str]:
    return {
        "empty folder": "data: has 0 files and no folders; images are read from a folder for every class",
        "not images": "data: no image of the class 'a' can be read; the first, ",
        "single": "data/b/0.png: the label 'b' has a single image, which cannot be both learned from and held out",
        "pickle": "data.npz: labels holds Python objects, saved as a pickle, which is never read",
        "lengths": "data.npz: images has 20 images, labels 19 labels: there must be one for each",
    }


def broken(kind: str, path: Path) -> Path:
    pixels, labels = bars(20)
    if kind in ("pickle", "lengths"):
        odd = np.array(labels, dtype=object) if kind == "pickle" else labels[:-1]
        np.savez(path.with_suffix(".npz"), images=pixels, labels=odd)
        return path.with_suffix(".npz")
    path.mkdir()
    if kind == "not images":
        (path / "a").mkdir()
        (path / "a" / "0.png").touch()
        (path / "a" / "1.png").write_text("hello")
        (path / "a" / "2.png").write_bytes(png_header(10_000, 10_000))
    if kind == "single":
        for number, image in enumerate(pixels):
            name = "b" if number == 0 else "a"
            (path / name).mkdir(exist_ok=True)
            Image.fromarray(image).save(path / name / f"{number}.png")
    return path


@pytest.mark.parametrize("kind", faults())
def test_data_that_cannot_be_learned_from_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    data = broken(kind, tmp_path / "data")
    said = refused("train", data, *VIT, "--out", tmp_path / "b", "--steps", 1)
    assert said.startswith(f"mirada: {tmp_path}/{faults()[kind]}")
    assert not (tmp_path / "b").exists()


def test_other_models_do_not_see(folder: Path, tmp_path: Path) -> None:
    said = refused(
        "train", folder, "--task", "image_classification", "--model", "lstm", "--out", tmp_path / "b", code=2
    )
    assert said == (
        "mirada: --model lstm: is not for image_classification but for classification, tagging, forecasting, "
        "language_model; for image_classification there are: vit"
    )
    with pytest.raises(ConfigError, match="--model vit: is not for tagging but for image_classification"):
        mirada.train(folder, task="tagging", model="vit", out=tmp_path / "b")
