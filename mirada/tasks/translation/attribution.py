"""What each word of a translation rests on: attention beside leaving words out and gradient × input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mirada.data.batching import collate_pairs
from mirada.errors import InputError
from mirada.inspection.alignment import Reading, overlap
from mirada.inspection.attribution import Attribution, Floats, check_methods, of_source
from mirada.tasks.translation.alignment import Aligner, Pair, Sides, by_word

LONGEST = 20_000
"""Target tokens × (source and target tokens) of a pair whose gradients are computed."""


def attribute(
    aligner: Aligner, pair: Pair, methods: Sequence[str] = ("leave-out", "gradient"), reading: Reading | None = None
) -> Attribution:
    """The attention between the words of a pair, and other measures of what the target's words rest on."""
    names = check_methods(methods)
    sides = aligner.read(pair)
    if sides.problem:
        raise InputError(f"the pair cannot be read: {sides.problem}")
    reading = reading or Reading()
    ((_, weights),) = aligner.weights([sides], reading)
    attention, _ = weights.read(Reading(0, 0, reading.fed_in))
    measures = {
        name: np.asarray(aligner.leave_out([sides])[0], np.float64)
        if name == "leave-out"
        else gradients(aligner, sides)
        for name in names
    }
    return Attribution(*sides.texts, np.asarray(attention, np.float64), str(reading), measures)


def gradients(aligner: Aligner, sides: Sides) -> Floats:
    """Gradient × input between words [T', S']: the sum over the tokens of both."""
    source, target = sides.source, sides.target
    cells = len(target.ids) * (len(source.ids) + len(target.ids))
    if cells > LONGEST:
        raise InputError(
            f"the pair is too long for gradients ({len(source.ids)} and {len(target.ids)} tokens); take a shorter one, "
            "or leave-out"
        )
    batch = collate_pairs([[*aligner.tag, *source.ids]], [target.ids]).to(aligner.model.device)
    found = of_source(aligner.model.network, batch).cpu().double().numpy()  # [T+1, S+1]
    first = len(aligner.tag)
    tokens = found[: len(target.ids), first : first + len(source.ids)]
    columns = overlap(source.words, source.tokens)  # [S', S]
    shared = tokens @ (columns / np.maximum(columns.sum(0, keepdims=True), 1)).T  # [T, S']
    return np.asarray(by_word(shared.T, target).T, np.float64)
