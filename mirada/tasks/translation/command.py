"""The verb of translation: texts, lines, documents, and gettext catalogs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mirada.cli.answers import Job, Lines, Predict, job_of, write_answers
from mirada.cli.app import (
    USE,
    VERBOSE,
    AsText,
    Beam,
    Bundle,
    Device,
    Json,
    NBest,
    Out,
    Program,
    SampleSeed,
    Temperature,
    Texts,
    Threads,
    TopK,
    TopP,
    listed,
    note,
    option,
    say,
    verbosity,
)
from mirada.cli.input import Given
from mirada.cli.output import cannot_write, check_new
from mirada.cli.predict import answer, load
from mirada.errors import UsageError

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.translator import Translation


def register(app: Program) -> None:
    app.command(panel=USE)(translate)


def translate(
    bundle: Bundle,
    texts: Texts = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Translate this text, HTML, Markdown, DOCX, ODT, SRT, VTT, CSV, TSV, JSONL, TMX, PO file or folder.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            "--column",
            help="Columns of a table: `text` in place, `text,translation` into another.",
            show_default=False,
        ),
    ] = None,
    as_text: AsText = False,
    to: Annotated[
        str | None,
        typer.Option(
            help="The language to translate into, for a model of several directions.",
            show_default="by the language of the input, if that is clear",
        ),
    ] = None,
    beam: Beam = None,
    n_best: NBest = None,
    prefix: Annotated[
        str, typer.Option(help="The beginning that every translation must have.", show_default=False)
    ] = "",
    glossary: Annotated[
        Path | None, option(help="Terms and the translations they must have: source, tab, target on each line.")
    ] = None,
    keep: Annotated[Path | None, option(help="Words and names that stay as they are, one per line.")] = None,
    memory: Annotated[
        Path | None, option(help="A translation memory (TMX, or other sentence pairs): what it has is used as it is.")
    ] = None,
    memory_threshold: Annotated[
        float | None,
        typer.Option(
            help="Report sentences of the memory that are similar by this percentage; 100: none.", show_default="75"
        ),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample from the probabilities instead of beam search.")
    ] = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: SampleSeed = None,
    keep_damaged: Annotated[
        bool, typer.Option("--keep-damaged", help="In catalogs, keep translations that lost placeholders.")
    ] = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="In a folder, skip catalogs that cannot be read.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fill catalogs even if their header names another language.")
    ] = False,
    split: Annotated[
        bool | None, typer.Option(help="Translate each sentence of a line by itself.", show_default="--split")
    ] = None,
    flags: Annotated[
        bool, typer.Option("--flags", help="Add columns: what to check each translation for, and its confidence.")
    ] = False,
    words: Annotated[bool, typer.Option("--words", help="With --json, add the probability of each word.")] = False,
    json_: Json = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help="What computes: torch, or ctranslate2 (faster on a CPU, the same answers).",
            show_default="ctranslate2 where it can",
        ),
    ] = None,
    quantize: Annotated[
        str | None,
        typer.Option(help="Weights of ctranslate2: int8 is faster and nearly as good.", show_default="float32"),
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Arithmetic of torch: float32 or bfloat16.", show_default="float32")
    ] = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file, or standard input, one line per line; or a document.

    In a document (--file page.html) only the text changes: markup, code, links and time codes stay as they are.
    In a gettext catalog (--file app.po) untranslated entries are filled and marked fuzzy; the rest stays as it is.
    An interrupted translation to a file is kept in <out>.partial, and the same command continues it.
    """
    from mirada.data.foreign import foreign
    from mirada.documents import formats
    from mirada.tasks.translation.model import TranslationModel

    whole = file is not None and not texts and not as_text
    kind = "" if file is None or not whole or file.is_dir() else foreign(file)
    catalogs = file is not None and whole and (file.is_dir() or kind == "po")
    document = whole and kind != "" and kind in formats()
    if (catalogs or document) and prefix:
        raise UsageError(f"--prefix {prefix}: cannot be used with a document or catalog; leave it out")
    for asked, flag in ((keep_damaged, "--keep-damaged"), (skip_broken, "--skip-broken"), (force, "--force")):
        if asked and not catalogs:
            raise UsageError(f"{flag}: is about gettext catalogs (--file app.po, --file locale); leave it out")
    for asked, flag in ((flags, "--flags"), (words, "--words")):
        if asked and (catalogs or document):
            raise UsageError(f"{flag}: is about lines of text; leave it out for documents and catalogs")
    if words and not json_:
        raise UsageError("--words: is shown with --json; add it, or leave it out")
    if flags and (n_best or 1) > 1:
        raise UsageError("--flags: is for one translation a line; leave out --n-best, or use --json")
    if columns and not document:
        raise UsageError(f"--columns {columns}: is about tables (--file table.csv, .tsv or .jsonl); leave it out")
    given = Given(texts, file, as_text=as_text or catalogs or document)
    check_new(out, "--out", packed=document)
    how = {"engine": engine, "quantize": quantize, "precision": precision}
    model = load(bundle, device, threads, TranslationModel, **how)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None, "split": split, "words": words or None}
    way = _direction(model, to, given, out, catalogs or document)
    aids = _Aids(model, way, glossary, keep, memory, memory_threshold)
    settings = {**how, **aids.fingerprints, **model.decode_config(**decode).model_dump()}
    job = job_of("translate", bundle, prefix=prefix, flags=flags, **settings)
    shown = (lambda found: found.with_columns()) if flags else (lambda found: found)
    if file is not None and catalogs:
        options = {"keep_damaged": keep_damaged, "skip_broken": skip_broken, "force": force, "json_": json_}
        _fill(model, file, out, job, decode, aids, **options)
        aids.report()
        return
    if file is not None and document:
        _translate_document(model, file, out, job, decode, aids, listed(columns), json_)
        aids.report()
        return
    if prefix.rstrip() != prefix:
        say(f"mirada: --prefix {prefix!r}: the space at its end is ignored; the next word brings its own")
    try:
        answer(given, out, job, lambda lines: map(shown, aids.translate(lines, prefix=prefix, **decode)), json_)
    finally:
        aids.report()


