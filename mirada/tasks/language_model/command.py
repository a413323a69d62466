"""The verb of language modelling."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import USE, Bundle, Device, Json, Program, SampleSeed, Threads, TopK, TopP, say
from mirada.cli.output import text_output
from mirada.cli.predict import load
from mirada.errors import UsageError


def register(app: Program) -> None:
    @app.command(panel=USE)
    def generate(
        bundle: Bundle,
        prompt: Annotated[str, typer.Argument(help="The beginning of the text.", show_default=False)] = "",
        tokens: Annotated[int, typer.Option(help="Generate at most this many tokens.")] = 200,
        temperature: Annotated[
            float | None,
            typer.Option(help="Sampling temperature: below 1 favours likely tokens.", show_default="0.8"),
        ] = None,
        top_k: TopK = None,
        top_p: TopP = None,
        seed: SampleSeed = None,
        beam: Annotated[
            int | None,
            typer.Option(help="Search for the likeliest text with this beam size; 1 is greedy.", show_default=False),
        ] = None,
        count: Annotated[int, typer.Option(help="Number of texts, separated by ---.")] = 1,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None:
        """Continue a text, printing it while it is generated."""
        from mirada.tasks.language_model.model import LanguageModel

        if count < 1:
            raise UsageError(f"--count {count}: must be at least 1")
        if temperature is not None and not temperature > 0:
            raise UsageError(f"--temperature {temperature:g}: must be above 0; for the likeliest tokens: --beam 1")
        if beam is not None and temperature is not None:
            raise UsageError(
                f"--beam {beam}: searches for the likeliest text and has no --temperature; leave out one of them"
            )
        if beam is not None and count > 1:
            raise UsageError(
                f"--count {count}: beam search (--beam) finds one text, the likeliest; leave out one of them"
            )
        model = load(bundle, device, threads, LanguageModel)
        options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "beam": beam}
        first = model.decode_config(**options, seed=seed).seed
        for remark in model.remarks(prompt, tokens):
            say(f"mirada: {remark}")
        with text_output(None) as sink:
            try:
                for number in range(count):
                    given = {**options, "tokens": tokens, "seed": first + number}
                    if json_:
                        sink.write(formatted(model.generate(prompt, **given), json_) + "\n")
                        continue
                    pieces = model.stream(prompt, **given)
                    sink.write(("---\n" if number else "") + prompt)
                    for piece in pieces:
                        sink.write(piece)
                        sink.flush()
                    sink.write("\n")
            except KeyboardInterrupt:
                sink.write("\n")
                sink.flush()
                raise typer.Exit(130) from None
