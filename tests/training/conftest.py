from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirada.data.batching import Batches
from mirada.data.corpus import write_corpus


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    chance = np.random.default_rng(0)
    sentences = [chance.integers(3, 9, size=chance.integers(1, 9)).tolist() for _ in range(200)]

    def encode(texts: object) -> list[list[int]]:
        return [sentences[int(text)] for text in texts]  # type: ignore[attr-defined]

    pairs = [(str(number), str(number), number) for number in range(len(sentences))]
    corpus = write_corpus(
        tmp_path / "corpus", pairs, encode, encode, vocabulary=10, longest=50, too_long=lambda i, n: None
    )
    return Batches(corpus, budget=100, seed=0)
