"""Near vectors, near meanings: the words whose embeddings are closest to a word's, and a map of chosen words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada.data.tokenizer import Tokenizer
from mirada.errors import InputError, UsageError

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Embeddings:
    """A table of embeddings and the tokenizer that numbers its rows."""

    tokenizer: Tokenizer
    table: Tensor  # [V, D]

    def vector(self, word: str) -> Tensor:
        """[D]: the word's row, or the mean of its subwords' rows."""
        ids = self.tokenizer.encode([word.strip()])[0]
        if not word.strip() or not ids:
            raise InputError("an empty word has no neighbours; give a word")
        return self.table[ids].mean(0)

    def neighbours(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The subwords that begin a word and are nearest to the given one, by cosine: a·b / (|a| |b|)."""
        if count < 1:
            raise UsageError(f"cannot show {count} neighbours")
        vector = self.vector(word)
        cosines = torch.nn.functional.cosine_similarity(self.table, vector, dim=-1)  # [V]
        found: list[tuple[str, float]] = []
        for row in cosines.argsort(descending=True).tolist():
            piece = self._whole_word(row)
            if piece.isalpha() and len(piece) > 1 and piece != word.strip():
                found.append((piece, float(cosines[row])))
            if len(found) == count:
                break
        return found

    def _whole_word(self, row: int) -> str:
        """The word that a row stands for; nothing if it is a part of one."""
        piece = self.tokenizer.pieces([row])[0]
        if self.tokenizer.unit == "subwords":
            return piece[1:] if piece.startswith(" ") else ""
        return piece

    def flat(self, words: Sequence[str]) -> Vectors:
        """[n, 2]: the words' vectors on the two axes along which they differ most (PCA)."""
        vectors = torch.stack([self.vector(word) for word in words]).double()
        centred = vectors - vectors.mean(0)
        axes = torch.linalg.svd(centred, full_matrices=False).Vh[:2]  # [2, D]
        return (centred @ axes.T).numpy().astype(np.float32)

    def draw(self, words: Sequence[str], path: str | Path) -> None:
        """A map of the words: near each other where their vectors are."""
        if len(words) < 3:
            raise UsageError(f"a map needs at least three words, not {len(words)}")
        from matplotlib.figure import Figure

        places = self.flat(words)
        figure = Figure(figsize=(8, 6), layout="constrained")
        axes = figure.subplots()
        axes.scatter(places[:, 0], places[:, 1], s=12, color="tab:blue")
        for word, (x, y) in zip(words, places, strict=True):
            axes.annotate(word.replace("$", r"\$"), (float(x), float(y)), xytext=(4, 3), textcoords="offset points")
        axes.set_title(f"{len(words)} words on the two axes along which their embeddings differ most", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
        try:
            figure.savefig(path, dpi=120)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: the picture cannot be written ({error})") from None
