"""Pictures become arrays as a person sees them; what cannot be read is named; splits and shifts are the same always."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

from mirada.data.pictures.batches import SCALE, SHIFT, TURN, PictureBatches, Pictures, warp
from mirada.data.pictures.format import Format
from mirada.data.pictures.labelled import PicturesConfig, PreparedPictures, prepare
from mirada.data.pictures.pixels import Archive, BadPicture, Pixels, as_bytes, fit, from_array, layout, read_picture
from mirada.errors import DataError
from mirada.models.vit import ViTConfig

RANDOM = np.random.default_rng(0)


def noise(*shape: int) -> Pixels:
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def saved(path: Path, array: np.ndarray, mode: str | None = None, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array, mode).save(path, **options)
    return path


def png_header(width: int, height: int) -> bytes:
    """The beginning of a PNG: it says how large it is, and hardly has any pixels."""
    chunks = [b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"IDAT" + zlib.compress(bytes(8))]
    body = [struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def gallery(folder: Path, count: int = 12, size: tuple[int, int] = (8, 8), classes: str = "ab") -> Path:
    """A folder for every class; the classes differ in brightness."""
    for place, name in enumerate(classes):
        for number in range(count):
            saved(folder / name / f"{number}.png", noise(*size) // 4 + 60 * place)
    return folder


def prepared(folder: Path, *files: Path, patch: int | None = None, frames: int = 1, **choices: Any) -> PreparedPictures:
    model = ViTConfig(patch=patch)
    data = PicturesConfig(files=tuple(map(str, files)), **choices)
    return prepare(data, model.patch_for, frames, folder, lambda *_: None)


# ── one picture ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif", "tiff", "webp", "ppm"])
def test_grey_and_colour_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    options: dict[str, Any] = {"lossless": True} if suffix == "webp" else {}
    grey = noise(5, 7) // 16 * 16
    found, animated = read_picture(saved(tmp_path / f"grey.{suffix}", grey, **options))
    assert (found[0, :, :, 0] == grey).all()
    assert not animated
    if suffix != "gif":  # which has 256 colours
        colours = noise(5, 7, 3)
        assert (read_picture(saved(tmp_path / f"rgb.{suffix}", colours, **options))[0][0] == colours).all()


def test_sixteen_bits_are_scaled(tmp_path: Path) -> None:
    deep = np.array([[0, 257, 32768, 65535]], dtype=np.uint16)
    assert read_picture(saved(tmp_path / "deep.png", deep))[0].ravel().tolist() == [0, 1, 128, 255]


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 128]]], dtype=np.uint8)
    expected = [[10, 20, 30], [255, 255, 255], [127, 127, 127]]
    assert read_picture(saved(tmp_path / "clear.png", pixels))[0][0, 0].tolist() == expected
    assert from_array(pixels, None, "x")[0, 0].tolist() == expected
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, 200, 100, 50])
    palette.putpixel((1, 0), 1)
    palette.save(tmp_path / "palette.png", transparency=0)
    assert read_picture(tmp_path / "palette.png")[0][0, 0].tolist() == [[255, 255, 255], [200, 100, 50]]


def test_a_camera_that_lay_on_its_side(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it a quarter, clockwise
    pixels = noise(4, 6)
    path = saved(tmp_path / "turned.png", pixels, exif=exif)
    assert (read_picture(path)[0][0, :, :, 0] == np.rot90(pixels, -1)).all()


def test_the_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((4, 4), value, np.uint8)) for value in (0, 255)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    pixels, animated = read_picture(tmp_path / "moving.gif")
    assert pixels.max() == 0
    assert animated


def whole_png() -> bytes:
    out = io.BytesIO()
    Image.fromarray(noise(40, 40)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"", "empty", "is empty (0 bytes)"),
        (b"this is text, whatever its name says\n", "foreign", "is not a picture (PNG, JPEG, "),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "foreign", "is not a picture"),
        (png_header(10_000, 10_000), "huge", "has over 64 megapixels (10,000×10,000)"),
        (png_header(100_000, 100_000), "huge", "has over 64 megapixels"),
        (whole_png()[:900], "damaged", "is damaged or cut short"),
    ],
    ids=["empty", "text", "postscript", "large", "bomb", "cut"],
)
def test_what_is_no_picture_says_so_in_one_line(tmp_path: Path, content: bytes, kind: str, said: str) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(BadPicture) as caught:
        read_picture(path)
    assert caught.value.kind == kind
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadPicture, match=r"cannot be opened \(No such file"):
        read_picture(tmp_path / "missing.png")
    with pytest.raises(BadPicture, match=r"cannot be opened \(it is not a file\)"):
        read_picture(tmp_path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(whole_png())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=6)):
        content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.png"
    path.write_bytes(content)
    with contextlib.suppress(BadPicture):
        assert read_picture(path)[0].ndim == 4


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shape", "whole"),
    [
        ((8, 9), (1, 8, 9, 1)),
        ((8, 9, 1), (1, 8, 9, 1)),
        ((8, 9, 3), (1, 8, 9, 3)),
        ((8, 9, 4), (1, 8, 9, 4)),
        ((5, 8, 9), (5, 8, 9, 1)),
        ((5, 8, 9, 3), (5, 8, 9, 3)),
        ((5, 8, 9, 2), None),
        ((64,), None),
        ((0, 8), None),
        ((), None),
    ],
)
def test_the_axes_decide(shape: tuple[int, ...], whole: tuple[int, ...] | None) -> None:
    assert layout(shape) == whole


def test_numbers_become_bytes() -> None:
    assert as_bytes(np.array([0.0, 0.5, 1.0, 1.2, -3.0]), None).tolist() == [0, 128, 255, 255, 0]
    assert as_bytes(np.array([0.0, 8.0, 16.0]), (0, 16)).tolist() == [0, 128, 255]
    assert as_bytes(np.array([0, 200], dtype=np.uint8), (0, 16)).tolist() == [0, 200]
    with pytest.raises(DataError, match=r"x: has numbers from 0 to 16; give bytes"):
        from_array(np.array([[0.0, 16.0]]), None, "x")
    with pytest.raises(DataError, match="x: has numbers that are not finite"):
        from_array(np.array([[0.0, np.nan]]), None, "x")
    with pytest.raises(DataError, match=r"x: an array of .* is no picture"):
        from_array(np.array([["a"]]), None, "x")


def test_fit_keeps_what_fits_and_resizes_the_rest() -> None:
    pixels = noise(2, 8, 6, 3)
    assert fit(pixels, 3, 8, 6) is pixels
    assert fit(pixels, 1, 8, 6)[0, 0, 0, 0] == round(float(pixels[0, 0, 0] @ [0.299, 0.587, 0.114]))
    assert fit(pixels, 1, 4, 4).shape == (2, 4, 4, 1)
    flat = np.full((1, 9, 7, 1), 93, np.uint8)
    assert (fit(flat, 3, 4, 12) == 93).all()


def archive(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("names", [("images", "labels"), ("X", "y"), ("data", "target"), ("x_train", "y_train")])
def test_an_archive_is_read_by_any_of_its_usual_names(tmp_path: Path, names: tuple[str, str]) -> None:
    pixels = noise(5, 4, 4)
    found = Archive(str(archive(tmp_path / "a.npz", **{names[0]: pixels, names[1]: [3, 1, 3, 1, 2]})), "train")
    assert (np.stack(list(found.pictures()))[:, 0, :, :, 0] == pixels).all()
    assert found.labels == ["3", "1", "3", "1", "2"]


def test_an_archive_is_read_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirada.data.pictures.pixels.CHUNK", 100)
    pixels = RANDOM.random((11, 3, 4, 5, 3))
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.array([b"x"] * 11))
    found = Archive(str(path), "train")
    assert found.frames == 3
    assert (np.stack(list(found.pictures())) == np.rint(pixels * 255)).all()


def bad_archives() -> dict[str, tuple[dict[str, Any], str]]:
    pixels, labels = noise(4, 4, 4), np.arange(4)
    return {
        "no pictures": ({"faces": pixels, "labels": labels}, "has no array of pictures (images, X, x, data, x_train, "),
        "no labels": ({"images": pixels, "names": labels}, "it has: images, names"),
        "lengths": ({"images": pixels, "labels": labels[:3]}, "images has 4 pictures, labels 3 labels"),
        "pickle": (
            {"images": pixels, "labels": np.array(["a", 1, None, 2], dtype=object)},
            "labels holds Python objects, saved as a pickle, which is never read",
        ),
        "flat": ({"images": noise(4, 16), "labels": labels}, "images is an array of uint8 [4, 16]; pictures are"),
        "fractions": ({"images": pixels, "labels": labels / 2}, "labels is an array of float64 [4]; labels are"),
        "text": ({"images": np.full((4, 2, 2), "a"), "labels": labels}, "images is an array of <U1"),
        "order": ({"images": np.asfortranarray(pixels), "labels": labels}, "images is in Fortran order"),
        "infinite": (
            {"images": np.full((4, 2, 2), [[1.0, np.inf], [0, 0]]), "labels": labels},
            ", picture 1: has numbers that are not finite",
        ),
    }


@pytest.mark.parametrize("name", bad_archives())
def test_an_archive_that_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    arrays, said = bad_archives()[name]
    path = archive(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError) as caught:
        Archive(str(path), "train")
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", images=noise(400, 8, 8), labels=np.arange(400))
    content = bytearray(path.read_bytes())
    content[3000] ^= 1  # a pixel: the archive's checksum tells
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz: is no whole \.npz archive \(Bad CRC-32"):
        list(Archive(str(path), "train"))
    path.write_bytes(content[:2000])
    with pytest.raises(DataError, match=r"a\.npz: is no whole \.npz archive"):
        Archive(str(path), "train")
    with zipfile.ZipFile(path, "w") as out:  # says that it has more rows than it has
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (9, 8, 8)})
        out.writestr("images.npy", header.getvalue() + bytes(64 * 5))
        header = io.BytesIO()
        np.lib.format.write_array(header, np.arange(9))
        out.writestr("labels.npy", header.getvalue())
    with pytest.raises(DataError, match=r"a\.npz: images is cut short at picture 1"):
        list(Archive(str(path), "train"))


# ── preparing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_split_by_class_and_by_content(tmp_path: Path) -> None:
    found = prepared(tmp_path / "p", gallery(tmp_path / "g", 20), hold_out=0.2)
    assert found.report.classes == {"a": 16, "b": 16}
    assert sorted(found.dev.labels) == ["a"] * 4 + ["b"] * 4
    assert found.training.dtype == np.uint8
    assert isinstance(found.training, np.memmap)
    for name in "ab":  # other names in another order: the same pictures are held out
        for number in range(20):
            (tmp_path / "g" / name / f"{number}.png").rename(tmp_path / "g" / name / f"z{number * 7 % 20}.png")
    again = prepared(tmp_path / "q", tmp_path / "g", hold_out=0.2)
    assert {pixels.tobytes() for pixels in found.dev.pixels} == {pixels.tobytes() for pixels in again.dev.pixels}


def test_what_is_written_is_only_opened_again(tmp_path: Path) -> None:
    first = prepared(tmp_path / "p", gallery(tmp_path / "g"))
    for path in (tmp_path / "g" / "a").iterdir():
        path.unlink()
    again = prepared(tmp_path / "p", tmp_path / "g")
    assert again.format == first.format
    assert again.report == first.report
    assert (again.training == first.training).all()
    assert (again.truth == first.truth).all()


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
    report = prepared(tmp_path / "p", folder).report
    assert report.excluded == {
        "files that are in no class's folder": 1,
        "hidden files and folders": 1,
        "folders inside a class's folder": 1,
        "empty files": 1,
        "files that are no pictures": 1,
        "pictures of over 64 megapixels": 1,
        "pictures that occur with different labels [--set data.contradictions=keep]": 2,
        "exact duplicates of an earlier picture [--set data.duplicates=keep]": 1,
    }
    assert report.training + report.dev == 23
    lines = (tmp_path / "p" / "excluded.tsv").read_text().splitlines()
    assert f"{folder}/a/empty.png\tempty files" in lines
    assert len(lines) == sum(report.excluded.values())


def test_pictures_of_the_dev_part_are_not_learned(tmp_path: Path) -> None:
    training, dev = gallery(tmp_path / "g"), gallery(tmp_path / "d", 3)
    (dev / "a" / "known.png").write_bytes((training / "a" / "0.png").read_bytes())
    found = prepared(tmp_path / "p", training, dev=(str(dev),))
    assert found.report.excluded == {"pictures that are also in the dev part": 1}
    assert (found.report.training, found.report.dev, found.report.held_out) == (23, 7, False)


@pytest.mark.parametrize(
    ("sizes", "settings_", "expected", "said"),
    [
        ([(8, 8)], {}, (8, 8), None),
        ([(6, 12)], {}, (6, 12), None),
        ([(30, 28)], {}, (28, 28), "pictures of 28×30 are resized to 28×28"),
        ([(20, 33), (41, 18)], {}, (20, 15), "pictures of 18×20 to 33×41 are resized to 15×20"),
        ([(9, 9)], {"size": 16}, (16, 16), "pictures of 9×9 are resized to 16×16"),
        ([(600, 300)], {}, (256, 128), "pictures of 300×600 are resized to 128×256"),
        ([(1, 1)], {}, (2, 2), "pictures of 1×1 are resized to 2×2"),
        ([(12, 12)], {"patch": 5}, (10, 10), "pictures of 12×12 are resized to 10×10"),
    ],
)
def test_one_size_for_all(
    tmp_path: Path, sizes: list[tuple[int, int]], settings_: dict[str, Any], expected: tuple[int, int], said: str | None
) -> None:
    for place, name in enumerate("ab"):
        for number in range(6):
            shape = sizes[number % len(sizes)]
            picture = np.full(shape, number + 100 * place, np.uint8)
            saved(tmp_path / "g" / name / f"{number}.png", picture)
    found = prepared(tmp_path / "p", tmp_path / "g", **settings_)
    assert found.format.shape == (1, 1, *expected)
    assert found.training.shape[1:] == (1, *expected, 1)
    resized = [note for note in found.report.notes if "resized" in note]
    assert resized == ([] if said is None else [f"{said} [--set data.size=…]"])


@pytest.mark.parametrize(("colour", "channels"), [("auto", 3), ("grey", 1), ("rgb", 3)])
def test_colours(tmp_path: Path, colour: str, channels: int) -> None:
    gallery(tmp_path / "g")
    saved(tmp_path / "g" / "a" / "red.png", np.full((8, 8, 3), [200, 0, 0], np.uint8))
    assert prepared(tmp_path / "p", tmp_path / "g", colour=colour).format.shape[0] == channels


def test_grey_pictures_saved_in_colour_are_grey(tmp_path: Path) -> None:
    for name in "ab":
        for number in range(6):
            saved(tmp_path / "g" / name / f"{number}.png", np.repeat(noise(8, 8, 1), 3, -1))
    assert prepared(tmp_path / "p", tmp_path / "g").format.shape[0] == 1


def test_the_network_sees_mean_0_and_spread_1(tmp_path: Path) -> None:
    pixels = noise(40, 3, 4, 4, 3)
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.arange(40) % 2)
    found = prepared(tmp_path / "p", path, patch=2)
    x = found.format.tensor(found.training)
    assert x.shape == (36, 3, 3, 4, 4)
    torch.testing.assert_close(x.mean((0, 2, 3, 4)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3, 4), correction=0), torch.ones(3), atol=1e-5, rtol=0)
    assert Format.from_json(found.format.to_json(["x"])) == (["x"], found.format)


def test_a_file_and_an_array_are_the_same(tmp_path: Path) -> None:
    pixels = noise(24, 8, 8)
    for number, picture in enumerate(pixels):
        saved(tmp_path / "g" / str(number % 2) / f"{number}.png", picture)
    from_files = prepared(tmp_path / "p", tmp_path / "g")
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.arange(24) % 2)
    from_npz = prepared(tmp_path / "q", path)
    assert from_files.format == from_npz.format
    assert {p.tobytes() for p in from_files.training} == {p.tobytes() for p in from_npz.training}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("missing", "g: there is no such folder or file"),
        ("file", "g: is neither a folder with a folder of pictures for every class nor an .npz archive"),
        ("empty", "g: has 0 files and no folders; pictures are read from a folder for every class: g/cats/1.png"),
        ("flat", "g: has 3 files and no folders"),
        ("empty class", "g/c: the class 'c' has no pictures; put some into it, or remove it"),
        ("nested", "g/c: the class 'c' has no pictures; if its folders are the classes, give "),
        ("one class", "g: all pictures are of the class 'a'; there is nothing to learn"),
        ("single", "g/c/0.png: is the only picture of the class 'c', which cannot be both learned from and measured"),
        ("broken class", "g: no picture of the class 'c' can be read; the first of them, "),
        ("few", "g: 6 pictures; training needs at least 10"),
        ("frames", "g: 1 frames cannot be cut into patches that are model.frames=2 deep"),
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
        PicturesConfig()
    with pytest.raises(ValidationError, match=r"data\.files has 2 names"):
        PicturesConfig(files=("a", "b"))


# ── batches ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def batches(
    augment: bool = True, flip: bool = False, seed: int = 1, videos: int = 1, budget: int = 100
) -> PictureBatches:
    pixels = np.random.default_rng(5).integers(0, 256, (30, videos, 6, 8, 1), dtype=np.uint8)
    format_ = Format((1, videos, 6, 8), (0.0,), (1 / 255,))  # so that numbers are bytes again
    return PictureBatches(pixels, np.arange(30), format_, "x", 12, budget, seed, augment, flip)


def test_an_epoch_has_every_picture_once() -> None:
    plan = batches(augment=False).epoch(3)
    assert sorted(np.concatenate(plan) % 30) == list(range(30))
    assert {len(rows) for rows in plan} == {7, 8}  # 100 // 12, evenly
    assert len(batches(budget=16).epoch(0)[0]) >= 7  # never fewer than about 8
    loaded = batches(augment=False).load(plan[0])
    assert loaded.rows is not None
    assert loaded.truth is not None
    assert loaded.truth.equal(loaded.rows)
    assert loaded.tokens == 12 * len(plan[0])
    close = batches(augment=False).pixels[loaded.rows.numpy(), :, :, :, 0]
    assert (loaded.inputs[:, 0].round().numpy() == close).all()


def test_warps_depend_on_seed_epoch_and_row_alone() -> None:
    plan = batches()
    first = plan.epoch(2)[0]
    loaded = plan.load(first).inputs
    fresh = batches()
    assert torch.equal(fresh.load(first).inputs, loaded)  # in another process, with nothing asked before
    assert torch.equal(fresh.load(first[::-1].copy()).inputs, loaded.flip(0))  # and in whatever company
    assert not torch.equal(plan.load(np.arange(60, 90)).inputs, plan.load(np.arange(90, 120)).inputs)
    assert not torch.equal(batches(seed=2).load(first).inputs, loaded)


def affine(*rows: tuple[float, float, float]) -> torch.Tensor:
    return torch.tensor([rows], dtype=torch.float32)


def test_a_picture_is_read_from_where_it_is_told() -> None:
    pixels = torch.from_numpy(noise(1, 2, 3, 6, 6)).float()
    options: dict[str, Any] = {"atol": 1e-3, "rtol": 0}
    torch.testing.assert_close(warp(pixels, affine((1, 0, 0), (0, 1, 0))), pixels, **options)
    quarter = warp(pixels, affine((0, -1, 0), (1, 0, 0)))
    torch.testing.assert_close(quarter, pixels.rot90(1, (-2, -1)), **options)
    right = warp(pixels, affine((1, 0, 2 / 6), (0, 1, 0)))  # a pixel is 2/6 of the way from −1 to 1
    torch.testing.assert_close(right[..., :5], pixels[..., 1:], **options)
    torch.testing.assert_close(right[..., 5], pixels[..., 5], **options)  # the edge fills the gap
    half = warp(pixels, affine((1, 0, 0), (0, 1, 1 / 6)))
    torch.testing.assert_close(half[..., :5, :], (pixels[..., :5, :] + pixels[..., 1:, :]) / 2, **options)


def test_a_picture_is_turned_scaled_and_shifted_a_little_and_nothing_else() -> None:
    whole = np.array([batches()._places(epoch) for epoch in range(20)]).reshape(-1, 2, 3)
    size = np.array([8, 6]) / 2  # x and y, from −1 to 1, in pixels
    inner = size[:, None] * whole[:, :, :2] / size  # A in pixels: scale · rotation, though a side is longer
    scale = np.sqrt(np.linalg.det(inner))
    square = inner @ inner.transpose(0, 2, 1)
    np.testing.assert_allclose(square, scale[:, None, None] ** 2 * np.eye(2), atol=1e-5)
    angle = np.degrees(np.arctan2(inner[:, 1, 0], inner[:, 0, 0]))
    shift = whole[:, :, 2] * size
    for found, most in ((angle, TURN), (scale - 1, SCALE), (shift[:, 0], 6 * SHIFT), (shift[:, 1], 6 * SHIFT)):
        assert 0.9 * most < found.max() <= 1.001 * most
        assert -0.9 * most > found.min() >= -1.001 * most


def test_every_frame_of_a_video_is_warped_alike() -> None:
    plan = batches(videos=3)
    plan.pixels = plan.pixels[:, :1].repeat(3, 1)
    frames = plan.load(np.arange(30)).inputs
    assert torch.equal(frames[:, :, 0], frames[:, :, 2])
    assert not torch.equal(frames, batches(augment=False, videos=3).load(np.arange(30)).inputs)


@pytest.mark.parametrize("augment", [True, False])
def test_a_picture_is_mirrored_only_when_asked(augment: bool) -> None:
    straight, mirrored = batches(augment), batches(augment, flip=True)
    rows = np.arange(30)
    a, b = straight.load(rows).inputs, mirrored.load(rows).inputs
    same = torch.isclose(a, b, atol=1e-2).flatten(1).all(1)
    assert 5 < int(same.sum()) < 25
    torch.testing.assert_close(a[~same], b[~same].flip(-1), atol=1e-2, rtol=0)


def test_a_dev_part_as_text_and_back() -> None:
    dev = Pictures(noise(3, 2, 4, 5, 3), ["a", "ü", "b"], ["x/1.png", "y", "z"])
    back = Pictures.load(dev.dump())
    assert (back.pixels == dev.pixels).all()
    assert (back.labels, back.places) == (dev.labels, dev.places)
    assert len(Pictures.load("")) == 0
    assert json.loads(dev.dump().split("\n")[0])[:2] == ["x/1.png", "a"]
