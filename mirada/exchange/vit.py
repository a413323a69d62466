"""Read ViT: an image classifier whose patch embedding is a convolution with the stride of its kernel."""

from __future__ import annotations

from functools import partial
from math import inf, isfinite

from mirada.contracts import Sizes
from mirada.data.images.format import Format
from mirada.errors import DataError
from mirada.exchange.checkpoint import Checkpoint, read_json
from mirada.exchange.imported import ImportedModel, class_labels, encoder_settings, model_settings
from mirada.exchange.mapping import Row, WeightMap, layer_rows, load_weights
from mirada.models.vit import ViT, ViTConfig

LAYER = {
    "attention.attention.query": "self_.query",
    "attention.attention.key": "self_.key",
    "attention.attention.value": "self_.value",
    "attention.output.dense": "self_.output",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "layernorm_before": "add_self.norm",
    "layernorm_after": "add_feed_forward.norm",
}
ROWS = [
    Row("vit.embeddings.cls_token", "class_token"),
    Row("vit.embeddings.position_embeddings", "positions"),
    Row("vit.embeddings.patch_embeddings.projection", "patches.linear", reshaped=True),
    *layer_rows("vit.encoder.layer", "encoder.layers", LAYER),
    Row("vit.layernorm", "encoder.final_norm"),
    Row("classifier", "output"),
]
FILTERS = ["nearest", "Lanczos", "bilinear", "bicubic", "box", "Hamming"]
"""Pillow's resampling filters, by number."""
BILINEAR = FILTERS.index("bilinear")


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read an image classifier with its labels."""
    config = checkpoint.config
    config.require(qkv_bias=True)
    if "classifier.weight" not in checkpoint.names:
        raise DataError(f"{checkpoint.weights}: has no classifier.weight; only ViT classifiers can be imported")
    side, patch = config.integer("image_size", 224), config.integer("patch_size", 16)
    channels = config.integer("num_channels", 3)
    settings = model_settings(checkpoint, ViTConfig, encoder_settings(config) | {"patch": patch})
    if side < 1 or channels not in (1, 3) or side % patch:
        raise DataError(
            f"{config.path}: images of {side}×{side} pixels with {channels} channels in patches of {patch} are not "
            "supported"
        )
    labels, shape = class_labels(checkpoint), (channels, 1, side, side)
    sizes = Sizes(channels, len(labels), numeric_inputs=True, shape=shape)
    network = load_weights(partial(ViT, settings, sizes), checkpoint, WeightMap(ROWS, tied={}, ignored=[]))
    processor = ImageProcessor(checkpoint, side, channels)
    return ImportedModel(
        "vit",
        "image_classification",
        settings.model_dump(),
        network,
        labels=labels,
        images=Format(shape, processor.mean, processor.std),
        notes=processor.notes,
    )


class ImageProcessor:
    """The preprocessing of preprocessor_config.json: resize, x = (byte · rescale_factor − image_mean) / image_std.

    Ours is x = (byte / 255 − mean) / std, so with f = 255 · rescale_factor: mean = image_mean / f, std = image_std / f.
    """

    def __init__(self, checkpoint: Checkpoint, side: int, channels: int):
        self.path = checkpoint.folder / "preprocessor_config.json"
        self.values = read_json(self.path) if self.path.exists() else {}
        self.side, self.channels = side, channels
        notes = [] if self.values else [f"the checkpoint has no {self.path.name}: pixels are scaled to −1 … 1"]
        if self._flag("do_center_crop", False):
            raise DataError(f"{self.path}: do_center_crop=true is not supported: the whole image is resized")
        if self._flag("do_resize", True):
            notes += self._resizing()
        self.notes = tuple(notes)
        normalize = self._flag("do_normalize", True)
        factor = 255 * self._factor() if self._flag("do_rescale", True) else 255.0
        mean = self._numbers("image_mean") if normalize else (0.0,) * channels
        std = self._numbers("image_std") if normalize else (1.0,) * channels
        self.mean, self.std = (tuple(value / factor for value in values) for values in (mean, std))

    def _flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise DataError(f"{self.path}: {key} should be true or false, not {value!r}")
        return default if value is None else value

    def _resizing(self) -> list[str]:
        side, size, resample = self.side, self.values.get("size"), self.values.get("resample", BILINEAR)
        if size not in (None, side, {"height": side, "width": side}):
            raise DataError(f"{self.path}: size={size!r} is not the model's image size, {side}×{side}")
        if resample is None or resample == BILINEAR:
            return []
        if isinstance(resample, bool) or not isinstance(resample, int) or not 0 <= resample < len(FILTERS):
            raise DataError(f"{self.path}: resample should be a number from 0 to {len(FILTERS) - 1}, not {resample!r}")
        return [
            f"images of other sizes than {side}×{side} are resized with a bilinear filter, not with the checkpoint's "
            f"{FILTERS[resample]} filter, which causes small differences"
        ]

    def _factor(self) -> float:
        value = self.values.get("rescale_factor", 1 / 255)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise DataError(f"{self.path}: rescale_factor should be a number above 0, not {value!r}")
        return float(value)

    def _numbers(self, key: str) -> tuple[float, ...]:
        values = self.values.get(key) or [0.5] * self.channels
        valid = isinstance(values, list) and all(type(value) in (int, float) and isfinite(value) for value in values)
        if not valid or len(values) != self.channels:
            raise DataError(f"{self.path}: {key} should be {self.channels} numbers, not {values!r}")
        if key == "image_std" and min(values) <= 0:
            raise DataError(f"{self.path}: image_std should be above 0, not {values!r}")
        return tuple(map(float, values))
