"""Sentences with a tag for each word, a label or a number: checked, split, cut into pieces, on disk.

A word is cut by itself, and its first piece stands for it: there the model answers. A sentence of T pieces has T marks:
0 where there is nothing to answer (further pieces), else 1 + the place of the label.

The files are read a few times and a few bytes a sentence are kept, so that memory does not grow with the sentences.

<folder>/corpus/        the training set: pieces, and the marks beside them
<folder>/numbers.f64    if the tags are numbers: one for each piece, as in the files; else empty
<folder>/dev.jsonl      the dev set, as words and tags
<folder>/tokenizer.json, tags.json, words.u64
<folder>/excluded.tsv   every sentence that is left out: file, line, reason
<folder>/prepared.json  the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

import numpy as np
import numpy.typing as npt

from mirada.data.corpus import CHUNK, Corpus, batched, write_corpus
from mirada.data.prepared import LARGE_FILE, check_dev, finish, is_prepared, open_numbers, reopen, reopening
from mirada.data.quality import Notify, fingerprint
from mirada.data.readers.conll import Tagged
from mirada.data.text import shown_path, shown_text
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, DataError
from mirada.files import write_bytes, write_text
from mirada.parsing import load_json_lines, read_json_lines
from mirada.tasks.tagging.tags import (
    MOST_KNOWN,
    Example,
    Examples,
    Hashes,
    TaggedConfig,
    Tags,
    as_number,
    cut,
    fingerprints,
    read_tagged,
)

FEWEST = 10
"""Sentences below which there is nothing to learn from."""
MOST_TAGS = 1000
MOST_HELD = 10_000
"""Sentences that are held out at most: the dev set is kept in memory."""
FEW_NUMBERS = 50
"""Different whole numbers up to which they are taken for labels."""


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    words: int = 0
    """In the training set."""
    excluded: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    """Training words of each label, the most frequent first; none if the tags are numbers."""
    scale: tuple[float, float] | None = None
    """Of numbers: mean and standard deviation of the training set."""
    contradictions: int = 0
    """Sentences that occur with other tags too."""
    vocabulary: int = 0
    fingerprint: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PreparedTags:
    """Tagged sentences, ready to train on."""

    corpus: Corpus
    numbers: npt.NDArray[np.float64] | None
    dev: Examples
    preprocessor: Tags
    report: Report


def prepare(
    data: TaggedConfig, config: TokenizerConfig, folder: Path, notify: Notify, known: Tags | Tokenizer | None = None
) -> PreparedTags:
    """Check, split and cut the sentences into `folder`; what an earlier call finished is only opened.

    Pieces and labels, or the scale of numbers, are those of a base, if there is one; of another task, its pieces.
    """
    if is_prepared(folder):
        return _open(folder, data.max_tokens)
    base, learned = (known, known.tokenizer) if isinstance(known, Tags) else (None, known)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded,
        open(folder / "numbers.f64", "wb") as numbers,
    ):
        survey = _Survey(data, base, excluded, notify)
        labels = survey.labels(base)
        notify("learning words", 0, 0)
        texts = (" ".join(sentence.words) for sentence in survey.training())
        cutter = learned or config.learn(texts, survey.words)
        marking = _Marking(survey, cutter, labels, data.max_tokens, numbers)
        rows: Any = marking.rows()  # cut into pieces already, where texts are expected
        as_it_is: Any = list
        corpus = write_corpus(
            folder / "corpus",
            rows,
            as_it_is,
            as_it_is,
            vocabulary=max(cutter.size, len(labels) + 1),
            longest=data.max_tokens,
            too_long=lambda place, tokens: None,
            progress=lambda done: notify("tokenising", done, survey.kept),
        )
    if not len(corpus):
        raise DataError(f"{survey.files}: all sentences have over {data.max_tokens} tokens: raise data.max_tokens")
    _check_dev(survey.dev, marking, base)
    mean, deviation = (base.mean, base.deviation) if base else marking.scale()
    words = marking.words
    if base:
        words = np.union1d(words, base.words) if len(base.words) else base.words
    preprocessor = Tags(cutter, labels, mean, deviation, words if len(words) <= MOST_KNOWN else words[:0])
    report = survey.report(preprocessor)
    report.training, report.words, report.tags = len(corpus), marking.count, marking.tally()
    report.fingerprint = marking.fingerprint(corpus.fingerprint)
    for name, content in preprocessor.files().items():
        write_bytes(folder / name, content)
    write_text(folder / "dev.jsonl", dump(survey.dev))
    finish(folder, report)
    return _open(folder, data.max_tokens)


def _open(folder: Path, longest: int) -> PreparedTags:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        preprocessor, dev = Tags.read(folder), read_json_lines(folder / "dev.jsonl", Example, DataError, LARGE_FILE)
        check_dev(dev, folder / "dev.jsonl")
        if any(len(words) != len(tags) or not words for words, tags in dev):
            raise DataError(f"{folder / 'dev.jsonl'}: is damaged (it has not a tag for each word)")
        corpus = Corpus(folder / "corpus")
        corpus.check((preprocessor.tokenizer.size, len(preprocessor.labels) + 1 if preprocessor.labels else 2), longest)
        if not np.array_equal(corpus.source.offsets, corpus.target.offsets):
            raise DataError(f"{corpus.folder}: is damaged (pieces and tags are not as many)")
        numbers = open_numbers(folder / "numbers.f64", np.float64) if preprocessor.numeric else None
        if numbers is not None and (len(numbers) != len(corpus.source.ids) or np.isinf(numbers).any()):
            raise DataError(f"{folder / 'numbers.f64'}: is damaged (it has not a number for each piece)")
        return PreparedTags(corpus, numbers, dev, preprocessor, report)


def dump(examples: Examples) -> str:
    """A line of JSON each."""
    return "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in examples)


def load(text: str) -> Examples:
    return load_json_lines(text, Example, "dev.jsonl", BundleError)


def _check_dev(dev: Examples, marking: _Marking, base: Tags | None) -> None:
    """Refuse a dev set with tags that cannot be known."""
    used = dict.fromkeys(chain.from_iterable(tags for _, tags in dev))
    if not marking.labels:
        wrong = [tag for tag in used if as_number(tag) is None]
        reason = "which are no numbers, as those of the training set are"
    else:
        known = base.labels if base else [label for label, count in marking.tally().items() if count]
        wrong = sorted(used.keys() - set(known))
        reason = "which the base does not know" if base else "which no training sentence has"
    if wrong:
        named = ", ".join(map(shown_text, wrong[:10])) + (f" and {len(wrong) - 10} more" if len(wrong) > 10 else "")
        raise DataError(f"the dev set has the tags {named}, {reason}; correct them, or give another dev set (--dev)")


class _Marking:
    """Cuts the training sentences into pieces with marks beside them, and counts on the way."""

    def __init__(self, survey: _Survey, cutter: Tokenizer, labels: list[str], longest: int, numbers: BinaryIO):
        self.survey, self.cutter, self.labels, self.longest = survey, cutter, labels, longest
        self._marks = {label: 1 + place for place, label in enumerate(labels)}
        self._counts = np.zeros(1 + len(labels), dtype=np.int64)
        self._numbers, self._digest = numbers, hashlib.sha256()
        self.words: Hashes = np.zeros(0, np.uint64)
        self.count, self._mean, self._squares = 0, 0.0, 0.0

    def rows(self) -> Iterator[tuple[list[int], npt.NDArray[np.int64], None]]:
        reason = f"sentences with more than {self.longest} tokens [--set data.max_tokens={2 * self.longest}]"
        for chunk in batched(self.survey.sort_out(), CHUNK):
            seen: set[str] = set()
            for sentence, (ids, starts) in zip(chunk, cut(self.cutter, [s.words for s in chunk]), strict=True):
                if len(ids) > self.longest:
                    self.survey.leave_out(sentence, reason)
                    continue
                seen.update(sentence.words)
                marks = np.zeros(len(ids), dtype=np.int64)
                if self.labels:
                    marks[starts] = [self._marks[tag] for tag in sentence.tags]
                    self._counts += np.bincount(marks, minlength=len(self._counts))
                else:
                    marks[starts] = 1
                    self._number(len(ids), starts, sentence.tags)
                self.count += len(starts)
                yield ids, marks, None
            self.words = np.union1d(self.words, fingerprints(seen))

    def _number(self, pieces: int, starts: list[int], tags: Sequence[str]) -> None:
        """Keep the numbers of a sentence; their mean and Σ(y − mean)² join those of the others (Chan et al. 1979)."""
        y = np.array([float(tag) for tag in tags])
        values = np.full(pieces, np.nan)
        values[starts] = y
        self._numbers.write(values.tobytes())
        self._digest.update(values.tobytes())
        total, shift = self.count + len(y), float(y.mean()) - self._mean
        self._squares += float(np.square(y - y.mean()).sum()) + shift**2 * self.count * len(y) / total
        self._mean += shift * len(y) / total

    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of the numbers."""
        if self.labels:
            return 0.0, 1.0
        deviation = float(np.sqrt(self._squares / self.count))
        if not deviation > 1e-12 * abs(self._mean):
            raise DataError(f"{self.survey.files}: all words have the number {self._mean:g}; there is nothing to learn")
        return self._mean, deviation

    def tally(self) -> dict[str, int]:
        counts = dict(zip(self.labels, self._counts[1:].tolist(), strict=True))
        return dict(sorted(counts.items(), key=lambda pair: -pair[1]))

    def fingerprint(self, pieces: str) -> str:
        """Of pieces, marks and numbers."""
        return pieces if self.labels else hashlib.sha256((pieces + self._digest.hexdigest()).encode()).hexdigest()


