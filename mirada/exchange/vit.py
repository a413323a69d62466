"""ViT as published: a classifier of images; its patches are a convolution whose stride is its size."""

from __future__ import annotations

from functools import partial
from math import inf, isfinite

from mirada.contracts import Sizes
from mirada.data.images.format import Format
from mirada.errors import DataError
from mirada.exchange.checkpoint import Checkpoint, read_json
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings, labels_of
from mirada.exchange.mapping import Row, Table, fill
from mirada.models.vit import ViT, ViTConfig

THEIRS, OURS = "vit.encoder.layer.{}", "encoder.layers.{}"
ROWS = [
    Row("vit.embeddings.cls_token", "class_token"),
    Row("vit.embeddings.position_embeddings", "positions"),
    Row("vit.embeddings.patch_embeddings.projection", "patches.linear", flat=True),
    Row(f"{THEIRS}.attention.attention.query", f"{OURS}.self_.query"),
    Row(f"{THEIRS}.attention.attention.key", f"{OURS}.self_.key"),
    Row(f"{THEIRS}.attention.attention.value", f"{OURS}.self_.value"),
    Row(f"{THEIRS}.attention.output.dense", f"{OURS}.self_.output"),
    Row(f"{THEIRS}.intermediate.dense", f"{OURS}.feed_forward.inner"),
    Row(f"{THEIRS}.output.dense", f"{OURS}.feed_forward.outer"),
    Row(f"{THEIRS}.layernorm_before", f"{OURS}.add_self.norm"),
    Row(f"{THEIRS}.layernorm_after", f"{OURS}.add_feed_forward.norm"),
    Row("vit.layernorm", "encoder.final_norm"),
    Row("classifier", "output"),
]
BILINEAR = 2
RESAMPLING = {
    0: "to the nearest pixel",
    1: "by Lanczos",
    BILINEAR: "bilinearly",
    3: "bicubically",
    4: "by boxes",
    5: "by Hamming",
}
"""Pillow's numbers of the ways to resize."""


def read(source: Checkpoint) -> Imported:
    """A classifier of images, with the names of its classes."""
    s = source.settings
    s.only(qkv_bias=True)
    if "classifier.weight" not in source.names:
        raise DataError(f"{source.where}: has no classifier.weight; only a ViT that classifies can be imported")
    side, patch, channels = s.integer("image_size", 224), s.integer("patch_size", 16), s.integer("num_channels", 3)
    values = {
        "width": s.integer("hidden_size"),
        "heads": s.integer("num_attention_heads"),
        "layers": s.integer("num_hidden_layers"),
        "feed_forward": s.integer("intermediate_size"),
        "patch": patch,
        "activation": s.choice("hidden_act", ACTIVATIONS, "gelu"),
        "eps": s.number("layer_norm_eps", 1e-12),
    }
    settings = build_settings(source, ViTConfig, values)
    if side < 1 or channels not in (1, 3) or side % patch:
        raise DataError(
            f"{s.path}: images of {side}×{side} pixels with {channels} colours in patches of {patch} are not known here"
        )
    labels = labels_of(source)
    shape = (channels, 1, side, side)
    sizes = Sizes(channels, len(labels), numeric_inputs=True, shape=shape)
    network = fill(partial(ViT, settings, sizes), source, Table(ROWS, ties={}, harmless=[]))
    pixels = Pixels(source, side, channels)
    images = Format(shape, pixels.mean, pixels.std)
    return Imported(
        "vit", "image_classification", settings.model_dump(), network, labels=labels, images=images, notes=pixels.notes
    )


class Pixels:
    """What preprocessor_config.json does to an image: resize, x = (byte · rescale_factor − image_mean) / image_std.

    Ours is x = (byte / 255 − mean) / std, so with f = 255 · rescale_factor: mean = image_mean / f, std = image_std / f.
    """

    def __init__(self, source: Checkpoint, side: int, channels: int):
        self.path = source.folder / "preprocessor_config.json"
        self.told = read_json(self.path) if self.path.exists() else {}
        self.side, self.channels = side, channels
        notes = [] if self.told else [f"the checkpoint has no {self.path.name}: pixels are scaled to −1 … 1, as usual"]
        if self._flag("do_center_crop", False):
            raise DataError(f"{self.path}: do_center_crop=true is not known here, where the whole image is resized")
        if self._flag("do_resize", True):
            notes += self._resizing()
        self.notes = tuple(notes)
        normal = self._flag("do_normalize", True)
        factor = 255 * self._factor() if self._flag("do_rescale", True) else 255.0
        mean = self._numbers("image_mean") if normal else (0.0,) * channels
        std = self._numbers("image_std") if normal else (1.0,) * channels
        self.mean, self.std = (tuple(value / factor for value in values) for values in (mean, std))

    def _flag(self, key: str, default: bool) -> bool:
        value = self.told.get(key)
        if value is not None and not isinstance(value, bool):
            raise DataError(f"{self.path}: {key} should be true or false, not {value!r}")
        return default if value is None else value

    def _resizing(self) -> list[str]:
        side, size, how = self.side, self.told.get("size"), self.told.get("resample")
        if size not in (None, side, {"height": side, "width": side}):
            raise DataError(f"{self.path}: size={size!r} is not that of the model's images, {side}×{side}")
        if how is None or how == BILINEAR:
            return []
        if isinstance(how, bool) or not isinstance(how, int) or how not in RESAMPLING:
            raise DataError(f"{self.path}: resample should be a number from 0 to {max(RESAMPLING)}, not {how!r}")
        return [
            f"images of another size than {side}×{side} are resized bilinearly here, and by the checkpoint "
            f"{RESAMPLING[how]}: small differences come from that"
        ]

    def _factor(self) -> float:
        value = self.told.get("rescale_factor", 1 / 255)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise DataError(f"{self.path}: rescale_factor should be a number above 0, not {value!r}")
        return float(value)

    def _numbers(self, key: str) -> tuple[float, ...]:
        values = self.told.get(key) or [0.5] * self.channels
        sound = isinstance(values, list) and all(type(value) in (int, float) and isfinite(value) for value in values)
        if not sound or len(values) != self.channels:
            raise DataError(f"{self.path}: {key} should be {self.channels} numbers, not {values!r}")
        if key == "image_std" and min(values) <= 0:
            raise DataError(f"{self.path}: image_std should be above 0, not {values!r}")
        return tuple(map(float, values))
