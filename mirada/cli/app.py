"""The program that verbs register on, the options that several of them share, and messages to the user."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from typer.models import OptionInfo

from mirada import __version__
from mirada.errors import UsageError

F = TypeVar("F", bound=Callable[..., None])
QUIET, NORMAL, VERBOSE = -1, 0, 1
PANELS = (TRAIN, USE, LOOK, DATA, EXCHANGE, OTHER) = (
    "Train", "Use", "Look inside", "Data", "Exchange", "Other commands"
)  # fmt: skip
"""The groups of verbs in `mirada --help`, in their order."""

option = partial(typer.Option, show_default=False)
argument = partial(typer.Argument, show_default=False)
"""Options and arguments whose help does not show a default."""

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show how long each step takes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")]


class Program(typer.Typer):
    """The command line: each verb is a function, in a panel of the help, and takes --verbose and --quiet too."""

    def command(self, name: str | None = None, *, panel: str = OTHER, **kwargs: Any) -> Callable[[F], F]:
        def verb(function: F) -> F:
            called = name or function.__name__.strip("_")
            register = super(Program, self).command(called, rich_help_panel=panel, **kwargs)
            register(_with_verbosity(function))
            self.registered_commands.sort(key=lambda one: (PANELS.index(str(one.rich_help_panel)), str(one.name)))
            return function

        return verb


def _with_verbosity(function: Callable[..., None]) -> Callable[..., None]:
    """Add --verbose and --quiet to a verb."""

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
    """Refuse an empty name of a file, task or language: `--out ""` is a mistake, not the current folder."""
    kind, info = get_args(parameter.annotation)[:2]
    option = isinstance(info, OptionInfo)
    meant: type | None = Path if Path in _leaves(kind) else str if option and str in _leaves(kind) else None
    if meant is None or parameter.default == "":
        return
    declared = [name for name in (info.default, *(info.param_decls or ())) if str(name).startswith("--")]
    name = declared[0] if declared else "--" * option + parameter.name.replace("_", "-")
    hint = "leave the option out, or give it a value" if option else "give a name"

    def parse(text: str) -> Any:
        if not text:
            raise UsageError(f'{name} "": is empty; {hint}')
        return meant(text)

    info.parser = parse


def _leaves(kind: Any) -> set[Any]:
    """The types in an annotation: Path and None in `list[Path] | None`."""
    inner = get_args(kind)
    return {leaf for part in inner for leaf in _leaves(part)} if inner else {kind}


app = Program(
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Bundle = Annotated[Path, argument(help="The bundle: a directory written by `mirada train --out`.")]
Pairs = Annotated[
    list[Path] | None,
    argument(
        help="Data files for the task: sentence pairs (TSV, CSV, TMX, PO, …), a table, text, or a folder of images."
    ),
]
SourceFile = Annotated[Path | None, option(help="Source sentences, one per line; requires --target.")]
TargetFiles = Annotated[list[Path] | None, option(help="Their translations, one per line; requires --source.")]
Texts = Annotated[
    list[str] | None, argument(help="Texts (for image models: image files or .npz); default: lines of stdin.")
]
File = Annotated[Path | None, option(help="Read the lines of this file.")]
Out = Annotated[Path | None, typer.Option(help="Write to this new file.", show_default="standard output")]
Threads = Annotated[
    int | None,
    typer.Option(help="CPU threads to use.", show_default="the fastest number"),
]
Device = Annotated[str | None, typer.Option(help="Device to compute on: auto, cpu, cuda, …", show_default="auto")]
From = Annotated[str | None, option("--from", help="Source language: es")]
To = Annotated[str | None, option("--to", help="Target language: en")]
Into = Annotated[str | None, option("--to", help="The language to translate into, for a model of several directions.")]
Task = Annotated[
    str | None,
    typer.Option(
        help="The task to train for: translation, classification, tagging, language_model, masked_lm, …",
        show_default="translation",
    ),
]
Architecture = Annotated[
    str | None,
    typer.Option(help="The architecture (see `mirada models`).", show_default="depends on the task: transformer, …"),
]
DevSet = Annotated[
    list[Path] | None,
    typer.Option(help="The dev set; give the option twice for two files.", show_default="held out of the data"),
]
Epochs = Annotated[int | None, option(help="Train for this many passes over the data.")]
Steps = Annotated[int | None, option(help="Train for this many optimizer steps.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Random seed for data order, initial weights and dropout.", show_default="1"),
]
Columns = Annotated[str | None, option("--columns", "--column", help="Columns by name or number: --columns es,en")]
Set = Annotated[
    list[str] | None, option("--set", help="Change a setting (see `mirada settings`): --set train.lr=0.001")
]
AsText = Annotated[bool, typer.Option("--as-text", help="Read --file as lines of text, whatever its format.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one line per result.")]
Beam = Annotated[int | None, typer.Option(help="Beam size: hypotheses kept at each step.", show_default="5")]
NBest = Annotated[int | None, typer.Option(help="Print this many hypotheses with scores.", show_default="1")]
Without = Annotated[
    str | None,
    option(
        help="Switch parts off (separated by commas): scale, future_mask, positions, encoder.0.add_self, "
        "decoder.1.cross.2, encoder.3, …"
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        help="Sampling temperature: below 1 favours likely tokens, above 1 gives more variety.", show_default="1"
    ),
]
TopK = Annotated[int | None, option(help="Sample only from the k likeliest tokens.")]
TopP = Annotated[float | None, option(help="Sample only from the likeliest tokens with this total probability.")]
SampleSeed = Annotated[int | None, typer.Option(help="Random seed for sampling.", show_default="0")]

_verbosity = NORMAL


def verbosity() -> int:
    """How much is printed: QUIET, NORMAL or VERBOSE."""
    return _verbosity


def quiet() -> bool:
    """Whether only results and errors are printed."""
    return verbosity() == QUIET


def _set_verbosity(verbose: bool, quiet: bool) -> None:
    """Set how much is printed; flags before and after the verb mean the same."""
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
    """Split "es,en" into names."""
    return [name.strip() for name in names.split(",")] if names else []


def say(text: str) -> None:
    """Print a message to standard error."""
    print(text, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a message that --quiet suppresses."""
    if not quiet():
        say(text)
