"""From the user's files to what training reads: checked, split, tokenised, on disk.

<folder>/corpus/        the tokenised training set
<folder>/dev.jsonl      the dev set, as text
<folder>/source.json    the tokenizers (`target.json` too, unless they are joint)
<folder>/excluded.tsv   every pair that is left out: file, line, reason
<folder>/prepared.json  the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mirada.data.checks import KINDS, CheckConfig, faults
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.prepared import LARGE_FILE, check_dev, finish, is_prepared, reopen, reopening
from mirada.data.quality import HeldOut, Notify, QualityChecker, QualityReport, fingerprint
from mirada.data.readers import Pair
from mirada.data.sources import DataConfig, PairFiles
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.errors import BundleError, DataError
from mirada.files import write_text
from mirada.parsing import load_json, load_json_lines, read_json_lines

LEARN_FROM = 2_000_000
"""Sentences a tokenizer is learned from at most; a larger corpus is sampled evenly."""

FEWEST = 20
"""Pairs below which there is nothing to learn from."""

Place = tuple[str, int]
"""A file and a line."""

Example = tuple[str, tuple[str, ...]]
Examples = list[Example]
"""Sources with their right translations, to measure with."""


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    words: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    vocabulary: int = 0
    fingerprint: str = ""
    diagnosis: dict[str, Any] = field(default_factory=dict)


@dataclass
class Prepared:
    """A corpus ready to train on."""

    corpus: Corpus
    dev: Examples
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    report: Report


def prepare(
    data: DataConfig,
    check: CheckConfig,
    tokenizer: TokenizerConfig,
    folder: Path,
    notify: Notify,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> Prepared:
    """Check, split and tokenise the data into `folder`; what an earlier call finished is only opened.

    TranslationPreprocessor are learned from the data unless given.
    """
    if is_prepared(folder):
        return _open(folder, data.max_tokens)
    folder.mkdir(parents=True, exist_ok=True)
    dev_files = data.open_dev()
    dev, passed = read_examples(dev_files) if data.dev else ([], ())
    files = data.open()
    with open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded:
        survey = _Survey(data.hold_out)
        checker = QualityChecker(
            files,
            check,
            longest=data.max_tokens,
            languages=(data.source_language, data.target_language),
            held=HeldOut(dev),
            notify=notify,
        )
        checker.check_set(str(dev_files), dev)
        diagnosis = checker.examine(excluded, survey.add)
        diagnosis.notes += passed
        _check_size(files, diagnosis)
        training = _Training(checker)
        if not dev:
            dev, training.held = _hold_out(checker, survey)
        if tokenizers is None:
            tokenizers = _learn(training, tokenizer, survey.words, diagnosis.good, notify)
        source_tokenizer, target_tokenizer = tokenizers
        over_long: Counter[str] = Counter()

        def too_long(place: Place, tokens: int) -> None:
            over_long[f"over {data.max_tokens} tokens"] += 1
            excluded.write(f"{place[0]}\t{place[1]}\t{tokens} tokens on a side\n")

        corpus = write_corpus(
            folder / "corpus",
            training,
            source_tokenizer.encode,
            target_tokenizer.encode,
            vocabulary=max(source_tokenizer.size, target_tokenizer.size),
            longest=data.max_tokens,
            too_long=too_long,
            progress=lambda done: notify("tokenising", done, survey.translations),
        )
    if not len(corpus):
        raise DataError(f"every pair has more than data.max_tokens={data.max_tokens} tokens on a side")
    left_out = {finding.title: finding.count for finding in diagnosis.findings if finding.left_out}
    report = Report(
        read=diagnosis.read,
        training=len(corpus),
        dev=len(dev),
        held_out=not data.dev,
        words=survey.words,
        excluded={**left_out, **over_long},
        vocabulary=source_tokenizer.size,
        fingerprint=corpus.fingerprint,
        diagnosis=diagnosis.as_dict(),
    )
    prepared = Prepared(corpus, dev, source_tokenizer, target_tokenizer, report)
    _save(prepared, folder)
    return prepared


def _save(prepared: Prepared, folder: Path) -> None:
    """All but the corpus, which is there already; prepared.json last: what has one is whole."""
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    write_text(folder / "dev.jsonl", dump_examples(prepared.dev))
    write_text(folder / "source.json", source.to_json())
    if target is not source:
        write_text(folder / "target.json", target.to_json())
    finish(folder, prepared.report)


class _Finding(BaseModel):
    title: str
    count: int
    training: str


class _Diagnosis(BaseModel):
    notes: list[str]
    findings: list[_Finding]


def _open(folder: Path, longest: int) -> Prepared:
    with reopening(folder):
        report: Report = reopen(folder, Report)
        load_json(json.dumps(report.diagnosis), _Diagnosis, folder / "prepared.json", DataError)
        source = Tokenizer.load(folder / "source.json")
        separate = (folder / "target.json").exists()
        target = Tokenizer.load(folder / "target.json") if separate else source
        dev = read_json_lines(folder / "dev.jsonl", Example, DataError, LARGE_FILE)
        check_dev(dev, folder / "dev.jsonl")
        corpus = Corpus(folder / "corpus")
        corpus.check((source.size, target.size), longest)
        return Prepared(corpus, dev, source, target, report)


def read_examples(files: PairFiles) -> tuple[Examples, tuple[str, ...]]:
    """A set to measure with, without the pairs that cannot be measured with; and how many those are, and why."""
    examples, passed = [], Counter[str]()
    for pair in files:
        if fault := faults(pair, longest=10**9):
            passed[KINDS[fault].title if fault in KINDS else fault] += 1
        else:
            examples.append((pair.source, pair.targets))
    if not examples:
        raise DataError(f"{files}: has no sentence pairs to measure with")
    notes = [f"passed over in {files}: {count:,} ({reason})" for reason, count in passed.items()]
    return examples, (*files.notes, *notes)


def dump_examples(examples: Examples) -> str:
    """A line of JSON each."""
    return "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in examples)


def load_examples(text: str) -> Examples:
    return load_json_lines(text, Example, "dev.jsonl", BundleError)


class _Survey:
    """Counts the pairs to learn from, and remembers which sources could be held out."""

    def __init__(self, hold_out: int):
        self.hold_out = hold_out
        self.words = 0
        self.translations = 0
        self.smallest: list[int] = []  # a heap of the smallest source fingerprints, negated

    def add(self, pair: Pair) -> None:
        self.translations += len(pair.targets)
        self.words += len(pair.source.split()) + sum(len(target.split()) for target in pair.targets)
        heapq.heappush(self.smallest, -fingerprint(pair.source))
        if len(self.smallest) > self.hold_out:
            heapq.heappop(self.smallest)


def _check_size(files: PairFiles, diagnosis: QualityReport) -> None:
    """Refuse what nothing can be learned from."""
    if diagnosis.good < FEWEST:
        found = f"{diagnosis.good} usable sentence pair{'s' * (diagnosis.good != 1)}"
        reasons = ", ".join(f"{f.count:,} {f.title}" for f in diagnosis.findings if f.left_out)
        left_out = f" (left out: {reasons})" if reasons else ""
        raise DataError(f"{files}: {found}{left_out}; training needs at least {FEWEST}, and thousands to be of use")


def _hold_out(checker: QualityChecker, survey: _Survey) -> tuple[Examples, frozenset[int]]:
    """Choose the dev set by fingerprint, so that no sentence of it, source or target, is in the training set.

    All pairs of one source go together. A source whose translation is also the translation of a training sentence
    goes back to training, with everything that hangs on it.
    """
    share = max(1, min(survey.hold_out, survey.translations // 20))
    chosen = set(heapq.nsmallest(share, (-negated for negated in survey.smallest)))
    groups: dict[int, list[Pair]] = {}
    for pair in checker.good():
        if (hashed := fingerprint(pair.source)) in chosen:
            groups.setdefault(hashed, []).append(pair)
    owners: dict[int, set[int]] = {}  # target -> the chosen sources it translates
    for hashed, pairs in groups.items():
        for target in _targets(pairs):
            owners.setdefault(target, set()).add(hashed)
    back: set[int] = set()
    training = (pair for pair in checker.good() if fingerprint(pair.source) not in chosen)
    waiting = {target for pair in training for target in _targets([pair]) if target in owners}
    while waiting:
        for source in owners[waiting.pop()] - back:
            back.add(source)
            waiting |= _targets(groups[source])
    held = frozenset(chosen - back)
    dev = [
        (pairs[0].source, tuple(dict.fromkeys(target for pair in pairs for target in pair.targets)))
        for hashed, pairs in groups.items()
        if hashed in held
    ]
    if not dev:
        raise DataError("no sentence could be held out: every translation occurs many times; give a dev file (--dev)")
    return dev, held


def _targets(pairs: Sequence[Pair]) -> set[int]:
    return {fingerprint(target) for pair in pairs for target in pair.targets}


class _Training:
    """The training pairs with their places, each translation a pair of its own; can be read again and again."""

    def __init__(self, checker: QualityChecker):
        self.checker = checker
        self.held: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[tuple[str, str, Place]]:
        for pair in self.checker.good():
            if self.held and fingerprint(pair.source) in self.held:
                continue
            for target in pair.targets:
                yield pair.source, target, (pair.file, pair.line)


def _learn(
    training: _Training, config: TokenizerConfig, words: int, pairs: int, notify: Notify
) -> tuple[Tokenizer, Tokenizer]:
    notify(f"learning {config.unit}", 0, 0)
    every = max(1, 2 * pairs // LEARN_FROM)

    def texts(sides: Sequence[int]) -> Iterator[str]:
        for number, pair in enumerate(training):
            if number % every == 0:
                yield from (text for side, text in enumerate(pair[:2]) if side in sides)

    if config.joint:
        joint = config.learn(texts((0, 1)), words)
        return joint, joint
    source, target = (config.learn(texts((side,)), words) for side in (0, 1))
    return source, target
