"""Verbs that describe bundles, models and settings, and look inside a trained model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import LOOK, TRAIN, Architecture, Bundle, Json, Task, app, argument, note, option, say
from mirada.cli.output import check_new
from mirada.cli.predict import load

Picture = Annotated[Path | None, option("--picture", help="Draw the result to this new PNG file.")]


@app.command(panel=LOOK)
def info(bundle: Bundle, json_: Json = False) -> None:
    """Describe a bundle: its task, size, data, scores, and how it was trained."""
    from mirada import api

    print(json.dumps(api.info(bundle), indent=2, ensure_ascii=False) if json_ else api.info_text(bundle))


@app.command(panel=TRAIN)
def models(
    sizes: Annotated[bool, typer.Option("--sizes", help="List published models with their sizes instead.")] = False,
    json_: Json = False,
) -> None:
    """List the models that can be trained, with their year, formula, paper and tasks."""
    from mirada.models import lineage

    if sizes:
        from mirada.exchange.sizes import sizes as published
    rows = published() if sizes else lineage()
    if json_:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if sizes:
        print(f"name              year  layers   width  heads  context  vocabulary  {'parameters':>15}")
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        if sizes:
            context = f"{row['context']:,}" if row["context"] else "any"
            print(
                f"{row['name']:<16}  {row['year']}  {row['layers']:>6}  {row['width']:>6,}  {row['heads']:>5}  "
                f"{context:>7}  {row['vocabulary']:>10,}  {row['parameters']:>15,}  {row['note']}"
            )
        else:
            print(f"{row['name']:<{width}}  {row['year']}  {row['formula']:<38}  {row['paper']}")
            print(f"{'':<{width + 8}}{', '.join(row['tasks'])}")


@app.command(panel=TRAIN)
def settings(
    name: Annotated[str | None, argument(help="A section (train) or a setting (train.lr) to show.")] = None,
    task: Task = None,
    model: Architecture = None,
    json_: Json = False,
) -> None:
    """List every setting of `--set` and `--config`: its type, default and meaning."""
    from mirada.settings import list_settings

    for setting in list_settings(name, task, model):
        print(formatted(setting, json_))


@app.command(panel=LOOK)
def neighbours(
    bundle: Bundle,
    words: Annotated[list[str], argument(help="One or more words.")],
    count: Annotated[int, typer.Option(help="Number of neighbours per word.")] = 10,
    side: Annotated[str, typer.Option(help="Embeddings to use, for a translator: source or target.")] = "source",
    fragments: Annotated[bool, typer.Option("--fragments", help="List subwords, too.")] = False,
    picture: Picture = None,
    json_: Json = False,
) -> None:
    """List the words with the nearest embeddings."""
    check_new(picture, "--picture")
    model = load(bundle, None, None)
    embeddings = model.embeddings(side)
    if not fragments and embeddings.tokenizer.unit == "subwords" and embeddings.whole_words is None:
        note("mirada: the bundle has no dev set to tell whole words from fragments by; both are listed")
    for word in words:
        found = model.neighbours(word, count, side=side, fragments=fragments)
        for remark in found.notes:
            say(f"mirada: {remark}")
        print(formatted(found, json_))
    if picture is not None:
        embeddings.draw(words, picture)


@app.command(panel=LOOK)
def gradients(
    bundles: Annotated[list[Path], argument(help="Bundles of recurrent models.")],
    text: Annotated[str, option(help="The text to process; a few dozen words show most.")],
    picture: Picture = None,
    json_: Json = False,
) -> None:
    """Show how far back recurrent models learn: the gradient by distance, and the largest singular value of W."""
    from mirada.inspection.gradients import draw_gradients

    check_new(picture, "--picture")
    found = [load(bundle, None, None).gradients(text) for bundle in bundles]
    for fading in found:
        print(formatted(fading, json_))
    if picture is not None:
        draw_gradients(found, picture)
