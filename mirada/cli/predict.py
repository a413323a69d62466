"""Verbs that predict something for each line of the input: a task registers a function, the rest is done here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from mirada.cli.answers import Job, Lines, Predict, job_of, write_answers
from mirada.cli.app import USE, AsText, Bundle, Device, File, Json, Out, Program, Texts, Threads
from mirada.cli.input import Given
from mirada.cli.output import check_new
from mirada.errors import UsageError
from mirada.predictions import Prediction

Function = Callable[..., Iterable[Prediction]]
"""From a model, `Lines` and the verb's own options to predictions."""

_VERBS: dict[str, dict[str, tuple[Function, dict[str, Any]]]] = {}
"""By verb and task: the function, and how its input is read."""


def predicts(app: Program, task: str, **reading: Any) -> Callable[[Function], Function]:
    """Register a verb that predicts something for each line: `def classify(model, lines, why: … = False)`.

    It gets the arguments and options that all such verbs have: the bundle, texts, --file, --out, --as-text, --json,
    --threads, --device. Tasks may share a verb: the bundle decides whose function is called. `reading` are options of
    `Given`: what else than text a --file may be, and what the lines are called.
    """

    def register(function: Function) -> Function:
        verb = function.__name__
        _VERBS.setdefault(verb, {})[task] = function, reading
        app.registered_commands = [command for command in app.registered_commands if command.name != verb]
        app.command(verb, panel=USE)(_command(verb))
        return function

    return register


def _command(verb: str) -> Callable[..., None]:
    """The command of a verb: the common arguments, and the options of all tasks that share it."""

    def common(
        bundle: Bundle,
        texts: Texts = None,
        file: File = None,
        out: Out = None,
        as_text: AsText = False,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None: ...

    functions = {task: function for task, (function, _) in _VERBS[verb].items()}
    own: dict[str, inspect.Parameter] = {}
    for function in functions.values():
        own = {**_options(function), **own}

    def command(**given: Any) -> None:
        _run(verb, **{name: given.pop(name) for name in shared}, options=given)

    shared = inspect.signature(common, eval_str=True).parameters
    parameters = [*shared.values(), *own.values()]
    command.__name__ = verb
    command.__doc__ = "\n\n".join(inspect.getdoc(function) or "" for function in functions.values())
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        sorted((one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters), key=_last)
    )
    return command


def _options(function: Function) -> dict[str, inspect.Parameter]:
    """A function's parameters behind the model and the lines."""
    _, _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return {one.name: one for one in own}


def _last(parameter: inspect.Parameter) -> bool:
    """Options that all verbs have come last in the help."""
    return parameter.name in ("json_", "threads", "device")


def _run(
    verb: str,
    bundle: Path,
    texts: list[str] | None,
    file: Path | None,
    out: Path | None,
    as_text: bool,
    json_: bool,
    threads: int | None,
    device: str | None,
    options: dict[str, Any],
) -> None:
    check_new(out, "--out")
    task = task_of(bundle, verb)
    function, reading = _VERBS[verb][task]
    given = Given(texts, file, as_text=as_text, **reading)
    defaults = {name: one.default for task in _VERBS[verb] for name, one in _options(_VERBS[verb][task][0]).items()}
    known = _options(function)
    for name, value in options.items():
        if name not in known and value != defaults[name]:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: {bundle} is a model for {task}, which has no such option; leave it out")
    own = {name: value for name, value in options.items() if name in known}
    model = load(bundle, device, threads)
    answer(given, out, job_of(verb, bundle, **own), lambda lines: function(model, lines, **own), json_)


def task_of(bundle: Path, verb: str) -> str:
    """The task of a bundle, if the verb serves it."""
    from mirada.bundle import read_card
    from mirada.loading import wrong_verb

    task: str = read_card(bundle)["task"]
    if task not in _VERBS[verb]:
        raise wrong_verb(task, bundle)
    return task


def load(bundle: Path, device: str | None, threads: int | None, kind: Any = None) -> Any:
    """Open a bundle with the options --device and --threads."""
    from mirada import api

    return api.load(bundle, kind or api.Model, device=device or "auto", threads=threads)


def answer(given: Given, out: Path | None, job: Job, predict: Predict, json_: bool) -> None:
    """Write predictions for the input; the exit code is 1 if some inputs have none."""
    if write_answers(given, out, job, predict, json_=json_):
        raise typer.Exit(1)


__all__ = ["Lines", "answer", "load", "predicts"]
