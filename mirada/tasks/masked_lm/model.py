"""Masked modelling: fill the gaps of a text; what BERT is pre-trained with, and where sentence vectors come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mirada.contracts import EOS, Validation
from mirada.data.batching import similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import Ids, batched
from mirada.data.text import shown_text
from mirada.errors import InputError, UsageError
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.score import Evaluation, Score
from mirada.models.bert import BertForPretraining
from mirada.tasks.masked_lm.data import DocumentsConfig, MaskedBatches, documents
from mirada.tasks.masked_lm.preprocessor import Vocabulary
from mirada.tasks.sequences import CELLS, embeddings_of, pad
from mirada.tasks.task import Model

GAP = "[MASK]"
"""How a user writes a gap, whatever the vocabulary calls it."""


SCORED_TOKENS = 100_000
"""Of the dev set, that scores are measured on at most."""


@dataclass(frozen=True)
class MaskedScores(Evaluation):
    """How well hidden words are found."""

    unit = "hidden words"

    def as_text(self) -> str:
        return "\n".join([f"hidden words: {self.size:,}", "", *self.text_of_scores()]) + "\n"


class MaskedLanguageModel(Model):
    """A model that fills gaps, opened from its bundle."""

    network: BertForPretraining
    preprocessor: Vocabulary

    @property
    def try_it(self) -> str:
        knows = not self._random
        return f'mirada fill {self.path} "… {GAP} …"' if knows else f'mirada embed {self.path} "…" --out vectors.npz'

    @property
    def _random(self) -> bool:
        """Whether its output for hidden words was never trained: a checkpoint from elsewhere may have none."""
        return "masked" in self.card.get("imported", {}).get("untrained", ())

    def _need_words(self) -> None:
        if self._random:
            raise UsageError(
                f"{self.path}: was imported without an output for hidden words, so it cannot fill gaps; take vectors "
                f"from it (mirada embed), or train it (mirada train … --task masked_lm --base {self.path})"
            )

    def fill(self, text: str, count: int = 5) -> list[list[tuple[str, float]]]:
        """For each gap of a text, written [MASK], the likeliest words with their probabilities."""
        if count < 1:
            raise UsageError(f"--count {count}: ask for at least 1 word")
        self._need_words()
        ids = self._with_gaps(text)
        with torch.inference_mode():
            h = self.network.encode(pad([[*ids, EOS]]).to(self.device))[0]  # [T, D]
            gaps = [place for place, id in enumerate(ids) if id == self.preprocessor.tokenizer.mask]
            chances = self.network.masked(h[gaps]).softmax(-1)
            chances[:, : (self.preprocessor.tokenizer.mask or EOS) + 1] = 0  # no special token is a word
            top = chances.topk(min(count, chances.shape[1]))
        rows = zip(top.values.tolist(), top.indices.tolist(), strict=True)
        return [
            list(zip(map(str.strip, self.preprocessor.tokenizer.pieces(words)), p, strict=True)) for p, words in rows
        ]

    def _with_gaps(self, text: str) -> list[int]:
        mask = self.preprocessor.tokenizer.mask
        if has_invalid_bytes(text):
            raise InputError(f"the text has bytes that are not UTF-8: {shown_text(text)}; set your terminal to UTF-8")
        if GAP not in text or mask is None:
            raise InputError(f"there is no gap in {text[:60]!r}: write {GAP} where a word is to be found")
        ids: list[int] = []
        for number, part in enumerate(text.strip().split(GAP)):
            ids += [mask] * bool(number) + self._continued(part, first=not number)
        limit = int(self.config["model"]["max_length"]) - 2  # [CLS] and EOS
        if len(ids) > limit:
            raise InputError(f"the text has {len(ids):,} tokens, the model takes {limit:,}; shorten it")
        return ids

    def _continued(self, part: str, first: bool) -> list[int]:
        """The ids of a part of a text. Where it goes on without a space, as "." behind a gap, it begins no word."""
        tokenizer = self.preprocessor.tokenizer
        if tokenizer.unit == "characters":  # a space is one too, also where the part ends
            return [token.id for token in tokenizer.tokens(f"a{part}a") if 1 <= token.start <= len(part)]
        if not part.strip():
            return []
        if first or part[0].isspace() or tokenizer.unit != "subwords":
            return tokenizer.encode([part.strip()])[0]
        guard = "(" if part[0].isalnum() else "a"  # which is never in one token with what follows it
        return [token.id for token in tokenizer.tokens(guard + part.rstrip()) if token.start >= 1]

    @torch.inference_mode()
    def embed(
        self, texts: Sequence[str], *, first: int = 1
    ) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """A vector for each text [N, D], the mean of its tokens' ([CLS] and the end counted); and those [T, D].

        A text that is longer than the model takes is an InputError that names it; `first` is the number that the first
        of them has.
        """
        limit = int(self.config["model"]["max_length"]) - 2
        encoded = self.preprocessor.tokenizer.encode(texts)
        for number, ids in enumerate(encoded, first):
            if len(ids) > limit:
                raise InputError(f"text {number} has {len(ids):,} tokens, the model takes {limit:,}; shorten it")
        tokens: list[npt.NDArray[np.float32]] = [np.zeros((0, 0), np.float32)] * len(encoded)
        for numbers in similar([len(ids) for ids in encoded], CELLS):
            batch = pad([[*encoded[number], EOS] for number in numbers]).to(self.device)
            states = self.network.states(batch).cpu()  # [B, 1+T, D]
            for row, number in enumerate(numbers):
                tokens[number] = states[row, : len(encoded[number]) + 2].float().numpy()
        return np.stack([states.mean(0) for states in tokens]), tokens

    def evaluate(self, texts: str | Path, **other: Any) -> MaskedScores:
        """Hide words of the documents in a file, and score how well they are found."""
        self._need_words()
        return self.score([document.text for document in documents((str(texts),), lenient=False)])

    def score(self, dev: list[str]) -> MaskedScores:
        loss, found, size, follows, pairs = self._measure(dev, SCORED_TOKENS)
        scores = [
            Score("perplexity", float(np.exp(loss)), "of hidden words", lower_is_better=True, digits=2),
            Score("accuracy", 100 * found, "hidden words that are the likeliest"),
        ]
        if pairs:
            scores.append(Score("next sentence", 100 * follows, f"accuracy on {pairs:,} pairs, half of them true"))
        return MaskedScores(size, tuple(scores))

    def validate(self, dev: list[str], size: int) -> Validation:
        loss, found, _, _, _ = self._measure(dev, 40 * size)
        figures = {"loss": loss, "accuracy": 100 * found}
        return Validation(-float(np.exp(loss)), "perplexity", lower_is_better=True, figures=figures)

    @torch.inference_mode()
    def _measure(self, dev: list[str], most: int) -> tuple[float, float, int, float, int]:
        """Mean loss, share of hidden words found, hidden words, share of pairs told right, pairs; gaps always alike."""
        flat, offsets = list[int](), [0]
        for some in batched(dev, 16):
            for document in self.preprocessor.tokenizer.encode(some):
                flat += document
                offsets.append(len(flat))
            if len(flat) >= most:
                break
        ids: Ids = np.array(flat, dtype=np.int64)
        data = DocumentsConfig.model_validate(self.config["data"])
        batches = MaskedBatches(ids, np.array(offsets), self.preprocessor.tokenizer, data, CELLS // 2, seed=0)
        loss = found = gaps = right = pairs = 0.0
        for rows in batches.epoch(0):
            batch = batches.load(rows).to(self.device)
            assert batch.truth is not None
            states, words = self.network.states(batch), batch.truth[:, 1:]
            hidden = words != 0
            logits = self.network.masked(states[:, 1:][hidden])
            loss += float(torch.nn.functional.cross_entropy(logits, words[hidden], reduction="sum"))
            found += int((logits.argmax(-1) == words[hidden]).sum())
            gaps += len(logits)
            asked = batch.truth[:, 0] != 0
            answers = self.network.follows(self.network.pooled(states))[asked].argmax(-1)
            right, pairs = right + int((answers == batch.truth[asked, 0] - 1).sum()), pairs + int(asked.sum())
        if not gaps:
            raise InputError("no document is long enough to hide a word in")
        return loss / gaps, found / gaps, int(gaps), right / max(1, pairs), int(pairs)

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.preprocessor.tokenizer, self.path)
