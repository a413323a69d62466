"""Several translators as one: `mirada translate a+b`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from mirada.engines.ensemble import EnsembleEngine
from mirada.errors import UsageError
from mirada.inspection.attention import WEIGHTS, Attention, attention_of, joined
from mirada.inspection.embeddings import Embeddings
from mirada.inspection.trace import Pass
from mirada.tasks.inputs import check_choice
from mirada.tasks.translation.model import TranslationModel


class TranslationEnsemble(TranslationModel):
    """Translators with the same tokenizer, which choose each token together."""

    def __init__(self, path: Path, members: Sequence[TranslationModel]):
        first, *others = members
        for other in others:
            _check_fit(path, first, other)
        self.members = tuple(members)
        limit = min(int(member.config["model"]["max_length"]) for member in members)
        config = {**first.config, "model": {**first.config["model"], "max_length": limit}}
        named = f"ensemble of {len(members)} ({', '.join(str(member.card['model']) for member in members)})"
        card = {**first.card, "model": named, "parameters": sum(each.parameters for each in members), "scores": None}
        networks = nn.ModuleList(member.network for member in members)
        super().__init__(path, card, config, networks, first.preprocessor, first.device)
        self.use_engine()

    def use_engine(self, engine: str = "auto", quantize: str | None = None, precision: str = "float32") -> None:
        """Choose the precision of PyTorch; CTranslate2 computes with one network at a time."""
        check_choice("engine", engine, ("auto", "torch", "ctranslate2"))
        check_choice("precision", precision, ("float32", "bfloat16"))
        for option, asked in (("--engine ctranslate2", engine == "ctranslate2"), (f"--quantize {quantize}", quantize)):
            if asked:
                raise UsageError(f"{option}: {self.path} is an ensemble, which only the engine torch supports")
        networks = [member.network for member in self.members]
        self.translator.engine = EnsembleEngine(networks, self.device, precision)

    def attend(self, text: str, /, target: str | None = None, **options: Any) -> Attention:
        """The attention of all members while they choose together: their layers one after another."""
        piece, chosen = self.chosen(text, target, **options)
        found = []
        for each in chosen:
            members = [member.replay(member.network, piece, each).record(*WEIGHTS) for member in self.members]
            found.append(joined([attention_of(trace) for trace in members]))
        if not found[0].parts:
            raise UsageError(f"{self.path}: its models have no attention")
        return replace(found[0], others=tuple(found[1:]))

    def passes(self, text: str, /, target: str | None = None, **options: Any) -> list[Pass]:
        raise UsageError(f"{self.path}: an ensemble has several networks; trace one of them: {self.members[0].path}")

    def embeddings(self, side: str = "source") -> Embeddings:
        raise UsageError(f"{self.path}: each member of an ensemble has its own embeddings; use one of them")


def _check_fit(path: Path, one: TranslationModel, other: TranslationModel) -> None:
    """Refuse models that do not read and write the same tokens."""
    if one.preprocessor.files() != other.preprocessor.files():
        raise UsageError(
            f"{path}: {one.path} and {other.path} have different tokenizers, and an ensemble needs one; train them on "
            f"the same data, with the same --set tokenizer.vocabulary={one.source_tokenizer.size}"
        )
    if one.card["languages"] != other.card["languages"]:
        raise UsageError(f"{path}: {one.path} and {other.path} are for different languages")
