"""Verbs that use a model: `evaluate`, and those that predict something for each line of the input.

For the latter a task registers a function; the rest is done here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli import app as cli
from mirada.cli.answers import Job, Lines, Predict, formatted, job_of, write_answers
from mirada.cli.app import USE, Program, app, argument, listed, say
from mirada.cli.input import Input
from mirada.cli.output import check_new
from mirada.errors import UsageError
from mirada.predictions import Prediction

__all__ = ["Lines", "answer", "evaluate", "load", "predicts", "switched_off"]

Function = Callable[..., Iterable[Prediction]]
"""Makes predictions from a model, `Lines`, and the verb's own options."""

_VERBS: dict[str, dict[str, tuple[Function, dict[str, Any]]]] = {}
"""The function of each verb and task, and how its input is read."""


def predicts(app: Program, task: str, **reading: Any) -> Callable[[Function], Function]:
    """Register a verb that predicts something for each line: `def classify(model, lines, why: … = False)`.

    It gets the arguments and options that all such verbs have: the bundle, texts, --file, --out, --as-text, --json,
    --threads, --device. Tasks may share a verb: the bundle decides whose function is called. `reading` are options of
    `Input`: what else than text a --file may be, and what the lines are called.
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
    registered = _VERBS[verb]
    own: dict[str, inspect.Parameter] = {}
    for function, _ in registered.values():
        own = {**_options(function), **own}

    def command(
        bundle: cli.Bundle,
        texts: cli.Texts = None,
        file: cli.File = None,
        out: cli.Out = None,
        as_text: cli.AsText = False,
        json_: cli.Json = False,
        threads: cli.Threads = None,
        device: cli.Device = None,
        **options: Any,
    ) -> None:
        from mirada.bundle import read_card
        from mirada.loading import wrong_verb

        check_new(out, "--out")
        task = read_card(bundle)["task"]
        if task not in registered:
            raise wrong_verb(task, bundle)
        function, reading = registered[task]
        given = Input(texts, file, as_text=as_text, **reading)
        known = _options(function)
        for name, value in options.items():
            if name not in known and value != own[name].default:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option}: {bundle} is a model for {task}, which does not have this option; leave it out"
                )
        wanted = {name: value for name, value in options.items() if name in known}
        model = load(bundle, device, threads)
        answer(given, out, job_of(verb, bundle, **wanted), lambda lines: function(model, lines, **wanted), json_)

    *shared, _ = inspect.signature(command, eval_str=True).parameters.values()
    last = ("json_", "threads", "device")  # in the help, after the options of the tasks
    parameters = sorted((*shared, *own.values()), key=lambda one: one.name in last)
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    command.__name__ = verb
    command.__doc__ = "\n\n".join(inspect.getdoc(function) or "" for function, _ in registered.values())
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return command


def _options(function: Function) -> dict[str, inspect.Parameter]:
    """A function's parameters after the model and the lines."""
    _, _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return {one.name: one for one in own}


def load(bundle: Path, device: str | None, threads: int | None, kind: Any = None, **engine: str | None) -> Any:
    """Open a bundle with the options --device and --threads, and those that choose an engine."""
    from mirada import api

    given = {name: value for name, value in engine.items() if value is not None}
    return api.load(bundle, kind, device=device or "auto", threads=threads, **given)


@contextmanager
def switched_off(names: str | None) -> Iterator[None]:
    """Leave out the parts that --without names."""
    if names is None:
        yield
        return
    from mirada.parts import without

    with without(*listed(names)):
        yield


def answer(given: Input, out: Path | None, job: Job, predict: Predict, json_: bool) -> None:
    """Write predictions for the input; the exit code is 1 if some inputs have none."""
    if write_answers(given, out, job, predict, json_=json_):
        raise typer.Exit(1)


@app.command(panel=USE)
def evaluate(
    bundle: cli.Bundle,
    pairs: Annotated[Path | None, argument(help="The test set, in any format that `train` reads.")] = None,
    source: cli.SourceFile = None,
    target: cli.TargetFiles = None,
    from_: cli.From = None,
    to: cli.To = None,
    columns: cli.Columns = None,
    beam: cli.Beam = None,
    json_: cli.Json = False,
    threads: cli.Threads = None,
    device: cli.Device = None,
) -> None:
    """Score a model on a test set: BLEU, chrF++ and TER for translations, accuracy and F1 for labels, …"""
    from mirada.tasks.translation.model import TranslationModel

    parallel = {"source": source, "target": target or None, "source_language": from_, "target_language": to}
    given = {key: value for key, value in parallel.items() if value is not None}
    if pairs is None and not given:
        raise UsageError("there is no test set: name a file, or give --source and --target files")
    model = load(bundle, device, threads)
    if given and not isinstance(model, TranslationModel):
        raise UsageError(
            f"{bundle}: is a model for {model.card['task']}; name its test set without --source, --target, …"
        )
    result = model.evaluate(*([pairs] if pairs else []), **given, columns=listed(columns), beam=beam)
    print(formatted(result, json_))
    for note in result.notes if json_ else ():
        say(f"mirada: {note}")
