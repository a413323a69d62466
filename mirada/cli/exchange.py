"""Verbs that exchange models with other toolkits: import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mirada.cli.app import EXCHANGE, app, argument, note, option, say
from mirada.errors import UsageError


@app.command("import", panel=EXCHANGE)
def import_(
    checkpoint: Annotated[
        Path,
        argument(help="A directory with config.json, model.safetensors and a tokenizer: BERT, GPT-2, Marian, ViT."),
    ],
    out: Annotated[Path | None, option(help="The directory to write the bundle to.")] = None,
) -> None:
    """Convert a published checkpoint in Hugging Face's layout into a bundle; no code in it is run."""
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
