"""A small model of every task and architecture, with random weights, and something that it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mirada import models
from mirada.data.images.format import Format
from mirada.data.masking import MARKERS
from mirada.data.tokenizer import Tokenizer
from mirada.inspection.trace import Pass
from mirada.tasks.captioning.data import CaptionPreprocessor
from mirada.tasks.captioning.model import CaptionModel
from mirada.tasks.classification.data import ClassificationPreprocessor
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.forecasting.data import ForecastingPreprocessor
from mirada.tasks.forecasting.model import ForecastingModel
from mirada.tasks.forecasting.windows import Frame
from mirada.tasks.image_classification.data import ImagePreprocessor
from mirada.tasks.image_classification.model import ImageClassificationModel
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, TextCodec
from mirada.tasks.masked_lm.data import MaskedLMPreprocessor
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import TaggingPreprocessor
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import TranslationPreprocessor

TEXT = "El animal no cruzó la calle porque estaba demasiado cansado."
STACKS = {"width": 8, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 6, "max_length": 60}
SMALL = {"width": 8, "heads": 2, "layers": 2}
PICTURE = Format((1, 1, 8, 8), (0.5,), (0.5,))


def tokenizer(mask: bool = False, markers: str = "") -> Tokenizer:
    texts = [TEXT, "The animal did not cross the street because it was too tired."] * 3
    return Tokenizer.learn(texts, 330, mask=mask, markers=markers)


def _network(name: str, task: str, sizes: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    variant = models.find(name, task)
    config = variant.config.model_validate({"name": name.split("+")[0], **settings, "dropout": 0.0})
    torch.manual_seed(3)
    network: Any = variant.build(config, sizes)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return network, {"model": config.model_dump()}


def _model(kind: Any, name: str, task: str, preprocessor: Any, settings: dict[str, Any], **data: Any) -> Any:
    network, config = _network(name, task, preprocessor.sizes, settings)
    card = {"task": task, "model": name}
    return kind(Path(name), card, {**config, "data": data}, network, preprocessor, torch.device("cpu"))


def translator(name: str = "transformer", **settings: Any) -> TranslationModel:
    shared = tokenizer(markers=MARKERS)
    found: TranslationModel = _model(
        TranslationModel, name, "translation", TranslationPreprocessor(shared, shared), settings or STACKS
    )
    return found


def _recurrent(attention: str, attend: str = "after", cell: str = "lstm") -> Callable[[], Any]:
    settings = {"width": 8, "layers": 1, "attention": attention, "attend": attend, "max_length": 60}
    return lambda: translator(f"seq2seq-{cell}", **settings)


def _classifier(name: str, **settings: Any) -> Callable[[], Any]:
    preprocessor = ClassificationPreprocessor(tokenizer(), ["good", "bad", "neither"])
    return lambda: _model(ClassificationModel, name, "classification", preprocessor, settings, max_tokens=40)


def _tagger(name: str, labels: list[str], **settings: Any) -> Callable[[], Any]:
    preprocessor = TaggingPreprocessor(tokenizer(), labels)
    return lambda: _model(TaggingModel, name, "tagging", preprocessor, settings, max_tokens=40)


def _writer(name: str, **settings: Any) -> Callable[[], Any]:
    codec = TextCodec(tokenizer())
    preprocessor = LanguageModelPreprocessor(codec, np.ones(codec.tokenizer.size, dtype=np.int64))
    return lambda: _model(LanguageModel, name, "language_model", preprocessor, settings, length=40)


def _forecaster(name: str, **settings: Any) -> Callable[[], Any]:
    frame = Frame.fit(_series(), None)
    preprocessor = ForecastingPreprocessor(("x",), frame, 10)
    return lambda: _model(
        ForecastingModel, name, "forecasting", preprocessor, settings, files=("series.csv",), window=16
    )


def _series() -> Any:
    return np.random.default_rng(0).normal(size=(60, 1)).cumsum(axis=0) + 50


IMAGE = np.random.default_rng(1).integers(0, 255, (8, 8)).astype(np.uint8)

MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "transformer": (translator, TEXT),
    "transformer, rotary, post-norm": (
        lambda: translator("transformer", **STACKS, positions="rotary", norm="post"),
        TEXT,
    ),
    "seq2seq": (_recurrent("none"), TEXT),
    "seq2seq, dot": (_recurrent("dot", cell="gru"), TEXT),
    "seq2seq, general": (_recurrent("general", cell="elman"), TEXT),
    "seq2seq, additive": (_recurrent("additive"), TEXT),
    "seq2seq, before": (_recurrent("additive", "before"), TEXT),
    "gpt": (_writer("gpt", **SMALL), TEXT),
    "lstm language model": (_writer("lstm", width=8), TEXT),
    "bert": (
        lambda: _model(MaskedLanguageModel, "bert", "masked_lm", MaskedLMPreprocessor(tokenizer(mask=True)), SMALL),
        "El animal no [MASK] la calle.",
    ),
    "bert without a gap": (
        lambda: _model(MaskedLanguageModel, "bert", "masked_lm", MaskedLMPreprocessor(tokenizer(mask=True)), SMALL),
        TEXT,
    ),
    "bert, classes": (_classifier("bert", **SMALL), TEXT),
    "encoder, classes": (_classifier("transformer", **SMALL), TEXT),
    "lstm, classes": (_classifier("lstm", width=8), TEXT),
    "bag": (_classifier("bag", features=5), TEXT),
    "gpt, tags": (_tagger("gpt", ["N", "V"], **SMALL), TEXT),
    "gru, numbers": (_tagger("gru", [], width=8), TEXT),
    "vit": (
        lambda: _model(
            ImageClassificationModel, "vit", "image_classification", ImagePreprocessor(["a", "b"], PICTURE), SMALL
        ),
        IMAGE,
    ),
    "captioner": (
        lambda: _model(CaptionModel, "captioner", "captioning", CaptionPreprocessor(tokenizer(), PICTURE, 10), STACKS),
        IMAGE,
    ),
    "encoder, forecasts": (_forecaster("transformer", **SMALL), _series()),
    "jordan, forecasts": (_forecaster("jordan", width=8), _series()),
}
"""A model by what it is, and what it reads."""

WITHOUT_ATTENTION = ("seq2seq", "lstm language model", "lstm, classes", "bag", "gru, numbers", "jordan, forecasts")


def first_pass(kind: str) -> Pass:
    """The first pass of such a model."""
    build, given = MODELS[kind]
    passes: list[Pass] = build().passes(given)
    return passes[0]
