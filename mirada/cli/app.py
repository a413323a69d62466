"""What the verbs share: the program, options that several verbs have, and lines for the person."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from typer.models import OptionInfo

from mirada import __version__
from mirada.errors import UsageError

F = TypeVar("F", bound=Callable[..., None])
QUIET, NORMAL, VERBOSE = -1, 0, 1

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say where the time goes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result and errors, nothing else.")]


class Program(typer.Typer):
    """The command line; each of its verbs takes --verbose and --quiet too."""

    def command(self, *args: Any, **kwargs: Any) -> Callable[[F], F]:
        register = super().command(*args, **kwargs)

        def verb(function: F) -> F:
            register(_with_verbosity(function))
            return function

        return verb


def _with_verbosity(function: Callable[..., None]) -> Callable[..., None]:
    """The same verb with two more options, which it need not know of."""

    @wraps(function)
    def verb(*args: Any, verbose: bool, quiet: bool, **given: Any) -> None:
        began = time.monotonic()
        _set_verbosity(verbose, quiet)
        try:
            function(*args, **given)
        finally:
            if verbosity() == VERBOSE:
                say(f"mirada {function.__name__.strip('_')}: {time.monotonic() - began:.1f} s")

    own = inspect.signature(function, eval_str=True)
    for parameter in own.parameters.values():
        _refuse_empty(parameter)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("verbose", Verbose), ("quiet", Quiet))
    ]
    verb.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
    verb.__annotations__ = {name: part.annotation for name, part in inspect.signature(verb).parameters.items()}
    return verb


def _refuse_empty(parameter: inspect.Parameter) -> None:
    """An empty text names no file, task or language: `--out ""` is a mistake, not the current folder."""
    kind, info = get_args(parameter.annotation)[:2]
    option = isinstance(info, OptionInfo)
    meant: type | None = Path if Path in _leaves(kind) else str if option and str in _leaves(kind) else None
    if meant is None or parameter.default == "":
        return
    declared = [name for name in (info.default, *(info.param_decls or ())) if str(name).startswith("--")]
    name = declared[0] if declared else "--" * option + parameter.name.replace("_", "-")
    way_out = "leave the option out, or give it a value" if option else "give a name"

    def parse(text: str) -> Any:
        if not text:
            raise UsageError(f'{name} "": is empty; {way_out}')
        return meant(text)

    info.parser = parse


def _leaves(kind: Any) -> set[Any]:
    """The types in `list[Path] | None`."""
    inner = get_args(kind)
    return {leaf for part in inner for leaf in _leaves(part)} if inner else {kind}


app = Program(
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
        help="Files of the task: pairs (TSV, CSV, TMX, PO, …), a table, a text, a folder of images.",
        show_default=False,
    ),
]
SourceFile = Annotated[
    Path | None, typer.Option(help="A file of source sentences, one a line; goes with --target.", show_default=False)
]
TargetFiles = Annotated[
    list[Path] | None, typer.Option(help="Their translations, line by line; goes with --source.", show_default=False)
]
Threads = Annotated[int | None, typer.Option(help="CPU threads to use.", show_default="one a core")]
Device = Annotated[str | None, typer.Option(help="Where to compute: auto, cpu, cuda, …", show_default="auto")]
From = Annotated[str | None, typer.Option("--from", help="Source language: es", show_default=False)]
To = Annotated[str | None, typer.Option("--to", help="Target language: en", show_default=False)]
Task = Annotated[
    str | None,
    typer.Option(
        help="What to learn: classification, tagging, language, masked, forecasting, captioning.",
        show_default="translation",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", "--column", help="Columns by name or number: --columns es,en", show_default=False),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set train.lr=0.001", show_default=False)]
AsText = Annotated[bool, typer.Option("--as-text", help="With --file: translate the lines of a file of any format.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_verbosity = NORMAL


def verbosity() -> int:
    """How much to print: QUIET, NORMAL or VERBOSE."""
    return _verbosity


def quiet() -> bool:
    """Whether only the result and errors are to be printed."""
    return verbosity() == QUIET


def _set_verbosity(verbose: bool, quiet: bool) -> None:
    """Flags before the verb and flags after it mean the same."""
    global _verbosity
    if (verbose or _verbosity == VERBOSE) and (quiet or _verbosity == QUIET):
        raise UsageError("--verbose and --quiet contradict each other; leave out one")
    _verbosity = VERBOSE if verbose else QUIET if quiet else _verbosity


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mirada {__version__}")
        raise typer.Exit


@app.callback()
def mirada(
    verbose: Verbose = False,
    quiet: Quiet = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Train your own translator from two text files, on the machine you have, and see what it looks at."""
    global _verbosity
    _verbosity = NORMAL
    _set_verbosity(verbose, quiet)


def listed(names: str | None) -> list[str]:
    """The names in "es,en"."""
    return [name.strip() for name in names.split(",")] if names else []


def say(text: str) -> None:
    """A line for the person, not for the pipe: an error, or the result."""
    print(text, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A line for the person that --quiet leaves out."""
    if not quiet():
        say(text)
