"""Verbs that use a trained model: translate, evaluate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.answers import job_of, write_answers
from mirada.cli.app import (
    AsText,
    Bundle,
    Columns,
    Device,
    From,
    Json,
    SourceFile,
    TargetFiles,
    Threads,
    To,
    app,
    listed,
    say,
)
from mirada.cli.input import Given
from mirada.cli.output import check_new
from mirada.cli.progress import Progress
from mirada.errors import UsageError


@app.command()
def translate(
    bundle: Bundle,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; standard input's lines if none.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="The lines of a text file, a gettext catalog, or a folder of catalogs.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file; of a folder, a new folder.", show_default="standard output"),
    ] = None,
    as_text: AsText = False,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    n_best: Annotated[
        int | None, typer.Option(help="Show this many translations with scores.", show_default="1")
    ] = None,
    prefix: Annotated[str, typer.Option(help="How every translation has to begin.", show_default=False)] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[
        float | None, typer.Option(help="With --sample: below 1 safer, above 1 wilder.", show_default="1")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="With --sample: choose among the k likeliest tokens.", show_default=False)
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            help="With --sample: choose among the likeliest tokens that together have this probability.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="With --sample: another seed gives another translation.", show_default="0")
    ] = None,
    keep_damaged: Annotated[
        bool, typer.Option("--keep-damaged", help="In catalogs, fill in translations that lost placeholders, too.")
    ] = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="In a folder, leave out catalogs that cannot be read.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fill catalogs whose header names another language, too.")
    ] = False,
    split: Annotated[
        bool | None, typer.Option(help="Translate each sentence of a line by itself.", show_default="--split")
    ] = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file, or standard input; the lines come out in order.

    An interrupted translation to a file is in <out>.partial, and the same command continues it.
    In a gettext catalog (--file app.po) what is untranslated is filled and marked fuzzy; the rest stays as it was.
    """
    from mirada import api
    from mirada.cli.catalogs import are_catalogs, fill_catalogs
    from mirada.tasks.translation.model import TranslationModel

    catalogs = file is not None and not texts and not as_text and are_catalogs(file)
    if catalogs and prefix:
        raise UsageError(f"--prefix {prefix}: every text of a catalog begins in its own way; leave it out")
    for asked, option in ((keep_damaged, "--keep-damaged"), (skip_broken, "--skip-broken"), (force, "--force")):
        if asked and not catalogs:
            raise UsageError(f"{option}: is about gettext catalogs (--file app.po, --file locale); leave it out")
    given = Given(texts, file, as_text=as_text or catalogs)
    check_new(out, "--out")
    model = api.load(bundle, TranslationModel, device=device or "auto", threads=threads)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None, "split": split}
    _say_of_prefix(prefix)
    model.translate([], prefix=prefix, **decode)  # settings and prefix, before anything is written
    config = model.decode_config(**decode)
    job = job_of("translate", bundle, prefix=prefix, **config.model_dump())
    if file is not None and catalogs:
        fill_catalogs(model, file, out, job, decode, keep_damaged=keep_damaged, skip_broken=skip_broken, force=force)
        return

    def answer(before: int, chunk: list[str], progress: Progress) -> tuple[list[str], int]:
        rows, failed = [], 0
        translations = model.translate(chunk, prefix=prefix, progress=progress, **decode)
        for number, translation in enumerate(translations, before + 1):
            if translation.problem:
                failed += 1
                say(f"mirada: line {number} {translation.problem}; it is left empty")
            for remark in translation.notes:
                say(f"mirada: line {number}: {remark}")
            several = [f"{number}\t{score:.4f}\t{_one_line(text)}\n" for text, score in translation.alternatives]
            rows.append("".join(several) if (n_best or 1) > 1 else _one_line(translation.text) + "\n")
        return rows, failed

    if write_answers(given, out, job, answer):
        raise typer.Exit(1)


@app.command()
def evaluate(
    bundle: Bundle,
    pairs: Annotated[
        Path | None,
        typer.Argument(help="The test set, in any format that `train` reads.", show_default=False),
    ] = None,
    source: SourceFile = None,
    target: TargetFiles = None,
    from_: From = None,
    to: To = None,
    columns: Columns = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Score a model on a test set: BLEU, chrF++, TER of translations; accuracy, F1 of labels; …"""
    from mirada import api
    from mirada.tasks.translation.model import TranslationModel

    parallel = {"source": source, "target": target or None, "source_language": from_, "target_language": to}
    given = {key: value for key, value in parallel.items() if value is not None}
    if pairs is None and not given:
        raise UsageError("there is no test set: name a file, or give --source and --target files")
    model = api.load(bundle, device=device or "auto", threads=threads)
    if given and not isinstance(model, TranslationModel):
        raise UsageError(
            f"{bundle}: is a model for {model.card['task']}; name its test set without --source, --target, …"
        )
    result = model.evaluate(*([pairs] if pairs else []), **given, columns=listed(columns), beam=beam)
    print(json.dumps(result.as_dict(), indent=2, ensure_ascii=False) if json_ else result.as_text())
    for note in result.notes if json_ else ():
        say(f"mirada: {note}")


def _say_of_prefix(prefix: str) -> None:
    from mirada.data.text import shown_text

    if prefix.rstrip() != prefix:
        say(f"mirada: --prefix {shown_text(prefix)}: the space at its end is left out; the next word brings its own")


def _one_line(text: str) -> str:
    """A translation on one line, so that the n-th line out is the n-th line in."""
    return text.replace("\r", " ").replace("\n", " ")
