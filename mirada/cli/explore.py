"""The verb that writes the page in which a model runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.app import LOOK, app, argument, note, option
from mirada.cli.output import check_new
from mirada.errors import UsageError


@app.command(panel=LOOK)
def explore(
    bundles: Annotated[
        list[Path] | None, argument(help="The bundle; or two to compare, for the same task and languages.")
    ] = None,
    out: Annotated[Path | None, option(help="The HTML file to write.")] = None,
    sentence: Annotated[
        str | None, typer.Option(help="The sentence to show first.", show_default="one of the dev set")
    ] = None,
    trace: Annotated[
        list[str] | None,
        option(help="Record the model's computation for this sentence, instead of its weights; can be repeated."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="Precision of the weights: float32 or float16.", show_default="float32 up to 4 million parameters"
        ),
    ] = None,
) -> None:
    """Write a single HTML file in which the model itself runs: look inside, switch parts off, offline."""
    from mirada import api

    if not bundles:
        raise UsageError("which model? Name a bundle: mirada explore es-en --out translator.html")
    if out is None:
        raise UsageError("where should the page go? Name a file: --out translator.html")
    check_new(out, "--out")
    page = api.explore(*bundles, out=out, sentence=sentence, traces=trace or (), precision=precision)
    note(f"wrote {page}")
