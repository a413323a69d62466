"""Mirada: train sequence models with attention, use them, and see what they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mirada.device import share_cores

__version__ = "0.1.0"
__all__ = [
    "CaptionModel",
    "ClassificationModel",
    "ForecastingModel",
    "Glossary",
    "ImageClassificationModel",
    "LanguageModel",
    "MaskedLanguageModel",
    "MiradaError",
    "Model",
    "Prediction",
    "TaggingModel",
    "Translation",
    "TranslationMemory",
    "TranslationModel",
    "__version__",
    "explore",
    "load",
    "train",
    "without",
]

if TYPE_CHECKING:
    from mirada.api import Model, explore, load, train
    from mirada.errors import MiradaError
    from mirada.parts import without
    from mirada.predictions import Prediction
    from mirada.tasks.captioning.model import CaptionModel
    from mirada.tasks.classification.model import ClassificationModel
    from mirada.tasks.forecasting.model import ForecastingModel
    from mirada.tasks.image_classification.model import ImageClassificationModel
    from mirada.tasks.language_model.model import LanguageModel
    from mirada.tasks.masked_lm.model import MaskedLanguageModel
    from mirada.tasks.tagging.model import TaggingModel
    from mirada.tasks.translation.glossary import Glossary
    from mirada.tasks.translation.memory import TranslationMemory
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.prediction import Translation

_HOMES = {
    "CaptionModel": "mirada.tasks.captioning.model",
    "ClassificationModel": "mirada.tasks.classification.model",
    "ForecastingModel": "mirada.tasks.forecasting.model",
    "Glossary": "mirada.tasks.translation.glossary",
    "ImageClassificationModel": "mirada.tasks.image_classification.model",
    "LanguageModel": "mirada.tasks.language_model.model",
    "MaskedLanguageModel": "mirada.tasks.masked_lm.model",
    "MiradaError": "mirada.errors",
    "Prediction": "mirada.predictions",
    "TaggingModel": "mirada.tasks.tagging.model",
    "Translation": "mirada.tasks.translation.prediction",
    "TranslationMemory": "mirada.tasks.translation.memory",
    "TranslationModel": "mirada.tasks.translation.model",
    "without": "mirada.parts",
}


share_cores()  # before anything imports PyTorch


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: `import mirada` and `mirada --help` stay quick."""
    if name not in __all__:
        raise AttributeError(f"module 'mirada' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "mirada.api")), name)
