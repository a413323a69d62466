"""ViT as published: a classifier of pictures; its patches are a convolution whose stride is its size."""

from __future__ import annotations

from functools import partial

from mirada.contracts import Sizes
from mirada.data.pictures.format import Format
from mirada.errors import DataError
from mirada.exchange.checkpoint import Checkpoint, read_json
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings
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


def read(source: Checkpoint) -> Imported:
    """A classifier of pictures, with the names of its classes."""
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
            f"{s.path}: pictures of {side}×{side} pixels with {channels} colours in patches of {patch} are not "
            "known here"
        )
    labels = _labels(source)
    shape = (channels, 1, side, side)
    sizes = Sizes(channels, len(labels), numeric_inputs=True, shape=shape)
    network = fill(partial(ViT, settings, sizes), source, Table(ROWS, ties={}, harmless=[]))
    pictures = Format(shape, *_scale(source, channels))
    return Imported("vit", "pictures", settings.model_dump(), network, labels=labels, pictures=pictures)


def _labels(source: Checkpoint) -> tuple[str, ...]:
    """The names of the classes; numbers where none are given. Equal names get their number behind them."""
    given = source.settings.values.get("id2label")
    named = given if isinstance(given, dict) else {}
    labels = [str(named.get(str(number), f"LABEL_{number}")) for number in range(source.shape("classifier.weight")[0])]
    return tuple(f"{name} ({i})" if labels.count(name) > 1 else name for i, name in enumerate(labels))


def _scale(source: Checkpoint, channels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of the pixels, each channel's."""
    path = source.folder / "preprocessor_config.json"
    told = read_json(path) if path.exists() else {}
    found = []
    for key in ("image_mean", "image_std"):
        values = told.get(key, [0.5] * channels)
        numbers = isinstance(values, list) and all(isinstance(value, int | float) for value in values)
        if not numbers or len(values) != channels:
            raise DataError(f"{path}: {key} should be {channels} numbers, not {values!r}")
        found.append(tuple(float(value) for value in values))
    return found[0], found[1]
