"""A text to learn to continue: how it is read, split by position, and cut into units, as one stream of ids.

    characters, subwords   the line ends are units of the text like others; the text has no other end
    words, symbols         each line is a sequence, and EOS stands for its line end

A text is handed on line by line, each with its line end (CR LF is read as LF).

<folder>/stream/        the ids of the training set, BOS in front
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from mirada.contracts import BOS
from mirada.data import report as reports
from mirada.data.checks import has_invalid_bytes
from mirada.data.folder import check_dev
from mirada.data.preparation import Preparation, Prepared
from mirada.data.records import AnyRecord, Record, Sources
from mirada.data.sources import TextSection
from mirada.data.stream import Stream, StreamBatches, write_stream
from mirada.data.survey import Survey
from mirada.data.text import lines
from mirada.data.tokenizer_learning import UNK
from mirada.errors import DataError
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, Lines, TextCodec

MIN_CHARACTERS = 200
"""Characters below which there is nothing to learn from."""
MAX_DEV = 200_000
"""The most characters of the dev set: enough for two digits, few enough for a bundle."""
PIECE = 64
"""Steps in a piece of a text, unless set otherwise."""


class TextConfig(TextSection):
    """Which text to learn from."""

    needs = "a text file"

    files: tuple[str, ...] = ()
    """Text files (UTF-8, plain or gzipped), read one after the other."""
    hold_out: float = Field(0.05, gt=0, lt=1)
    """The share of the text, from the end, to hold out if there is no dev set; at most 200,000 characters."""
    length: int | None = Field(None, ge=2, le=65_536)
    """Steps per chunk: how far gradients flow back. A batch has train.batch_tokens / length chunks side by side.
    Default: 64, or the context length of a model that has one."""
    carry: bool | None = None
    """Carry the state from chunk to chunk, in the order of the text; false: independent chunks in random order.
    Default: true for models with a state."""


def read_lines(paths: Sequence[str], lenient: bool = False) -> Iterator[str]:
    """All lines of the files, each with its line end; leniently, without those that have bytes that are not UTF-8."""
    return (str(record.fields[0]) for record in open_texts(paths, lenient) if not record.problem)


def open_texts(paths: Sequence[str], lenient: bool) -> Sources:
    """All lines of the files; a line end is added where one file's last line would run into the next file."""
    last = len(paths)
    return Sources([(path, "text", _records(path, lenient, n < last)) for n, path in enumerate(paths, 1)])


def _records(path: str, lenient: bool, complete: bool) -> Iterator[Record]:
    for number, line in enumerate(lines(path, keep_ends=True, lenient=lenient), 1):
        text = line[:-2] + "\n" if line.endswith("\r\n") else line
        end = "\n" if complete and not text.endswith("\n") else ""
        invalid = lenient and has_invalid_bytes(line)
        yield Record((text + end,), path, number, "invalid_bytes" if invalid else "")


def find_cut(text: Iterable[str], characters: int, share: float) -> int:
    """Where to cut off the last share of a text: at the nearest line end.

    If none is near (within half the share), it is after the next white space, or else exactly there.
    """
    held = min(round(share * characters), MAX_DEV)
    wanted, begin, line = characters - held, 0, ""
    for line in text:
        if begin + len(line) >= wanted:
            break
        begin += len(line)
    ends = [place for place in (begin, begin + len(line)) if 0 < place < characters]
    near = min(ends, key=lambda place: abs(place - wanted), default=wanted + held)
    if abs(near - wanted) <= held / 2:
        return near
    space = re.compile(r"\s+").search(line, wanted - begin)
    after = begin + space.end() if space else wanted
    return after if after - wanted <= held / 2 else wanted


def _until(text: Iterable[str], place: int) -> Iterator[str]:
    """The text up to a place."""
    for line in text:
        if len(line) > place:
            if place:
                yield line[:place]
            return
        yield line
        place -= len(line)


def _from(text: Iterable[str], place: int) -> Iterator[str]:
    """The text from a place on."""
    for line in text:
        if len(line) > place:
            yield line[place:]
        place = max(0, place - len(line))


@dataclass
class Report(reports.Report):
    """What was read of a text, and what became of it."""

    lines: int = 0
    """Lines of the training set, like the figures below."""
    characters: int = 0
    tokens: int = 0
    unknown: int = 0
    """Tokens that the vocabulary does not have."""
    dev_characters: int = 0
    dev_tokens: int = 0
    unit: str = ""


