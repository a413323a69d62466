"""Verbs that describe: bundles, models, settings."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import LOOK, TRAIN, Bundle, Json, Task, app


@app.command(panel=LOOK)
def info(bundle: Bundle, json_: Json = False) -> None:
    """Describe a bundle: its task, size, data, scores, and how it was trained."""
    from mirada import api

    print(json.dumps(api.info(bundle), indent=2, ensure_ascii=False) if json_ else api.info_text(bundle))


@app.command(panel=TRAIN)
def models(
    sizes: Annotated[bool, typer.Option("--sizes", help="List published models and their sizes instead.")] = False,
    json_: Json = False,
) -> None:
    """List the models that can be trained, with their year, formula, paper and tasks."""
    from mirada.models import lineage

    if sizes:
        _sizes(json_)
        return
    rows = lineage()
    if json_:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        print(f"{row['name']:<{width}}  {row['year']}  {row['formula']:<38}  {row['paper']}")
        print(f"{'':<{width + 8}}{', '.join(row['tasks'])}")


def _sizes(json_: bool) -> None:
    from mirada.exchange.sizes import sizes

    rows = sizes()
    if json_:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    shape = "{:<16}  {:>4}  {:>6}  {:>6}  {:>5}  {:>7}  {:>10}  {:>15}  {}"
    print(shape.format("name", "year", "layers", "width", "heads", "context", "vocabulary", "parameters", ""))
    for row in rows:
        context = f"{row['context']:,}" if row["context"] else "any"
        numbers = (f"{row[key]:,}" for key in ("vocabulary", "parameters"))
        print(
            shape.format(
                row["name"],
                row["year"],
                row["layers"],
                f"{row['width']:,}",
                row["heads"],
                context,
                *numbers,
                row["note"],
            )
        )


@app.command(panel=TRAIN)
def settings(
    name: Annotated[
        str | None, typer.Argument(help="A section (train) or a setting (train.lr) to show.", show_default=False)
    ] = None,
    task: Task = None,
    model: Annotated[
        str | None, typer.Option(help="The architecture (see `mirada models`).", show_default="by the task")
    ] = None,
    json_: Json = False,
) -> None:
    """List every setting of `--set` and `--config`: its type, default and meaning."""
    from mirada.settings import list_settings

    for setting in list_settings(name, task, model):
        print(formatted(setting, json_))
