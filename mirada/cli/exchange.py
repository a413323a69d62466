"""Verbs that exchange models with other toolkits: import and export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.app import EXCHANGE, Bundle, app, argument, note, option, say
from mirada.errors import UsageError


@app.command("import", panel=EXCHANGE)
def import_(
    checkpoint: Annotated[
        Path,
        argument(help="A directory with config.json, model.safetensors and a tokenizer: BERT, GPT-2, Marian, ViT."),
    ],
    out: Annotated[Path | None, option(help="The directory to write the bundle to.")] = None,
) -> None:
    """Convert a published checkpoint in Hugging Face layout into a bundle, without running any code in it."""
    from mirada.bundle import read_card
    from mirada.exchange import import_checkpoint
    from mirada.tasks import find

    if out is None:
        raise UsageError("where should the bundle go? Name a directory: --out bundle")
    card = read_card(import_checkpoint(checkpoint, out))
    for line in card["imported"]["notes"]:
        note(f"note: {line}")
    verb = "embed" if "masked" in card["imported"]["untrained"] else find(card["task"]).verb
    say(f"the bundle is in {out}; use it with: mirada {verb} {out} …")


@app.command(panel=EXCHANGE)
def export(
    bundle: Bundle,
    format: Annotated[str | None, option(help="Format: huggingface or ctranslate2.")] = None,
    out: Annotated[Path | None, option(help="The new directory to write to.")] = None,
    quantize: Annotated[
        str | None,
        typer.Option(help="For ctranslate2: quantize weights to int8, int16 or bfloat16.", show_default="float32"),
    ] = None,
) -> None:
    """Export a bundle for other toolkits: a checkpoint for transformers, or a CTranslate2 model."""
    from mirada.exchange import FORMATS, export_bundle

    if format is None:
        raise UsageError(f"which format? Choose one: --format {' or --format '.join(FORMATS)}")
    if out is None:
        raise UsageError("where should the export go? Name a directory: --out exported")
    exported = export_bundle(bundle, out, format, quantize)
    for line in exported.notes:
        note(f"note: {line}")
    say(f"the export is in {out}; {exported.loader} loads it")
