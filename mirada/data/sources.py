"""Which texts to learn from: the data section of the configuration, and the files it names, opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from mirada.config import Section, Values
from mirada.data.language import code_fault, primary
from mirada.data.readers import ANYTHING, Parallel, Reader, Wanted, files_of, open_pairs
from mirada.data.records import Record, Sources
from mirada.data.text import StrPath, shown_path
from mirada.errors import DataError


class DataSection(Section):
    """What the data section of every task has."""

    needs: ClassVar[str] = "a file"
    """What there has to be, for a message."""

    files: tuple[str, ...] = ()
    """Files to learn from, plain or gzipped."""
    dev: tuple[str, ...] = ()
    """The dev set, in the same format. By default, part of the data is held out."""
    hold_out: float = Field(0.1, gt=0, lt=1)
    """The share of the data to hold out if there is no dev set."""

    @model_validator(mode="after")
    def _given(self) -> Self:
        if not self.files:
            raise ValueError(f"there is no data: give {self.needs}")
        return self


class TextSection(DataSection):
    """The data section of tasks that read text."""

    invalid_bytes: Literal["refuse", "drop"] = "refuse"
    """What to do about lines with bytes that are not UTF-8: refuse the file, or leave them out."""


class TableSection(TextSection):
    """The data section of tasks that read tables or JSON."""

    columns: tuple[str, ...] = ()
    """Columns or keys to read, by name or by number from 1, in the order that the task expects."""
    format: str | None = None
    """The format of files with an ambiguous name: tsv, csv, jsonl, tmx, po, mo, or one added by another package."""
    quotes: bool = True
    """Whether quotes enclose CSV cells; false treats them as ordinary characters."""
    header: bool | Literal["auto"] = "auto"
    """Whether the first row of a table names its columns; auto detects it, and reports what it found."""

    @property
    def wanted(self) -> Wanted:
        """Which of a file's texts to read."""
        header = None if self.header == "auto" else self.header
        return Wanted(self.columns, quotes=self.quotes, lenient=self.invalid_bytes == "drop", header=header)