class _Aids:
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
            raise UsageError(f"--memory-threshold {threshold:g}: is about a memory; add --memory, or leave it out")
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
        """What of it decides the translations."""
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


def _direction(model: TranslationModel, to: str | None, given: Given, out: Path | None, catalogs: bool) -> str | None:
    """The direction that is asked for; of two the one that suits the whole input, unless that arrives line by line."""
    if catalogs:
        model.languages(to)  # has to be named
    if to is not None or not model.directions.both:
        return model.directions.find(to)
    if given.texts or given.file is not None:
        way, remark = model.directions.guess(next(iter(given), []))
        note(f"mirada: {remark}")
        return way
    if out is not None:
        model.languages()  # continued, it must not take another direction
    return None


def _fill(
    model: TranslationModel,
    file: Path,
    out: Path | None,
    job: Job,
    decode: dict[str, Any],
    aids: _Aids,
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
    from mirada.data.po import Catalog
    from mirada.tasks.translation.catalogs import check_language, choose, fill_all, lines_of

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
    lines: dict[str, None] = {}
    for path in paths:
        catalog = Catalog(path)
        for doubt in check_language(catalog, source, target, force=force):
            say(f"mirada: {doubt}")
        lines |= dict.fromkeys(lines_of(catalog))

    def finish(translated: Translated) -> None:
        fillings = fill_all(paths, file, out, translated, keep_damaged)
        for path, filling in fillings.items():
            for line, problem in filling.problems:
                say(f"mirada: {path}, line {line}: {problem}")
            if json_:
                print(json.dumps({"file": str(path), **filling.as_dict()}, ensure_ascii=False))
        filled, left = (sum(getattr(one, name) for one in fillings.values()) for name in ("filled", "left"))
        where = f" in {len(paths):,} catalogs" if file.is_dir() else ""
        empty = f", {left:,} left empty" if left else ""
        say(f"filled {filled:,} entries{where}, marked fuzzy for a person to check{empty}; the rest is as it was")

    options = model.fill_options(**decode)
    _translate_all(
        Given([*lines], None),
        out,
        {**job, "catalogs": True},
        lambda chunk: aids.translate(chunk, **options),
        finish,
    )


def _translate_document(
    model: TranslationModel,
    file: Path,
    out: Path | None,
    job: Job,
    decode: dict[str, Any],
    aids: _Aids,
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
        say(f"mirada: {file}: its texts look like {other}, and the model translates from {source}")
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
        say(f"{done}; the rest of the document is as it was")

    given = Given(texts, None, unit="segments")
    _translate_all(given, out, {**job, "document": file.suffix, "columns": columns}, predict, finish)
    if left:
        raise typer.Exit(1)


Translated = dict[str, "Translation"]
"""Texts and their translations."""


def _translate_all(given: Given, out: Path, job: Job, predict: Predict, finish: Callable[[Translated], None]) -> None:
    """Translate texts into `<out>.partial`, which an interrupted command continues; `finish` makes `out` of them."""
    from mirada.tasks.translation.translator import Translation

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
