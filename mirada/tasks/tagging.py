"""Tagging, many to many and aligned: a label, or a number, for every word."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mirada.bundle import need
from mirada.contracts import EOS, PAD, Loss, Reader, Reading, Rows, Validation
from mirada.data.batching import Groups, similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.doctor import Notify
from mirada.data.tagged import PreparedTags, Report, prepare
from mirada.data.tagged import dump as dump_examples
from mirada.data.tagged import load as load_examples
from mirada.data.tags import Examples, TaggedConfig, Tags, as_number, cut, read_tagged
from mirada.data.text import shown_text
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import ConfigError, DataError, InputError
from mirada.evaluation.tags import NumberScores, TagScores, evaluate_numbers, evaluate_tags
from mirada.inspection.embeddings import Embeddings
from mirada.tasks.objectives import StepEntropy, StepError
from mirada.tasks.reading import CELLS, embeddings_of, pad, start_from_vectors
from mirada.tasks.task import Model, Task, Told

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


@dataclass
class TaggedBatches(Groups[Reading]):
    """Sentences of similar length. `truth` is the marks [B, T], or numbers [B, T] with NaN where there is none.

    A network that hears its own output (Jordan) hears it of every piece, so it must learn to say something at each: the
    tag of the word. What it hears in training, `before`, is the tag of the word that the last piece belongs to.
    """

    data: PreparedTags
    hears: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self._target = np.zeros_like(self._source)  # marks are no tokens

    @property
    def fingerprint(self) -> str:
        return self.data.report.fingerprint

    @property
    def tokens(self) -> int:
        return len(self.corpus.source.ids) + len(self.corpus)

    def load(self, rows: Rows) -> Reading:
        marks = self.corpus.target.padded(rows, None, 0, 0)  # [B, T]
        truth, before = self._truth(rows, marks), None
        if self.hears:
            steps = np.arange(marks.shape[1])
            begun = np.maximum.accumulate(np.where(marks > 0, steps, 0), axis=1)  # [B, T] where a piece's word begins
            said = np.take_along_axis(truth, begun, axis=1)  # [B, T]
            before = self._heard(torch.from_numpy(said))
            inside = steps < self._source[rows][:, None] - 1  # EOS
            truth = np.where(inside, said, truth)
        return Reading(
            inputs=torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD)),
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(truth),
            before=before,
            rows=torch.from_numpy(rows),
        )

    def _truth(self, rows: Rows, marks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
        if self.data.numbers is None:
            return marks
        row, step = np.nonzero(marks)
        y = self.data.numbers[self.corpus.source.offsets[rows][row] + step]  # [N]
        truth = np.full(marks.shape, np.nan, dtype=np.float32)
        truth[row, step] = (y - self.data.kit.mean) / self.data.kit.deviation
        return truth

    def _heard(self, said: Tensor) -> Tensor:
        """o_0 … o_{T−1} [B, T, O]: zeros, so that W o_0 = 0, then what was true of the piece before: a one among zeros,
        or a number on the network's scale."""
        last = torch.cat([torch.zeros_like(said[:, :1]), said[:, :-1]], 1)[..., None]  # [B, T, 1]
        if last.is_floating_point():
            return last
        return torch.zeros(*said.shape, 1 + len(self.data.kit.labels)).scatter_(2, last, 1.0)[..., 1:]


