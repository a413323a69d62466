"""Beam search for translations that must contain given terms: those of a glossary, or markers that got lost.

Dynamic beam allocation (Post and Vilar, 2018): hypotheses compete only with those that lack as many tokens of their
terms, so that one that has begun a term is not pushed out by those that avoid it; and each is also continued with the
tokens that its terms need next, however unlikely. A term may have several forms, any of which will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, zip_longest
from typing import NamedTuple

import torch
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Generator
from mirada.data.batching import collate, similar
from mirada.data.language import UNSPACED
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import NEVER, DecodeConfig, Hypothesis
from mirada.engines import Engine
from mirada.engines.torch import TorchEngine
from mirada.precision import arithmetic

CELLS = 1024
"""Source tokens × hypotheses that are searched for together."""
MAX_ROWS = 24
"""The most hypotheses of a sentence that are followed at the same time."""
BEGIN, SPACED, ATTACHED, ANYWHERE = "begin", "spaced", "attached", "anywhere"
_OPENING = "([{<«‹“‘„‚¿¡"
_AMBIGUOUS = "\"'’-–—/"
"""Marks after which a word may stand with or without a space."""


class Form(NamedTuple):
    """The tokens of a term, and where in a sentence they spell it."""

    tokens: tuple[int, ...]
    place: str


class Speller:
    """Spells terms in the tokens of a target language."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self._pieces: dict[int, str] = {}

    def forms(self, term: str, capital: bool) -> list[Form]:
        """How a term is spelt: at the beginning of a sentence (with a capital letter, if wanted) and within."""
        first = term[:1].upper() + term[1:] if capital else term
        if UNSPACED.match(term):
            return self._checked([(self._after("的", term), ANYWHERE, term)])
        return self._checked(
            [
                (self.tokenizer.encode([first])[0], BEGIN, first),
                (self._after("a ", term), SPACED, term),
                (self._after("(", term), ATTACHED, term),
            ]
        )

    def _after(self, before: str, term: str) -> list[int]:
        """The tokens of a term that stands after something else."""
        head, whole = self.tokenizer.encode([before.strip(), before + term])
        return whole[len(head) :] if whole[: len(head)] == head else self.tokenizer.encode([term])[0]

    def _checked(self, spelt: list[tuple[list[int], str, str]]) -> list[Form]:
        """The forms that decode to the term; a vocabulary of words cannot spell every term."""
        texts = self.tokenizer.decode([ids for ids, _, _ in spelt])
        return [
            Form(tuple(ids), place)
            for (ids, place, term), text in zip(spelt, texts, strict=True)
            if ids and text.strip().casefold() == term.casefold()
        ]

    def piece(self, id: int) -> str:
        """A token as text."""
        if id not in self._pieces:
            self._pieces[id] = self.tokenizer.pieces([id])[0]
        return self._pieces[id]

    def continues(self, id: int) -> bool:
        """Whether a token continues the word before it."""
        if id == EOS or self.tokenizer.unit in ("words", "symbols"):
            return False
        piece = self.piece(id)
        return piece[:1].isalnum() and not UNSPACED.match(piece)

    def fits(self, place: str, previous: int | None) -> bool:
        """Whether a form for this place may follow a token; None is the beginning of the sentence."""
        if place == ANYWHERE or previous is None:
            return place in (ANYWHERE, BEGIN)
        last = self.piece(previous).rstrip()[-1:]
        if place == BEGIN:
            return False
        return last in _AMBIGUOUS or (last in _OPENING) == (place == ATTACHED) if last else place == SPACED


class _Met(NamedTuple):
    """Which terms a hypothesis has."""

    done: frozenset[int] = frozenset()
    begun: tuple[tuple[int, int, int], ...] = ()
    """Terms it may be in the middle of: term, form, and how many of its tokens are there."""
    closing: int = -1
    """The term that its last token completed, unless the next token makes it part of a longer word."""


