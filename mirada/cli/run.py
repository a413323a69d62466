"""Verbs that use a trained model: translate, evaluate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from mirada.cli.app import Bundle, Columns, Device, Json, Threads, app, created, listed, say
from mirada.errors import DataError, UsageError

if TYPE_CHECKING:
    from mirada.tasks.translation import TranslationModel

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
    split: Annotated[
        bool | None, typer.Option(help="Translate each sentence of a line by itself.", show_default="--split")
    ] = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file, or standard input; the lines come out in order.

    Of a gettext catalog (--file app.po) what is untranslated is filled and marked fuzzy; the rest stays as it was.
    """
    from mirada import api
    from mirada.data.readers import find_format
    from mirada.tasks.translation import TranslationModel

    given, answers = chunks(texts, file), output(out)
    model = api.load(bundle, TranslationModel, device=device or "auto", threads=threads)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None, "split": split}
    _say_of_prefix(prefix)
    model.translate([], prefix=prefix, **decode)  # settings and prefix, before anything is written
    if file is not None and find_format(str(file)) == "po":
        _fill(model, file, out, decode)
        return
    failed = 0
    with answers as sink:
        number = 0
        for chunk in given:
            for translation in model.translate(chunk, prefix=prefix, **decode):
                number += 1
                if translation.problem:
                    failed += 1
                    say(f"mirada: line {number} {translation.problem}; it is left empty")
                for note in translation.notes:
                    say(f"mirada: line {number}: {note}")
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
        typer.Argument(help="The test set, in any format that `train` reads.", show_default=False),
    ],
    columns: Columns = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Score a model on a test set: BLEU, chrF++, TER of translations; accuracy, F1 of labels; …"""
    from mirada import api

    result = api.load(bundle, device=device or "auto", threads=threads).evaluate(
        pairs, columns=listed(columns), beam=beam
    )
    print(json.dumps(result.as_dict(), indent=2, ensure_ascii=False) if json_ else result.as_text())


def _fill(model: TranslationModel, file: Path, out: Path | None, decode: dict[str, Any]) -> None:
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


def _say_of_prefix(prefix: str) -> None:
    from mirada.data.text import shown_text

    if prefix.rstrip() != prefix:
        say(f"mirada: --prefix {shown_text(prefix)}: the space at its end is left out; the next word brings its own")


def chunks(texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """What the user gave to work on, a few hundred at a time; from a terminal, line by line."""
    if texts and file:
        raise UsageError(f"--file {file}: give texts or a file, not both")
    return _chunks(texts, file)


def _chunks(texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    from mirada.data.corpus import batched
    from mirada.data.text import lines

    if texts:
        for number, text in enumerate(texts, 1):
            if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
                raise UsageError(f"text {number} has bytes that are not UTF-8; set your terminal to UTF-8")
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


def output(out: Path | None) -> AbstractContextManager[TextIO]:
    """Where the answers go: a new file, made when it is entered, or standard output."""
    if out is not None and out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    return _opened(out)


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    if out is not None:
        with created(out, "--out") as sink:
            yield sink
        return
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    yield sys.stdout


def _one_line(text: str) -> str:
    """A translation on one line, so that the n-th line out is the n-th line in."""
    return text.replace("\r", " ").replace("\n", " ")
