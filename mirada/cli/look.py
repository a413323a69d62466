"""Verbs that look inside a trained model: neighbours, gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import LOOK, Bundle, Json, app, note, say
from mirada.cli.predict import load
from mirada.errors import UsageError


@app.command(panel=LOOK)
def neighbours(
    bundle: Bundle,
    words: Annotated[list[str], typer.Argument(help="One word or several.", show_default=False)],
    count: Annotated[int, typer.Option(help="Number of neighbours of each word.")] = 10,
    side: Annotated[str, typer.Option(help="Whose embeddings, for a translator: source or target.")] = "source",
    fragments: Annotated[bool, typer.Option("--fragments", help="List beginnings of words, too.")] = False,
    image: Annotated[
        Path | None, typer.Option("--picture", help="Draw a map of the words to this PNG file.", show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """List the words whose embeddings are nearest to a word's."""
    model = load(bundle, None, None)
    embeddings = model.embeddings(side)
    if not fragments and embeddings.tokenizer.unit == "subwords" and embeddings.whole_words is None:
        note("mirada: without its dev set the bundle does not tell words from fragments; both are listed")
    for word in words:
        found = model.neighbours(word, count, side=side, fragments=fragments)
        for remark in found.notes:
            say(f"mirada: {remark}")
        print(formatted(found, json_))
    if image is not None:
        embeddings.draw(words, image)


@app.command(panel=LOOK)
def gradients(
    bundles: Annotated[list[Path], typer.Argument(help="Bundles of recurrent models.", show_default=False)],
    text: Annotated[str, typer.Option(help="The text to process; a few dozen words show most.", show_default=False)],
    image: Annotated[
        Path | None, typer.Option("--picture", help="Draw all of them to this PNG file.", show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """Show how far back recurrent models learn: the gradient by distance, and W's largest singular value."""
    from mirada.inspection.gradients import draw_gradients

    found = [load(bundle, None, None).gradients(text) for bundle in bundles]
    for fading in found:
        print(formatted(fading, json_))
    if image is not None:
        try:
            draw_gradients(found, image)
        except (OSError, ValueError) as error:
            raise UsageError(f"{image}: the image cannot be written ({error})") from None
