"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from mirada.data.tokenizer import TokenizerConfig
from mirada.tasks.masked_lm.data import DocumentsConfig, MaskedData
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from mirada.tasks.task import Task
from mirada.training.losses import MaskedTokenLoss


class MaskedLMTask(Task):
    """Fill the gaps of a text."""

    name = "masked_lm"
    verb = "fill"
    model = MaskedLanguageModel
    default_model = "bert"
    preparation = MaskedData
    loss = staticmethod(lambda smoothing: MaskedTokenLoss())
    sections = {"data": DocumentsConfig, "tokenizer": TokenizerConfig}
    defaults = {"train": {"label_smoothing": 0.0}}
    used = ("data",)
    length = ("length", 1)  # [CLS]


TASK = MaskedLMTask()
