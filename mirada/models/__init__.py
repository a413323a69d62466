"""The architectures, by name. Models compose blocks and never import each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from mirada.config import Section, Values, nearest
from mirada.contracts import Sizes
from mirada.errors import ConfigError
from mirada.models import bag, bert, encoder, gpt, reader, seq2seq, transformer, vit
from mirada.models.bag import Bag, BagConfig
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.encoder import EncoderConfig, TransformerReader
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.reader import ReaderConfig, RecurrentReader
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Captioner, CaptionerConfig, Transformer, TransformerConfig
from mirada.models.vit import ViT, ViTConfig


@dataclass(frozen=True)
class Service:
    """How an architecture serves a task."""

    config: type[Section]
    model: Callable[[Any, Sizes], nn.Module]
    presets: dict[str, Values]
    """Whole configurations by name: sizes under `model`, a recipe under `train` if the preset has one of its own."""


@dataclass(frozen=True)
class Entry:
    """What the rest of Mirada needs to know of an architecture."""

    year: int
    paper: str
    formula: str
    """What it comes down to."""
    serves: dict[str, Service]
    """By the name of the task."""


def _seq2seq(year: int, paper: str, formula: str) -> Entry:
    service = Service(Seq2SeqConfig, lambda c, sizes: Seq2Seq(c, sizes.inputs, sizes.outputs), seq2seq.PRESETS)
    return Entry(year, paper, formula, {"translation": service})


READING = ("classification", "tagging", "forecasting")
_RECURRENT = Service(ReaderConfig, RecurrentReader, reader.PRESETS)


def _reader(year: int, paper: str, formula: str, *tasks: str) -> Entry:
    return Entry(year, paper, formula, dict.fromkeys(tasks, _RECURRENT))


MODELS: dict[str, Entry] = {
    "bag": Entry(
        1954, "Harris, Distributional Structure", "softmax(W x), x_i = 1 if word i occurs",
        {"classification": Service(BagConfig, Bag, bag.PRESETS)},
    ),
    "memoryless": _reader(
        1958, "Rosenblatt, The Perceptron", "h_t = g(U x_t)", *READING
    ),
    "jordan": _reader(
        1986, "Jordan, Serial Order", "h_t = g(W o_{t−1} + U x_t)", *READING
    ),
    "elman": _reader(
        1990, "Elman, Finding Structure in Time", "h_t = g(W h_{t−1} + U x_t)", *READING, "language"
    ),
    "lstm": _reader(
        1997, "Hochreiter & Schmidhuber, Long Short-Term Memory", "C_t = f ⊙ C_{t−1} + i ⊙ C̃_t", *READING, "language"
    ),
    "gru": _reader(
        2014, "Cho et al., Learning Phrase Representations using RNN Encoder–Decoder",
        "h_t = z ⊙ h_{t−1} + (1−z) ⊙ h̃_t", *READING, "language",
    ),
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
        {
            "translation": Service(TransformerConfig, Transformer, transformer.PRESETS),
            **{task: Service(EncoderConfig, TransformerReader, encoder.PRESETS) for task in READING},
        },
    ),
    "gpt": Entry(
        2018, "Radford et al., Improving Language Understanding by Generative Pre-Training",
        "p(x_t | x_1 … x_{t−1})",
        dict.fromkeys(("language", "classification", "tagging"), Service(GPTConfig, GPT, gpt.PRESETS)),
    ),
    "bert": Entry(
        2019, "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers", "p(x_t | all x but x_t)",
        {
            "masked": Service(BertConfig, BertForPretraining, bert.PRESETS),
            **dict.fromkeys(("classification", "tagging"), Service(BertConfig, Bert, bert.PRESETS)),
        },
    ),
    "vit": Entry(
        2021, "Dosovitskiy et al., An Image is Worth 16x16 Words", "softmax(Q Kᵀ / √d_k) V over patches",
        {"pictures": Service(ViTConfig, ViT, vit.PRESETS)},
    ),
    "captioner": Entry(
        2021, "Liu et al., CPTR: Full Transformer Network for Image Captioning", "p(y_t | y_1 … y_{t−1}, patches)",
        {"captioning": Service(CaptionerConfig, Captioner, transformer.CAPTIONERS)},
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
        presets = list(dict.fromkeys(preset for service in entry.serves.values() for preset in service.presets))
        rows.append({**row, "tasks": list(entry.serves), "presets": presets})
        if _may_attend(entry):
            rows += [
                {**rows[-1], "name": f"{name}+{kind}", "year": year, "paper": paper, "formula": formula}
                for kind, (year, paper, formula) in ATTENTIONS.items()
            ]
    return rows


def _may_attend(entry: Entry) -> bool:
    return any("attention" in service.config.model_fields for service in entry.serves.values())


def named(model: str) -> Values:
    """The settings a name stands for: `seq2seq-lstm+additive` is `seq2seq-lstm` with attention=additive."""
    name, plus, attention = model.partition("+")
    if plus and not _may_attend(_entry(name)):
        raise ConfigError(f"--model {model}: {name} has no attention to choose")
    return {"name": name, "attention": attention} if plus else {"name": name}


def _entry(name: str) -> Entry:
    if name not in MODELS:
        raise ConfigError(f"--model {name}: there is no such model{nearest(name, MODELS)}")
    return MODELS[name]


def find(name: str, task: str) -> Service:
    """How the architecture of that name serves a task."""
    serves = _entry(name).serves
    if task not in serves:
        able = [other for other, entry in MODELS.items() if task in entry.serves]
        raise ConfigError(
            f"--model {name}: is not for {task} but for {', '.join(serves)}; for {task} there are: {', '.join(able)}"
        )
    return serves[task]


def meant(task: str, model: str | None) -> str:
    """The task that is meant: classification by a model that sees, and does not read, is that of pictures."""
    serves = MODELS[model].serves if model in MODELS else {}
    return "pictures" if task == "classification" and "pictures" in serves and task not in serves else task


def find_preset(model: str, task: str, preset: str) -> Values:
    """The settings of a model's preset."""
    presets = find(model, task).presets
    if preset not in presets:
        raise ConfigError(f"--preset {preset}: {model} has no such preset{nearest(preset, presets)}")
    return presets[preset]
