"""Images and arrays become bytes as a person sees them; what cannot be read is named."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mirada.data.images.pixels import BadImage, as_bytes, fit, from_array, layout, read_image
from mirada.errors import DataError
from tests.data.images.samples import noise, png_header, saved


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif", "tiff", "webp", "ppm"])
def test_grey_and_colour_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    options: dict[str, Any] = {"lossless": True} if suffix == "webp" else {}
    grey = noise(5, 7) // 16 * 16
    found, animated = read_image(saved(tmp_path / f"grey.{suffix}", grey, **options))
    assert (found[0, :, :, 0] == grey).all()
    assert not animated
    if suffix != "gif":  # which has 256 colours
        colours = noise(5, 7, 3)
        assert (read_image(saved(tmp_path / f"rgb.{suffix}", colours, **options))[0][0] == colours).all()


def test_sixteen_bits_are_scaled(tmp_path: Path) -> None:
    deep = np.array([[0, 257, 32768, 65535]], dtype=np.uint16)
    assert read_image(saved(tmp_path / "deep.png", deep))[0].ravel().tolist() == [0, 1, 128, 255]


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 128]]], dtype=np.uint8)
    expected = [[10, 20, 30], [255, 255, 255], [127, 127, 127]]
    assert read_image(saved(tmp_path / "clear.png", pixels))[0][0, 0].tolist() == expected
    assert from_array(pixels, None, "x")[0, 0].tolist() == expected
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, 200, 100, 50])
    palette.putpixel((1, 0), 1)
    palette.save(tmp_path / "palette.png", transparency=0)
    assert read_image(tmp_path / "palette.png")[0][0, 0].tolist() == [[255, 255, 255], [200, 100, 50]]


def test_a_camera_that_lay_on_its_side(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it a quarter, clockwise
    pixels = noise(4, 6)
    path = saved(tmp_path / "turned.png", pixels, exif=exif)
    assert (read_image(path)[0][0, :, :, 0] == np.rot90(pixels, -1)).all()


def test_the_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((4, 4), value, np.uint8)) for value in (0, 255)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    pixels, animated = read_image(tmp_path / "moving.gif")
    assert pixels.max() == 0
    assert animated


def whole_png() -> bytes:
    out = io.BytesIO()
    Image.fromarray(noise(40, 40)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "reason", "said"),
    [
        (b"", "empty_file", "is empty (0 bytes)"),
        (b"this is text, whatever its name says\n", "not_image", "is not an image (PNG, JPEG, "),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "not_image", "is not an image"),
        (png_header(10_000, 10_000), "too_large", "has over 64 megapixels (10,000×10,000)"),
        (png_header(100_000, 100_000), "too_large", "has over 64 megapixels"),
        (whole_png()[:900], "damaged", "is damaged or truncated"),
    ],
    ids=["empty", "text", "postscript", "large", "bomb", "cut"],
)
def test_what_is_no_picture_says_so_in_one_line(tmp_path: Path, content: bytes, reason: str, said: str) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(content)
    with pytest.raises(BadImage) as caught:
        read_image(path)
    assert caught.value.reason == reason
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


def test_pixels_of_32_bits_and_fractions_are_not_called_damaged(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4), 10**6, np.int32)).save(tmp_path / "i.tiff")
    Image.fromarray(np.full((4, 4), 0.5, np.float32)).save(tmp_path / "f.tiff")
    for name in ("i.tiff", "f.tiff"):
        with pytest.raises(BadImage, match="has pixels of over 16 bits or fractions: save it with 8 or 16 bits"):
            read_image(tmp_path / name)


def test_a_name_that_no_file_has_says_so() -> None:
    with pytest.raises(BadImage, match="cannot be opened"):
        read_image("a\0b.png")


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadImage, match=r"cannot be opened \(No such file"):
        read_image(tmp_path / "missing.png")
    with pytest.raises(BadImage, match=r"cannot be opened \(it is not a file\)"):
        read_image(tmp_path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(whole_png())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=6)):
        content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.png"
    path.write_bytes(content)
    with contextlib.suppress(BadImage):
        assert read_image(path)[0].ndim == 4


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
    with pytest.raises(DataError, match=r"x: an array of .* is not an image"):
        from_array(np.array([["a"]]), None, "x")


def test_fit_keeps_what_fits_and_resizes_the_rest() -> None:
    pixels = noise(2, 8, 6, 3)
    assert fit(pixels, 3, 8, 6) is pixels
    assert fit(pixels, 1, 8, 6)[0, 0, 0, 0] == round(float(pixels[0, 0, 0] @ [0.299, 0.587, 0.114]))
    assert fit(pixels, 1, 4, 4).shape == (2, 4, 4, 1)
    flat = np.full((1, 9, 7, 1), 93, np.uint8)
    assert (fit(flat, 3, 4, 12) == 93).all()
