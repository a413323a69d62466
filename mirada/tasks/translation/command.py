"""The verb of translation: texts, lines, documents, and gettext catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mirada.cli.answers import Job, Lines, job_of
from mirada.cli.app import (
    USE,
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
    Without,
    listed,
    note,
    option,
    say,
)
from mirada.cli.input import Input
from mirada.cli.output import check_new
from mirada.cli.predict import answer, load, switched_off
from mirada.errors import UsageError
from mirada.tasks.translation.command_files import Aids, fill, translate_document

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.prediction import Translation

Options = dict[str, Any]
"""Options by their names."""

File = Annotated[
    Path | None,
    option(help="Translate this text, HTML, Markdown, DOCX, ODT, SRT, VTT, CSV, TSV, JSONL, TMX, PO file or folder."),
]
TableColumns = Annotated[
    str | None,
    option(
        "--columns",
        "--column",
        help="Columns of a table: `text` translates in place, `text,translation` into another column.",
    ),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="Target language, for a model with several directions.",
        show_default="from the language of the input, if clear",
    ),
]
Prefix = Annotated[str, option(help="Force every translation to begin with this text.")]
Terms = Annotated[Path | None, option(help="Terms with their required translations: source, tab, target on each line.")]
Keep = Annotated[Path | None, option(help="Words and names to copy unchanged, one per line.")]
Memory = Annotated[
    Path | None,
    option(help="A translation memory (TMX, or other sentence pairs): its translations are used unchanged."),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Report memory sentences with at least this similarity in percent; 100: none.", show_default="75"
    ),
]
Sample = Annotated[bool, typer.Option("--sample", help="Sample from the probabilities instead of using beam search.")]
KeepDamaged = Annotated[
    bool, typer.Option("--keep-damaged", help="In catalogs, keep translations that have lost placeholders.")
]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="In a folder, skip catalogs that cannot be read.")]
Force = Annotated[bool, typer.Option("--force", help="Fill in catalogs even if their header names another language.")]
Split = Annotated[
    bool | None,
    typer.Option(
        help="Translate each sentence of a line separately, and long ones in clauses where that is better.",
        show_default="--split",
    ),
]
Spelling = Annotated[
    bool | None,
    typer.Option(help="Correct misspelt words of the source, and report them.", show_default="--spelling"),
]
Flags = Annotated[
    bool, typer.Option("--flags", help="Add columns with warnings and the model's confidence for each translation.")
]
Words = Annotated[bool, typer.Option("--words", help="With --json, add the probability of each word.")]
EngineName = Annotated[
    str | None,
    typer.Option(
        help="Inference engine: torch, or ctranslate2 (faster on a CPU, same results).",
        show_default="ctranslate2 where supported",
    ),
]
Quantize = Annotated[
    str | None,
    typer.Option(help="Precision of ctranslate2's weights: int8 is faster and nearly as good.", show_default="float32"),
]
Precision = Annotated[str | None, typer.Option(help="Precision of torch: float32 or bfloat16.", show_default="float32")]


def register(app: Program) -> None:
    app.command(panel=USE)(translate)


def translate(
    bundle: Bundle,
    texts: Texts = None,
    file: File = None,
    out: Out = None,
    columns: TableColumns = None,
    as_text: AsText = False,
    to: TargetLanguage = None,
    beam: Beam = None,
    n_best: NBest = None,
    prefix: Prefix = "",
    glossary: Terms = None,
    keep: Keep = None,
    memory: Memory = None,
    memory_threshold: Threshold = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: SampleSeed = None,
    keep_damaged: KeepDamaged = False,
    skip_broken: SkipBroken = False,
    force: Force = False,
    split: Split = None,
    spelling: Spelling = None,
    flags: Flags = False,
    words: Words = False,
    json_: Json = False,
    engine: EngineName = None,
    quantize: Quantize = None,
    precision: Precision = None,
    without: Without = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file or of standard input, or a document.

    In a document (--file page.html) only the text changes: markup, code, links and time codes are preserved.
    In a gettext catalog (--file app.po) untranslated entries are filled in and marked fuzzy; the rest is unchanged.
    An interrupted translation is kept in <out>.partial; run the same command again to continue.
    """
    from mirada.tasks.translation.model import TranslationModel

    kind = "lines" if file is None or texts or as_text else _kind(file)
    lines_only = {"--prefix": prefix, "--flags": flags, "--words": words}
    catalogs_only = {"--keep-damaged": keep_damaged, "--skip-broken": skip_broken, "--force": force}
    _check_kind(kind, lines_only, catalogs_only, {"--columns": columns})
    _check_shown(flags, words, n_best, json_)
    given = Input(texts, file, as_text=as_text or kind != "lines")
    check_new(out, "--out", packed=kind == "document")
    arithmetic = {"engine": engine, "quantize": quantize, "precision": precision}
    model = load(bundle, device, threads, TranslationModel, **arithmetic)
    decode: Options = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    decode |= {"seed": seed, "sample": sample or None, "split": split, "words": words or None, "spelling": spelling}
    aids = Aids(model, _direction(model, to, given, out, kind), glossary, keep, memory, memory_threshold)
    settings = {**arithmetic, **aids.fingerprints, **model.decode_config(**decode).model_dump()}
    job = job_of("translate", bundle, prefix=prefix, flags=flags, without=without, **settings)
    try:
        with switched_off(without):
            if file is not None and kind == "catalogs":
                options = {"keep_damaged": keep_damaged, "skip_broken": skip_broken, "force": force, "json_": json_}
                fill(model, file, out, job, decode, aids, **options)
            elif file is not None and kind == "document":
                translate_document(model, file, out, job, decode, aids, listed(columns), json_)
            else:
                _translate_lines(given, out, job, decode, aids, prefix, flags, json_)
    finally:
        aids.report()


