"""The verb of captioning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.answers import job_of
from mirada.cli.app import USE, AsText, Beam, Bundle, Device, File, Json, NBest, Out, Program, Texts, Threads, say
from mirada.cli.input import Input
from mirada.cli.output import cannot_write, check_new
from mirada.cli.predict import answer, load
from mirada.errors import UsageError


def register(app: Program) -> None:
    @app.command(panel=USE)
    def caption(
        bundle: Bundle,
        images: Texts = None,
        file: File = None,
        out: Out = None,
        as_text: AsText = False,
        look: Annotated[
            Path | None,
            typer.Option(help="Draw the attention of every head for one image to this PNG file.", show_default=False),
        ] = None,
        beam: Beam = None,
        n_best: NBest = None,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None:
        """Caption images (image files, or an .npz file with several), one line per image."""
        from mirada.tasks.captioning.model import CaptionModel

        given = Input(images, file, as_text=as_text, unit="files")
        check_new(out, "--out")
        check_new(look, "--look")
        if look is not None and len(images or []) != 1:
            raise UsageError(f"--look {look}: shows one image; name one")
        model = load(bundle, device, threads, CaptionModel)
        decode: dict[str, Any] = {"beam": beam, "n_best": n_best}
        job = job_of("caption", bundle, **decode)
        answer(given, out, job, lambda lines: model.caption_files(lines.texts, **decode), json_)
        if look is not None and images:
            try:
                model.attend(images[0], **decode).draw(look)
            except OSError as error:
                raise cannot_write("--look", look, error) from None
            say(f"the attention is drawn in {look}")
