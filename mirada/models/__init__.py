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

    year: int
    paper: str
    formula: str
    """What it comes down to."""
    config: type[Section]
    model: Callable[[Any, int, int], Network]
    """From its configuration and the sizes of the two vocabularies."""
    presets: dict[str, Values]
    """Whole configurations by name: sizes under `model`, a recipe under `train` if the preset has one of its own."""


def _seq2seq(year: int, paper: str, formula: str) -> Entry:
    return Entry(year, paper, formula, Seq2SeqConfig, Seq2Seq, seq2seq.PRESETS)


MODELS: dict[str, Entry] = {
    "seq2seq-elman": _seq2seq(
        1990, "Elman, Finding Structure in Time", "h_t = tanh(W h_{t−1} + U x_t)"
    ),
    "seq2seq-lstm": _seq2seq(
        2014, "Sutskever et al., Sequence to Sequence Learning with Neural Networks", "C_t = f ⊙ C_{t−1} + i ⊙ C̃_t"
    ),
    "seq2seq-gru": _seq2seq(
        2014, "Cho et al., Learning Phrase Representations using RNN Encoder–Decoder", "h_t = z ⊙ h_{t−1} + (1−z) ⊙ h̃_t"
    ),
    "transformer": Entry(
        2017, "Vaswani et al., Attention Is All You Need", "softmax(Q Kᵀ / √d_k) V",
        TransformerConfig, Transformer, transformer.PRESETS,
    ),
}  # fmt: skip
"""The lineage, in the order of its years."""

ATTENTIONS = {
    "dot": (2015, "Luong et al., Effective Approaches to Attention-based NMT", "softmax(sᵀ h)"),
    "general": (2015, "Luong et al., Effective Approaches to Attention-based NMT", "softmax(sᵀ W h)"),
    "additive": (
        2015,
        "Bahdanau et al., NMT by Jointly Learning to Align and Translate",
        "softmax(vᵀ tanh(W s + U h))",
    ),
}
"""What can be added to a recurrent encoder–decoder (`seq2seq-lstm+additive`)."""


def lineage() -> list[dict[str, Any]]:
    """Every model that can be trained, for a person or a program to read."""
    rows = []
    for name, entry in MODELS.items():
        row = {"name": name, "year": entry.year, "paper": entry.paper, "formula": entry.formula}
        rows.append({**row, "tasks": ["translation"], "presets": list(entry.presets)})
        if "attention" in entry.config.model_fields:
            rows += [
                {**rows[-1], "name": f"{name}+{kind}", "year": year, "paper": paper, "formula": formula}
                for kind, (year, paper, formula) in ATTENTIONS.items()
            ]
    return rows


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
