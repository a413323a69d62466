"""Nearest neighbours of a word by its embedding, and a map of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mirada import bundle as bundles
from mirada.data.tokenizer import Tokenizer
from mirada.errors import InputError, UsageError
from mirada.inspection.figures import save

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Embeddings:
    """A table of embeddings, and the tokenizer whose ids are its rows."""

    tokenizer: Tokenizer
    table: Tensor  # [V, D]
    bundle: Path | None = None
    """The bundle of the table, whose dev set tells whole words from fragments."""

    def vector(self, word: str) -> Tensor:
        """The vector of a word [D]: its row, or the mean of its subwords' rows."""
        return self.table[self._ids(word)].mean(0)

    def pieces(self, word: str) -> list[str]:
        """The tokens that the model reads a word as: itself, or several subwords."""
        return [piece.strip() for piece in self.tokenizer.pieces(self._ids(word))]

    def _ids(self, word: str) -> list[int]:
        ids = self.tokenizer.encode([word.strip()])[0]
        if not word.strip() or not ids:
            raise InputError("an empty word has no neighbours; give a word")
        if self.tokenizer.unknown in ids:
            raise InputError(f"{word.strip()!r}: is not in the model's vocabulary, so it has no neighbours")
        return ids

    def neighbours(self, word: str, count: int = 10, fragments: bool = False) -> list[tuple[str, float]]:
        """The words nearest to the given one, by cosine: a·b / (|a| |b|). With `fragments` also beginnings of words.

        Without a dev set in the bundle nothing tells the two apart, and both are shown.
        """
        if count < 1:
            raise UsageError(f"--count {count}: must be at least 1")
        vector = self.vector(word)
        cosines = torch.nn.functional.cosine_similarity(self.table, vector, dim=-1)  # [V]
        whole = None if fragments else self.whole_words
        found: list[tuple[str, float]] = []
        for row in cosines.argsort(descending=True).tolist():
            piece = self._word(row)
            listed = piece.isalpha() and len(piece) > 1 and piece != word.strip()
            if listed and (whole is None or row in whole):
                found.append((piece, float(cosines[row])))
            if len(found) == count:
                break
        return found

    @cached_property
    def whole_words(self) -> set[int] | None:
        """The subwords that are whole words in the dev set more often than not; None if there is no dev set."""
        if self.tokenizer.unit != "subwords":
            return None
        texts = _dev_texts(self.bundle) if self.bundle else []
        uses: Counter[int] = Counter()
        for ids in self.tokenizer.encode(texts):
            pieces = [*self.tokenizer.pieces(ids), ""]
            for place, row in enumerate(ids):
                uses[row] += -1 if pieces[place + 1][:1].isalpha() else 1
        return {row for row, balance in uses.items() if balance > 0} if texts else None

    def _word(self, row: int) -> str:
        """The word that is a row's token or begins with it; empty for an inner part of words."""
        piece = self.tokenizer.pieces([row])[0]
        if self.tokenizer.unit == "subwords":
            return piece[1:] if piece.startswith(" ") else ""
        return piece

    def flat(self, words: Sequence[str]) -> Vectors:
        """The words' vectors on the two axes along which they differ most (PCA), [n, 2]."""
        vectors = torch.stack([self.vector(word) for word in words]).double()
        centred = vectors - vectors.mean(0)
        axes = torch.linalg.svd(centred, full_matrices=False).Vh[:2]  # [2, D]
        return (centred @ axes.T).numpy().astype(np.float32)

    def draw(self, words: Sequence[str], path: str | Path) -> None:
        """Draw a map of the words, in which words with similar vectors are near each other."""
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
        save(figure, path)


def _dev_texts(bundle: Path) -> list[str]:
    """The texts of a bundle's dev set, if it has one."""
    try:
        return _texts(bundles.dev_examples(bundle))
    except RecursionError:  # altered: it is not needed
        return []


def _texts(value: object) -> list[str]:
    """Every text inside a value of JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for part in inner for text in _texts(part)]
