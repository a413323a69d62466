"""Verbs about pictures: caption, and the built-in pictures and videos."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from mirada.cli.app import Bundle, Device, Json, Threads, app, say
from mirada.cli.run import chunks, output
from mirada.errors import MiradaError, UsageError


@app.command()
def caption(
    bundle: Bundle,
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Picture files, or an .npz; names from standard input if none.", show_default=False),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read the names from a file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="standard output")] = None,
    look: Annotated[
        Path | None, typer.Option(help="Draw where every head looked, as PNG; of one picture.", show_default=False)
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    n_best: Annotated[int | None, typer.Option(help="Show this many captions with scores.", show_default="1")] = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Say what is in each picture; the lines come out in order."""
    from mirada import api
    from mirada.tasks.captioning import CaptionModel

    given, answers = chunks(pictures, file), output(out)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best}
    if look is not None and look.exists():
        raise UsageError(f"--look {look}: exists already; choose another name")
    if look is not None and len(pictures or []) != 1:
        raise UsageError(f"--look {look}: shows one picture; name one")
    model = api.load(bundle, CaptionModel, device=device or "auto", threads=threads)
    model.decode_config(**decode)  # before anything is written
    several = (n_best or 1) > 1
    answered = (model.answer(chunk, **decode) for chunk in given)
    whole = _write(answers, answered, lambda number, place, found: _line(number, place, found, json_, several), json_)
    if look is not None and pictures and whole:
        _draw(model, pictures[0], look, decode)
    if not whole:
        raise typer.Exit(1)


def classify_pictures(
    bundle: Path,
    given: Iterator[list[str]],
    answers: AbstractContextManager[TextIO],
    why: bool,
    json_: bool,
    device: str,
    threads: int | None,
) -> None:
    """What `mirada classify` does with a model for pictures."""
    from mirada import api
    from mirada.tasks.pictures import PictureModel

    if why:
        raise UsageError(f"--why: {bundle} is a model for pictures, which no words decide; leave it out")
    model = api.load(bundle, PictureModel, device=device, threads=threads)

    def line(number: int, place: str, found: Any) -> str:
        rounded = {label: round(p, 6) for label, p in found.probabilities.items()}
        row = {"picture": place, "label": found.label, "probabilities": rounded}
        return json.dumps(row, ensure_ascii=False) if json_ else f"{found.label}\t{found.probability:.4f}"

    if not _write(answers, (model.answer(chunk) for chunk in given), line, json_):
        raise typer.Exit(1)


def _write(
    answers: AbstractContextManager[TextIO],
    answered: Iterable[Iterable[tuple[str, Any]]],
    line: Callable[[int, str, Any], str],
    json_: bool,
) -> bool:
    """A line for each picture, an empty one for what cannot be read; whether all could be."""
    whole, number = True, 0
    with answers as sink:
        for chunk in answered:
            for place, found in chunk:
                number += 1
                if isinstance(found, MiradaError):
                    whole = False
                    say(f"mirada: {found}; its line is left empty")
                    sink.write("{}\n" if json_ else "\n")
                    continue
                for note in found.notes:
                    say(f"mirada: {place}: {note}")
                sink.write(line(number, place, found) + "\n")
            sink.flush()
    return whole


def _line(number: int, place: str, found: Any, json_: bool, several: bool) -> str:
    """A caption for the pipe."""
    if json_:
        others = [{"text": text, "score": round(score, 6)} for text, score in found.alternatives]
        row = {"picture": place, "caption": found.text, "complete": found.complete, "alternatives": others}
        return json.dumps(row, ensure_ascii=False)
    if several:
        return "\n".join(f"{number}\t{score:.4f}\t{text}" for text, score in found.alternatives)
    return str(found.text).replace("\n", " ")


def _draw(model: Any, picture: str, look: Path, decode: dict[str, Any]) -> None:
    try:
        model.attend(picture, **decode).draw(look)
    except OSError as error:
        raise UsageError(f"--look {look}: cannot be written ({error.strerror})") from None
    say(f"where it looked is in {look}")


@app.command()
def shapes(
    out: Annotated[Path, typer.Option(help="A new folder; of videos an .npz file.", show_default=False)],
    moving: Annotated[bool, typer.Option("--moving", help="Videos, labelled with the way a shape moves.")] = False,
    language: Annotated[str, typer.Option(help="Of the captions: es, en, pt.")] = "es",
    count: Annotated[int, typer.Option(help="How many.")] = 3000,
    part: Annotated[str, typer.Option(help="training, or test with things that training never shows.")] = "training",
    seed: Annotated[int, typer.Option(help="Another seed gives other pictures.")] = 0,
) -> None:
    """Write the built-in pictures of shapes, with captions for --task captioning; or videos of moving shapes."""
    if out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    if count < 1:
        raise UsageError(f"--count {count}: write at least 1")
    try:
        _write_videos(out, count, part, seed) if moving else _write_scenes(out, language, count, part, seed)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def _write_scenes(out: Path, language: str, count: int, part: str, seed: int) -> None:
    from mirada.data.pictures import scenes

    found = scenes.scenes(language, part, count, seed)
    out.mkdir(parents=True)
    say(f"wrote {scenes.write(found, out):,} pictures and their captions, {out / 'scenes.tsv'}")


def _write_videos(out: Path, count: int, part: str, seed: int) -> None:
    import numpy as np

    from mirada.data.pictures.shapes import moving_shapes

    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: videos go into one file; call it {out}.npz")
    videos, labels = moving_shapes(count, 2 * seed + (part == "test"))
    with open(out, "xb") as sink:
        np.savez(sink, images=videos, labels=labels)
    say(f"wrote {count:,} videos and the way each shape moves, {out}")
