"""Several translators as one: `mirada translate a+b`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from mirada.engines.ensemble import EnsembleEngine
from mirada.errors import UsageError
from mirada.inspection.embeddings import Embeddings
from mirada.tasks.model import check_choice
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
                raise UsageError(f"{option}: {self.path} is an ensemble, and only the engine torch computes one")
        networks = [member.network for member in self.members]
        self.translator.engine = EnsembleEngine(networks, self.device, precision)

    def embeddings(self, side: str = "source") -> Embeddings:
        raise UsageError(f"{self.path}: each member of an ensemble has embeddings of its own; name one of them")


def _check_fit(path: Path, one: TranslationModel, other: TranslationModel) -> None:
    """Refuse models that do not read and write the same tokens."""
    if one.preprocessor.files() != other.preprocessor.files():
        raise UsageError(
            f"{path}: {one.path} and {other.path} have different tokenizers, and an ensemble needs one; train them on "
            f"the same data, with the same --set tokenizer.vocabulary={one.source_tokenizer.size}"
        )
    if one.card["languages"] != other.card["languages"]:
        raise UsageError(f"{path}: {one.path} and {other.path} are for different languages")
