"""Verbs that tell: what a bundle is, which models there are."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from mirada.cli.app import Bundle, Json, app


@app.command()
def info(bundle: Bundle, json_: Json = False) -> None:
    """What a bundle is: languages, size, data, scores, how it was trained."""
    from mirada import api

    print(json.dumps(api.info(bundle), indent=2, ensure_ascii=False) if json_ else api.info_text(bundle))


@app.command()
def models(
    sizes: Annotated[bool, typer.Option("--sizes", help="The published models, and how large they are.")] = False,
    json_: Json = False,
) -> None:
    """The lineage: every model that can be trained, its year, formula, paper, and the tasks it serves."""
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
