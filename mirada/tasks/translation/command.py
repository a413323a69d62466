"""The verb of translation: texts, lines, and gettext catalogs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mirada.cli.answers import Job, job_of, write_answers
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
    note,
    say,
)
from mirada.cli.input import Given
from mirada.cli.output import cannot_write, check_new
from mirada.cli.predict import answer, load
from mirada.errors import UsageError

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel


def register(app: Program) -> None:
    app.command(panel=USE)(translate)


def translate(
    bundle: Bundle,
    texts: Texts = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Translate this text file, gettext catalog, or folder of catalogs.", show_default=False),
    ] = None,
    out: Out = None,
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
    """Translate texts, the lines of a file, or standard input, one line per line.

    An interrupted translation to a file is kept in <out>.partial, and the same command continues it.
    In a gettext catalog (--file app.po) untranslated entries are filled and marked fuzzy; the rest stays as it is.
    """
    from mirada.data.foreign import foreign
    from mirada.tasks.translation.model import TranslationModel

    catalogs = file is not None and not texts and not as_text and (file.is_dir() or foreign(file) == "po")
    if catalogs and prefix:
        raise UsageError(f"--prefix {prefix}: cannot be used with a catalog; leave it out")
    for asked, option in ((keep_damaged, "--keep-damaged"), (skip_broken, "--skip-broken"), (force, "--force")):
        if asked and not catalogs:
            raise UsageError(f"{option}: is about gettext catalogs (--file app.po, --file locale); leave it out")
    given = Given(texts, file, as_text=as_text or catalogs)
    check_new(out, "--out")
    how = {"engine": engine, "quantize": quantize, "precision": precision}
    model = load(bundle, device, threads, TranslationModel, **how)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None, "split": split}
    way = _direction(model, to, given, out, catalogs)
    directed = {"to": way} if way else {}
    job = job_of("translate", bundle, prefix=prefix, **directed, **how, **model.decode_config(**decode).model_dump())
    if file is not None and catalogs:
        options = {"keep_damaged": keep_damaged, "skip_broken": skip_broken, "force": force, "json_": json_}
        _fill(model, file, out, job, {**decode, "to": way}, **options)
        return
    if prefix.rstrip() != prefix:
        say(f"mirada: --prefix {prefix!r}: the space at its end is ignored; the next word brings its own")
    answer(
        given,
        out,
        job,
        lambda lines: model.translate(lines.texts, to=way, prefix=prefix, progress=lines.progress, **decode),
        json_,
    )


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
    from mirada.tasks.translation.translator import Translation

    if out is None:
        example = file.name + ".new" if file.is_dir() else f"{file.name.partition('.')[0]}.new.po"
        what = "folder of filled catalogs" if file.is_dir() else "filled catalog"
        raise UsageError(f"--file {file}: where should the {what} go? --out {example}")
    source, target = model.languages(decode["to"])
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

    def finish(partial: Path | None) -> None:
        rows = partial.read_text(encoding="utf-8").splitlines() if partial else []
        translated = dict(zip(lines, (Translation.from_dict(json.loads(row)) for row in rows), strict=True))
        try:
            fillings = fill_all(paths, file, out, translated, keep_damaged)
        except OSError as error:
            raise cannot_write("--out", out, error) from None
        for path, filling in fillings.items():
            for line, problem in filling.problems:
                say(f"mirada: {path}, line {line}: {problem}")
            if json_:
                print(json.dumps({"file": str(path), **filling.as_dict()}, ensure_ascii=False))
        filled, left = (sum(getattr(one, name) for one in fillings.values()) for name in ("filled", "left"))
        where = f" in {len(paths):,} catalogs" if file.is_dir() else ""
        empty = f", {left:,} left empty" if left else ""
        say(f"filled {filled:,} entries{where}, marked fuzzy for a person to check{empty}; the rest is as it was")

    if not lines:
        finish(None)
        return
    way = decode.pop("to")
    options = model.fill_options(**decode)
    write_answers(
        Given([*lines], None),
        out,
        {**job, "catalogs": True},
        lambda chunk: model.translate(chunk.texts, to=way, progress=chunk.progress, **options),
        json_=True,
        finish=finish,
    )
