"""Chosen sentences as PyTorch computes them: what a page shows of a model that is too large to run in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mirada.contracts import EOS
from mirada.errors import InputError, UsageError
from mirada.explorer.entry import MOST_CHARACTERS, Explored, Packed, add_training, entry_of, tokenizers_of
from mirada.explorer.samples import GAP
from mirada.explorer.weights import file_of, packed
from mirada.inspection.trace import PROBABILITIES, Trace

MOST_SENTENCES = 50
LISTED = 10
"""Words for a gap, or for what comes next."""


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
        trace = _traced(model, text)
        ids = None if trace.target is None else [id for id in trace.tokens["target"].ids if id != EOS]
        chosen = {"target": trace.target, "ids": ids, "output": trace.output, "score": trace.score}
        said = predicted(model, trace)
        found.entry["recorded"].append({"text": text, "source": trace.source, **chosen, "predicted": said})
        found.blobs[f"recorded-{number}"] = packed(file_of(trace.tensors, "float16"))
    add_training(found, model.path)
    return found


def _traced(model: Explored, text: str) -> Trace:
    """The trace of a text, in the direction that suits its language, if that is clear."""
    directions = getattr(model, "directions", None)
    if directions is None or not directions.both:
        return model.trace(text)
    try:
        to, _ = directions.guess([text])
    except UsageError:
        to = directions.codes[0]
    return model.trace(text, to=to)


def predicted(model: Explored, trace: Trace) -> dict[str, Any] | None:
    """What a model that reads says of a text, as the page's engine answers it; None of a model that translates."""
    if trace.target is not None or PROBABILITIES not in trace:
        return None
    rows, task = trace[PROBABILITIES], model.card["task"]
    if task in ("classification", "tagging"):
        names = list(trace.tokens["label"].pieces)
        ranked = [_ranked(names, row, len(names)) for row in np.atleast_2d(rows)]
        if task == "classification":
            return {"labels": ranked[0]}
        tagged = zip(trace.tokens["word"].pieces, ranked, strict=True)
        return {"tags": [{"token": word, **labels[0], "labels": labels} for word, labels in tagged]}
    tokenizer = tokenizers_of(model.preprocessor)[0]
    pieces = tokenizer.pieces(range(tokenizer.size))
    if task == "language_model":
        return {"labels": _ranked(pieces, rows[-1], LISTED)}
    gaps = [place for place, piece in enumerate(trace.source) if piece == GAP]
    best = [_ranked(pieces, row, LISTED) for row in rows[: len(gaps)]]
    words = [[{"word": one["label"], "probability": one["probability"]} for one in row] for row in best]
    return {"fills": [{"position": place, "words": row} for place, row in zip(gaps, words, strict=True)]}


def _ranked(names: Sequence[str], chances: np.ndarray, most: int) -> list[dict[str, Any]]:
    """The likeliest of several things, first the likeliest."""
    order = np.argsort(-chances, kind="stable")[:most].tolist()
    return [{"label": names[place], "probability": float(chances[place])} for place in order]
