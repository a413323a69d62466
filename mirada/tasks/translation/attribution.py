"""What each word of a translation rests on: attention beside leaving words out and gradient × input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from mirada.data.batching import collate_pairs
from mirada.errors import InputError
from mirada.inspection.alignment import Reading, overlap
from mirada.inspection.attribution import Attribution, Floats, check_methods, of_source
from mirada.inspection.words import Tokens
from mirada.parts import active_switches
from mirada.tasks.translation.alignment import Aligner, Side, Sides, by_word
from mirada.tasks.translation.looking import Chosen, source_tokens
from mirada.tasks.translation.pieces import Piece

LONGEST = 20_000
"""Target tokens × (source and target tokens) of a pair whose gradients are computed."""


def attribute(
    aligner: Aligner,
    piece: Piece,
    chosen: Chosen,
    methods: Sequence[str] = ("leave-out", "gradient"),
    reading: Reading | None = None,
) -> Attribution:
    """Measure how much each word of a translation rests on each word of its source, beside the attention."""
    names = check_methods(methods)
    sides = sides_of(aligner, piece, chosen)
    for name, side in (("text", sides.source), ("translation", sides.target)):
        if not side.words:
            raise InputError(f"the {name} {side.text!r:.80} has no words")
    reading = reading or Reading()
    ((_, weights),) = aligner.weights([sides], reading)
    attention, _ = weights.read(Reading(0, 0, reading.fed_in))
    measures = {
        name: np.asarray(aligner.leave_out([sides])[0], np.float64)
        if name == "leave-out"
        else gradients(aligner, sides)
        for name in names
    }
    return Attribution(
        *sides.texts,
        np.asarray(attention, np.float64),
        str(reading),
        measures,
        text=sides.source.text,
        output=sides.target.text,
        without=tuple(active_switches().names()),
    )


def sides_of(aligner: Aligner, piece: Piece, chosen: Chosen) -> Sides:
    """A sentence and a translation of it, with the tokens that they have in the model."""
    tags = len(piece.tag)
    tokens = source_tokens(aligner.model.source_tokenizer, piece)
    source = _side(Tokens(tokens.pieces[tags:-1], (), tokens.spans[tags:-1], tokens.text), piece.ids[tags:])
    read = piece.masked.text
    ends = [0]  # of each character of it in the text that has what the markers stand for
    for letter in read:
        ends.append(ends[-1] + len(piece.masked.restore(letter)))
    return Sides(replace(source, read=read, origin=list(pairwise(ends))), _side(chosen.tokens, chosen.tokens.ids))


def _side(tokens: Tokens, ids: Sequence[int]) -> Side:
    """The words are those that `attend` merges tokens to."""
    words = [span for span in tokens.merged().spans if span and tokens.text[slice(*span)].strip()]
    return Side(tokens.text, words, list(ids), [span or (0, 0) for span in tokens.spans], tokens.text, [])


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