def _translate_lines(
    given: Input, out: Path | None, job: Job, decode: Options, aids: Aids, prefix: str, flags: bool, json_: bool
) -> None:
    """Translate texts or lines, one line per line; with `flags` in columns."""
    if prefix.rstrip() != prefix:
        say(f"mirada: --prefix {prefix!r}: the trailing space is ignored; the next word begins with one")

    def predict(lines: Lines) -> list[Translation]:
        found = aids.translate(lines, prefix=prefix, **decode)
        return [one.with_columns() for one in found] if flags else found

    answer(given, out, job, predict, json_)


def _check_shown(flags: bool, words: bool, n_best: int | None, json_: bool) -> None:
    """Refuse options that the chosen output cannot show."""
    if words and not json_:
        raise UsageError("--words: requires --json; add --json, or leave out --words")
    if flags and (n_best or 1) > 1:
        raise UsageError("--flags: prints one translation per line; leave out --n-best, or use --json")


def _kind(file: Path) -> str:
    """What a file is translated as: catalogs, a document, or lines."""
    from mirada.data.foreign import foreign
    from mirada.documents import formats

    kind = "po" if file.is_dir() else foreign(file)
    return "catalogs" if kind == "po" else "document" if kind and kind in formats() else "lines"


def _check_kind(kind: str, lines: Options, catalogs: Options, documents: Options) -> None:
    """Refuse options that are for another kind of input."""
    meant = {
        "lines": (lines, "applies to lines of text; leave it out for documents and catalogs"),
        "catalogs": (catalogs, "applies to gettext catalogs (--file app.po, --file locale); leave it out"),
        "document": (documents, "applies to tables (--file table.csv, .tsv or .jsonl); leave it out"),
    }
    for other, (options, why) in meant.items():
        for name, value in options.items():
            if value and kind != other:
                raise UsageError(f"{name}{f' {value}' if isinstance(value, str) else ''}: {why}")


def _direction(model: TranslationModel, to: str | None, given: Input, out: Path | None, kind: str) -> str | None:
    """The given direction, or else the one that suits the whole input, unless that arrives line by line."""
    if kind != "lines":
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
