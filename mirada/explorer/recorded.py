"""Chosen sentences as PyTorch computes them: what a page shows of a model that is too large to run in it."""

from __future__ import annotations

from collections.abc import Sequence

from mirada.contracts import EOS
from mirada.errors import InputError
from mirada.explorer.entry import MOST_CHARACTERS, Explored, Packed, add_training, entry_of
from mirada.explorer.weights import file_of, packed

MOST_SENTENCES = 50


def record(model: Explored, texts: Sequence[str]) -> Packed:
    """A model as a page shows it without its weights: the traces of these texts, in float16."""
    if len(texts) > MOST_SENTENCES:
        raise InputError(f"--trace: {len(texts)} sentences; a page takes {MOST_SENTENCES} at most")
    for text in texts:
        if not text.strip() or len(text) > MOST_CHARACTERS:
            raise InputError(f"--trace {text[:40]!r}: give a sentence of 1 to {MOST_CHARACTERS:,} characters")
    found = Packed(entry_of(model, texts[0]))
    found.entry["tokenizers"] = {"source": None, "target": None}  # nothing is tokenized in the page
    found.entry["recorded"] = []
    for number, text in enumerate(texts):
        trace = model.trace(text)
        ids = None if trace.target is None else [id for id in trace.tokens["target"].ids if id != EOS]
        chosen = {"target": trace.target, "ids": ids, "output": trace.output, "score": trace.score}
        found.entry["recorded"].append({"text": text, "source": trace.source, **chosen})
        found.blobs[f"recorded-{number}"] = packed(file_of(trace.tensors, "float16"))
    add_training(found, model.path)
    return found