@dataclass(frozen=True)
class Sentences:
    """Tagged sentences, ready to train on."""

    data: PreparedTags
    hears: bool
    """Whether the network hears its own output."""

    @property
    def kit(self) -> Tags:
        return self.data.kit

    @property
    def dev(self) -> Examples:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> TaggedBatches:
        return TaggedBatches(self.data.corpus, tokens, seed, self.data, self.hears)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def told(self) -> Told:
        report, kit = self.data.report, self.data.kit
        held = f", {report.dev:,} dev" + (" (held out)" if report.held_out else "")
        shown = ", ".join(f"{tag} {count:,}" for tag, count in list(report.tags.items())[:8])
        more = f", … {len(kit.labels)} tags" if len(kit.labels) > 8 else ""
        about = f"numbers, {kit.mean:.4g} ± {kit.deviation:.4g}" if kit.numeric else shown + more
        doubtful = {"sentences that occur with other tags too": report.contradictions} if report.contradictions else {}
        return Told(
            f"{report.training:,} training sentences, {report.words:,} words ({about}){held}, "
            f"{report.vocabulary:,} {kit.tokenizer.unit}",
            report.notes,
            report.excluded,
            doubtful,
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


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

    network: Reader
    kit: Tags

    @property
    def try_it(self) -> str:
        return f'mirada tag {self.path} "…"'

    @property
    def labels(self) -> list[str]:
        """None if it gives numbers."""
        return self.kit.labels

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
        if self.kit.numeric:
            return [NumberedWord(*pair) for pair in zip(words, self._unscaled(o), strict=True)]
        probabilities, best = o.softmax(-1).max(-1)  # [n]
        tags = [self.labels[place] for place in best.tolist()]
        return [TaggedWord(*found) for found in zip(words, tags, probabilities.tolist(), strict=True)]

    def _unscaled(self, o: Tensor) -> list[float]:
        numbers: list[float] = (o[:, 0].double() * self.kit.deviation + self.kit.mean).tolist()
        return numbers

    def _read(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tensor]:
        """What the network puts out for the words of each sentence, [n, O]."""
        for chunk in batched(sentences, CHUNK):
            yield from self._outputs(chunk)

    @torch.inference_mode()
    def _outputs(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        limit = int(self.config["data"]["max_tokens"])
        pieces = cut(self.kit.tokenizer, sentences)
        parts = [(text, *part) for text, (ids, starts) in enumerate(pieces) for part in _shortened(ids, starts, limit)]
        found: dict[int, Tensor] = {}
        for numbers in similar([len(ids) for _, ids, _ in parts], CELLS):
            batch = pad([[*parts[number][1], EOS] for number in numbers]).to(self.device)
            sizes = [len(parts[number][2]) for number in numbers]
            row = torch.arange(len(numbers)).repeat_interleave(torch.tensor(sizes))
            step = torch.tensor([start for number in numbers for start in parts[number][2]])
            o = self.network.output(self.network.read(batch)[row, step]).cpu()  # [N, O]
            found |= zip(numbers, o.split(sizes), strict=True)
        whole: list[list[Tensor]] = [[torch.empty(0, self.kit.sizes.outputs)] for _ in sentences]
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
        if self.kit.numeric:
            return evaluate_numbers([_true_numbers(*example) for example in dev], [self._unscaled(o) for o in outputs])
        guessed = [[self.labels[place] for place in o.argmax(-1).tolist()] for o in outputs]
        return evaluate_tags([tags for _, tags in dev], guessed, self.kit.unseen([words for words, _ in dev]))

    def validate(self, dev: Examples, size: int) -> Validation:
        """The first score on a part of the dev set (RMSE of numbers), the mean loss, and a sentence to read."""
        chosen = self.sample(dev, size)
        outputs = list(self._read(words for words, _ in chosen))
        scores, o = self._scores(chosen, outputs), torch.cat(outputs)  # [N, O]
        words, tags = chosen[0]
        said = [f"{found[1]:.4g}" if self.kit.numeric else str(found[1]) for found in self._named(words, outputs[0])]
        example = (" ".join(words)[:200], " ".join(said)[:200], " ".join(tags)[:200])
        if self.kit.numeric:
            truth = torch.tensor([y for example in chosen for y in _true_numbers(*example)], dtype=torch.float64)
            loss = F.mse_loss(o[:, 0].double(), (truth - self.kit.mean) / self.kit.deviation).item()
            rmse = scores.score("RMSE")
            return Validation(-rmse, "RMSE", lower_is_better=True, figures={"loss": loss}, example=example)
        places = {label: place for place, label in enumerate(self.labels)}
        loss = F.cross_entropy(o, torch.tensor([places[tag] for _, tags in chosen for tag in tags])).item()
        first = scores.scores[0]
        return Validation(first.value, first.name, figures={"loss": loss}, example=example)

    def embeddings(self, side: str = "source") -> Embeddings:
        """The vectors of words or pieces: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.kit.tokenizer, self.path)


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


class TaggingTask(Task):
    """A label, or a number, for every word of a sentence."""

    name = "tagging"
    verb = "tag"
    model = TaggingModel
    default_model = "lstm"
    sections = {"data": TaggedConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "subwords"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 1000, "max_batch_tokens": 2000},
    }
    used = ("data",)

    def check(self, built: Mapping[str, Any]) -> None:
        longest, room = built["data"].max_tokens, built["model"].max_length
        if longest + 2 > room:  # a first and a last token
            raise ConfigError(
                f"data.max_tokens={longest}: the model takes {room - 2}: --set model.max_length={longest + 2}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        shown = ", ".join(f"{tag} {count:,}" for tag, count in data["tags"].items())
        scale = "numbers, {:.4g} ± {:.4g}".format(*data["scale"]) if data["scale"] else ""
        return [
            ("tags", scale or shown),
            ("data", f"{data['training']:,} sentences, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} sentences" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: Any = None) -> Sentences:
        known = kit if kit is None or isinstance(kit, Tags) else kit.tokenizer  # of a base that does something else
        data = prepare(built["data"], built["tokenizer"], folder, notify, known)
        return Sentences(data, hears=built["model"].name == "jordan")

    def fit(self, network: nn.Module, prepared: Sentences, built: Mapping[str, Any]) -> list[str]:
        return start_from_vectors(network, prepared.kit.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> Tags:
        need(files, where, "tokenizer.json", "tags.json", "words.u64")
        return Tags.read(where)

    def read_dev(self, text: str) -> Examples:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        labels, numbers = StepEntropy(smoothing), StepError()
        return lambda model, batch: (numbers if batch.truth.is_floating_point() else labels)(model, batch)

    report = Report
