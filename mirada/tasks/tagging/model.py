"""The tagging model: assigns a label, or a number, to every word."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor
from torch.nn import functional as F

from mirada.contracts import EOS, SequenceEncoder, Validation
from mirada.data.batching import similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.text import shown_path, shown_text
from mirada.errors import DataError, InputError
from mirada.inspection.trace import Pass
from mirada.inspection.words import Tokens
from mirada.metrics.tagging import NumberScores, TagScores, evaluate_numbers, evaluate_tags
from mirada.predictions import Prediction
from mirada.tasks.inputs import check_filled, check_texts
from mirada.tasks.model import CELLS, Model, framed_tokens, pad
from mirada.tasks.tagging.data import TaggingData, named
from mirada.tasks.tagging.tags import Examples, TaggedConfig, TaggingPreprocessor, as_number, cut

CHUNK = 1024
"""Sentences whose outputs are kept at the same time."""


class TaggedWord(NamedTuple):
    """A word, its likeliest tag, and the tag's probability."""

    word: str
    tag: str
    probability: float


class NumberedWord(NamedTuple):
    """A word, and the number predicted for it."""

    word: str
    number: float


@dataclass(frozen=True)
class TaggedText(Prediction, Sequence[Any]):
    """The words of a text with their tags, or their numbers; a sequence of `TaggedWord` or `NumberedWord`."""

    words: tuple[TaggedWord | NumberedWord, ...]
    numeric: bool = False
    """Whether they are `NumberedWord`s."""

    def __getitem__(self, place: Any) -> Any:
        return self.words[place]

    def __len__(self) -> int:
        return len(self.words)

    def values(self) -> dict[str, Any]:
        names = ("words", "numbers") if self.numeric else ("words", "tags", "probabilities")
        return {name: [word[place] for word in self.words] for place, name in enumerate(names)}

    def as_text(self, number: int = 1) -> str:
        """A word a line, tab, its tag or number; a blank line follows."""
        pairs = [(word, f"{found:.4f}" if isinstance(found, float) else found) for word, found, *_ in self.words]
        return "".join(f"{word}\t{found}\n" for word, found in pairs)

    def __str__(self) -> str:
        return " ".join(f"{word}/{found:.4g}" if self.numeric else f"{word}/{found}" for word, found, *_ in self.words)