class DataConfig(TableSection):
    """Which sentence pairs to learn from."""

    needs = "a file of sentence pairs, or --source and --target files"

    files: tuple[str, ...] = ()
    """Files of sentence pairs (TSV, CSV, JSONL, TMX, PO, MO, plain or gzipped), or folders of such files."""
    source: str | None = None
    """A file of source sentences, with `target` beside it."""
    target: tuple[str, ...] = ()
    """The translations of `source`, line by line; more than one file gives several translations of each line."""
    dev: tuple[str, ...] = ()
    """The dev set: one file of pairs, or a source file and its translations. By default, part of the data is held
    out."""
    hold_out: int = Field(1000, ge=1, le=100_000)  # pairs, where others have a share
    """Pairs to hold out if there is no dev set; at most a twentieth of the data."""
    max_tokens: int = Field(100, ge=4)
    """Pairs with more tokens than this on either side are left out of training."""
    source_language: str | None = None
    """The ISO 639 code of the source language (es, pt-BR, nah)."""
    target_language: str | None = None
    """The ISO 639 code of the target language."""
    mask: bool = True
    """Whether numbers, addresses, placeholders, tags, emoji and unseen names are replaced by markers that the model
    learns to copy, if the data has enough of them to learn from (subwords only)."""
    direction: Literal["forward", "both"] = "forward"
    """both: train one model that translates in both directions."""
    fuzzy: bool = False
    """Whether to train on entries of gettext catalogs that are marked fuzzy."""
    broken_files: Literal["refuse", "skip"] = "refuse"
    """What to do about files in a folder that cannot be read: refuse the folder, or skip them."""

    @field_validator("source_language", "target_language")
    @classmethod
    def _is_code(cls, tag: str | None) -> str | None:
        if tag is not None and (fault := code_fault(tag)):
            raise ValueError(fault)
        return tag

    @model_validator(mode="after")
    def _given(self) -> Self:
        if self.source and not self.target:
            raise ValueError(f"data.source={self.source} needs data.target, the file with its translations (--target)")
        if self.target and not self.source:
            raise ValueError(f"data.target={self.target[0]} needs data.source, the file it translates (--source)")
        if not self.files and not self.source:
            raise ValueError(f"there is no data: give {self.needs}")
        if self.direction == "both" and (not self.languages[1] or len({*map(primary, self.languages)}) < 2):
            raise ValueError("data.direction=both needs two languages, which tags name (--from es --to en)")
        return self

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target, as far as they are known."""
        return self.source_language or "", self.target_language or ""

    @property
    def wanted(self) -> Wanted:
        languages = {"source_language": self.source_language, "target_language": self.target_language}
        return replace(super().wanted, **languages, fuzzy=self.fuzzy)  # type: ignore[arg-type]

    def open(self) -> PairFiles:
        """The files to learn from."""
        files = PairFiles(self.files, self.wanted, self.format, skip_broken=self.broken_files == "skip")
        if self.source:
            files.add(self.source, Parallel(self.source, self.target, self.wanted.lenient))
        return files


Paths = str | Path | Sequence[str | Path]
"""One file, or several."""


def named(given: Paths) -> list[str]:
    """Paths as a list of strings."""
    return [str(path) for path in ([given] if isinstance(given, (str, Path)) else given)]


def data_settings(
    files: Paths = (),
    source: str | Path | None = None,
    target: Paths = (),
    dev: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    columns: Sequence[str] = (),
    *,
    absolute: bool,
) -> Values:
    """The data section that these arguments stand for; absolute paths if the run may be resumed from elsewhere."""

    def paths(given: Paths) -> list[str]:
        return [str(Path(path).absolute()) if absolute else path for path in named(given)]

    settings = {
        "files": paths(files),
        "source": paths(source)[0] if source else None,
        "target": paths(target),
        "dev": paths(dev),
        "source_language": source_language,
        "target_language": target_language,
        "columns": list(columns),
    }
    return {key: value for key, value in settings.items() if value}


class PairFiles(Sources):
    """Files of pairs, opened: all their pairs in order, as often as you like."""

    def __init__(
        self,
        paths: Sequence[str] = (),
        wanted: Wanted = ANYTHING,
        format_: str | None = None,
        skip_broken: bool = False,
    ):
        super().__init__([])
        self._folders: dict[str, str] = {}  # of the files that were found in one
        for path in paths:
            files, notes = files_of(path, wanted)
            if files == [path]:
                self.add(path, open_pairs(path, wanted, format_))
            else:
                self._add_folder(path, files, wanted, format_, skip_broken)
            self.notes += [f"{path}: {note}" for note in notes]

    def _add_folder(self, folder: str, files: Sequence[str], wanted: Wanted, format_: str | None, skip: bool) -> None:
        """The files of a folder; if they are to be skipped, or one cannot be opened, all are read to their ends."""
        opened: dict[str, Reader] = {}
        broken: list[str] = []
        for file in files:
            try:
                opened[file] = open_pairs(file, wanted, format_)
            except DataError as error:
                broken.append(str(error))
        if skip or broken:
            faults = {file: _fault(reader) for file, reader in opened.items()}
            broken += filter(None, faults.values())
            opened = {file: reader for file, reader in opened.items() if not faults[file]}
        if broken and not (skip and opened):
            raise DataError(unreadable(folder, broken, _SKIP))
        self.notes += [f"{folder}: skipped a file that cannot be read: {fault}" for fault in broken]
        self._folders |= dict.fromkeys(opened, folder)
        for file, reader in opened.items():
            self.add(file, reader)

    def add(self, path: str, reader: Reader) -> None:
        if note := getattr(reader, "note", ""):
            self.notes.append(f"{path}: {note}")
        self.readers.append((path, reader.about, reader))

    def __iter__(self) -> Iterator[Record]:
        for place, (_, _, reader) in enumerate(self.readers):
            try:
                yield from reader
            except DataError as error:
                raise self._and_others(place, error) from None

    def _and_others(self, place: int, error: DataError) -> DataError:
        """The error about a file, or about all files of its folder that cannot be read."""
        path = self.readers[place][0]
        if path not in self._folders:
            return error
        folder = self._folders[path]
        later = [_fault(reader) for other, _, reader in self.readers[place + 1 :] if self._folders.get(other) == folder]
        return DataError(unreadable(folder, [str(error), *filter(None, later)], _SKIP))


_SKIP = "--set data.broken_files=skip"


def _fault(reader: Iterable[Any]) -> str:
    """Why a file cannot be read to its end; nothing if it can."""
    try:
        for _ in reader:
            pass
    except DataError as error:
        return str(error)
    return ""


def unreadable(folder: StrPath, faults: Collection[str], hint: str) -> str:
    """The message about files of a folder that cannot be read: all of them, with the reasons."""
    listed = "".join(f"\n    {fault}" for fault in faults)
    files = "1 file" if len(faults) == 1 else f"{len(faults)} files"
    return f"{shown_path(folder)}: {files} cannot be read; repair them, or leave them out: {hint}{listed}"


def open_some(paths: Sequence[str], wanted: Wanted = ANYTHING, format_: str | None = None) -> PairFiles:
    """A dev or test set: one file of pairs, or a source file and its translations."""
    if len(paths) < 2:
        return PairFiles(paths, wanted, format_)
    files = PairFiles()
    files.add(paths[0], Parallel(paths[0], paths[1:], wanted.lenient))
    return files
