"""The data path of every task: from files to what training reads, checked, split and encoded, on disk.

    files ─ source ─▶ records ─ checks ─▶ spill ─ split ─▶ learn ─ encode ─▶ store ─ batches

A task contributes a `Preparation`, which `prepare` runs for a training and `Preparation.examine` for `mirada check`.

<folder>/excluded.tsv   every record that is left out: file, line, reason, the reason in words
<folder>/dev.jsonl      the dev set, an example a line
<folder>/…              what the preprocessor and the task's store write
<folder>/prepared.json  the report; written last, so that its presence means that all of it is there
"""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Generic, TextIO, TypeVar

from mirada.contracts import Plan
from mirada.data.checks import in_words
from mirada.data.corpus import Corpus, write_corpus
from mirada.data.folder import LARGE_FILE, FolderFiles, check_dev, finish, is_prepared, reopen, reopening
from mirada.data.quality import Notify, QualityReport
from mirada.data.records import AnyRecord, Source, Spill
from mirada.data.report import DataSummary, Report
from mirada.data.splits import Mask
from mirada.data.survey import HELD, TRAINING, Survey, fingerprint, shown_fields
from mirada.data.text import shown_path
from mirada.errors import BundleError, DataError
from mirada.files import write_bytes, write_text
from mirada.parsing import load_json_lines, read_json_lines

Example = TypeVar("Example")


