"""Archives of images: any of the usual names, a few rows at a time, and what does not fit is named."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada.data.images.sources import Archive
from mirada.errors import DataError
from tests.data.images.samples import RANDOM, archive, noise


@pytest.mark.parametrize("names", [("images", "labels"), ("X", "y"), ("data", "target"), ("x_train", "y_train")])
def test_an_archive_is_read_by_any_of_its_usual_names(tmp_path: Path, names: tuple[str, str]) -> None:
    pixels = noise(5, 4, 4)
    found = Archive(str(archive(tmp_path / "a.npz", **{names[0]: pixels, names[1]: [3, 1, 3, 1, 2]})), "train")
    assert (np.stack(list(found.images()))[:, 0, :, :, 0] == pixels).all()
    assert found.labels == ["3", "1", "3", "1", "2"]


def test_an_archive_is_read_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirada.data.images.sources.CHUNK", 100)
    pixels = RANDOM.random((11, 3, 4, 5, 3))
    path = archive(tmp_path / "a.npz", images=pixels, labels=np.array([b"x"] * 11))
    found = Archive(str(path), "train")
    assert found.frames == 3
    assert (np.stack(list(found.images())) == np.rint(pixels * 255)).all()


def bad_archives() -> dict[str, tuple[dict[str, Any], str]]:
    pixels, labels = noise(4, 4, 4), np.arange(4)
    return {
        "no images": ({"faces": pixels, "labels": labels}, "has no array of images (images, X, x, data, x_train, "),
        "no labels": ({"images": pixels, "names": labels}, "it has: images, names"),
        "lengths": ({"images": pixels, "labels": labels[:3]}, "images has 4 images, labels 3 labels"),
        "pickle": (
            {"images": pixels, "labels": np.array(["a", 1, None, 2], dtype=object)},
            "labels holds Python objects, saved as a pickle, which is never read",
        ),
        "flat": ({"images": noise(4, 16), "labels": labels}, "images is an array of uint8 [4, 16]; images are"),
        "more labels": (
            {"images": pixels, "labels": np.zeros(10**7, np.uint8)},
            "images has 4 images, labels 10,000,000 labels",
        ),
        "long labels": (
            {"images": pixels, "labels": np.array(["a" * 2000] * 4)},
            "labels has labels of 8,000 bytes; 4,096 is the most",
        ),
        "empty label": (
            {"images": pixels, "labels": ["a", "b", "", "a"]},
            "label 3 in labels is ''; a label is a text",
        ),
        "lines": ({"images": pixels, "labels": ["a", "b\tc", "a", "a"]}, "label 2 in labels is 'b\\tc'"),
        "pickled images": (
            {"images": np.array([1, None, 2, 3], dtype=object), "labels": labels},
            "images of one size as numbers, numpy.stack(images)",
        ),
        "fractions": ({"images": pixels, "labels": labels / 2}, "labels is an array of float64 [4]; labels are"),
        "text": ({"images": np.full((4, 2, 2), "a"), "labels": labels}, "images is an array of <U1"),
        "order": ({"images": np.asfortranarray(pixels), "labels": labels}, "images is in Fortran order"),
        "infinite": (
            {"images": np.full((4, 2, 2), [[1.0, np.inf], [0, 0]]), "labels": labels},
            ", image 1: has numbers that are not finite",
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
    with pytest.raises(DataError, match=r"a\.npz: is not a whole \.npz archive \(Bad CRC-32"):
        list(Archive(str(path), "train"))
    path.write_bytes(content[:2000])
    with pytest.raises(DataError, match=r"a\.npz: is not a whole \.npz archive"):
        Archive(str(path), "train")
    with zipfile.ZipFile(path, "w") as out:  # says that it has more rows than it has
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (9, 8, 8)})
        out.writestr("images.npy", header.getvalue() + bytes(64 * 5))
        header = io.BytesIO()
        np.lib.format.write_array(header, np.arange(9))
        out.writestr("labels.npy", header.getvalue())
    with pytest.raises(DataError, match=r"a\.npz: images is cut short at image 1"):
        list(Archive(str(path), "train"))


def test_axes_below_zero_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        for name, shape in (("images", (2, 2, 2)), ("labels", (-2,))):
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
            out.writestr(f"{name}.npy", header.getvalue() + bytes(8))
    with pytest.raises(DataError, match=r"a\.npz: labels is damaged: its axes are \[-2\]"):
        Archive(str(tmp_path / "a.npz"), "train")


def test_labels_that_are_no_utf8_are_shown_as_they_are(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", images=noise(2, 4, 4), labels=np.array([b"caf\xe9", b"t\xc3\xa9"]))
    assert Archive(str(path), "train").labels == ["caf\\xe9", "té"]
