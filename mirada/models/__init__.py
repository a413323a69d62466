"""The architectures, by name. Models compose blocks and never import each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mirada.config import Section, Values, nearest
from mirada.contracts import Network
from mirada.errors import ConfigError
from mirada.models import seq2seq, transformer
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True)
class Entry:
    """What the rest of Mirada needs to know of an architecture."""

    config: type[Section]
    model: Callable[[Any, int, int], Network]
    """From its configuration and the sizes of the two vocabularies."""
    presets: dict[str, Values]
    """Whole configurations by name: sizes under `model`, a recipe under `train` if the preset has one of its own."""


MODELS: dict[str, Entry] = {
    "seq2seq-elman": Entry(Seq2SeqConfig, Seq2Seq, seq2seq.PRESETS),
    "seq2seq-lstm": Entry(Seq2SeqConfig, Seq2Seq, seq2seq.PRESETS),
    "seq2seq-gru": Entry(Seq2SeqConfig, Seq2Seq, seq2seq.PRESETS),
    "transformer": Entry(TransformerConfig, Transformer, transformer.PRESETS),
}


def named(model: str) -> Values:
    """The settings a name stands for: `seq2seq-lstm+additive` is `seq2seq-lstm` with attention=additive."""
    name, plus, attention = model.partition("+")
    if plus and "attention" not in find(name).config.model_fields:
        raise ConfigError(f"--model {model}: {name} has no attention to choose")
    return {"name": name, "attention": attention} if plus else {"name": name}


def find(name: str) -> Entry:
    """The architecture of that name."""
    if name not in MODELS:
        raise ConfigError(f"--model {name}: there is no such model{nearest(name, MODELS)}")
    return MODELS[name]


def find_preset(model: str, preset: str) -> Values:
    """The settings of a model's preset."""
    presets = find(model).presets
    if preset not in presets:
        raise ConfigError(f"--preset {preset}: {model} has no such preset{nearest(preset, presets)}")
    return presets[preset]
