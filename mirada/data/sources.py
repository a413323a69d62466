"""Which texts to learn from: the data section of the configuration, and the files it names, opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from mirada.config import Section, Values
from mirada.data.language import code_fault
from mirada.data.readers import ANYTHING, Pair, Parallel, Reader, Wanted, files_of, open_pairs


class DataConfig(Section):
    """Which texts to learn from."""

    files: tuple[str, ...] = ()
    """Files of sentence pairs (TSV, CSV, JSONL, TMX, PO, MO, plain or gzipped), or folders of them."""
    source: str | None = None
    """A file of source sentences, with `target` beside it."""
    target: tuple[str, ...] = ()
    """The translations of `source`, line by line; more than one file gives several translations of each line."""
    dev: tuple[str, ...] = ()
    """The dev part: one file of pairs, or a source file and its translations. Held out of the data when not given."""
    hold_out: int = Field(1000, ge=1, le=100_000)
    """Pairs to hold out when there is no dev file (at most a twentieth of the data)."""
    max_tokens: int = Field(100, ge=4)
    """Pairs with more tokens than this on a side are left out of training."""
    source_language: str | None = None
    """Its ISO 639 code (es, pt-BR, nah), like that of the target."""
    target_language: str | None = None
    format: str | None = None
    """tsv, csv, jsonl, tmx, po or mo, for files whose name does not tell."""
    columns: tuple[str, ...] = ()
    """Of tables and JSON: source, target and further references, by name or by number from 1."""
    invalid_bytes: Literal["refuse", "drop"] = "refuse"
    """What to do about lines with bytes that are not UTF-8: refuse the file, or leave them out."""
    quotes: bool = True
    """Of CSV: quotes hold a cell together; false takes them for characters like others."""
    header: bool | Literal["auto"] = "auto"
    """Of tables: whether the first row names the columns and is no pair; auto finds out, and says so."""
    fuzzy: bool = False
    """Of gettext catalogs: learn from entries that are marked fuzzy too."""

    @field_validator("source_language", "target_language")
    @classmethod
    def _is_code(cls, tag: str | None) -> str | None:
        if tag is not None and (fault := code_fault(tag)):
            raise ValueError(fault)
        return tag

    @model_validator(mode="after")
    def _one_kind(self) -> DataConfig:
        if self.source and not self.target:
            raise ValueError(f"data.source={self.source} needs data.target, the file with its translations (--target)")
        if self.target and not self.source:
            raise ValueError(f"data.target={self.target[0]} needs data.source, the file it translates (--source)")
        if not self.files and not self.source:
            raise ValueError("there is no data: give a file of sentence pairs, or --source and --target files")
        return self

    @property
    def wanted(self) -> Wanted:
        lenient = self.invalid_bytes == "drop"
        header = None if self.header == "auto" else self.header
        languages = self.source_language, self.target_language
        return Wanted(self.columns, *languages, self.quotes, lenient, header=header, fuzzy=self.fuzzy)

    def open(self) -> PairFiles:
        """The files to learn from."""
        files = PairFiles(self.files, self.wanted, self.format)
        if self.source:
            files.add(self.source, Parallel(self.source, self.target, self.wanted.lenient))
        return files

    def open_dev(self) -> PairFiles:
        """The files to measure with; none when a part is to be held out."""
        return open_some(self.dev, self.wanted, self.format)


Paths = str | Path | Sequence[str | Path]
"""One file, or several."""


def named(given: Paths) -> list[str]:
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
    """The data section that these arguments stand for; paths absolute where work may go on from elsewhere."""

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


class PairFiles:
    """Files of pairs, opened: all their pairs in order, as often as you like."""

    def __init__(self, paths: Sequence[str] = (), wanted: Wanted = ANYTHING, format_: str | None = None):
        self.readers: list[tuple[str, Reader]] = []
        self.notes: list[str] = []
        """What a folder holds besides."""
        for path in paths:
            files, notes = files_of(path, wanted)
            self.notes += [f"{path}: {note}" for note in notes]
            for file in files:
                self.add(file, open_pairs(file, wanted, format_))

    def add(self, path: str, reader: Reader) -> None:
        if note := getattr(reader, "note", ""):
            self.notes.append(f"{path}: {note}")
        self.readers.append((path, reader))

    def __iter__(self) -> Iterator[Pair]:
        for _, reader in self.readers:
            yield from reader

    def __str__(self) -> str:
        names = [path for path, _ in self.readers]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def open_some(paths: Sequence[str], wanted: Wanted = ANYTHING, format_: str | None = None) -> PairFiles:
    """A set to measure with: one file of pairs, or a source file and its translations."""
    if len(paths) < 2:
        return PairFiles(paths, wanted, format_)
    files = PairFiles()
    files.add(paths[0], Parallel(paths[0], paths[1:], wanted.lenient))
    return files
