"""Labelled images: split, resized, checked, the same always."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from mirada.data.images.format import Format
from mirada.data.preparation import Prepared
from mirada.errors import DataError
from mirada.models.vit import ViTConfig
from mirada.tasks.image_classification.data import ImageConfig
from tests.data.images.samples import archive, gallery, noise, png_header, saved
from tests.preparing import prepare


def prepared(folder: Path, *files: Path, patch: int | None = None, frames: int = 1, **choices: Any) -> Prepared:
    model = ViTConfig(patch=patch, frames=frames)
    data = ImageConfig(files=tuple(map(str, files)), **choices)
    return prepare("image_classification", folder, data=data, model=model)


def test_a_folder_is_split_by_class_and_by_content(tmp_path: Path) -> None:
    found = prepared(tmp_path / "p", gallery(tmp_path / "g", 20), hold_out=0.2)
    assert found.about.classes == {"a": 16, "b": 16}
    assert sorted(found.dev.labels) == ["a"] * 4 + ["b"] * 4
    assert found.store.pixels.dtype == np.uint8
    assert isinstance(found.store.pixels, np.memmap)
    for name in "ab":  # other names in another order: the same images are held out
        for number in range(20):
            (tmp_path / "g" / name / f"{number}.png").rename(tmp_path / "g" / name / f"z{number * 7 % 20}.png")
    again = prepared(tmp_path / "q", tmp_path / "g", hold_out=0.2)
    assert {pixels.tobytes() for pixels in found.dev.pixels} == {pixels.tobytes() for pixels in again.dev.pixels}


def test_what_is_written_is_only_opened_again(tmp_path: Path) -> None:
    first = prepared(tmp_path / "p", gallery(tmp_path / "g"))
    for path in (tmp_path / "g" / "a").iterdir():
        path.unlink()
    again = prepared(tmp_path / "p", tmp_path / "g")
    assert again.preprocessor == first.preprocessor
    assert again.about == first.about
    assert (again.store.pixels == first.store.pixels).all()
    assert (again.store.truth == first.store.truth).all()


def test_a_few_bad_files_are_left_out_and_counted(tmp_path: Path) -> None:
    folder = gallery(tmp_path / "g")
    (folder / "a" / "empty.png").touch()
    (folder / "a" / "notes.txt").write_text("hello")
    (folder / "b" / "large.png").write_bytes(png_header(10_000, 10_000))
    (folder / "b" / ".DS_Store").touch()
    (folder / "b" / "more").mkdir()
    (folder / "read.me").touch()
    (folder / "b" / "twin.png").write_bytes((folder / "b" / "0.png").read_bytes())
    (folder / "b" / "liar.png").write_bytes((folder / "a" / "1.png").read_bytes())
    report = prepared(tmp_path / "p", folder).about
    assert report.excluded == {
        "outside_class": 1,
        "hidden_file": 1,
        "nested_folder": 1,
        "empty_file": 1,
        "not_image": 1,
        "too_large": 1,
        "contradiction": 2,
        "duplicate": 1,
    }
    assert report.training + report.dev == 23
    lines = (tmp_path / "p" / "excluded.tsv").read_text().splitlines()
    assert f"{folder}/a/empty.png\t\tempty_file\tempty files" in lines
    assert len(lines) == sum(report.excluded.values())


def test_pictures_of_the_dev_part_are_not_learned(tmp_path: Path) -> None:
    training, dev = gallery(tmp_path / "g"), gallery(tmp_path / "d", 3)
    (dev / "a" / "known.png").write_bytes((training / "a" / "0.png").read_bytes())
    found = prepared(tmp_path / "p", training, dev=(str(dev),))
    assert found.about.excluded == {"in_dev": 1}
    assert (found.about.training, found.about.dev, found.about.held_out) == (23, 7, False)


@pytest.mark.parametrize(
    ("sizes", "settings_", "expected", "said"),
    [
        ([(8, 8)], {}, (8, 8), None),
        ([(6, 12)], {}, (6, 12), None),
        ([(30, 28)], {}, (28, 28), "images of 28×30 are resized to 28×28"),
        ([(20, 33), (41, 18)], {}, (20, 15), "images of 18×20 to 33×41 are resized to 15×20"),
        ([(16, 16), (16, 16), (1, 3)], {}, (16, 16), "images of 3×1 to 16×16 are resized to 16×16"),
        ([(9, 9)], {"size": 16}, (16, 16), "images of 9×9 are resized to 16×16"),
        ([(600, 300)], {}, (256, 128), "images of 300×600 are resized to 128×256"),
        ([(1, 1)], {}, (2, 2), "images of 1×1 are resized to 2×2"),
        ([(12, 12)], {"patch": 5}, (10, 10), "images of 12×12 are resized to 10×10"),
    ],
)
def test_one_size_for_all(
    tmp_path: Path, sizes: list[tuple[int, int]], settings_: dict[str, Any], expected: tuple[int, int], said: str | None
) -> None:
    for place, name in enumerate("ab"):
        for number in range(6):
            shape = sizes[number % len(sizes)]
            image = np.full(shape, number + 100 * place, np.uint8)
            saved(tmp_path / "g" / name / f"{number}.png", image)
    found = prepared(tmp_path / "p", tmp_path / "g", **settings_)
    assert found.preprocessor.format.shape == (1, 1, *expected)
    assert found.store.pixels.shape[1:] == (1, *expected, 1)
    resized = [note for note in found.about.notes if "resized" in note]
    assert resized == ([] if said is None else [f"{said} [--set data.size=…]"])


@pytest.mark.parametrize(("colour", "channels"), [("auto", 3), ("grey", 1), ("rgb", 3)])
def test_colours(tmp_path: Path, colour: str, channels: int) -> None:
    gallery(tmp_path / "g")
    saved(tmp_path / "g" / "a" / "red.png", np.full((8, 8, 3), [200, 0, 0], np.uint8))
    assert prepared(tmp_path / "p", tmp_path / "g", colour=colour).preprocessor.format.shape[0] == channels


def test_grey_pictures_saved_in_colour_are_grey(tmp_path: Path) -> None:
    for name in "ab":
        for number in range(6):
            saved(tmp_path / "g" / name / f"{number}.png", np.repeat(noise(8, 8, 1), 3, -1))
    assert prepared(tmp_path / "p", tmp_path / "g").preprocessor.format.shape[0] == 1


def test_the_network_sees_mean_0_and_spread_1(tmp_path: Path) -> None:
    pixels = noise(40, 3, 4, 4, 3)
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.arange(40) % 2)
    found = prepared(tmp_path / "p", path, patch=2)
    x = found.preprocessor.format.tensor(found.store.pixels)
    assert x.shape == (36, 3, 3, 4, 4)
    torch.testing.assert_close(x.mean((0, 2, 3, 4)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3, 4), correction=0), torch.ones(3), atol=1e-5, rtol=0)
    assert Format.from_json(found.preprocessor.format.to_json(["x"])) == (["x"], found.preprocessor.format)


def test_a_file_and_an_array_are_the_same(tmp_path: Path) -> None:
    pixels = noise(24, 8, 8)
    for number, image in enumerate(pixels):
        saved(tmp_path / "g" / str(number % 2) / f"{number}.png", image)
    from_files = prepared(tmp_path / "p", tmp_path / "g")
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.arange(24) % 2)
    from_npz = prepared(tmp_path / "q", path)
    assert from_files.preprocessor.format == from_npz.preprocessor.format
    assert {p.tobytes() for p in from_files.store.pixels} == {p.tobytes() for p in from_npz.store.pixels}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("missing", "g: there is no such folder or file"),
        ("file", "g: is neither a folder with one folder of images per class nor an .npz archive"),
        ("empty", "g: has 0 files and no folders; images are read from a folder for every class: g/cats/1.png"),
        ("flat", "g: has 3 files and no folders"),
        ("empty class", "g/c: the class 'c' has no images; put some into it, or remove it"),
        ("nested", "g/c: the class 'c' has no images; if its folders are the classes, give "),
        ("one class", "g: all images have the label 'a'; there is nothing to learn"),
        ("single", "g/c/0.png: the label 'c' has a single image, which cannot be both learned from and held out"),
        ("broken class", "g: no image of the class 'c' can be read; the first, "),
        ("few", "g: 6 images; training needs at least 10"),
        ("frames", "g: 1 frames do not divide into model.frames=2"),
    ],
)
def test_what_cannot_be_learned_from_is_named(tmp_path: Path, broken: str, said: str) -> None:
    folder = tmp_path / "g"
    if broken == "file":
        folder.write_text("hello")
    elif broken in ("empty", "flat"):
        folder.mkdir()
        for name in "abc" if broken == "flat" else "":
            saved(folder / f"{name}.png", noise(4, 4))
    elif broken != "missing":
        gallery(folder, 3 if broken == "few" else 12, classes="a" if broken == "one class" else "ab")
        (folder / "c").mkdir() if broken in ("empty class", "broken class") else None
        if broken == "nested":
            saved(folder / "c" / "d" / "0.png", noise(8, 8))
        if broken == "single":
            saved(folder / "c" / "0.png", noise(8, 8))
        if broken == "broken class":
            (folder / "c" / "0.png").write_text("hello")
    with pytest.raises(DataError) as caught:
        prepared(tmp_path / "p", folder, frames=2 if broken == "frames" else 1)
    assert str(caught.value).startswith(f"{tmp_path}/{said}")


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="there is no data: give a folder"):
        ImageConfig()
    with pytest.raises(ValidationError, match=r"data\.files has 2 names"):
        ImageConfig(files=("a", "b"))
