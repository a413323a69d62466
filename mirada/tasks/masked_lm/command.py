"""The verbs of masked language models: fill, embed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.answers import formatted, job_of
from mirada.cli.app import USE, AsText, Bundle, Device, File, Json, Program, Texts, Threads, note
from mirada.cli.input import Input
from mirada.cli.output import check_new, new_binary
from mirada.cli.predict import answer, load
from mirada.errors import UsageError, counted


def register(app: Program) -> None:
    @app.command(panel=USE)
    def fill(
        bundle: Bundle,
        text: Annotated[str, typer.Argument(help="Text with gaps: El bebé está [MASK].", show_default=False)],
        count: Annotated[int, typer.Option(help="Number of words per gap.")] = 5,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None:
        """Predict the likeliest words for each [MASK] in a text. Prints word, tab, probability."""
        from mirada.tasks.masked_lm.model import MaskedLanguageModel

        gaps = load(bundle, device, threads, MaskedLanguageModel).fill(text, count)
        print(("\n" if json_ else "\n\n").join(formatted(gap, json_) for gap in gaps))

    @app.command(panel=USE)
    def embed(
        bundle: Bundle,
        texts: Texts = None,
        file: File = None,
        out: Annotated[
            Path | None, typer.Option(help="The .npz file to write; a text file with --json.", show_default=False)
        ] = None,
        as_text: AsText = False,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None:
        """Compute embedding vectors of texts, one text per line.

        The .npz file has the arrays `sentences` (N × D), `tokens` (all × D) and `offsets` (N + 1), where the
        tokens of each text begin. --json prints the vector of each text, or its problem.
        """
        from mirada.tasks.masked_lm.model import MaskedLanguageModel

        if out is None and not json_:
            raise UsageError("where should the vectors go? Name a file: --out vectors.npz, or print them: --json")
        check_new(out, "--out")
        given = Input(texts, file, as_text=as_text)
        model = load(bundle, device, threads, MaskedLanguageModel)
        if json_:
            job = job_of("embed", bundle)
            answer(given, out, job, lambda lines: model.embed_lines(lines.texts), json_)
        elif out is not None:
            _write_arrays(model, given, out)


def _write_arrays(model: Any, given: Input, out: Path) -> None:
    import numpy as np

    found: list[Any] = []
    for chunk in given:
        found += model.embed(chunk, first=len(found) + 1)
    if not found:
        raise UsageError("there is no text to embed")
    sentences, tokens = np.stack([one.vector for one in found]), np.concatenate([one.tokens for one in found])
    offsets = np.cumsum([0, *(len(one.tokens) for one in found)])
    with new_binary(out, "--out") as sink:
        np.savez(sink, sentences=sentences, tokens=tokens, offsets=offsets)
    note(f"wrote the vectors of {counted(len(found), 'text')} to {out}")
