"""The masked language model: fills gaps in a text, and computes text embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import torch

from mirada.contracts import EOS, Validation
from mirada.data.batching import similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import Ids, batched
from mirada.data.text import shown_text
from mirada.errors import InputError, UsageError
from mirada.inspection.trace import Pass
from mirada.inspection.words import Tokens, read_tokens
from mirada.metrics.score import Evaluation, Score
from mirada.models.bert import BertForPretraining
from mirada.predictions import Prediction, ranked, with_problems
from mirada.tasks.inputs import check_count, check_filled, check_text, check_texts
from mirada.tasks.masked_lm.data import DocumentsConfig, MaskedBatches, MaskedLMPreprocessor, documents
from mirada.tasks.model import CELLS, Model, framed_tokens, pad

GAP = "[MASK]"
"""How a user writes a gap, whatever the vocabulary calls it."""


SCORED_TOKENS = 100_000
"""The most tokens of the dev set that are scored."""

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FilledGap(Prediction, Sequence[tuple[str, float]]):
    """The likeliest words for one gap; a sequence of (word, probability)."""

    words: tuple[tuple[str, float], ...]

    def __getitem__(self, place: Any) -> Any:
        return self.words[place]

    def __len__(self) -> int:
        return len(self.words)

    def values(self) -> dict[str, Any]:
        return {"words": ranked(self.words, "word", "probability")}

    def __str__(self) -> str:
        return "\n".join(f"{word}\t{probability:.4f}" for word, probability in self.words)


@dataclass(frozen=True, eq=False)
class TextEmbedding(Prediction):
    """The vector of a text, and those of its tokens."""

    vector: Vectors  # [D], the mean of the tokens'
    tokens: Vectors = field(repr=False)  # [T, D], [CLS] and the end included

    def values(self) -> dict[str, Any]:
        return {"vector": [round(number, 6) for number in self.vector.tolist()]}

    def __str__(self) -> str:
        return "\t".join(f"{number:.6g}" for number in self.vector.tolist())


@dataclass(frozen=True)
class MaskedScores(Evaluation):
    """Scores of predicting masked words."""

    unit = "hidden words"


class MaskedLanguageModel(Model):
    """A trained masked language model, opened from its bundle."""

    network: BertForPretraining
    preprocessor: MaskedLMPreprocessor

    @property
    def try_it(self) -> str:
        knows = not self._random
        return f'mirada fill {self.path} "… {GAP} …"' if knows else f'mirada embed {self.path} "…" --out vectors.npz'

    @property
    def _random(self) -> bool:
        """Whether its output layer was never trained: an imported checkpoint may have none."""
        return "masked" in self.card.get("imported", {}).get("untrained", ())

    def _need_words(self) -> None:
        if self._random:
            raise UsageError(
                f"{self.path}: was imported without a masked-LM head, so it cannot fill gaps; use it for vectors "
                f"from it (mirada embed), or train it (mirada train … --task masked_lm --base {self.path})"
            )

    def fill(self, text: str, count: int = 5) -> list[FilledGap]:
        """Predict the likeliest words for each gap of a text, written [MASK]."""
        check_count(count, "--count", 1)
        self._need_words()
        ids = self._with_gaps(check_text(text))
        with torch.inference_mode():
            h = self.network.encode(pad([[*ids, EOS]]).to(self.device))[0]  # [T, D]
            gaps = [place for place, id in enumerate(ids) if id == self.preprocessor.tokenizer.mask]
            chances = self.network.masked(h[gaps]).softmax(-1)
            chances[:, : (self.preprocessor.tokenizer.mask or EOS) + 1] = 0  # no special token is a word
            top = chances.topk(min(count, chances.shape[1]))
        rows = zip(top.values.tolist(), top.indices.tolist(), strict=True)
        pieces = self.preprocessor.tokenizer.pieces
        return [FilledGap(tuple(zip(map(str.strip, pieces(words)), p, strict=True))) for p, words in rows]

    def passes(self, text: str, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The pass that reads a text; its logits are those of the gaps, or of every token if there are none."""
        self._reads_only(target, options)
        tokenizer, network = self.preprocessor.tokenizer, self.network
        gapped = GAP in check_filled(text)
        ids = self._with_gaps(text) if gapped else tokenizer.encode([text])[0]
        self._check_length(ids)
        batch = pad([[*ids, EOS]]).to(self.device)
        tokens = read_tokens(tokenizer, text, ids) if not gapped else self._around_gaps(text, ids)
        gaps = [place for place, id in enumerate(ids) if id == tokenizer.mask] or list(range(len(ids)))
        asked = Tokens(tuple(tokens.pieces[place] for place in gaps), tuple(ids[place] for place in gaps))
        rows = {"source": framed_tokens(network, tokens), "gap": asked}
        return [
            Pass(
                network,
                lambda: network.masked(network.encode(batch)[:, gaps]),
                text,
                rows,
                ("gap", "vocabulary"),
                self.facts,
            )
        ]

    def _around_gaps(self, text: str, ids: list[int]) -> Tokens:
        """The tokens of a text with gaps: each gap is the mark that the user wrote."""
        tokenizer, found = self.preprocessor.tokenizer, Tokens(())
        parts = zip(text.strip().split(GAP), split_at(ids, tokenizer.mask), strict=True)
        for number, (said, part) in enumerate(parts):
            found = found.framed(after=[(GAP, tokenizer.mask or 0)]) if number else found
            one = read_tokens(tokenizer, said.strip(), part)
            spans = [None if s is None else (s[0] + len(found.text), s[1] + len(found.text)) for s in one.spans]
            text = found.text + one.text + " "
            found = Tokens(found.pieces + one.pieces, found.ids + one.ids, (*found.spans, *spans), text)
        return found

    def _check_length(self, ids: list[int]) -> None:
        if problem := self._too_long(ids):
            raise InputError(f"the text {problem}")

    def _too_long(self, ids: list[int]) -> str | None:
        limit = int(self.config["model"]["max_length"]) - 2  # [CLS] and EOS
        return f"has {len(ids):,} tokens, the model takes {limit:,}; shorten it" if len(ids) > limit else None

    def _with_gaps(self, text: str) -> list[int]:
        mask = self.preprocessor.tokenizer.mask
        if has_invalid_bytes(text):
            raise InputError(f"the text has bytes that are not UTF-8: {shown_text(text)}; set your terminal to UTF-8")
        if GAP not in text or mask is None:
            raise InputError(f"there is no gap in {text[:60]!r}: write {GAP} where a word is missing")
        ids: list[int] = []
        for number, part in enumerate(text.strip().split(GAP)):
            ids += [mask] * bool(number) + self._continued(part, first=not number)
        self._check_length(ids)
        return ids

    def _continued(self, part: str, first: bool) -> list[int]:
        """The ids of the text around gaps; a part that follows a gap without a space, as ".", begins no word."""
        tokenizer = self.preprocessor.tokenizer
        if tokenizer.unit == "characters":  # a space is one too, also where the part ends
            return [token.id for token in tokenizer.tokens(f"a{part}a") if 1 <= token.start <= len(part)]
        if not part.strip():
            return []
        if first or part[0].isspace() or tokenizer.unit != "subwords":
            return tokenizer.encode([part.strip()])[0]
        guard = "(" if part[0].isalnum() else "a"  # which is never in one token with what follows it
        return [token.id for token in tokenizer.tokens(guard + part.rstrip()) if token.start >= 1]

    @overload
    def embed(self, texts: str, *, first: int = ...) -> TextEmbedding: ...  # type: ignore[overload-overlap]
    @overload
    def embed(self, texts: Sequence[str], *, first: int = ...) -> list[TextEmbedding]: ...

    @torch.inference_mode()
    def embed(self, texts: str | Sequence[str], *, first: int = 1) -> TextEmbedding | list[TextEmbedding]:
        """Compute the vectors of a text and of its tokens, or of many texts, in order.

        A text that is longer than the model takes is an InputError; `first` is the number of the first text in it.
        """
        if isinstance(texts, str):
            return self.embed([texts])[0]
        encoded = self.preprocessor.tokenizer.encode(check_texts(texts))
        for number, ids in enumerate(encoded, first):
            if problem := self._too_long(ids):
                raise InputError(f"text {number} {problem}")
        tokens: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(encoded)
        for numbers in similar([len(ids) for ids in encoded], CELLS):
            batch = pad([[*encoded[number], EOS] for number in numbers]).to(self.device)
            states = self.network.states(batch).cpu()  # [B, 1+T, D]
            for row, number in enumerate(numbers):
                tokens[number] = states[row, : len(encoded[number]) + 2].float().numpy()
        return [TextEmbedding(states.mean(0), states) for states in tokens]

    def embed_lines(self, texts: Sequence[str]) -> list[Prediction]:
        """Compute the vectors of texts; one that is longer than the model takes has a `problem` instead."""
        problems = map(self._too_long, self.preprocessor.tokenizer.encode(texts))
        return with_problems(texts, problems, self.embed)

    def evaluate(self, texts: str | Path, **other: Any) -> MaskedScores:
        """Mask words of the documents in a file, and score how well they are predicted."""
        self._need_words()
        lenient = self.config["data"].get("invalid_bytes") == "drop"
        return self.score([document.fields[0] for document in documents(str(texts), lenient)])

    def score(self, dev: list[str]) -> MaskedScores:
        loss, found, size, follows, pairs = self._measure(dev, SCORED_TOKENS)
        scores = [
            Score("perplexity", float(np.exp(loss)), "of masked words", lower_is_better=True, digits=2),
            Score("accuracy", 100 * found, "masked words predicted as the likeliest"),
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
        """Mean loss, accuracy and number of masked words; accuracy and number of sentence pairs; same masks always."""
        flat, offsets = list[int](), [0]
        for some in batched(_spread(dev, most), 16):
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
            raise InputError("no document is long enough to mask a word")
        return loss / gaps, found / gaps, int(gaps), right / max(1, pairs), int(pairs)


def split_at(ids: list[int], mark: int | None) -> list[list[int]]:
    """The ids between marks."""
    parts: list[list[int]] = [[]]
    for id in ids:
        if id == mark:
            parts.append([])
        else:
            parts[-1].append(id)
    return parts


def _spread(dev: list[str], tokens: int) -> list[str]:
    """All documents, reordered so that the first ones, with about `tokens` tokens, are evenly spaced."""
    stride = max(1, sum(map(len, dev)) // (4 * tokens))  # about four characters a token
    return [document for start in range(stride) for document in dev[start::stride]]
