"""Verbs that look inside a model while it works: `attend` and `trace`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.app import LOOK, Beam, Bundle, Device, Into, Threads, Without, app, argument, listed, note, option, say
from mirada.cli.output import check_new
from mirada.cli.predict import load, switched_off
from mirada.errors import UsageError

Text = Annotated[str, argument(help="One sentence; for an image model, an image file.")]
Target = Annotated[str | None, option(help="Use this translation or caption instead of the model's own.")]


@app.command(panel=LOOK)
def attend(
    bundle: Bundle,
    text: Text,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this new file: .svg .png .pdf .html .json .npz.", show_default="a table"),
    ] = None,
    target: Target = None,
    n_best: Annotated[int | None, typer.Option(help="Show this many hypotheses.", show_default="1")] = None,
    part: Annotated[
        str | None,
        typer.Option(help="Which attention: encoder, decoder or cross.", show_default="cross if there is one"),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="One layer, counted from 0.", show_default="all")] = None,
    head: Annotated[int | None, typer.Option(help="One head, counted from 0.", show_default="all")] = None,
    words: Annotated[bool, typer.Option("--words", help="Merge tokens into words.")] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Type of picture: heads (one map each), matrix (their average) or lines.", show_default="heads"
        ),
    ] = None,
    attribution: Annotated[
        str | None,
        option(
            help="Also show what each word of a translation depends on: leave-out, gradient, or leave-out,gradient."
        ),
    ] = None,
    without: Without = None,
    to: Into = None,
    beam: Beam = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Show what a model looks at: each token's attention in every layer and head, as a table, picture, page or data.

    For a translation, this is the attention with which the model chose each token.
    """
    from mirada.inspection.drawing import check_kind
    from mirada.inspection.saving import PICTURES, check_ending, files_of

    if attribution is not None:
        _check_alone(n_best=n_best, part=part, kind=kind, words=words or None)
        places = {"layer": layer, "head": head}
        _attribute(bundle, text, target, listed(attribution), out, without, threads, device, to=to, beam=beam, **places)
        return
    if kind is not None:
        check_kind(kind)
        if out is None or out.suffix.lower() not in PICTURES:
            raise UsageError(f"--kind {kind}: is for pictures; give --out a file named {', '.join(PICTURES)}")
    if out is not None:
        check_ending(out, "--out ")
        for file in files_of(out, n_best or 1):
            check_new(file, "--out")
    model = load(bundle, device, threads)
    with switched_off(without):
        found = model.attend(text, target, **_given(n_best=n_best, to=to, beam=beam))
    found = found.select(part, layer, head, words)
    for remark in found.notes:
        say(f"mirada: {remark}")
    if out is None:
        print(found.as_text())
        return
    with warnings_as_lines():
        found.save(out, kind or "heads")
    note(f"mirada: written to {', '.join(map(str, files_of(out, len(found.hypotheses))))}")


def _check_alone(**options: Any) -> None:
    """Refuse options that do not go with --attribution."""
    for name, given in options.items():
        if given is not None:
            said = "" if given is True else f" {given}"
            raise UsageError(f"--{name.replace('_', '-')}{said}: cannot be combined with --attribution; leave it out")


def _attribute(
    bundle: Path,
    text: str,
    target: str | None,
    methods: list[str],
    out: Path | None,
    without: str | None,
    threads: int | None,
    device: str | None,
    **options: Any,
) -> None:
    """Show what each word of a translation depends on, next to the attention between words."""
    from mirada.inspection.attribution import check_ending, check_methods
    from mirada.tasks.translation.model import TranslationModel

    methods = check_methods(methods)
    check_new(out, "--out")
    if out is not None:
        check_ending(out, "--out ")
    model = load(bundle, device, threads, TranslationModel)
    with switched_off(without), warnings_as_lines():
        found = model.attribute(text, target, methods=methods, **_given(**options))
        if out is not None:
            found.save(out)
    if out is None:
        print(found.as_text())
    else:
        note(f"mirada: written to {out}")


@app.command(panel=LOOK)
def trace(
    bundle: Bundle,
    text: Text,
    out: Annotated[
        Path | None, typer.Option(help="Write all tensors to this new .safetensors file.", show_default="a list")
    ] = None,
    target: Target = None,
    path: Annotated[
        list[str] | None, option(help='Record only tensors with matching paths: --path "decoder.*.cross.weights"')
    ] = None,
    gates: Annotated[
        Path | None, option(help="Draw the gates and states of an LSTM or GRU over time to this picture.")
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="The cell that --gates draws: decoder.0.forward", show_default="the first")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the tokens, paths, axes and shapes as JSON.")] = False,
    without: Without = None,
    to: Into = None,
    beam: Beam = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Write every tensor of a forward pass to one file, by path; or list them.

    For a model that generates text, the tokens it chose are replayed in one pass.
    """
    from mirada.inspection.trace import check_ending

    check_new(out, "--out")
    check_new(gates, "--gates")
    if cell is not None and gates is None:
        raise UsageError(f"--cell {cell}: is for --gates, which names the picture to draw")
    if out is not None:
        check_ending(out, "--out ")
    model = load(bundle, device, threads)
    with switched_off(without):
        found = model.trace(text, target, paths=tuple(path or ()), **_given(to=to, beam=beam))
    for remark in found.notes:
        say(f"mirada: {remark}")
    if gates is not None:
        from mirada.inspection.gates import draw_gates

        with warnings_as_lines():
            draw_gates(found, gates, cell)
        note(f"mirada: drawn to {gates}")
    if out is not None:
        found.save(out)
        note(f"mirada: {len(found):,} tensors written to {out}")
    if json_:
        print(json.dumps(found.as_dict(), ensure_ascii=False))
    elif out is None and gates is None:
        print(found.as_text())


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print what Python warns of as the other messages are printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in dict.fromkeys(str(each.message) for each in caught):
        say(f"mirada: {one}")
