"""The verb that scores a model on a test set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import (
    USE,
    Beam,
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
from mirada.cli.predict import load
from mirada.errors import UsageError


@app.command(panel=USE)
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
    beam: Beam = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Score a model on a test set: BLEU, chrF++ and TER for translations, accuracy and F1 for labels, …"""
    from mirada.tasks.translation.model import TranslationModel

    parallel = {"source": source, "target": target or None, "source_language": from_, "target_language": to}
    given = {key: value for key, value in parallel.items() if value is not None}
    if pairs is None and not given:
        raise UsageError("there is no test set: name a file, or give --source and --target files")
    model = load(bundle, device, threads)
    if given and not isinstance(model, TranslationModel):
        raise UsageError(
            f"{bundle}: is a model for {model.card['task']}; name its test set without --source, --target, …"
        )
    result = model.evaluate(*([pairs] if pairs else []), **given, columns=listed(columns), beam=beam)
    print(formatted(result, json_))
    for note in result.notes if json_ else ():
        say(f"mirada: {note}")
