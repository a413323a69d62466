"""Texts with a label each, of one part or two: checked, split by class, tokenised, on disk.

    A EOS         a text          A EOS B EOS   a text of two parts, as BERT is pre-trained with them

The files are read a few times and a few bytes a text are kept, so that memory does not grow with the texts.

<folder>/corpus/        the tokenised training set; the target of a text is the number of its label
<folder>/dev.jsonl      the dev set, as text and label
<folder>/tokenizer.json, labels.json
<folder>/excluded.tsv   every text that is left out: file, line, reason
<folder>/prepared.json  the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TextIO

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, model_validator
from torch import Tensor

from mirada.config import Section
from mirada.contracts import EOS, PAD, Rows, SequenceBatch
from mirada.data.batching import Groups
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.prepared import LARGE_FILE, check_dev, finish, is_prepared, reopen, reopening
from mirada.data.quality import Notify, fingerprint
from mirada.data.readers import Pair, Wanted
from mirada.data.readers.labelled import TAB, example, unreadable
from mirada.data.sources import PairFiles
from mirada.data.splits import LabelNames, contradicting, hold_out, other_labels, repeated
from mirada.data.text import shown_text
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, DataError
from mirada.files import write_text
from mirada.parsing import load_json_lines, read_json, read_json_lines

FEWEST = 10
"""Texts below which there is nothing to learn from."""
MOST_LABELS = 1000
LONGEST = 400
"""Tokens that are read of a text, unless told."""

Labelled = list[tuple[str, str]]
"""Texts with their labels, to measure with; two parts of a text have a tab between them."""


class LabelledConfig(Section):
    """Which texts to learn from."""

    files: tuple[str, ...] = ()
    """Tables of texts and labels (CSV, TSV, JSONL, plain or gzipped)."""
    dev: tuple[str, ...] = ()
    """The dev set, likewise. HeldOut out of the data, the same share of every class, when not given."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share to hold out when there is no dev file."""
    max_tokens: int | None = Field(None, ge=4)
    """Texts with more tokens than this are cut, and counted. Unless given: 400, or what the model takes; a bag all."""
    columns: tuple[str, ...] = ()
    """The text and its label, or two texts and the label of the pair, by name or by number from 1."""
    format: str | None = None
    """csv, tsv or jsonl, for files whose name does not tell."""
    invalid_bytes: Literal["refuse", "drop"] = "refuse"
    """What to do about lines with bytes that are not UTF-8: refuse the file, or leave them out."""
    header: bool | Literal["auto"] = "auto"
    """Whether the first row names the columns and is no text; auto finds out, and says so."""
    quotes: bool = True
    """Of CSV: quotes hold a cell together; false takes them for characters like others."""
    duplicates: Literal["drop", "keep"] = "drop"
    """Texts that occur again with the same label."""
    contradictions: Literal["drop", "keep"] = "drop"
    """Texts that occur with different labels."""
    vectors: str | None = None
    """A word2vec or GloVe text file: the word vectors that training starts from."""

    @model_validator(mode="after")
    def _something(self) -> LabelledConfig:
        if not self.files:
            raise ValueError("there is no data: give a table of texts and labels")
        if len(self.columns) > 3:
            raise ValueError(f"columns={','.join(self.columns)}: name a text and its label, or two texts and a label")
        return self

    @property
    def parts(self) -> int:
        """Of a text: two when pairs are classified."""
        return 2 if len(self.columns) == 3 else 1

    def open(self, paths: tuple[str, ...]) -> PairFiles:
        lenient, header = self.invalid_bytes == "drop", None if self.header == "auto" else self.header
        wanted = Wanted(self.columns, quotes=self.quotes, lenient=lenient, header=header, labels=True)
        return PairFiles(paths, wanted, self.format)


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    words: int = 0
    cut: int = 0
    """Training texts that were cut at `max_tokens`."""
    excluded: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    """Training texts of each."""
    parts: int = 1
    """Of each text."""
    vocabulary: int = 0
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedTexts:
    """Labelled texts, ready to train on."""

    corpus: Corpus
    dev: Labelled
    tokenizer: Tokenizer
    labels: list[str]
    report: Report


def framed(tokenizer: Tokenizer, texts: Sequence[str], parts: int, longest: int) -> tuple[list[list[int]], list[int]]:
    """The ids of each text, `longest` at most, without the last EOS; and how many tokens of it are cut off.

    A text is cut at its end; of two parts the longer one, until both fit.
    """
    if parts == 1:
        ids = tokenizer.encode(texts)
        return [text[:longest] for text in ids], [max(0, len(text) - longest) for text in ids]
    sides = (tokenizer.encode([text.split(TAB)[side] for text in texts]) for side in (0, 1))
    found, cut, room = [], [], longest - 1  # an EOS between them
    for a, b in zip(*sides, strict=True):
        kept = min(len(a), max(room - len(b), (room + 1) // 2))
        found.append([*a[:kept], EOS, *b[: room - kept]])
        cut.append(max(0, len(a) + len(b) - room))
    return found, cut


def segments(inputs: Tensor) -> Tensor:
    """Of framed texts [B, T]: 0 up to the first EOS, 1 behind it."""
    ends = inputs == EOS
    return (ends.cumsum(1) - ends.long()).clamp(max=1)


@dataclass
class LabelledBatches(Groups[SequenceBatch]):
    """Texts of similar length with the numbers of their labels; of two parts, with segments."""

    parts: int = 1

    def load(self, rows: Rows) -> SequenceBatch:
        inputs = torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD))
        return SequenceBatch(
            inputs=inputs,
            segments=segments(inputs) if self.parts > 1 else None,
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(self.corpus.target.ids[self.corpus.target.offsets[rows]].astype(np.int64)),
            rows=torch.from_numpy(rows),
        )


