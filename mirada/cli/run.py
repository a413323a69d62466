"""Verbs that use a trained model: translate, evaluate, neighbours."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mirada.cli.app import Bundle, Columns, Device, Json, Threads, app, listed, say
from mirada.errors import DataError, UsageError

if TYPE_CHECKING:
    from mirada.model import Model

CHUNK = 512
"""Lines of a file that are translated at a time: enough to batch them well, few enough to see progress."""


@app.command()
def translate(
    bundle: Bundle,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; standard input's lines if none.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Translate the lines of a file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="standard output")] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    n_best: Annotated[
        int | None, typer.Option(help="Show this many translations with scores.", show_default="1")
    ] = None,
    prefix: Annotated[str, typer.Option(help="How every translation has to begin.", show_default=False)] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample.", show_default="1")] = None,
    top_k: Annotated[int | None, typer.Option(help="Of --sample.", show_default=False)] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --sample.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample.", show_default="0")] = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file, or standard input; the lines come out in order.

    Of a gettext catalog (--file app.po) what is untranslated is filled and marked fuzzy; the rest stays as it was.
    """
    from mirada import api
    from mirada.data.readers import find_format

    if texts and file:
        raise UsageError(f"--file {file}: give texts or a file, not both")
    if out is not None and out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    model = api.load(bundle, device=device or "auto", threads=threads)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None}
    model.decode_config(**decode)  # before anything is written
    if file is not None and find_format(str(file)) == "po":
        _fill(model, file, out, decode)
        return
    failed = 0
    with open(out, "w", encoding="utf-8", newline="\n") if out else _stdout() as sink:
        number = 0
        for chunk in _chunks(texts, file):
            for translation in model.translate(chunk, prefix=prefix, **decode):
                number += 1
                if translation.problem:
                    failed += 1
                    say(f"mirada: line {number} {translation.problem}; it is left empty")
                if (n_best or 1) > 1:
                    for text, score in translation.alternatives:
                        sink.write(f"{number}\t{score:.4f}\t{_one_line(text)}\n")
                else:
                    sink.write(_one_line(translation.text) + "\n")
            sink.flush()
    if failed:
        raise typer.Exit(1)


@app.command()
def evaluate(
    bundle: Bundle,
    pairs: Annotated[
        Path,
        typer.Argument(help="Test pairs, in any format that `train` reads.", show_default=False),
    ],
    columns: Columns = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Score a model on sentence pairs: BLEU, chrF++, TER, by length, and what was lost on the way."""
    from mirada import api

    result = api.load(bundle, device=device or "auto", threads=threads).evaluate(
        pairs, columns=listed(columns), beam=beam
    )
    print(json.dumps(result.as_dict(), indent=2, ensure_ascii=False) if json_ else result.as_text())


@app.command()
def neighbours(
    bundle: Bundle,
    words: Annotated[list[str], typer.Argument(help="One word or several.", show_default=False)],
    count: Annotated[int, typer.Option(help="Neighbours of each.")] = 10,
    side: Annotated[str, typer.Option(help="source or target: whose embeddings.")] = "source",
    picture: Annotated[Path | None, typer.Option(help="A map of the words, as PNG.", show_default=False)] = None,
) -> None:
    """The words whose embeddings are nearest to a word's."""
    from mirada import api

    embeddings = api.load(bundle).embeddings(side)
    for word in words:
        near = embeddings.neighbours(word, count)
        print(f"{word}: " + ", ".join(f"{text} {cosine:.2f}" for text, cosine in near))
    if picture is not None:
        embeddings.draw(words, picture)


def _fill(model: Model, file: Path, out: Path | None, decode: dict[str, Any]) -> None:
    """A catalog with its gaps filled, to `out`."""
    from mirada.files import write_bytes

    if out is None:
        raise UsageError(f"--file {file}: say where the filled catalog goes: --out {file.stem}.new.po")
    filling = model.fill(file, **decode)
    try:
        write_bytes(out, filling.content)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None
    for line, problem in filling.problems:
        say(f"mirada: {file}, line {line}: {problem}")
    say(f"filled {filling.filled:,} entries, marked fuzzy for a person to check; the rest is as it was")


def _chunks(texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """What to translate, a few hundred at a time; from a terminal, line by line."""
    from mirada.data.corpus import batched
    from mirada.data.text import lines

    if texts:
        yield texts
    elif file is not None:
        yield from batched(lines(file), CHUNK)
    else:
        typed = sys.stdin.isatty()
        yield from batched(_stdin_lines(), 1 if typed else CHUNK)


def _stdin_lines() -> Iterator[str]:
    for number, raw in enumerate(sys.stdin.buffer, 1):
        try:
            yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input, line {number}: byte {error.start} is not UTF-8; convert it first"
            ) from None


def _stdout() -> Any:
    from contextlib import nullcontext

    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return nullcontext(sys.stdout)


def _one_line(text: str) -> str:
    """A translation on one line, so that the n-th line out is the n-th line in."""
    return text.replace("\r", " ").replace("\n", " ")