def words_of(text: str) -> list[str]:
    """Split a text into words as tagged data has them: at white space, punctuation around a word by itself.

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

    example = 'mirada tag {path} "…"'
    network: SequenceEncoder
    preprocessor: TaggingPreprocessor

    @property
    def labels(self) -> list[str]:
        """The tags; none if it predicts numbers."""
        return self.preprocessor.labels

    @overload
    def tag(self, texts: str) -> TaggedText: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[TaggedText]: ...

    def tag(self, texts: str | Sequence[str] | Sequence[Sequence[str]]) -> TaggedText | list[TaggedText]:
        """Tag the words of a text, or of many, in order. A text may also be a list of its words.

        A text longer than `data.max_tokens` is processed in parts, split between words.
        """
        if isinstance(texts, str):
            return self.tag([texts])[0]
        given = check_texts(texts, also=(list, tuple))
        sentences = [words_of(text) if isinstance(text, str) else list(check_texts(text)) for text in given]
        for number, words in enumerate(sentences, 1):
            if has_invalid_bytes(*words):
                raise InputError(f"text {number} has bytes that are not UTF-8: {shown_text(' '.join(words))}")
        return [self._named(words, o) for words, o in zip(sentences, self._read(sentences), strict=True)]

    def passes(self, text: str | Sequence[str], /, target: str | None = None, **options: Any) -> list[Pass]:
        """The pass that tags the words of a text; its logits are those of the words."""
        self._reads_only(target, options)
        words = words_of(text) if isinstance(text, str) else list(check_texts(text))
        whole, tokenizer = check_filled(" ".join(words)), self.preprocessor.tokenizer
        ((ids, starts),) = cut(tokenizer, [words])
        if len(ids) > (limit := int(self.config["data"]["max_tokens"])):
            raise InputError(f"the text has {len(ids):,} tokens, and a trace is of {limit:,} at most; shorten it")
        batch, network = pad([[*ids, EOS]]).to(self.device), self.network
        owner = [sum(start <= place for start in starts) - 1 for place in range(len(ids))]
        ends = list(accumulate(len(word) + 1 for word in words))
        spans = tuple((ends[word] - 1 - len(words[word]), ends[word] - 1) for word in owner)
        source = Tokens(tuple(tokenizer.spelt(ids)), tuple(ids), spans, whole)
        rows = {"source": framed_tokens(network, source), "word": Tokens(tuple(words))}
        over = "value" if self.preprocessor.numeric else "label"
        rows |= {} if self.preprocessor.numeric else {"label": Tokens(tuple(self.labels))}
        return [
            Pass(
                network,
                lambda: network.output(network.encode(batch)[:, starts]),
                whole,
                rows,
                ("word", over),
                self.facts,
            )
        ]

    def _named(self, words: Sequence[str], o: Tensor) -> TaggedText:
        if self.preprocessor.numeric:
            return TaggedText(tuple(map(NumberedWord, words, self._unscaled(o))), numeric=True)
        probabilities, best = o.softmax(-1).max(-1)  # [n]
        tags = [self.labels[place] for place in best.tolist()]
        return TaggedText(tuple(map(TaggedWord, words, tags, probabilities.tolist())))

    def _unscaled(self, o: Tensor) -> list[float]:
        numbers: list[float] = (o[:, 0].double() * self.preprocessor.deviation + self.preprocessor.mean).tolist()
        return numbers

    def _read(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tensor]:
        """The network's outputs for the words of each sentence, [n, O]."""
        return chain.from_iterable(map(self._outputs, batched(sentences, CHUNK)))

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
        data, paths = TaggingData({"data": TaggedConfig.model_validate(settings)}), (str(texts),)
        examples = data.read_whole(paths)
        for number, (words, tags) in enumerate(examples):
            wrong = [n for n, tag in enumerate(tags) if self.preprocessor.numeric and as_number(tag) is None]
            if wrong:
                raise DataError(f"{data.place_of(paths, number)}: {_no_number(words[wrong[0]], tags[wrong[0]])}")
        unknown = {tag for _, tags in examples for tag in tags if self.labels and tag not in self.labels}
        if unknown and all(unknown.issuperset(tags) for _, tags in examples):
            raise DataError(
                f"{shown_path(str(texts))}: the model {self.path} knows none of its tags, {named(sorted(unknown))}: it "
                f"knows {named(self.labels)}; choose the columns of words and tags: --columns 1,2"
            )
        scores = self.score(examples)
        if not unknown:
            return scores
        note = f"tags that the model does not know, and so gets wrong: {named(sorted(unknown))}"
        return replace(scores, notes=(*scores.notes, note))

    def score(self, dev: Examples) -> TagScores | NumberScores:
        return self._scores(dev, self._read(words for words, _ in dev))

    def _scores(self, dev: Examples, outputs: Iterable[Tensor]) -> TagScores | NumberScores:
        if self.preprocessor.numeric:
            return evaluate_numbers([_true_numbers(*example) for example in dev], [self._unscaled(o) for o in outputs])
        guessed = [[self.labels[place] for place in o.argmax(-1).tolist()] for o in outputs]
        return evaluate_tags([tags for _, tags in dev], guessed, self.preprocessor.unseen([words for words, _ in dev]))

    def validate(self, dev: Examples, size: int) -> Validation:
        """The main score (RMSE for numbers) and the mean loss on a sample of the dev set."""
        chosen = self.sample(dev, size)
        outputs = list(self._read(words for words, _ in chosen))
        scores, o = self._scores(chosen, outputs), torch.cat(outputs)  # [N, O]
        words, tags = chosen[0]
        named = self._named(words, outputs[0])
        said = [f"{found:.4g}" if named.numeric else found for _, found, *_ in named]
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


def _shortened(ids: list[int], starts: list[int], limit: int) -> Iterator[tuple[list[int], list[int]]]:
    """Split a sentence into parts of at most `limit` pieces, between words; a longer word is cut off."""
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
            raise DataError(_no_number(word, tag))
        found.append(value)
    return found


def _no_number(word: str, tag: str) -> str:
    return f"the word {shown_text(word)} has the tag {shown_text(tag)}, but the model gives numbers"
