"""Batches of images: every one once an epoch, warped by seed, epoch and number alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirada.data.images.batches import SCALE, SHIFT, TURN, Descriptions, ImageBatches, Images, warp
from mirada.data.images.format import Format
from mirada.errors import BundleError, DataError
from tests.data.images.samples import noise


def batches(
    augment: bool = True, flip: bool = False, seed: int = 1, videos: int = 1, budget: int = 100
) -> ImageBatches:
    pixels = np.random.default_rng(5).integers(0, 256, (30, videos, 6, 8, 1), dtype=np.uint8)
    format_ = Format((1, videos, 6, 8), (0.0,), (1 / 255,))  # so that numbers are bytes again
    return ImageBatches(pixels, np.arange(30), format_, "x", 12, budget, seed, augment, flip)


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
    dev = Images(noise(3, 2, 4, 5, 3), ["a", "ü", "b"], ["x/1.png", "y", "z"])
    back = Images.load(dev.dump())
    assert (back.pixels == dev.pixels).all()
    assert (back.labels, back.places) == (dev.labels, dev.places)
    assert len(Images.load("")) == 0
    assert json.loads(dev.dump().split("\n")[0])[:2] == ["x/1.png", "a"]


def test_an_image_without_a_description_is_damage(tmp_path: Path) -> None:
    np.save(tmp_path / "dev.npy", noise(2, 1, 4, 5, 3))
    some: list[list[list[str]]] = [[["a dog"], []], [[], []]]
    for labels in some:
        (tmp_path / "dev.json").write_text(json.dumps({"labels": labels, "places": ["a", "b"]}), encoding="utf-8")
        with pytest.raises(DataError, match=r"dev\.json"):
            Images.read(tmp_path, (3, 1, 4, 5), Descriptions)
    with pytest.raises(BundleError, match=r"dev\.jsonl"):
        Images.load(Images(noise(1, 1, 4, 5, 3), [[]], ["a"]).dump())