def prepare(
    data: LabelledConfig,
    tokenizer: TokenizerConfig,
    folder: Path,
    notify: Notify,
    learned: tuple[Tokenizer, list[str] | None] | None = None,
) -> PreparedTexts:
    """Check, split and tokenise the texts into `folder`; what an earlier call finished is only opened.

    Subwords and labels are those of a base (`learned`), if there is one.
    """
    if is_prepared(folder):
        return _open(folder, data.max_tokens or LONGEST)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded:
        survey = _Survey(data, excluded, notify)
        labels, news = _agreed(survey, learned[1] if learned else None)
        dev = survey.dev or survey.take(held=True)
        notify("learning words", 0, 0)
        texts = (part for text, _ in survey.training() for part in (text.split(TAB) if data.parts > 1 else [text]))
        cutter = learned[0] if learned else tokenizer.learn(texts, survey.words)
        number = {label: [index] for index, label in enumerate(labels)}
        cut, longest = 0, data.max_tokens or LONGEST

        def encode(texts: list[str]) -> list[list[int]]:
            nonlocal cut
            ids, beyond = framed(cutter, texts, data.parts, longest)
            cut += sum(map(bool, beyond))
            return ids

        corpus = write_corpus(
            folder / "corpus",
            ((text, label, None) for text, label in survey.training()),
            encode,  # type: ignore[arg-type]
            lambda chosen: [number[label] for label in chosen],
            vocabulary=max(cutter.size, len(labels)),
            longest=longest,
            too_long=lambda place, tokens: None,
            progress=lambda done: notify("tokenising", done, survey.kept),
        )
    report = survey.report(labels)
    report.notes += news
    report.training, report.dev, report.held_out = len(corpus), len(dev), not data.dev
    report.cut, report.vocabulary, report.fingerprint, report.parts = cut, cutter.size, corpus.fingerprint, data.parts
    write_text(folder / "dev.jsonl", dump(dev))
    write_text(folder / "tokenizer.json", cutter.to_json())
    write_text(folder / "labels.json", json.dumps(labels, ensure_ascii=False))
    finish(folder, report)
    return PreparedTexts(corpus, dev, cutter, labels, report)


def _open(folder: Path, longest: int) -> PreparedTexts:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        labels = read_json(folder / "labels.json", LabelNames, DataError)
        dev = read_json_lines(folder / "dev.jsonl", tuple[str, str], DataError, LARGE_FILE)
        check_dev(dev, folder / "dev.jsonl")
        corpus, tokenizer = Corpus(folder / "corpus"), Tokenizer.load(folder / "tokenizer.json")
        corpus.check((tokenizer.size, len(labels)), longest)
        corpus.target.check(len(labels), longest=1, shortest=1)
        return PreparedTexts(corpus, dev, tokenizer, labels, report)


def dump(examples: Labelled) -> str:
    """A line of JSON each."""
    return "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in examples)


def load(text: str) -> Labelled:
    return load_json_lines(text, tuple[str, str], "dev.jsonl", BundleError)


def read_labelled(files: PairFiles, parts: int) -> Labelled:
    """A set to measure with, all of it: one that cannot be read whole is refused."""
    examples = []
    for row in files:
        if reason := unreadable(row, parts):
            raise DataError(
                f"{row.file}, line {row.line}: {reason}; what is measured with is read whole: correct it, or take it "
                "out"
            )
        examples.append(example(row, parts))
    if not examples:
        raise DataError(f"{files}: has no labelled texts to measure with")
    return examples


def _agreed(survey: _Survey, known: list[str] | None) -> tuple[list[str], list[str]]:
    """All labels, in order, those of a base if they are enough; and what there is to say of them."""
    found = sorted(survey.places)
    news = other_labels(found, known)
    if known and not news:
        return known, []
    if len(found) < 2:
        raise DataError(f"{survey.files}: all texts have the label {shown_text(found[0])}; there is nothing to learn")
    for label in {label for _, label in survey.dev}:
        if label not in survey.places:
            raise DataError(f"the dev set has the label {shown_text(label)}, which no training text has")
    return found, news


_DROPPED, _HELD = 1, 2  # bits of a text's verdict


