"""From the user's files to what training reads: checked, split, tokenised, on disk.

<folder>/corpus/        the tokenised training part
<folder>/dev.jsonl      the dev part, as text
<folder>/source.json    the tokenizers (`target.json` too, unless they are joint)
<folder>/excluded.tsv   every pair that is left out: file, line, reason
<folder>/prepared.json  the report; written last, so that its presence means all of it is there
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from pydantic import Field, model_validator

from mirada.config import Section
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.readers import Pair, read_parallel, read_tsv
from mirada.data.tokenizer import Tokenizer, TokenizerConfig, suggest_vocabulary
from mirada.errors import DataError
from mirada.files import write_text

LONGEST_TEXT = 20_000
"""Characters in a sentence, beyond which it is left out without trying to tokenise it."""

LEARN_FROM = 2_000_000
"""Sentences a tokenizer is learned from at most; a larger corpus is sampled evenly."""

FEWEST = 20
"""Pairs below which there is nothing to learn from."""

Place = tuple[str, int]
"""A file and a line."""

Notify = Callable[[str, int, int], None]
"""Told how far the work is: what is being done, how much is done, out of how much."""


class DataConfig(Section):
    """Which texts to learn from."""

    pairs: tuple[str, ...] = ()
    """TSV files: source, tab, target."""
    source: str | None = None
    """A file of source sentences, with `target` beside it."""
    target: tuple[str, ...] = ()
    """The translations of `source`, line by line; more than one file gives several translations of each line."""
    dev: tuple[str, ...] = ()
    """The dev part: one TSV file, or a source file and its translations. Held out of the data when it is not given."""
    hold_out: int = Field(1000, ge=1, le=100_000)
    """Pairs to hold out when there is no dev file (at most a twentieth of the data)."""
    max_tokens: int = Field(100, ge=4)
    """Pairs with more tokens than this on a side are left out of training."""
    source_language: str | None = None
    target_language: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> DataConfig:
        if self.source and not self.target:
            raise ValueError(f"data.source={self.source} needs data.target, the file with its translations (--target)")
        if self.target and not self.source:
            raise ValueError(f"data.target={self.target[0]} needs data.source, the file it translates (--source)")
        if not self.pairs and not self.source:
            raise ValueError("there is no data: give a TSV file of sentence pairs, or --source and --target files")
        return self

    def read(self) -> Iterator[Pair]:
        """All pairs of the training files, in order."""
        for path in self.pairs:
            yield from read_tsv(path)
        if self.source:
            yield from read_parallel(self.source, self.target)

    def read_dev(self) -> Iterator[Pair]:
        yield from read_pairs(self.dev)


def read_pairs(paths: Sequence[str]) -> Iterator[Pair]:
    """The pairs of one TSV file, or of a source file and its translations."""
    return read_tsv(paths[0]) if len(paths) == 1 else read_parallel(paths[0], paths[1:])


@dataclass
class Report:
    """What was read, and what became of it."""

    read: int = 0
    training: int = 0
    dev: int = 0
    held_out: bool = False
    words: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    dev_also_in_training: int = 0
    vocabulary: int = 0
    fingerprint: str = ""


@dataclass
class Prepared:
    """A corpus ready to train on."""

    corpus: Corpus
    dev: list[tuple[str, tuple[str, ...]]]
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    report: Report


def prepare(data: DataConfig, tokenizer: TokenizerConfig, folder: Path, notify: Notify) -> Prepared:
    """Check, split and tokenise the data into `folder`; what an earlier call finished is only opened."""
    if (folder / "prepared.json").exists():
        return _open(folder)
    folder.mkdir(parents=True, exist_ok=True)
    dev = [(p.source, p.targets) for p in data.read_dev() if fault(p) is None] if data.dev else []
    if data.dev and not dev:
        raise DataError(f"{data.dev[0]}: has no sentence pairs to measure with")
    with ExitStack() as stack:
        excluded = stack.enter_context(open(folder / "excluded.tsv", "w", encoding="utf-8"))
        survey = _survey(data, dev, _Excluded(excluded), notify)
        _check_size(data, survey)
        if not dev:
            dev = _hold_out(data, survey)
            survey.report.held_out = True
        training = _Training(data, survey.held)
        source_tokenizer, target_tokenizer = _learn(training, tokenizer, survey.report, notify)
        corpus = write_corpus(
            folder / "corpus",
            training,
            source_tokenizer.encode,
            target_tokenizer.encode,
            vocabulary=max(source_tokenizer.size, target_tokenizer.size),
            longest=data.max_tokens,
            too_long=lambda place, tokens: survey.excluded.add(
                *place, f"{tokens} tokens on a side", f"over {data.max_tokens} tokens"
            ),
            progress=lambda done: notify("tokenising", done, survey.pairs),
        )
    report = survey.report
    report.training, report.dev, report.fingerprint = len(corpus), len(dev), corpus.fingerprint
    report.excluded = dict(survey.excluded.counts)
    report.vocabulary = source_tokenizer.size
    if not len(corpus):
        raise DataError(f"every pair has more than data.max_tokens={data.max_tokens} tokens on a side")
    write_text(folder / "dev.jsonl", "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in dev))
    write_text(folder / "source.json", source_tokenizer.to_json())
    if target_tokenizer is not source_tokenizer:
        write_text(folder / "target.json", target_tokenizer.to_json())
    write_text(folder / "prepared.json", json.dumps(asdict(report), indent=2))
    return Prepared(corpus, dev, source_tokenizer, target_tokenizer, report)


def _open(folder: Path) -> Prepared:
    report = Report(**json.loads((folder / "prepared.json").read_text(encoding="utf-8")))
    source = Tokenizer.load(folder / "source.json")
    separate = (folder / "target.json").exists()
    target = Tokenizer.load(folder / "target.json") if separate else source
    lines = (folder / "dev.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    dev = [(source, tuple(targets)) for source, targets in map(json.loads, lines)]
    return Prepared(Corpus(folder / "corpus"), dev, source, target, report)


def fault(pair: Pair) -> str | None:
    """Why a pair cannot be learned from, if so."""
    source, target = pair.source.strip(), pair.targets[0].strip()
    if not source and not target:
        return "blank"
    if not source or not target:
        return "one side is empty"
    if max(len(pair.source), *map(len, pair.targets)) > LONGEST_TEXT:
        return f"over {LONGEST_TEXT} characters"
    return None


class _Excluded:
    """Counts what is left out, and lists it line by line."""

    def __init__(self, out: TextIO):
        self._out = out
        self.counts: Counter[str] = Counter()

    def add(self, file: str, line: int, reason: str, kind: str | None = None) -> None:
        self.counts[kind or reason] += 1
        self._out.write(f"{file}\t{line}\t{reason}\n")


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest())


@dataclass
class _Survey:
    """What the first reading found."""

    report: Report
    excluded: _Excluded
    pairs: int = 0  # translations to learn from
    held: frozenset[int] = frozenset()  # hashes of the sources that are held out
    smallest: list[int] = field(default_factory=list)  # a heap of the smallest source hashes, negated


def _survey(
    data: DataConfig, dev: Sequence[tuple[str, tuple[str, ...]]], excluded: _Excluded, notify: Notify
) -> _Survey:
    survey = _Survey(Report(), excluded)
    dev_pairs = {(_hash(source), _hash(target)) for source, targets in dev for target in targets}
    overlap = set()
    report = survey.report
    for pair in data.read():
        report.read += 1
        if report.read % 20_000 == 0:
            notify("reading", report.read, 0)
        if reason := fault(pair):
            excluded.add(pair.file, pair.line, reason)
            continue
        survey.pairs += len(pair.targets)
        report.words += len(pair.source.split()) + sum(len(target.split()) for target in pair.targets)
        if dev:
            hashes = {(_hash(pair.source), _hash(target)) for target in pair.targets}
            overlap |= hashes & dev_pairs
        else:
            heapq.heappush(survey.smallest, -_hash(pair.source))
            if len(survey.smallest) > data.hold_out:
                heapq.heappop(survey.smallest)
    report.dev_also_in_training = len(overlap)
    return survey


def _check_size(data: DataConfig, survey: _Survey) -> None:
    """Refuse what nothing can be learned from."""
    if survey.pairs < FEWEST:
        where = ", ".join(data.pairs or [str(data.source), *data.target])
        found = f"{survey.pairs} usable sentence pair{'s' * (survey.pairs != 1)}"
        left_out = f" ({sum(survey.excluded.counts.values())} left out)" if survey.excluded.counts else ""
        raise DataError(f"{where}: {found}{left_out}; training needs at least {FEWEST}, and thousands to be of use")


def _hold_out(data: DataConfig, survey: _Survey) -> list[tuple[str, tuple[str, ...]]]:
    """Choose the dev part by hash, so that no sentence of it, source or target, is in the training part.

    All pairs of one source go together. A source whose translation is also the translation of a training sentence
    goes back to training, with everything that hangs on it.
    """
    share = max(1, min(data.hold_out, survey.pairs // 20))
    chosen = set(heapq.nsmallest(share, (-negated for negated in survey.smallest)))
    groups: dict[int, list[Pair]] = {}
    for pair in _usable(data):
        if (hashed := _hash(pair.source)) in chosen:
            groups.setdefault(hashed, []).append(pair)
    owners: dict[int, set[int]] = {}  # target -> the chosen sources it translates
    for hashed, pairs in groups.items():
        for target in _targets(pairs):
            owners.setdefault(target, set()).add(hashed)
    back: set[int] = set()
    waiting = {t for pair in _usable(data) if _hash(pair.source) not in chosen for t in _targets([pair]) if t in owners}
    while waiting:
        for source in owners[waiting.pop()] - back:
            back.add(source)
            waiting |= _targets(groups[source])
    survey.held = frozenset(chosen - back)
    dev = [
        (pairs[0].source, tuple(dict.fromkeys(target for pair in pairs for target in pair.targets)))
        for hashed, pairs in groups.items()
        if hashed in survey.held
    ]
    if not dev:
        raise DataError("no sentence could be held out: every translation occurs many times; give a dev file (--dev)")
    return dev


def _usable(data: DataConfig) -> Iterator[Pair]:
    return (pair for pair in data.read() if fault(pair) is None)


def _targets(pairs: Sequence[Pair]) -> set[int]:
    return {_hash(target) for pair in pairs for target in pair.targets}


class _Training:
    """The training pairs with their places, each translation a pair of its own; can be read again and again."""

    def __init__(self, data: DataConfig, held: frozenset[int]):
        self.data = data
        self.held = held

    def __iter__(self) -> Iterator[tuple[str, str, Place]]:
        for pair in _usable(self.data):
            if self.held and _hash(pair.source) in self.held:
                continue
            for target in pair.targets:
                yield pair.source, target, (pair.file, pair.line)


def _learn(training: _Training, config: TokenizerConfig, report: Report, notify: Notify) -> tuple[Tokenizer, Tokenizer]:
    notify("learning subwords", 0, 0)
    size = config.vocabulary or suggest_vocabulary(report.words)
    every = max(1, 2 * report.read // LEARN_FROM)

    def texts(sides: Sequence[int]) -> Iterator[str]:
        for number, pair in enumerate(training):
            if number % every == 0:
                yield from (text for side, text in enumerate(pair[:2]) if side in sides)

    if config.joint:
        joint = Tokenizer.learn(texts((0, 1)), size)
        return joint, joint
    return Tokenizer.learn(texts((0,)), size), Tokenizer.learn(texts((1,)), size)