class LanguageModelData(Preparation[str]):
    """A text, line by line."""

    noun = "line"
    report_type = Report
    preprocessor_type = LanguageModelPreprocessor
    example_type = str
    data: TextConfig
    report: Report

    def open(self, paths: Sequence[str]) -> Sources:
        return open_texts(paths, self.data.invalid_bytes == "drop")

    def read_examples(self, paths: Sequence[str], survey: Survey) -> Lines:
        rest = list(_until(read_lines(paths, self.data.invalid_bytes == "drop"), MAX_DEV + 1))
        dev = list(_until(rest, MAX_DEV))
        if rest != dev:
            survey.quality.notes.append(f"of the dev files the first {MAX_DEV:,} characters are used")
        return dev

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        return (len(record.fields[0]),)

    def count_words(self, record: AnyRecord) -> int:
        return len(record.fields[0].split())

    def check_size(self, survey: Survey) -> None:
        whole = int(survey.column(0).sum())
        if whole < MIN_CHARACTERS:
            found = f"{whole:,} characters in {len(survey):,} lines"
            raise DataError(f"{survey.source}: {found}; training needs at least {MIN_CHARACTERS}")

    def split(self, survey: Survey) -> Lines:
        whole = int(survey.column(0).sum())
        report, self._cut, self._words = self.report, whole, survey.words
        report.lines = len(survey)
        if self.data.dev:
            dev: Lines = survey.dev
        else:
            self._cut = find_cut(self._lines(survey), whole, self.data.hold_out)
            dev = list(_from(self._lines(survey), self._cut))
            report.lines -= len(dev)
            self._words -= sum(len(line.split()) for line in dev)
        report.characters, report.dev_characters = self._cut, sum(map(len, dev))
        report.words, self._dev = self._words, dev
        survey.quality.figures["characters"] = whole
        return dev

    @staticmethod
    def _lines(survey: Survey) -> Iterator[str]:
        return (record.fields[0] for record in survey.records())

    def _training(self, survey: Survey) -> Iterator[str]:
        return _until(self._lines(survey), self._cut)

    def learn(self, survey: Survey) -> LanguageModelPreprocessor:
        tokenizer = self.tokenizer(survey, self._training(survey), self._words)
        return LanguageModelPreprocessor(TextCodec(tokenizer), np.zeros(tokenizer.size, np.int64))

    def encode(self, survey: Survey, preprocessor: LanguageModelPreprocessor, folder: Path) -> None:
        codec, tokenizer, report = preprocessor.codec, preprocessor.tokenizer, self.report
        report.dev_tokens = len(codec.read("".join(self._dev)))
        if report.dev_tokens < 2:
            found = f"the dev set has {report.dev_characters:,} characters and {report.dev_tokens} tokens"
            raise DataError(f"{found}, too few; give a longer text, or a larger share: --set data.hold_out=0.2")
        begun = iter([[BOS]])

        def encode(parts: Sequence[str]) -> list[list[int]]:
            ids: list[list[int]] = codec.encode(parts)
            ids[0] = next(begun, ids[0])  # the first part of all is empty, and stands for BOS
            return ids

        stream = write_stream(
            folder / "stream",
            chain([""], codec.parts(self._training(survey))),
            encode,
            tokenizer.size,
            lambda done: survey.notify("tokenizing lines", done, report.lines),
        )
        counts = np.zeros(tokenizer.size, dtype=np.int64)
        for first in range(1, len(stream), 2**20):  # without BOS
            counts += np.bincount(stream.ids[first : first + 2**20], minlength=len(counts))
        self._counts = counts
        report.training = report.tokens = stream.tokens - 1
        report.fingerprint, report.unit, report.vocabulary = stream.fingerprint, tokenizer.unit, tokenizer.size
        report.unknown = int(counts[UNK]) if tokenizer.unknown is not None else 0

    def adapt(self, survey: Survey, preprocessor: LanguageModelPreprocessor) -> LanguageModelPreprocessor:
        return replace(preprocessor, counts=self._counts)

    def read_dev(self, folder: Path, preprocessor: LanguageModelPreprocessor) -> Lines:
        dev: Lines = super().read_dev(folder, preprocessor)
        check_dev(preprocessor.codec.read("".join(dev))[1:], folder / "dev.jsonl")
        return dev

    def open_store(self, folder: Path, preprocessor: LanguageModelPreprocessor) -> Stream:
        stream = Stream(folder / "stream")
        stream.check(preprocessor.tokenizer.size)
        return stream

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> StreamBatches:
        length = self.data.length or PIECE
        return StreamBatches(prepared.store, max(1, tokens // length), length, seed, not self.data.carry)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['characters']:,} characters, {data['lines']:,} lines, {left_out:,} left out"),
            ("dev", f"{data['dev_characters']:,} characters" + (", the end of the text" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,} {data['unit']}"),
        ]

    def notes(self, prepared: Prepared) -> list[str]:
        report = prepared.about
        if not report.unknown:
            return list(report.notes)
        unknown = f"{report.unknown:,} of its {report.unit} are not in the vocabulary and are read as <unk>"
        return [*report.notes, unknown]