class _Survey:
    """Reads all texts once, decides about each, and hands them out again."""

    def __init__(self, data: LabelledConfig, excluded: TextIO, notify: Notify):
        self.files, self.parts = data.open(data.files), data.parts
        self.dev = read_labelled(data.open(data.dev), data.parts) if data.dev else []
        self.places: dict[str, tuple[str, int]] = {}
        """Each label, and where it occurs first."""
        self.excluded: Counter[str] = Counter()
        self.words = 0
        hashes, numbers = self._read(excluded, notify)
        if len(hashes) < FEWEST:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.excluded.items())
            left_out = f" (left out: {reasons})" if reasons else ""
            raise DataError(f"{self.files}: {len(hashes)} labelled texts{left_out}; training needs at least {FEWEST}")
        self._judge(data, hashes, numbers, excluded)

    def _read(self, excluded: TextIO, notify: Notify) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """The fingerprint and label of every text that can be learned from."""
        hashes, numbers = array("Q"), array("q")
        labels: dict[str, int] = {}
        self._verdicts = bytearray()
        for index, pair in enumerate(self.files):
            if index % 20_000 == 0:
                notify("reading", index, 0)
            reason = unreadable(pair, self.parts)
            self._verdicts.append(_DROPPED if reason else 0)
            if reason:
                self._leave_out(pair, reason, excluded)
                continue
            text, label = example(pair, self.parts)
            if label not in labels:
                labels[label] = len(labels)
                self.places[label] = pair.file, pair.line
                if len(labels) > MOST_LABELS:
                    raise DataError(
                        f"{pair.file}, line {pair.line}: over {MOST_LABELS:,} different labels, the last is "
                        f"{shown_text(label)}; are these texts? Choose the columns: --columns text,label"
                    )
            hashes.append(fingerprint(text.strip()))
            numbers.append(labels[label])
            self.words += len(text.split())
        self.labels = list(labels)
        return np.frombuffer(hashes, dtype=np.uint64), np.frombuffer(numbers, dtype=np.int64)

    def _judge(
        self,
        data: LabelledConfig,
        hashes: npt.NDArray[np.uint64],
        numbers: npt.NDArray[np.int64],
        excluded: TextIO,
    ) -> None:
        """Mark what is left out, and what is held out: of each class the texts with the smallest fingerprints."""
        verdicts = np.frombuffer(self._verdicts, dtype=np.uint8)
        sound = np.flatnonzero(verdicts == 0)
        reasons: dict[str, npt.NDArray[np.bool_]] = {}
        if data.contradictions == "drop":
            marked = contradicting(hashes, numbers)
            reasons["texts that occur with different labels [--set data.contradictions=keep]"] = marked
        if data.duplicates == "drop":
            reasons["exact duplicates of an earlier text [--set data.duplicates=keep]"] = repeated(hashes, numbers)
        if self.dev:
            known = np.array([fingerprint(text.strip()) for text, _ in self.dev], dtype=np.uint64)
            reasons["texts that are also in the dev set"] = np.isin(hashes, known)
        why = np.full(len(hashes), -1)
        for code, (_, marked) in reversed(list(enumerate(reasons.items()))):
            why[marked] = code
        verdicts[sound[why >= 0]] |= _DROPPED
        names = list(reasons)
        if (why >= 0).any():
            codes = dict(zip(sound[why >= 0].tolist(), why[why >= 0].tolist(), strict=True))
            for index, pair in enumerate(self.files):
                if index in codes:
                    self._leave_out(pair, names[codes[index]], excluded)
        left = why < 0
        if not self.dev:
            held = hold_out(hashes[left], numbers[left], data.hold_out, self._single)
            verdicts[sound[left][held]] |= _HELD
        kept = sound[verdicts[sound] == 0]
        self.kept = len(kept)
        of_kept = numbers[verdicts[sound] == 0]
        self.classes = {self.labels[n]: int((of_kept == n).sum()) for n in np.unique(of_kept)}
        self.places = {label: place for label, place in self.places.items() if label in self.classes}
        if not self.kept:
            raise DataError(f"{self.files}: nothing is left to learn from; see the reasons in excluded.tsv")

    def _single(self, number: int) -> DataError:
        label = self.labels[number]
        file, line = self.places[label]
        return DataError(
            f"{file}, line {line}: the label {shown_text(label)} has a single text, which cannot be both learned from "
            "and measured with; correct it, leave it out, or give a dev file (--dev)"
        )

    def _leave_out(self, pair: Pair, reason: str, excluded: TextIO) -> None:
        self.excluded[reason] += 1
        excluded.write(f"{pair.file}\t{pair.line}\t{reason.partition(' [')[0]}\n")

    def _chosen(self, verdict: int) -> Iterator[tuple[str, str]]:
        for pair, mark in zip(self.files, self._verdicts, strict=True):
            if mark == verdict:
                yield example(pair, self.parts)

    def training(self) -> Iterator[tuple[str, str]]:
        """The texts to learn from; as often as you like."""
        return self._chosen(0)

    def take(self, held: bool) -> Labelled:
        return list(self._chosen(_HELD))

    def report(self, labels: list[str]) -> Report:
        notes = [f"{path}: {reader.about}" for path, reader in self.files.readers] + self.files.notes
        classes = {label: self.classes.get(label, 0) for label in labels}
        return Report(
            read=len(self._verdicts), words=self.words, excluded=dict(self.excluded), classes=classes, notes=notes
        )
