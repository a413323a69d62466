"""The command line: each verb is a function and one library call. Errors become one line and an exit code.

0 done   1 the task failed   2 wrong use   130 interrupted, and saved

The verbs of a task are in its folder: `tasks/<task>/command.py` has a function `register(app)`.
"""

from __future__ import annotations

import io
import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer

from mirada import tasks
from mirada.cli import align, app, builtin, exchange, explore, info, look, more_data, predict, train
from mirada.cli.app import say
from mirada.device import keep_memory
from mirada.errors import MiradaError

__all__ = ["align", "app", "builtin", "exchange", "explore", "info", "look", "main", "more_data", "predict", "train"]

WrongUse: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for a missing argument or an unknown option."""

MEANT = {
    "Input should be a valid integer": "must be a whole number",
    "Input should be a valid number": "must be a number",
}
"""What typer says about a value, and what it means."""


def register_tasks() -> None:
    """Add the verbs of all tasks; a package of another distribution that cannot be imported is reported and skipped."""
    for name, package in tasks.packages().items():
        try:
            if find_spec(f"{package}.command"):
                import_module(f"{package}.command").register(app.app)
        except Exception as error:
            if package.startswith("mirada."):
                raise
            say(f"mirada: the commands of the task {name} ({package}) cannot be loaded: {error}")


register_tasks()


def main() -> None:
    """Run the command line; a user's mistake is one line, never a stack trace."""
    keep_memory()
    open_streams()
    try:
        code = app.app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except MiradaError as error:
        say(f"mirada: {error}")
        sys.exit(error.exit_code)
    except WrongUse as error:
        say(f"mirada: {_one_line(error)}")
        sys.exit(2)
    except BrokenPipeError:  # `mirada translate … | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # a disk that is full; what is wrong with the user's files is an error of ours
        say(f"mirada: {error.filename or 'standard output'}: {error.strerror or error}")
        _abandon_output()
        sys.exit(1)
    except KeyboardInterrupt:
        say("mirada: interrupted")
        sys.exit(130)
    sys.exit(code or 0)


def open_streams() -> None:
    """Make the standard streams usable: one that is closed is empty, and what a terminal cannot show is escaped."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """Let go of what could not be written: Python would try once more when it ends, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _one_line(error: Any) -> str:
    """What typer says about a wrong command, in our form: the option and its value, and the way out."""
    verb = error.ctx.info_name + " " if error.ctx is not None and error.ctx.parent is not None else ""
    message = " ".join(error.format_message().split()).rstrip(".")
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", message)
    options = error.param.opts if type(error) is typer.BadParameter and error.param is not None else ()
    for place, word in enumerate(sys.argv):
        option, equals, value = word.partition("=")
        if option in options:
            value = value if equals else " ".join(sys.argv[place + 1 : place + 2])
            message = f"{option} {value}: {MEANT.get(str(error.message).partition(',')[0], error.message)}"
    return f"{message[:1].lower()}{message[1:]}; see: mirada {verb}--help"
