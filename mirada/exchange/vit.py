"""Read and write ViT: an image classifier whose patch embedding is a convolution with the stride of its kernel."""

from __future__ import annotations

from functools import partial
from math import inf, isfinite

from mirada.contracts import Sizes
from mirada.data.images.format import Format
from mirada.errors import DataError
from mirada.exchange.checkpoint import (
    Checkpoint,
    CheckpointConfig,
    ExportedModel,
    ImportedModel,
    encoder_config,
    label_config,
    not_exportable,
)
from mirada.exchange.mapping import Row, WeightMap, layer_rows, load_weights, store_weights
from mirada.models.vit import ViT, ViTConfig
from mirada.tasks.image_classification.data import ImagePreprocessor
from mirada.tasks.image_classification.model import ImageClassificationModel

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
PROCESSOR = "preprocessor_config.json"


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read an image classifier with its labels."""
    config = checkpoint.config
    config.require(qkv_bias=True)
    if "classifier.weight" not in checkpoint.names:
        raise DataError(f"{checkpoint.weights}: has no classifier.weight; only ViT classifiers can be imported")
    side, patch = config.integer("image_size", 224), config.integer("patch_size", 16)
    channels = config.integer("num_channels", 3)
    settings = config.build(ViTConfig, config.encoder() | {"patch": patch})
    if side < 1 or channels not in (1, 3) or side % patch:
        raise DataError(
            f"{config.path}: images of {side}×{side} pixels with {channels} channels in patches of {patch} are not "
            "supported"
        )
    labels, shape = checkpoint.labels(), (channels, 1, side, side)
    sizes = Sizes(channels, len(labels), numeric_inputs=True, shape=shape)
    network = load_weights(partial(ViT, settings, sizes), checkpoint, WeightMap(ROWS))
    format, notes = _image_format(CheckpointConfig(checkpoint.folder / PROCESSOR, optional=True), shape)
    return ImportedModel(
        "vit",
        "image_classification",
        settings.model_dump(),
        network,
        ImagePreprocessor(labels, format),
        report={"classes": dict.fromkeys(labels, 0), "format": format.text},
        notes=notes,
    )


def _image_format(config: CheckpointConfig, shape: tuple[int, int, int, int]) -> tuple[Format, tuple[str, ...]]:
    """The preprocessing of preprocessor_config.json: resize, x = (byte · rescale_factor − image_mean) / image_std.

    Ours is x = (byte / 255 − mean) / std, so with f = 255 · rescale_factor: mean = image_mean / f, std = image_std / f.
    """
    channels, side, path = shape[0], shape[-1], config.path
    notes = [] if config.values else [f"the checkpoint has no {path.name}: pixels are scaled to −1 … 1"]
    if config.flag("do_center_crop", False):
        raise DataError(f"{path}: do_center_crop=true is not supported: the whole image is resized")
    if config.flag("do_resize", True):
        size, resample = config.values.get("size"), config.values.get("resample")
        if size not in (None, side, {"height": side, "width": side}):
            raise DataError(f"{path}: size={size!r} is not the model's image size, {side}×{side}")
        if resample is not None and (type(resample) is not int or not 0 <= resample < len(FILTERS)):
            raise DataError(f"{path}: resample should be a number from 0 to {len(FILTERS) - 1}, not {resample!r}")
        if resample not in (None, FILTERS.index("bilinear")):
            notes.append(
                f"images of other sizes than {side}×{side} are resized with a bilinear filter, not with the "
                f"checkpoint's {FILTERS[resample]} filter, which causes small differences"
            )
    rescale = config.values.get("rescale_factor", 1 / 255)
    if type(rescale) not in (int, float) or not 0 < rescale < inf:
        raise DataError(f"{path}: rescale_factor should be a number above 0, not {rescale!r}")
    factor = 255 * rescale if config.flag("do_rescale", True) else 255.0
    scale = {"image_mean": [0.0] * channels, "image_std": [1.0] * channels}
    for key in scale if config.flag("do_normalize", True) else ():
        scale[key] = values = config.values.get(key) or [0.5] * channels
        valid = isinstance(values, list) and all(type(value) in (int, float) and isfinite(value) for value in values)
        if not valid or len(values) != channels:
            raise DataError(f"{path}: {key} should be {channels} numbers, not {values!r}")
        if key == "image_std" and min(values) <= 0:
            raise DataError(f"{path}: image_std should be above 0, not {values!r}")
    mean, std = (tuple(value / factor for value in values) for values in scale.values())
    return Format(shape, mean, std), tuple(notes)


def write(model: ImageClassificationModel) -> ExportedModel:
    """Write an image classifier with its labels and its image preprocessing."""
    network, format = model.network, model.preprocessor.format
    assert isinstance(network, ViT)
    c, (channels, frames, height, width) = network.config, format.shape
    if c.pool == "mean":
        raise not_exportable(
            model.path, "ViT classifies by its class token, and this model by the mean (model.pool=mean)"
        )
    if frames > 1:
        raise not_exportable(model.path, f"ViT takes images, and this model videos of {frames} frames")
    patch = c.patch_for(height, width)
    tensors = store_weights(network, WeightMap(ROWS))
    kernel = "vit.embeddings.patch_embeddings.projection.weight"
    tensors[kernel] = tensors[kernel].view(c.width, channels, patch, patch)
    config = {
        "model_type": "vit",
        **encoder_config(c),
        "image_size": height if height == width else [height, width],
        "patch_size": patch,
        "num_channels": channels,
        "qkv_bias": True,
        **label_config(model.labels),
    }
    processor = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": height, "width": width},
        "resample": FILTERS.index("bilinear"),
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(format.mean),
        "image_std": list(format.std),
    }
    return ExportedModel("ViTForImageClassification", config, tensors, {PROCESSOR: processor})
