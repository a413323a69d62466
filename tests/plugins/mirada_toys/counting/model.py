"""A trained model that counts vowels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mirada.contracts import EOS, SequenceEncoder, Validation
from mirada.metrics.score import Evaluation, Score
from mirada.predictions import Prediction
from mirada.tasks.model import Model, pad, validation
from mirada_toys.counting.data import Letters, encode, read


@dataclass(frozen=True)
class Count(Prediction):
    """How many vowels a word has."""

    word: str
    vowels: int

    def values(self) -> dict[str, Any]:
        return {"word": self.word, "vowels": self.vowels}

    def __str__(self) -> str:
        return f"{self.word}\t{self.vowels}"


@dataclass(frozen=True)
class CountScores(Evaluation):
    unit = "words"

    def as_text(self) -> str:
        return "\n".join(self.text_of_scores()) + "\n"


class CountingModel(Model):
    example = "mirada count {path} casa"
    network: SequenceEncoder
    preprocessor: Letters

    @torch.inference_mode()
    def _probabilities(self, words: Sequence[str]) -> torch.Tensor:
        batch = pad([[*ids, EOS] for ids in encode(words)]).to(self.device)
        return self.network.output(self.network.pool(batch)).softmax(-1).cpu()  # [N, 1 + most]

    def count(self, words: Sequence[str]) -> list[Count]:
        """How many vowels each word has."""
        return [Count(word, int(row.argmax())) for word, row in zip(words, self._probabilities(words), strict=True)]

    def evaluate(self, words: str | Path, **other: Any) -> CountScores:
        return self.score([record.fields for record in read(str(words))])

    def score(self, dev: Sequence[tuple[str, int]]) -> CountScores:
        found = self.count([word for word, _ in dev])
        right = sum(one.vowels == count for one, (_, count) in zip(found, dev, strict=True))
        return CountScores(len(dev), (Score("accuracy", 100 * right / len(dev), f"right:{right}"),))

    def validate(self, dev: Any, size: int) -> Validation:
        chosen = self.sample(dev, size)
        word, count = chosen[0]
        probabilities = self._probabilities([word for word, _ in chosen])
        return validation(probabilities, [n for _, n in chosen], lambda given: (word, str(given), str(count)))