class Constraints:
    """The terms that one translation must contain: for each, its forms."""

    def __init__(self, terms: Sequence[Sequence[Form]], speller: Speller):
        self.terms, self.speller = terms, speller
        self._shortest = [min(len(form.tokens) for form in forms) for forms in terms]
        self._lacking: dict[_Met, int] = {}
        self.tokens = sum(self._shortest)

    def ways(self, met: _Met, last: int | None) -> dict[int, _Met]:
        """The tokens that begin or continue a term after the last one, and what is met then."""
        begun = [(t, f, n) for t, f, n in met.begun if t not in met.done]
        open_ = [(t, f, 0) for t, forms in enumerate(self.terms) if t not in met.done for f, _ in enumerate(forms)]
        begun += [(t, f, 0) for t, f, _ in open_ if self.speller.fits(self.terms[t][f].place, last)]
        found: dict[int, list[tuple[int, int, int]]] = {}
        for t, f, n in begun:
            found.setdefault(self.terms[t][f].tokens[n], []).append((t, f, n + 1))
        return {token: self._after(met, token, steps) for token, steps in found.items()}

    def _after(self, met: _Met, token: int, steps: list[tuple[int, int, int]]) -> _Met:
        done = self.others(met, token).done
        ended = [(t, f) for t, f, n in steps if n == len(self.terms[t][f].tokens)]  # two, if a term is wanted twice
        whole = [t for t, _ in ended]
        begun = tuple((t, f, n) for t, f, n in steps if t not in whole and n < len(self.terms[t][f].tokens))
        if not ended:
            return _Met(done, begun)
        term, form = ended[0]
        return _Met(done | {term}, begun, -1 if self.terms[term][form].place == ANYWHERE else term)

    def others(self, met: _Met, token: int) -> _Met:
        """What is met after a token that belongs to no term."""
        lost = met.closing >= 0 and self.speller.continues(token)
        return _Met(met.done - {met.closing} if lost else met.done)

    def lacking(self, met: _Met) -> int:
        """The least number of tokens that are still missing."""
        if met not in self._lacking:
            left = {t: least for t, least in enumerate(self._shortest) if t not in met.done}
            for t, f, n in met.begun:
                left[t] = min(left[t], len(self.terms[t][f].tokens) - n)
            self._lacking[met] = sum(left.values())
        return self._lacking[met]


@dataclass
class _Open:
    """A hypothesis that has not ended."""

    row: int
    tokens: list[int]  # after the prefix
    score: float
    met: _Met
    ways: dict[int, _Met]
    """The tokens that begin or continue a term."""


@dataclass
class Request:
    """A request for a translation with given terms, and how far the search for it is."""

    source: Sequence[int]
    prefix: list[int]
    limit: int
    """The most tokens after the prefix, EOS included."""
    least: float
    """The lowest average log probability of a token: no hypothesis is followed that must end below it."""
    constraints: Constraints
    ended: list[Hypothesis] = field(default_factory=list)
    """The hypotheses that have all terms, best first."""
    open: list[_Open] = field(default_factory=list)

    def start(self, row: int) -> None:
        met = _Met()
        ways = self.constraints.ways(met, None)
        for token in self.prefix:
            met = ways.get(token) or self.constraints.others(met, token)
            ways = self.constraints.ways(met, token)
        self.open = [_Open(row, [], 0.0, met, ways)]


