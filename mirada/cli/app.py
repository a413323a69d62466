"""What the verbs share: the program, options that several verbs have, and lines for the person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from mirada.errors import UsageError

app = typer.Typer(
    help="Train your own translator from two text files, on the machine you have, and see what it looks at.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Bundle = Annotated[
    Path, typer.Argument(help="The bundle: a directory that `mirada train --out` wrote.", show_default=False)
]
Pairs = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files of the task: pairs (TSV, CSV, TMX, PO, …), a table, a text, a folder of pictures.",
        show_default=False,
    ),
]
SourceFile = Annotated[Path | None, typer.Option(help="A file of source sentences …", show_default=False)]
TargetFiles = Annotated[
    list[Path] | None, typer.Option(help="… and its translations, line by line.", show_default=False)
]
Threads = Annotated[int | None, typer.Option(help="CPU threads.", show_default="one a core")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, …", show_default="auto")]
From = Annotated[str | None, typer.Option("--from", help="Source language: es", show_default=False)]
To = Annotated[str | None, typer.Option("--to", help="Target language: en", show_default=False)]
Task = Annotated[
    str | None,
    typer.Option(
        help="classification, tagging, language, masked, forecasting, captioning.", show_default="translation"
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", "--column", help="Columns by name or number: --columns es,en", show_default=False),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set train.lr=0.001", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def directory(name: str) -> Path:
    """The directory of that name. An empty name, as an unset variable gives, is none: not the current directory."""
    if not name.strip():
        raise UsageError("--out: its name is empty; name a directory: --out es-en")
    return Path(name)


def listed(names: str | None) -> list[str]:
    """The names in "es,en"."""
    return [name.strip() for name in names.split(",")] if names else []


def created(path: Path, option: str) -> TextIO:
    """A new file to write to."""
    try:
        return open(path, "x", encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror})") from None


def say(text: str) -> None:
    """A line for the person, not for the pipe."""
    print(text, file=sys.stderr, flush=True)