class Preparation(Generic[Example]):
    """How the data of one task is prepared; a new one for each set of data.

    A task of its own needs `preprocessor_type`, `open`, `example`, `learn`, `encode`, `open_store` and `batches`,
    and `hold_out` (or `split`) for data without a dev set; all else has a default.
    """

    noun: ClassVar[str] = "record"
    """What a record is called: a text, an image."""
    counted: ClassVar[str] = ""
    """What is counted, where the noun alone would not say it: labelled texts."""
    fewest: ClassVar[int] = 10
    """Records below which there is nothing to learn from."""
    report_type: ClassVar[type[Report]] = Report
    preprocessor_type: ClassVar[Any]
    """What a model needs besides its weights: a class with `required`, `files` and `read`."""
    key_types: ClassVar[str] = ""
    """The types of `keys`, as letters of `array`; 64 bits each unless given."""
    example_type: ClassVar[Any] = Any
    """The shape of an example in dev.jsonl, as pydantic checks it."""
    reasons: ClassVar[Mapping[str, str]] = {}
    """Reasons of its own for leaving records out, and what they mean in words; `checks.REASONS` has those of all."""
    settings: ClassVar[Mapping[str, str]] = {"duplicate": "data.duplicates", "contradiction": "data.contradictions"}
    """The settings (drop or keep) that decide about a reason, where the task has them."""
    keeps: ClassVar[frozenset[str]] = frozenset({"synthetic", "inline_tags_removed", "truncated", "replaced_bytes"})
    """Reasons that are reported, and never left out."""

    def __init__(self, built: Mapping[str, Any], base: Any = None):
        """`built` are the sections of the configuration; `base` the preprocessor of a model to start from."""
        self.built, self.data, self.base = built, built["data"], base
        self.report = self.report_type()

    # ── reading and checking ──────────────────────────────────────────────────────────────────────────────────────

    def open(self, paths: Sequence[str]) -> Source:
        """The records of some files."""
        raise NotImplementedError

    def fault(self, record: Any) -> str:
        """Why a record cannot be learned from, as an identifier; empty if it can."""
        return str(record.problem)

    def doubts(self, record: Any) -> Iterable[str]:
        """What is doubtful about a record by itself."""
        return ()

    def keys(self, record: Any) -> tuple[int, ...]:
        """64-bit numbers that stay in memory: first what a record is recognized by, then its answer, then others."""
        return fingerprint(*record.fields[:1]), fingerprint(*record.fields[1:])

    def count_words(self, record: Any) -> int:
        """Running words, which decide about the size of a vocabulary."""
        return 0

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        """What shows only when records are compared: reasons, and the records that each is true of."""
        return iter(())

    def show(self, record: AnyRecord) -> str:
        """A record on one line."""
        return shown_fields(tuple(text for text in record.fields if isinstance(text, str)))

    @property
    def nouns(self) -> str:
        return f"{self.noun}s"

    def in_words(self, reason: str) -> str:
        """What a reason means."""
        return self.reasons.get(reason) or in_words(reason, self.noun, self.nouns)

    def _setting(self, reason: str) -> tuple[str, str]:
        """The setting that decides about a reason, and its value."""
        path = self.settings.get(reason, "")
        section, _, key = path.partition(".")
        value = getattr(self.built.get(section), key, None) if path else None
        return (path, str(value)) if value is not None else ("", "")

    def drops(self, reason: str) -> bool:
        """Whether records are left out for a reason."""
        return reason not in self.keeps and self._setting(reason)[1] in ("", "drop")

    def hint(self, reason: str) -> str:
        """The setting that changes what is done about a reason, if there is one."""
        path, value = self._setting(reason)
        if path:
            return f"{path}={'keep' if value == 'drop' else 'drop'}"
        if reason == "invalid_bytes" and hasattr(self.data, "invalid_bytes"):
            return "data.invalid_bytes=drop"
        if reason in ("too_many_words", "too_many_tokens", "truncated") and getattr(self.data, "max_tokens", None):
            return f"data.max_tokens={2 * self.data.max_tokens}"
        return ""

    def check_size(self, survey: Survey) -> None:
        """Refuse what nothing can be learned from."""
        if survey.good < self.fewest:
            count = f"{survey.good:,} {self.counted or self.nouns}"
            raise DataError(f"{survey.source}: {count}{survey.excluded}; training needs at least {self.fewest}")

    # ── splitting ─────────────────────────────────────────────────────────────────────────────────────────────────

    def read_examples(self, paths: Sequence[str], survey: Survey) -> Any:
        """A dev or test set, to compare the data with and to evaluate on."""
        return self.read_whole(paths)

    def read_whole(self, paths: Sequence[str]) -> list[Any]:
        """A dev or test set, all of it: one with a record that cannot be evaluated on is refused."""
        source, examples = self.open(paths), []
        for record in source:
            if reason := self.fault(record):
                raise DataError(
                    f"{shown_path(record.file)}, line {record.line}: {self.in_words(reason)}; a dev or test set "
                    "must be usable as a whole: correct it, or remove it"
                )
            examples.append(self.example(record))
        if not examples:
            raise DataError(f"{source}: has no {self.counted or self.nouns} to evaluate with")
        return examples

    def place_of(self, paths: Sequence[str], number: int) -> str:
        """Where an example of a dev or test set stands, by its number, from 0: its file is read again."""
        record = next(islice(self.open(paths), number, None))
        return f"{shown_path(record.file)}, line {record.line}"

    def example(self, record: Any) -> Example:
        """A record as an example to evaluate the model on."""
        raise NotImplementedError

    def hold_out(self, survey: Survey) -> Mask:
        """Which of the records that are not left out make the dev set."""
        raise NotImplementedError

    def split(self, survey: Survey) -> Any:
        """The dev set: that of the dev files, or what is held out. Refuses data that nothing can be learned from."""
        if self.data.dev:
            return survey.dev
        survey.hold(self.hold_out(survey))
        return [self.example(record) for record in survey.records(HELD)]

    # ── encoding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def learn(self, survey: Survey) -> Any:
        """The preprocessor: that of the base, or one that is learned from the training set."""
        raise NotImplementedError

    def tokenizer(self, survey: Survey, texts: Iterable[str], words: int | None = None, **options: Any) -> Any:
        """The tokenizer of the base, or one that is learned from texts with `words` words."""
        if self.base:
            return self.base.tokenizer
        config = self.built["tokenizer"]
        survey.notify(f"learning {config.unit}", 0, 0)
        return config.learn(texts, survey.words if words is None else words, **options)

    def encode(self, survey: Survey, preprocessor: Any, folder: Path) -> None:
        """Write the training set into the folder; set `report.training` and `report.fingerprint`."""
        raise NotImplementedError

    def write_corpus(
        self, survey: Survey, folder: Path, rows: Any, *encoders: Any, vocabulary: int, longest: int, **options: Any
    ) -> Corpus:
        """Write the training set as a corpus and report its size; see `corpus.write_corpus` for `options`.

        A row's place is its record, which is left out if it has over `longest` tokens.
        """
        total = int((survey.verdicts == TRAINING).sum())
        corpus = write_corpus(
            folder / "corpus",
            rows,
            *encoders,
            vocabulary=vocabulary,
            longest=longest,
            **{"too_long": lambda record, tokens: survey.leave_out(record, "too_many_tokens"), **options},
            progress=lambda done: survey.notify("tokenizing", min(done, total), total),
        )
        if not len(corpus):
            raise DataError(f"{survey.source}: no {self.noun} is left to learn from{survey.excluded}")
        self.report.training, self.report.fingerprint = len(corpus), corpus.fingerprint
        return corpus

    def adapt(self, survey: Survey, preprocessor: Any) -> Any:
        """The preprocessor, once the training set is encoded and all of it is known."""
        return preprocessor

    def save_dev(self, dev: Any, folder: Path) -> None:
        write_text(folder / "dev.jsonl", self.dump(dev))

    # ── the whole of it ───────────────────────────────────────────────────────────────────────────────────────────

    def build(self, folder: Path, notify: Notify) -> None:
        """Fill an empty folder with prepared data."""
        with (
            open(folder / "excluded.tsv", "w", encoding="utf-8", errors="surrogateescape") as excluded,
            Spill(folder / "records.jsonl") as spill,
        ):
            survey = Survey(self, spill, excluded, notify)
            dev = self._examined(survey)
            preprocessor = self.learn(survey)
            self.encode(survey, preprocessor, folder)
            preprocessor = self.adapt(survey, preprocessor)
        quality, report = survey.report(), self.report
        report.read, report.dev, report.held_out = quality.read, len(dev), not self.data.dev
        report.words = report.words or survey.words
        report.excluded = dict(survey.excluded.counts)
        report.findings = {found.kind: found.count for found in quality.findings if not found.left_out}
        report.notes = [*quality.notes, *report.notes]
        for name, content in preprocessor.files().items():
            write_bytes(folder / name, content)
        self.save_dev(dev, folder)
        finish(folder, report)

    def examine(self, notify: Notify, excluded: TextIO | None, test: Sequence[str] = ()) -> QualityReport:
        """What is wrong with the data, and what training would do about it; `excluded` lists what it leaves out."""
        refuses = frozenset({"languages", "refused"})
        if getattr(self.data, "invalid_bytes", "") == "refuse":  # read leniently: all such lines are found
            refuses |= {"invalid_bytes", "replaced_bytes"}
            self.data = self.data.model_copy(update={"invalid_bytes": "drop"})
        with tempfile.TemporaryDirectory(prefix="mirada-") as folder, Spill(Path(folder) / "records.jsonl") as spill:
            survey = Survey(self, spill, excluded, notify, refuses)
            self._examined(survey, test)
            return survey.report()

    def _examined(self, survey: Survey, test: Sequence[str] = ()) -> Any:
        """Read and judge everything; returns the dev set."""
        if self.data.dev:
            survey.dev = self.read_examples(self.data.dev, survey)
            survey.compared.append(survey.dev)
        if test:
            survey.compared.append(self.read_examples(test, survey))
        survey.read()
        try:
            survey.judge()
            self.check_size(survey)
            return self.split(survey)
        except DataError as fault:
            survey.refuse("refused", str(fault), count=survey.quality.read)

    # ── opening ───────────────────────────────────────────────────────────────────────────────────────────────────

    def read_preprocessor(self, folder: Path) -> Any:
        """The preprocessor, from the files that it wrote."""
        return self.preprocessor_type.read(FolderFiles(folder), folder)

    def read_dev(self, folder: Path, preprocessor: Any) -> Any:
        dev = read_json_lines(folder / "dev.jsonl", self.example_type, DataError, LARGE_FILE)
        check_dev(dev, folder / "dev.jsonl")
        return dev

    def open_store(self, folder: Path, preprocessor: Any) -> Any:
        """The encoded training set, as far as possible checked for damage."""
        raise NotImplementedError

    @staticmethod
    def dump(dev: Any) -> str:
        """A dev set as text: a line of JSON each."""
        return "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in dev)

    @classmethod
    def load(cls, text: str) -> Any:
        """The dev set that `dump` wrote."""
        return load_json_lines(text, cls.example_type, "dev.jsonl", BundleError)

    # ── use ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def dev(self, prepared: Prepared) -> Any:
        """The part of the dev set that the model is evaluated on."""
        return prepared.saved_dev

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> Plan[Any]:
        """The training set in batches of at most `tokens` tokens."""
        raise NotImplementedError

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        """What is known about the data, as names and texts, from its report as plain values."""
        nouns, left_out = nouns or f"{cls.noun}s", sum(data["excluded"].values())
        return [
            ("data", f"{data['training']:,} {nouns}, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} {nouns}" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def summary(self, prepared: Prepared) -> str:
        """The data in one line, for a person."""
        lines = ((name, shown_fields((text,), width=200)) for name, text in self.describe(prepared.report()))
        return "; ".join(f"{name}: {text}" for name, text in lines)

    def notes(self, prepared: Prepared) -> list[str]:
        return prepared.about.notes


@dataclass(frozen=True)
class Prepared:
    """Data that is ready to train on."""

    task: Preparation[Any]
    preprocessor: Any
    saved_dev: Any
    store: Any
    """The encoded training set."""
    about: Any
    """Its `Report`."""

    @property
    def dev(self) -> Any:
        """What the model is evaluated on: `Model.score` takes it."""
        return self.task.dev(self)

    def batches(self, tokens: int, seed: int) -> Any:
        """The training set in batches of at most `tokens` tokens: a `Plan`."""
        return self.task.batches(self, tokens, seed)

    def report(self) -> dict[str, Any]:
        """Figures for the bundle's card."""
        return asdict(self.about)

    def summary(self) -> DataSummary:
        """What a person is shown of it."""
        words, report = self.task.in_words, self.about
        return DataSummary(
            self.task.summary(self),
            self.task.notes(self),
            {words(reason): count for reason, count in report.excluded.items()},
            {words(reason): count for reason, count in report.findings.items()},
            "mirada check",
        )

    def dev_file(self) -> str:
        """The dev set as text, for the bundle; `Task.read_dev` reads it."""
        return self.task.dump(self.dev)


def prepare(task: Preparation[Any], folder: Path, notify: Notify) -> Prepared:
    """Read, check, split and encode the data into `folder`; what an earlier call finished is only opened."""
    if not is_prepared(folder):
        folder.mkdir(parents=True, exist_ok=True)
        gc.freeze()  # what is loaded by now stays: looking at it again and again takes a tenth of the time
        try:
            task.build(folder, notify)
        finally:
            gc.unfreeze()
    with reopening(folder):
        report: Report = reopen(folder, task.report_type)
        preprocessor = task.read_preprocessor(folder)
        dev = task.read_dev(folder, preprocessor)
        return Prepared(task, preprocessor, dev, task.open_store(folder, preprocessor), report)