_TRAINING, _FAULTY, _HELD, _DUPLICATE, _IN_DEV = range(5)  # what becomes of a sentence
_REASONS = {
    _DUPLICATE: "exact duplicates of an earlier sentence [--set data.duplicates=keep]",
    _IN_DEV: "sentences that are also in the dev set",
}


class _Alphabet:
    """Which tags there are, where each occurs first, and whether they are numbers."""

    def __init__(self, wanted: Literal["auto", "labels", "numbers"]):
        self.wanted = wanted
        self.places: dict[str, int] = {}
        """The sound sentence that a tag occurs in first; MOST_TAGS of them."""
        self.numeric, self._pointed = True, False

    @property
    def numbers(self) -> bool:
        found = self.numeric and (self._pointed or len(self.places) > FEW_NUMBERS)
        return self.wanted == "numbers" or (self.wanted == "auto" and found)

    def add(self, sentence: Tagged, place: int) -> None:
        for tag in dict.fromkeys(sentence.tags):
            if tag in self.places:
                continue
            full, numeric = len(self.places) >= MOST_TAGS, as_number(tag) is not None
            where = f"{shown_path(sentence.file)}, the sentence at line {sentence.line}: "
            if not numeric and (self.wanted == "numbers" or (full and self.numeric and self.wanted == "auto")):
                word = shown_text(sentence.words[sentence.tags.index(tag)])
                raise DataError(
                    f"{where}the tag {shown_text(tag)} of the word {word} is not a number, but tags are taken for "
                    "numbers; correct it, or choose the columns: --columns 1,2"
                )
            self.numeric &= numeric
            if full and (self.wanted == "labels" or not self.numeric):
                raise DataError(
                    f"{where}over {MOST_TAGS:,} different tags, the last is {shown_text(tag)}; are these tags? Choose "
                    "the columns: --columns 1,2"
                )
            if not full:
                self._pointed |= "." in tag
                self.places[tag] = place

    def summary(self) -> str:
        """What the tags are taken for."""
        if self.wanted != "auto" or not self.numeric:
            return f"the tags are taken for {'numbers' if self.numbers else 'labels'}"
        if self.numbers:
            return "the tags are taken for numbers, as all of them are; for labels: --set data.tags=labels"
        return (
            f"the tags are taken for labels: they are {len(self.places)} different whole numbers; for numbers: "
            "--set data.tags=numbers"
        )


