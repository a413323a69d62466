"""Documents and gettext catalogs on the command line: all their texts are translated first, then they are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mirada.cli.answers import Job, Lines, Predict, write_answers
from mirada.cli.app import VERBOSE, note, say, verbosity
from mirada.cli.input import Input
from mirada.cli.output import cannot_write
from mirada.errors import UsageError, counted

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.prediction import Translation


Translated = dict[str, "Translation"]
"""Texts and their translations."""


class Aids:
    """The direction, the glossary and the memory that a model translates with."""

    def __init__(
        self,
        model: TranslationModel,
        to: str | None,
        glossary: Path | None,
        keep: Path | None,
        memory: Path | None,
        threshold: float | None,
    ):
        from mirada.tasks.translation.glossary import Glossary
        from mirada.tasks.translation.memory import THRESHOLD, check_threshold

        if threshold is not None and memory is None:
            raise UsageError(f"--memory-threshold {threshold:g}: requires --memory; add it, or leave this out")
        self.model, self.to = model, to
        self.glossary = Glossary.read(glossary, keep=keep) if glossary or keep else None
        self.memory = model.open_memory(memory, to) if memory else None
        self.threshold = THRESHOLD if threshold is None else threshold
        if memory:
            check_threshold(self.threshold)
        self.lines = self.exact = self.similar = 0
        for doubt in self.memory.doubts if self.memory else ():
            say(f"mirada: {doubt}")

    @property
    def fingerprints(self) -> dict[str, Any]:
        """What decides the translations besides the model and its options."""
        found: dict[str, Any] = {"to": self.to} if self.to else {}
        found |= {"glossary": self.glossary.fingerprint} if self.glossary else {}
        return {**found, "memory": [self.memory.fingerprint, self.threshold]} if self.memory else found

    def translate(self, lines: Lines, **options: Any) -> list[Translation]:
        """Translate a chunk of the input, and count what the memory has for it."""
        from mirada.data.text import shown_text

        aids: dict[str, Any] = {"glossary": self.glossary, "memory": self.memory, "memory_threshold": self.threshold}
        aids["to"] = self.to
        found = self.model.translate(lines.texts, progress=lines.progress, **aids, **options)
        for number, translation in enumerate(found, lines.first):
            self.lines += 1
            self.exact += any(match.used for match in translation.memory)
            self.similar += any(not match.used for match in translation.memory)
            for match in translation.memory if verbosity() == VERBOSE else ():
                how = "used" if match.used else "similar"
                pair = f"{shown_text(match.source)} → {shown_text(match.target)}"
                say(f"mirada: line {number}: {how}, {match.score:.0f} %: {match.where}: {pair}")
        return found

    def report(self) -> None:
        """Say what the memory had."""
        if self.memory and self.lines:
            similar = (
                f", {self.similar:,} had similar sentences (--json or -v shows them)" if self.threshold < 100 else ""
            )
            note(f"the memory was used for {self.exact:,} of {self.lines:,} lines{similar}")


def fill(
    model: TranslationModel,
    file: Path,
    out: Path | None,
    job: Job,
    decode: dict[str, Any],
    aids: Aids,
    *,
    keep_damaged: bool,
    skip_broken: bool,
    force: bool,
    json_: bool,
) -> None:
    """Fill a catalog, or all those below a folder that are in the model's target language, into the same tree.

    All lines are translated first, into `<out>.partial`, which an interrupted command continues; then the catalogs are
    written.
    """
    from mirada.tasks.translation.catalogs import choose, fill_all

    if out is None:
        example = file.name + ".new" if file.is_dir() else f"{file.name.partition('.')[0]}.new.po"
        what = "folder of filled catalogs" if file.is_dir() else "filled catalog"
        raise UsageError(f"--file {file}: where should the {what} go? --out {example}")
    source, target = model.languages(aids.to)
    paths = [file]
    if file.is_dir():
        paths, notes = choose(file, target, skip_broken=skip_broken, force=force)
        for remark in notes:
            say(f"mirada: {remark}")
    lines = _lines_of(paths, source, target, force)

    def finish(translated: Translated) -> None:
        fillings = fill_all(paths, file, out, translated, keep_damaged)
        for path, filling in fillings.items():
            for line, problem in filling.problems:
                say(f"mirada: {path}, line {line}: {problem}")
            if json_:
                print(json.dumps({"file": str(path), **filling.as_dict()}, ensure_ascii=False))
        filled, left = (sum(getattr(one, name) for one in fillings.values()) for name in ("filled", "left"))
        where = f" in {counted(len(paths), 'catalog')}" if file.is_dir() else ""
        empty = f", {left:,} left empty" if left else ""
        entries = f"{filled:,} {'entry' if filled == 1 else 'entries'}"
        say(f"filled {entries}{where}, marked fuzzy for review{empty}; the rest is unchanged")

    options = model.fill_options(**decode)
    _translate_all(
        Input(lines, None),
        out,
        {**job, "catalogs": True},
        lambda chunk: aids.translate(chunk, **options),
        finish,
    )


def _lines_of(paths: Sequence[Path], source: str | None, target: str | None, force: bool) -> list[str]:
    """The distinct lines of catalogs to translate; what is doubtful about their languages is reported."""
    from mirada.data.po import Catalog
    from mirada.tasks.translation.catalogs import check_language, lines_of

    lines: dict[str, None] = {}
    for path in paths:
        catalog = Catalog(path)
        for doubt in check_language(catalog, source, target, force=force):
            say(f"mirada: {doubt}")
        lines |= dict.fromkeys(lines_of(catalog))
    return [*lines]


def translate_document(
    model: TranslationModel,
    file: Path,
    out: Path | None,
    job: Job,
    decode: dict[str, Any],
    aids: Aids,
    columns: list[str],
    json_: bool,
) -> None:
    """Translate a document."""
    from mirada.data import language
    from mirada.tasks.translation import document_translation as documents

    if out is None:
        stem, dot, suffix = file.name.partition(".")
        new = f"{stem}.{model.languages(aids.to)[1] or 'new'}{dot}{suffix}"
        raise UsageError(f"--file {file}: where should the translated document go? --out {new}")
    document = model.open_document(file, columns, aids.to)
    texts, options = documents.texts_of(document), model.fill_options(**decode)
    source = model.languages(aids.to)[0]
    if other := language.other_than(source, texts):
        say(f"mirada: {file}: its text looks like {other}, but the model translates from {source}")
    left = 0

    def predict(chunk: Lines) -> list[Translation]:
        def translate(some: list[str]) -> list[Translation]:
            return aids.translate(Lines(some, chunk.first, chunk.progress), **options)

        return documents.translate_texts(chunk.texts, translate, document.markup)

    def finish(translated: Translated) -> None:
        nonlocal left
        done = documents.assemble(document, translated)
        documents.write_document(out, done.content)
        left = done.left
        for remark in done.notes:
            say(f"mirada: {file}, {remark}")
        if json_:
            print(json.dumps({"file": str(file), **done.as_dict()}, ensure_ascii=False))
        say(f"{done}; the rest of the document is unchanged")

    given = Input(texts, None, unit="segments")
    _translate_all(given, out, {**job, "document": file.suffix, "columns": columns}, predict, finish)
    if left:
        raise typer.Exit(1)


def _translate_all(given: Input, out: Path, job: Job, predict: Predict, finish: Callable[[Translated], None]) -> None:
    """Translate texts into `<out>.partial`, which an interrupted command continues; `finish` makes `out` of them."""
    from mirada.tasks.translation.prediction import Translation

    texts = given.texts or []

    def read(partial: Path) -> None:
        rows = partial.read_text(encoding="utf-8").split("\n")[:-1]
        finish(dict(zip(texts, (Translation.from_dict(json.loads(row)) for row in rows), strict=True)))

    try:
        if texts:
            write_answers(given, out, job, predict, json_=True, finish=read)
        else:
            finish({})
    except OSError as error:
        raise cannot_write("--out", out, error) from None
