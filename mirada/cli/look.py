"""Verbs that look inside a trained model: neighbours, gradients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.app import Bundle, Json, app, note, say
from mirada.errors import UsageError


@app.command()
def neighbours(
    bundle: Bundle,
    words: Annotated[list[str], typer.Argument(help="One word or several.", show_default=False)],
    count: Annotated[int, typer.Option(help="Neighbours of each.")] = 10,
    side: Annotated[str, typer.Option(help="source or target: whose embeddings.")] = "source",
    fragments: Annotated[bool, typer.Option("--fragments", help="List beginnings of words too.")] = False,
    image: Annotated[
        Path | None, typer.Option("--picture", help="A map of the words, as PNG.", show_default=False)
    ] = None,
) -> None:
    """The words whose embeddings are nearest to a word's."""
    from mirada import api

    embeddings = api.load(bundle).embeddings(side)
    if not fragments and embeddings.tokenizer.unit == "subwords" and embeddings.whole_words is None:
        note("mirada: without its dev set the bundle does not tell words from fragments; both are listed")
    for word in words:
        near, pieces = embeddings.neighbours(word, count, fragments), embeddings.pieces(word)
        name = word
        if len(pieces) > 1:
            say(f"mirada: the model has no vector of {word!r}, it reads {' + '.join(pieces)}; their average is used")
            name = f"{word} (average of {len(pieces)} subwords)"
        print(f"{name}: " + ", ".join(f"{text} {cosine:.2f}" for text, cosine in near))
    if image is not None:
        embeddings.draw(words, image)


@app.command()
def gradients(
    bundles: Annotated[list[Path], typer.Argument(help="Bundles of recurrent models.", show_default=False)],
    text: Annotated[str, typer.Option(help="The text to read; a few dozen words show most.", show_default=False)],
    image: Annotated[
        Path | None, typer.Option("--picture", help="All of them in one image, as PNG.", show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """How far back recurrent models learn: the gradient by distance, beside W's largest singular value."""
    from mirada import api
    from mirada.inspection.gradients import draw_gradients

    found = [api.load(bundle).gradients(text) for bundle in bundles]
    for fading in found:
        if json_:
            row = {"name": fading.name, "per_step": fading.per_step, "largest_singular_values": fading.singular}
            print(json.dumps({**row, "norms": fading.norms.tolist()}, ensure_ascii=False))
            continue
        values = ", ".join(f"{gate} {value:.2f}" for gate, value in fading.singular.items())
        print(f"{fading.name}: ×{fading.per_step:.3f} a step back; largest singular value of W: {values}")
        shown = [0, *(2**k for k in range(16) if 2**k < len(fading.norms))]
        print("    " + "   ".join(f"{step}: {fading.norms[step] / fading.norms[0]:.3g}" for step in shown))
    if image is not None:
        try:
            draw_gradients(found, image)
        except (OSError, ValueError) as error:
            raise UsageError(f"{image}: the image cannot be written ({error})") from None
