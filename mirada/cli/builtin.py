"""Verbs about the built-in data: the corpus, the images and videos, the demonstration."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.app import DATA, TRAIN, Threads, app, note, option, verbosity
from mirada.cli.output import check_new, new_binary, new_file
from mirada.errors import UsageError, counted
from mirada.files import new_directory

MOST_IMAGES = 1_000_000


@app.command(panel=DATA)
def corpus(
    languages: Annotated[str, typer.Argument(help="The direction: es-en, pt-es, … (Spanish, English, Portuguese).")],
    out: Annotated[Path, option(help="The TSV file to write: source, tab, all translations.")],
    pairs: Annotated[int, typer.Option(help="Number of pairs.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Random seed; each gives different sentences.")] = 0,
    part: Annotated[str, typer.Option(help="The split to write: training or test (disjoint).")] = "training",
    alignments: Annotated[Path | None, option(help="Write word alignments to this file: 0-0 1-2 …")] = None,
) -> None:
    """Write sentence pairs of the built-in corpus to a file, optionally with word alignments."""
    from mirada import builtin

    for path, name in ((out, "--out"), (alignments, "--alignments")):
        check_new(path, name)
    with ExitStack() as stack:
        aligned = stack.enter_context(new_file(alignments, "--alignments")) if alignments else None
        examples = builtin.choose(languages, part, pairs, seed)
        written = builtin.write(examples, stack.enter_context(new_file(out, "--out")), aligned)
    note(
        f"wrote {counted(written, 'pair')} to {out}" + (f" and their alignments to {alignments}" if alignments else "")
    )


@app.command(panel=TRAIN)
def demo(
    out: Annotated[Path, typer.Option(help="The directory to write to.")] = Path("demo"),
    minutes: Annotated[float, typer.Option(help="Total time in minutes.")] = 4.0,
    threads: Threads = None,
) -> None:
    """Train Spanish → English on the built-in corpus, translate, evaluate, draw attention (about four minutes)."""
    from mirada import demo as script
    from mirada.console import Console

    with Console(verbosity=verbosity()) as console:
        script.run(out, minutes, threads, console)


@app.command(panel=DATA)
def shapes(
    out: Annotated[Path, option(help="The folder to write; an .npz file with --moving.")],
    moving: Annotated[bool, typer.Option("--moving", help="Write videos, labelled with their direction.")] = False,
    language: Annotated[str, typer.Option(help="Language of the captions: es, en, pt.")] = "es",
    count: Annotated[int, typer.Option(help="Number of images or videos.")] = 3000,
    part: Annotated[str, typer.Option(help="The split to write: training or test (disjoint).")] = "training",
    seed: Annotated[int, typer.Option(help="Random seed; each gives different images.")] = 0,
) -> None:
    """Write built-in images of shapes with captions, or videos of moving shapes."""
    check_new(out, "--out")
    if not 1 <= count <= MOST_IMAGES:
        raise UsageError(f"--count {count}: must be from 1 to {MOST_IMAGES:,}")
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be at least 0")
    try:
        _write_videos(out, count, part, seed) if moving else _write_scenes(out, language, count, part, seed)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def _write_scenes(out: Path, language: str, count: int, part: str, seed: int) -> None:
    from mirada.builtin import scenes

    found = scenes.scenes(language, part, count, seed)
    with new_directory(out) as folder:
        written = scenes.write(found, folder)
    note(f"wrote {counted(written, 'image')} and their captions: {out / 'scenes.tsv'}")


def _write_videos(out: Path, count: int, part: str, seed: int) -> None:
    import numpy as np

    from mirada.builtin.shapes import moving_shapes

    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: videos are written to one file; name it {out}.npz")
    videos, labels = moving_shapes(count, 2 * seed + (part == "test"))
    with new_binary(out, "--out") as sink:
        np.savez(sink, images=videos, labels=labels)
    note(f"wrote {counted(count, 'video')} and the direction each shape moves in: {out}")