def search(engine: Engine, batch: Sequence[Request], config: DecodeConfig) -> None:
    """Find translations with all their terms, with the network of an engine.

    Sentences of similar length whose prefixes are equally long are searched together. An engine that has no network
    finds nothing.
    """
    own = engine if isinstance(engine, TorchEngine) else getattr(engine, "fallback", None)
    if not isinstance(own, TorchEngine):
        return
    with arithmetic(own.precision, own.device):
        for numbers in similar([len(one.source) for one in batch], max(1, CELLS // config.beam)):
            chosen = sorted((batch[number] for number in numbers), key=lambda one: len(one.prefix))
            for _, same in groupby(chosen, key=lambda one: len(one.prefix)):
                _search(own.network, own.device, list(same), config)
    for one in batch:
        one.ended.sort(key=lambda hypothesis: -hypothesis.score)


@torch.inference_mode()
def _search(network: Generator, device: torch.device, batch: list[Request], config: DecodeConfig) -> None:
    width = min(MAX_ROWS, config.beam + max(one.constraints.tokens for one in batch))
    step = network.start(collate([one.source for one in batch], [one.prefix for one in batch]).to(device))
    for place, one in enumerate(batch):
        one.start(place)
    for length in range(1, max(one.limit for one in batch) + 1):
        log_p = step.logits.float().log_softmax(-1)  # [R, V]
        log_p[:, [PAD, BOS]] = NEVER
        best = log_p.topk(min(width, log_p.shape[1]))
        likely = [dict(zip(*row, strict=True)) for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
        _add_wanted(likely, log_p, batch)
        for one in batch:
            _extend(one, likely, length, width, config)
        batch = [one for one in batch if one.open]
        if not batch:
            return
        # Equally many rows of each sentence, so that they share the keys and values of their source.
        rows = [one.open[min(rank, len(one.open) - 1)] for one in batch for rank in range(width)]
        chosen = torch.tensor([each.tokens[-1] for each in rows], device=device)
        state = step.state.select(torch.tensor([each.row for each in rows], device=device))
        for place, one in enumerate(batch):
            for rank, each in enumerate(one.open):
                each.row = place * width + rank
        step = network.step(chosen, state)


def _add_wanted(likely: list[dict[int, float]], log_p: Tensor, batch: list[Request]) -> None:
    """Add to the likely next tokens of each row those that its terms need, with their log probabilities."""
    wanted = [(each.row, token) for one in batch for each in one.open for token in each.ways]
    if wanted:
        rows, tokens = zip(*wanted, strict=True)
        for row, token, value in zip(rows, tokens, log_p[list(rows), list(tokens)].tolist(), strict=True):
            likely[row][token] = value


def _extend(one: Request, likely: list[dict[int, float]], length: int, width: int, config: DecodeConfig) -> None:
    """Replace the open hypotheses by their best continuations, taken in turn from groups that lack as much."""
    groups: dict[int, list[tuple[float, int, _Open, _Met]]] = {}
    for each in one.open:
        for token, value in likely[each.row].items():
            score = each.score + value
            if score < one.least * one.limit:
                continue
            met = each.ways.get(token) or one.constraints.others(each.met, token)
            lacking = one.constraints.lacking(met)
            if not (lacking and token == EOS):
                groups.setdefault(lacking, []).append((score, token, each, met))
    best = [iter(sorted(group, key=lambda each: -each[0])) for _, group in sorted(groups.items())]
    one.open = []
    # The first of every group, then the second …; one that ends takes the place of an open one.
    for score, token, parent, met in islice(filter(None, chain.from_iterable(zip_longest(*best))), width):
        if token == EOS:
            average = score / length**config.length_penalty
            one.ended.append(Hypothesis(one.prefix + parent.tokens, score, average, complete=True))
        else:
            ways = one.constraints.ways(met, token)
            one.open.append(_Open(parent.row, [*parent.tokens, token], score, met, ways))
    if length >= one.limit or _settled(one, length, config):
        one.open = []


def _settled(one: Request, length: int, config: DecodeConfig) -> bool:
    """Whether no open hypothesis has a better average so far than the best that have ended."""
    if len(one.ended) < config.beam:
        return False
    worst = sorted((hypothesis.score for hypothesis in one.ended), reverse=True)[config.beam - 1]
    return worst >= max((each.score / length**config.length_penalty for each in one.open), default=NEVER)