class _Survey:
    """Reads all sentences once, decides about each, and hands them out again."""

    def __init__(self, data: TaggedConfig, base: Tags | None, excluded: TextIO, notify: Notify):
        self.files, self._excluded, self._share = data.open(data.files), excluded, data.hold_out
        self.held_out = not data.dev
        self.dev = read_tagged(data.open(data.dev)) if data.dev else []
        of_base = None if base is None else "numbers" if base.numeric else "labels"
        if of_base and data.tags not in ("auto", of_base):
            raise DataError(f"data.tags={data.tags}: the tags of the base are {of_base}; leave it out")
        self.alphabet = _Alphabet(of_base or data.tags)  # type: ignore[arg-type]
        self.excluded: Counter[str] = Counter()
        self.words = 0
        sentences, taggings = self._read(notify)
        self._judge(data, sentences, taggings)

    def _read(self, notify: Notify) -> tuple[Hashes, Hashes]:
        """The fingerprints of the words, and of words and tags, of every sentence that can be learned from."""
        sentences, taggings = array("Q"), array("Q")
        verdicts = bytearray()
        for index, sentence in enumerate(self.files):
            if index % 20_000 == 0:
                notify("reading", index, 0)
            verdicts.append(_FAULTY if sentence.problem else _TRAINING)
            if sentence.problem:
                self.leave_out(sentence, f"sentences with {sentence.problem}")
                continue
            self.alphabet.add(sentence, len(sentences))
            sentences.append(fingerprint(*sentence.words))
            taggings.append(fingerprint(*sentence.words, "", *sentence.tags))
            self.words += len(sentence.words)
        self._verdicts = bytes(verdicts)
        return np.frombuffer(sentences, dtype=np.uint64), np.frombuffer(taggings, dtype=np.uint64)

    def _judge(self, data: TaggedConfig, sentences: Hashes, taggings: Hashes) -> None:
        """Mark what is left out, and what is held out."""
        verdicts = np.full(len(sentences), _TRAINING, dtype=np.uint8)
        _, first = np.unique(taggings, return_index=True)
        self.contradictions = len(first) - len(np.unique(sentences))
        if data.duplicates == "drop":
            verdicts[:] = _DUPLICATE
            verdicts[first] = _TRAINING
        if self.dev:
            known = np.array([fingerprint(*words) for words, _ in self.dev], dtype=np.uint64)
            verdicts[np.isin(sentences, known)] = _IN_DEV
        usable = int((verdicts == _TRAINING).sum())
        if usable < FEWEST:
            counts = self.excluded + Counter(_REASONS[v] for v in verdicts.tolist() if v in _REASONS)
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
            left_out = f" (left out: {reasons})" if reasons else ""
            raise DataError(f"{self.files}: {usable} tagged sentences{left_out}; training needs at least {FEWEST}")
        if not self.dev:
            verdicts[np.isin(sentences, self._held(sentences)) & (verdicts == _TRAINING)] = _HELD
        self.kept = int((verdicts == _TRAINING).sum())
        whole = np.frombuffer(self._verdicts, dtype=np.uint8).copy()
        whole[whole == _TRAINING] = verdicts
        self._verdicts = whole.tobytes()

    def _held(self, sentences: Hashes) -> Hashes:
        """The sentences with the smallest fingerprints; but the first with each label is learned from, always."""
        distinct = np.unique(sentences)
        firsts = [] if self.alphabet.numbers else list(self.alphabet.places.values())
        free = distinct[np.isin(distinct, sentences[firsts], invert=True)] if firsts else distinct[:-1]
        if not len(free):
            raise DataError(
                f"{self.files}: every sentence is needed to learn from, as each has a tag for the first time; give a "
                "dev file (--dev), or more sentences"
            )
        return free[: min(MOST_HELD, max(1, round(self._share * len(distinct))))]

    def leave_out(self, sentence: Tagged, reason: str) -> None:
        self.excluded[reason] += 1
        self._excluded.write(f"{sentence.file}\t{sentence.line}\t{reason.partition(' [')[0]}\n")

    def training(self) -> Iterator[Tagged]:
        """The sentences to learn from; as often as you like."""
        for sentence, verdict in zip(self.files, self._verdicts, strict=True):
            if verdict == _TRAINING:
                yield sentence

    def sort_out(self) -> Iterator[Tagged]:
        """The same, once: on the way what is held out goes to the dev set, and what is left out is listed."""
        for sentence, verdict in zip(self.files, self._verdicts, strict=True):
            if verdict == _TRAINING:
                yield sentence
            elif verdict == _HELD:
                self.dev.append((list(sentence.words), list(sentence.tags)))
            elif verdict in _REASONS:
                self.leave_out(sentence, _REASONS[verdict])

    def labels(self, base: Tags | None) -> list[str]:
        """All labels, in order; with a base, its own; none if the tags are numbers."""
        if self.alphabet.numbers:
            return []
        found = sorted(self.alphabet.places)
        if base is not None:
            if new := [label for label in found if label not in base.labels]:
                named = ", ".join(map(shown_text, new[:10]))
                raise DataError(
                    f"{self.files}: the base does not have the tags {named}; it has {', '.join(base.labels)}"
                )
            return base.labels
        if len(found) < 2:
            raise DataError(f"{self.files}: all words have the tag {shown_text(found[0])}; there is nothing to learn")
        return found

    def report(self, preprocessor: Tags) -> Report:
        notes = [f"{shown_path(reader.path)}: {reader.about}" for reader in self.files.readers]
        return Report(
            read=len(self._verdicts),
            dev=len(self.dev),
            held_out=self.held_out,
            excluded=dict(self.excluded),
            scale=(preprocessor.mean, preprocessor.deviation) if preprocessor.numeric else None,
            contradictions=self.contradictions,
            vocabulary=preprocessor.tokenizer.size,
            notes=[*notes, self.alphabet.summary()],
        )
