"""Verbs about images: caption, and the built-in images and videos."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.answers import Job, job_of, write_answers
from mirada.cli.app import AsText, Bundle, Device, Json, Threads, app, note, say
from mirada.cli.input import Given
from mirada.cli.output import check_new, new_binary
from mirada.cli.progress import Progress
from mirada.errors import MiradaError, UsageError, counted


@app.command()
def caption(
    bundle: Bundle,
    images: Annotated[
        list[str] | None,
        typer.Argument(help="ImageInput files, or an .npz; names from standard input if none.", show_default=False),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read the names from a file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="standard output")] = None,
    as_text: AsText = False,
    look: Annotated[
        Path | None, typer.Option(help="Draw where every head looked, as PNG; of one image.", show_default=False)
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    n_best: Annotated[int | None, typer.Option(help="Show this many captions with scores.", show_default="1")] = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Say what is in each image; the lines come out in order."""
    from mirada import api
    from mirada.tasks.captioning.model import CaptionModel

    given = Given(images, file, as_text=as_text, unit="files")
    check_new(out, "--out")
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best}
    check_new(look, "--look")
    if look is not None and len(images or []) != 1:
        raise UsageError(f"--look {look}: shows one image; name one")
    model = api.load(bundle, CaptionModel, device=device or "auto", threads=threads)
    config = model.decode_config(**decode)  # before anything is written
    several = (n_best or 1) > 1
    failed = _write(
        given,
        out,
        job_of("caption", bundle, json=json_, **config.model_dump()),
        lambda chunk: model.answer(chunk, **decode),
        lambda number, place, found: _line(number, place, found, json_, several),
    )
    if look is not None and images and not failed:
        _draw(model, images[0], look, decode)
    if failed:
        raise typer.Exit(1)


def classify_pictures(
    bundle: Path,
    given: Given,
    out: Path | None,
    why: bool,
    json_: bool,
    device: str,
    threads: int | None,
) -> None:
    """What `mirada classify` does with a model for images."""
    from mirada import api
    from mirada.tasks.image_classification.model import ImageClassificationModel

    if why:
        raise UsageError(f"--why: {bundle} is a model for images, which no words decide; leave it out")
    model = api.load(bundle, ImageClassificationModel, device=device, threads=threads)

    def line(number: int, place: str, found: Any) -> str:
        rounded = {label: round(p, 6) for label, p in found.probabilities.items()}
        row = {"image": place, "label": found.label, "probabilities": rounded}
        return json.dumps(row, ensure_ascii=False) if json_ else f"{found.label}\t{found.probability:.4f}"

    if _write(given, out, job_of("classify", bundle, json=json_), model.answer, line):
        raise typer.Exit(1)


def _write(
    given: Given,
    out: Path | None,
    job: Job,
    look_at: Callable[[list[str]], Iterable[tuple[str, Any]]],
    line: Callable[[int, str, Any], str],
) -> int:
    """A line for each image, an empty one for what cannot be read; how many could not be."""

    def answer(before: int, chunk: list[str], _: Progress) -> tuple[list[str], int]:
        rows, failed = [], 0
        for number, (place, found) in enumerate(look_at(chunk), before + 1):
            if isinstance(found, MiradaError):
                failed += 1
                say(f"mirada: {found}; its line is left empty")
                rows.append("{}\n" if job["json"] else "\n")
                continue
            for remark in found.notes:
                say(f"mirada: {place}: {remark}")
            rows.append(line(number, place, found) + "\n")
        return rows, failed

    return write_answers(given, out, job, answer)


def _line(number: int, place: str, found: Any, json_: bool, several: bool) -> str:
    """A caption for the pipe."""
    if json_:
        others = [{"text": text, "score": round(score, 6)} for text, score in found.alternatives]
        row = {"image": place, "caption": found.text, "complete": found.complete, "alternatives": others}
        return json.dumps(row, ensure_ascii=False)
    if several:
        return "\n".join(f"{number}\t{score:.4f}\t{text}" for text, score in found.alternatives)
    return str(found.text).replace("\n", " ")


def _draw(model: Any, image: str, look: Path, decode: dict[str, Any]) -> None:
    try:
        model.attend(image, **decode).draw(look)
    except OSError as error:
        raise UsageError(f"--look {look}: cannot be written ({error.strerror})") from None
    say(f"where it looked is in {look}")


@app.command()
def shapes(
    out: Annotated[Path, typer.Option(help="A new folder; of videos an .npz file.", show_default=False)],
    moving: Annotated[bool, typer.Option("--moving", help="Videos, labelled with the way a shape moves.")] = False,
    language: Annotated[str, typer.Option(help="Language of the captions: es, en, pt.")] = "es",
    count: Annotated[int, typer.Option(help="How many to write.")] = 3000,
    part: Annotated[str, typer.Option(help="training, or test with things that training never shows.")] = "training",
    seed: Annotated[int, typer.Option(help="Another seed gives other images.")] = 0,
) -> None:
    """Write the built-in images of shapes, with captions for --task captioning; or videos of moving shapes."""
    check_new(out, "--out")
    if count < 1:
        raise UsageError(f"--count {count}: write at least 1")
    try:
        _write_videos(out, count, part, seed) if moving else _write_scenes(out, language, count, part, seed)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def _write_scenes(out: Path, language: str, count: int, part: str, seed: int) -> None:
    from mirada.builtin import scenes

    found = scenes.scenes(language, part, count, seed)
    out.mkdir(parents=True)
    note(f"wrote {counted(scenes.write(found, out), 'image')} and their captions, {out / 'scenes.tsv'}")


def _write_videos(out: Path, count: int, part: str, seed: int) -> None:
    import numpy as np

    from mirada.builtin.shapes import moving_shapes

    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: videos go into one file; call it {out}.npz")
    videos, labels = moving_shapes(count, 2 * seed + (part == "test"))
    with new_binary(out, "--out") as sink:
        np.savez(sink, images=videos, labels=labels)
    note(f"wrote {counted(count, 'video')} and the way each shape moves, {out}")
