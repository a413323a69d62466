"""Tagging, many to many and aligned: a label, or a number, for every word."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor
from torch.nn import functional as F

from mirada.contracts import EOS, SequenceEncoder, Validation
from mirada.data.batching import similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.text import shown_text
from mirada.errors import DataError, InputError
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.tagging import NumberScores, TagScores, evaluate_numbers, evaluate_tags
from mirada.tasks.sequences import CELLS, embeddings_of, pad
from mirada.tasks.tagging.tags import Examples, TaggedConfig, Tags, as_number, cut, read_tagged
from mirada.tasks.task import Model

CHUNK = 1024
"""Sentences whose outputs are kept at the same time."""


class TaggedWord(NamedTuple):
    """A word, its likeliest tag, and how sure the model is of it."""

    word: str
    tag: str
    probability: float


class NumberedWord(NamedTuple):
    """A word, and the number that the model gives it."""

    word: str
    number: float


Words = list[TaggedWord] | list[NumberedWord]
"""The words of a text with what the model says of each: which of the two, its training data decided."""


def words_of(text: str) -> list[str]:
    """A text cut into words as tagged data has them: at white space, with punctuation around a word by itself.

    A run of one mark ("...") is a word; marks inside a word ("don't", "5.20") stay in it.
    """
    words = []
    for part in text.split():
        letters = [place for place, character in enumerate(part) if unicodedata.category(character)[0] not in "PS"]
        begin, end = (letters[0], letters[-1] + 1) if letters else (len(part), len(part))
        words += ["".join(run) for _, run in groupby(part[:begin])]
        words += [part[begin:end]] if letters else []
        words += ["".join(run) for _, run in groupby(part[end:])]
    return words


class TaggingModel(Model):
    """A trained tagger, opened from its bundle."""

    network: SequenceEncoder
    preprocessor: Tags

    @property
    def try_it(self) -> str:
        return f'mirada tag {self.path} "…"'

    @property
    def labels(self) -> list[str]:
        """None if it gives numbers."""
        return self.preprocessor.labels

    @overload
    def tag(self, texts: str) -> Words: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[Words]: ...

    def tag(self, texts: str | Sequence[str] | Sequence[Sequence[str]]) -> Words | list[Words]:
        """The words of a text with their tags, or of many, in order. A text may also be given as a list of its words.

        One that is longer than `data.max_tokens` is read in parts, cut between words.
        """
        if isinstance(texts, str):
            return self.tag([texts])[0]
        sentences = [words_of(text) if isinstance(text, str) else list(text) for text in texts]
        for given, words in enumerate(sentences, 1):
            if has_invalid_bytes(*words):
                raise InputError(f"text {given} has bytes that are not UTF-8: {shown_text(' '.join(words))}")
        return [self._named(words, o) for words, o in zip(sentences, self._read(sentences), strict=True)]

    def _named(self, words: Sequence[str], o: Tensor) -> Words:
        if self.preprocessor.numeric:
            return [NumberedWord(*pair) for pair in zip(words, self._unscaled(o), strict=True)]
        probabilities, best = o.softmax(-1).max(-1)  # [n]
        tags = [self.labels[place] for place in best.tolist()]
        return [TaggedWord(*found) for found in zip(words, tags, probabilities.tolist(), strict=True)]

    def _unscaled(self, o: Tensor) -> list[float]:
        numbers: list[float] = (o[:, 0].double() * self.preprocessor.deviation + self.preprocessor.mean).tolist()
        return numbers

    def _read(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tensor]:
        """What the network puts out for the words of each sentence, [n, O]."""
        for chunk in batched(sentences, CHUNK):
            yield from self._outputs(chunk)

    @torch.inference_mode()
    def _outputs(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        limit = int(self.config["data"]["max_tokens"])
        pieces = cut(self.preprocessor.tokenizer, sentences)
        parts = [(text, *part) for text, (ids, starts) in enumerate(pieces) for part in _shortened(ids, starts, limit)]
        found: dict[int, Tensor] = {}
        for numbers in similar([len(ids) for _, ids, _ in parts], CELLS):
            batch = pad([[*parts[number][1], EOS] for number in numbers]).to(self.device)
            sizes = [len(parts[number][2]) for number in numbers]
            row = torch.arange(len(numbers)).repeat_interleave(torch.tensor(sizes))
            step = torch.tensor([start for number in numbers for start in parts[number][2]])
            o = self.network.output(self.network.encode(batch)[row, step]).cpu()  # [N, O]
            found |= zip(numbers, o.split(sizes), strict=True)
        whole: list[list[Tensor]] = [[torch.empty(0, self.preprocessor.sizes.outputs)] for _ in sentences]
        for number, (text, _, _) in enumerate(parts):
            whole[text].append(found[number])
        return [torch.cat(outputs) for outputs in whole]

    def evaluate(
        self,
        texts: str | Path | Iterable[tuple[Sequence[str], Sequence[str]]],
        *,
        columns: Sequence[str] = (),
        **_: Any,
    ) -> TagScores | NumberScores:
        """Tag the sentences of a test set (a file, or pairs of words and tags) and score the result.

        A tag that the model does not know counts as one that it got wrong.
        """
        if not isinstance(texts, (str, Path)):
            return self.score([(list(words), list(tags)) for words, tags in texts])
        settings = {**self.config["data"], "columns": columns or self.config["data"]["columns"]}
        return self.score(read_tagged(TaggedConfig.model_validate(settings).open((str(texts),))))

    def score(self, dev: Examples) -> TagScores | NumberScores:
        return self._scores(dev, self._read(words for words, _ in dev))

    def _scores(self, dev: Examples, outputs: Iterable[Tensor]) -> TagScores | NumberScores:
        if self.preprocessor.numeric:
            return evaluate_numbers([_true_numbers(*example) for example in dev], [self._unscaled(o) for o in outputs])
        guessed = [[self.labels[place] for place in o.argmax(-1).tolist()] for o in outputs]
        return evaluate_tags([tags for _, tags in dev], guessed, self.preprocessor.unseen([words for words, _ in dev]))

    def validate(self, dev: Examples, size: int) -> Validation:
        """The first score on a part of the dev set (RMSE of numbers), the mean loss, and a sentence to read."""
        chosen = self.sample(dev, size)
        outputs = list(self._read(words for words, _ in chosen))
        scores, o = self._scores(chosen, outputs), torch.cat(outputs)  # [N, O]
        words, tags = chosen[0]
        said = [
            f"{found[1]:.4g}" if self.preprocessor.numeric else str(found[1])
            for found in self._named(words, outputs[0])
        ]
        example = (" ".join(words)[:200], " ".join(said)[:200], " ".join(tags)[:200])
        if self.preprocessor.numeric:
            truth = torch.tensor([y for example in chosen for y in _true_numbers(*example)], dtype=torch.float64)
            loss = F.mse_loss(o[:, 0].double(), (truth - self.preprocessor.mean) / self.preprocessor.deviation).item()
            rmse = scores.score("RMSE")
            return Validation(-rmse, "RMSE", lower_is_better=True, figures={"loss": loss}, example=example)
        places = {label: place for place, label in enumerate(self.labels)}
        loss = F.cross_entropy(o, torch.tensor([places[tag] for _, tags in chosen for tag in tags])).item()
        first = scores.scores[0]
        return Validation(first.value, first.name, figures={"loss": loss}, example=example)

    def embeddings(self, side: str = "source") -> Embeddings:
        """The vectors of words or pieces: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.preprocessor.tokenizer, self.path)


def _shortened(ids: list[int], starts: list[int], limit: int) -> Iterator[tuple[list[int], list[int]]]:
    """A sentence in parts of at most `limit` pieces, cut before a word; a longer word is read as far as that goes."""
    ends = [*starts[1:], len(ids)]
    first = 0
    for word in range(1, len(starts) + 1):
        if word == len(starts) or ends[word] - starts[first] > limit:
            begin = starts[first]
            yield ids[begin : ends[word - 1]][:limit], [start - begin for start in starts[first:word]]
            first = word


def _true_numbers(words: Sequence[str], tags: Sequence[str]) -> list[float]:
    found = []
    for word, tag in zip(words, tags, strict=True):
        value = as_number(tag)
        if value is None:
            raise DataError(f"the word {shown_text(word)} has the tag {shown_text(tag)}, but the model gives numbers")
        found.append(value)
    return found
