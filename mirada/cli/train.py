"""Verbs that train models, and check the data before: train, check, compare."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli import app as cli
from mirada.cli.app import DATA, TRAIN, app, listed, option, say, verbosity
from mirada.cli.output import new_file
from mirada.errors import UsageError


def _data(
    source: Path | None,
    target: list[Path] | None,
    dev: list[Path] | None,
    languages: tuple[str | None, str | None],
    columns: str | None,
    set_: list[str] | None,
) -> dict[str, Any]:
    """The arguments of the library that say which data is read, and with which settings."""
    from mirada import config as configuration

    return {
        "source": source,
        "target": target or [],
        "dev": dev or [],
        "source_language": languages[0],
        "target_language": languages[1],
        "columns": listed(columns),
        "settings": configuration.merge(*map(configuration.override, set_ or [])),
    }


@app.command(panel=TRAIN)
def train(
    pairs: cli.Pairs = None,
    out: Annotated[Path | None, option(help="The directory to write the bundle to.")] = None,
    task: cli.Task = None,
    dev: cli.DevSet = None,
    source: cli.SourceFile = None,
    target: cli.TargetFiles = None,
    from_: cli.From = None,
    to: cli.To = None,
    direction: Annotated[str | None, option(help="both: train one model that translates in both directions.")] = None,
    columns: cli.Columns = None,
    base: Annotated[Path | None, option(help="Fine-tune this bundle on the data.")] = None,
    model: cli.Architecture = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Model size: tiny, small, base, big, auto.", show_default="auto: depends on the budget"),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Total time in minutes, with preparation and scoring.", show_default="until it stops improving"
        ),
    ] = None,
    epochs: cli.Epochs = None,
    steps: cli.Steps = None,
    config: Annotated[Path | None, option(help="A YAML file of settings.")] = None,
    set_: cli.Set = None,
    seed: cli.Seed = None,
    threads: cli.Threads = None,
    device: cli.Device = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Precision: float32, bfloat16 or auto.", show_default="auto: the faster one here"),
    ] = None,
    resume: Annotated[Path | None, option(help="Resume the training run in this bundle.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the bundle at --out.")] = False,
) -> None:
    """Train a model from files (a translator, unless --task is given), or resume an interrupted training run."""
    from mirada import api
    from mirada.console import Console

    data = _data(source, target, dev, (from_, to), columns, set_)
    with Console(verbosity=verbosity()) as console:
        trained = api.train(
            pairs or [],
            out=out,
            task=task,
            direction=direction,
            base=base,
            model=model,
            preset=preset,
            minutes=minutes,
            epochs=epochs,
            steps=steps,
            config=config,
            seed=seed,
            threads=threads,
            device=device,
            precision=precision,
            resume=resume,
            overwrite=overwrite,
            listen=console,
            **data,
        )
    say(f"the bundle is in {trained.path}; try: {trained.try_it}")


@app.command(panel=DATA)
def check(
    files: cli.Pairs = None,
    task: cli.Task = None,
    source: cli.SourceFile = None,
    target: cli.TargetFiles = None,
    dev: Annotated[list[Path] | None, option(help="The dev set, to look for overlap with the data.")] = None,
    test: Annotated[list[Path] | None, option(help="The test set, to look for overlap with the data.")] = None,
    from_: cli.From = None,
    to: cli.To = None,
    columns: cli.Columns = None,
    set_: cli.Set = None,
    list_: Annotated[
        Path | None,
        typer.Option("--list", help="Write everything left out to this file: file, line, reason, the reason in words."),
    ] = None,
    json_: cli.Json = False,
) -> None:
    """Check data before training: what is wrong, and what training would do about it.

    The exit code is 1 if training would refuse the data.
    """
    from mirada import api
    from mirada.console import Console

    with ExitStack() as stack:
        excluded = stack.enter_context(new_file(list_, "--list")) if list_ else None
        console = stack.enter_context(Console(verbosity=verbosity()))
        report = api.check(
            files or [],
            task=task or "translation",
            test=test or [],
            excluded=excluded,
            notify=console.preparing,
            **_data(source, target, dev, (from_, to), columns, set_),
        )
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if json_ else report.as_text())
    if report.refused:
        raise typer.Exit(1)


@app.command(panel=TRAIN)
def compare(
    pairs: cli.Pairs = None,
    task: cli.Task = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="The models, separated by commas (see `mirada models`).",
            show_default="depends on the task: seq2seq-lstm,seq2seq-lstm+additive,transformer; …",
        ),
    ] = None,
    out: Annotated[Path | None, option(help="The directory to write the report and bundles to.")] = None,
    dev: cli.DevSet = None,
    source: cli.SourceFile = None,
    target: cli.TargetFiles = None,
    from_: cli.From = None,
    to: cli.To = None,
    columns: cli.Columns = None,
    preset: Annotated[str, typer.Option(help="Model size: tiny, small, base, big.")] = "tiny",
    minutes: Annotated[float | None, option(help="Minutes of training for each model.")] = None,
    epochs: cli.Epochs = None,
    steps: cli.Steps = None,
    set_: cli.Set = None,
    seed: cli.Seed = None,
    threads: cli.Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")] = False,
) -> None:
    """Train several models of a task on the same data and budget, and write a report; run it again to resume."""
    from mirada import compare as comparing
    from mirada.console import Console

    if out is None:
        raise UsageError("where should the report go? Name a directory: --out report")
    with Console(verbosity=verbosity()) as console:
        result = comparing.compare(
            pairs or [],
            out=out,
            task=task or "translation",
            models=None if models is None else listed(models),
            preset=preset,
            minutes=minutes,
            epochs=epochs,
            steps=steps,
            seed=seed,
            threads=threads,
            overwrite=overwrite,
            listen=console,
            **_data(source, target, dev, (from_, to), columns, set_),
        )
    say(f"{result.verdict}\n{result.caution}\nthe report is {result.html}")
