"""Texts through tokenizer, model and decoding: cut into sentences, batched by length, in the order they came."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch

from mirada.contracts import Generator
from mirada.data.batching import collate, similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.language import UNSPACED
from mirada.data.sentences import sentences
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig, Hypothesis, decode
from mirada.errors import InputError
from mirada.metrics.translation import TranslationScores

CELLS = 4096
"""Source tokens × beam that are translated at the same time."""
LONGEST_TEXT = 1_000_000
"""Characters in a text, beyond which it is refused."""


@dataclass(frozen=True)
class Translation:
    """A translated text. `problem` says why there is none, if so: the text is then empty."""

    text: str
    score: float = 0.0
    """The average log probability of its tokens (with the length penalty of `decode`); summed over its sentences."""
    alternatives: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """The n best texts with their scores, this one first."""
    problem: str | None = None
    complete: bool = True
    """False when a sentence was cut at the length limit before the model ended it (`decode.max_ratio`)."""
    parts: int = 0
    """Of sentences that are longer than the model takes: the parts that they were translated in."""
    notes: tuple[str, ...] = ()
    """What there is to say of it: a sentence that was translated in parts, or cut at the length limit."""

    def __str__(self) -> str:
        return self.text


@dataclass
class _Piece:
    """A part of a text that the model can take, and where it belongs: a sentence, or a part of a long one."""

    text: int
    """The number of the text."""
    start: int
    end: int
    ids: list[int]
    prefix: list[int]
    best: list[tuple[str, float]] = field(default_factory=list)
    """Its n best translations with their scores."""
    complete: bool = True


@dataclass
class _Text:
    """A text on its way: the pieces to translate, or why there are none."""

    mark: str = ""
    """What stands before each of its sentences."""
    problem: str | None = None
    pieces: list[_Piece] = field(default_factory=list)
    parts: int = 0
    """Of sentences that had to be cut in parts."""
    notes: list[str] = field(default_factory=list)


class Translator:
    """Texts through tokenizer, model and decoding, batched by length, in the order they came."""

    def __init__(self, model: Generator, source: Tokenizer, target: Tokenizer, max_length: int, device: torch.device):
        self.model = model
        self.device = device
        self.source = source
        self.target = target
        self.max_length = max_length

    @property
    def longest(self) -> int:
        """Source tokens that the model takes at a time, beside EOS."""
        return self.max_length - 1

    def translate(
        self,
        texts: Sequence[str],
        config: DecodeConfig,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Translation]:
        """Each text's translation: its sentences (unless `config.split` is false), each by itself, with the white space
        around them.

        A blank text gives a blank one. A sentence that is longer than the model takes is cut at a comma or a space, and
        where it has none the text is refused (`Translation.problem`). `progress` is told how many texts are done.
        """
        work = self._cut(texts, self._forced(prefix), config.split)
        self._decode([piece for found in work for piece in found.pieces], config, progress)
        return [self._join(text, found) for text, found in zip(texts, work, strict=True)]

    def _forced(self, prefix: str) -> list[int]:
        """The ids of a prefix. White space at its end is not among them: the next word brings its own."""
        if not prefix.strip():
            return []
        ids = self.target.encode([prefix.rstrip()])[0]
        if len(ids) >= self.max_length:
            raise InputError(f"the prefix has {len(ids):,} tokens; the model takes {self.max_length - 1:,}; shorten it")
        return ids

    # ── cutting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _cut(self, texts: Sequence[str], prefix: list[int], split: bool) -> list[_Text]:
        """Every text in pieces; the prefix belongs to the first."""
        faults = map(_fault, texts)
        work = [_Text("" if fault else self._mark(text), fault) for text, fault in zip(texts, faults, strict=True)]
        spans = [
            (number, *span)
            for number, (text, found) in enumerate(zip(texts, work, strict=True))
            if not found.problem
            for span in (sentences(text) if split else _whole(text))
        ]
        encoded = self.source.encode([_said(texts[number], work[number], *span) for number, *span in spans])
        for (number, start, end), ids in zip(spans, encoded, strict=True):
            found = work[number]
            pieces = list(self._shortened(texts[number], found, _Piece(number, start, end, ids, [])))
            if len(pieces) > 1:
                found.parts += len(pieces)
                found.notes.append(
                    f"a sentence has {len(ids):,} tokens and the model takes {self.longest:,}: it was translated in "
                    f"{len(pieces)} parts"
                )
            if worst := max((len(piece.ids) for piece in pieces if len(piece.ids) > self.longest), default=0):
                found.problem = (
                    f"has a sentence with {worst:,} tokens and no place to cut it; the model takes at most "
                    f"{self.longest:,}"
                )
            found.pieces += [piece for piece in pieces if piece.ids]  # none if all of it is invisible
        for found in work:
            if found.problem:
                found.pieces, found.notes = [], []
            elif found.pieces:
                found.pieces[0].prefix = prefix
        return work

    def _mark(self, text: str) -> str:
        """Of a model for many languages: the mark at the beginning of a text that says which one is meant (>>fra<<)."""
        mark = _MARK.match(text) if self.source.unit == "pieces" else None
        ids = self.source.encode([mark[1]])[0] if mark else []
        return mark[1] if mark and len(ids) == 1 and ids[0] != self.source.unknown else ""

    def _shortened(self, text: str, found: _Text, piece: _Piece) -> Iterator[_Piece]:
        """A piece in parts that the model takes, or that cannot be cut any further."""
        waiting = [piece]
        while waiting:
            piece = waiting.pop()
            place = _middle(text[piece.start : piece.end]) if len(piece.ids) > self.longest else None
            if place is None:
                yield piece
                continue
            sides = [_stripped(text, piece.start, piece.start + place), _stripped(text, piece.start + place, piece.end)]
            encoded = self.source.encode([_said(text, found, *side) for side in sides])
            halves = [_Piece(piece.text, *side, ids, []) for side, ids in zip(sides, encoded, strict=True)]
            waiting += reversed(halves)

    # ── translating ───────────────────────────────────────────────────────────────────────────────────────────────

    def _decode(self, pieces: Sequence[_Piece], config: DecodeConfig, progress: Callable[[int], None]) -> None:
        """Give every piece its n best translations; those with a prefix are in batches of their own."""
        left = Counter(piece.text for piece in pieces)
        done = 0
        for group in ([p for p in pieces if p.prefix], [p for p in pieces if not p.prefix]):
            for numbers in similar([len(piece.ids) for piece in group], CELLS // config.width):
                chosen = [group[number] for number in numbers]
                self._decode_batch(chosen, config)
                left.subtract(piece.text for piece in chosen)
                done += sum(1 for number in {piece.text for piece in chosen} if not left[number])
                progress(done)

    def _decode_batch(self, pieces: Sequence[_Piece], config: DecodeConfig) -> None:
        batch = collate([piece.ids for piece in pieces], [piece.prefix for piece in pieces]).to(self.device)
        room = self.max_length - len(pieces[0].prefix)
        limits = [self._limit(config, piece.ids, room) for piece in pieces]
        for piece, hypotheses in zip(pieces, decode(self.model, batch, config, limits), strict=True):
            texts = self.target.decode([hypothesis.tokens for hypothesis in hypotheses])
            piece.best = [(text, hypothesis.score) for text, hypothesis in zip(texts, hypotheses, strict=True)]
            piece.complete = hypotheses[0].complete

    def look(self, text: str, config: DecodeConfig) -> tuple[list[int], Hypothesis]:
        """The source ids of one sentence and its best hypothesis, with the attention that chose it."""
        (found,) = self._cut([text], [], split=False)
        if len(found.pieces) != 1:
            fault = found.problem or (f"has more than {self.longest:,} tokens" if found.pieces else "is empty")
            raise InputError(f"attention is shown for one sentence at a time: the text {fault}")
        ids = found.pieces[0].ids
        limit = self._limit(config, ids, self.max_length)
        return ids, decode(self.model, collate([ids]).to(self.device), config, [limit], attention=True)[0][0]

    @staticmethod
    def _limit(config: DecodeConfig, source: Sequence[int], room: int) -> int:
        """The most tokens that the translation of a source may have."""
        return max(1, min(room, int(config.max_ratio * len(source)) + 20))

    # ── joining ───────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def _join(text: str, found: _Text) -> Translation:
        """The translations of a text's pieces with what stands around them in the text."""
        pieces = found.pieces
        if found.problem or not pieces:
            return Translation("", problem=found.problem)
        before, behind = text[: pieces[0].start], text[pieces[-1].end :]
        gaps = [text[one.end : other.start] for one, other in pairwise(pieces)]
        ranked = []
        for option in zip(*(piece.best for piece in pieces), strict=False):
            whole = option[0][0]
            for gap, (said, _) in zip(gaps, option[1:], strict=True):
                whole += joint(whole, gap, said) + said
            ranked.append((before + whole + behind, sum(score for _, score in option)))
        cut = sum(not piece.complete for piece in pieces)
        notes = list(found.notes)
        if cut:
            part = f", {cut} of its {len(pieces)} sentences" if len(pieces) > 1 else ""
            notes.append(f"the translation was cut at the length limit{part}; allow more with decode.max_ratio")
        return Translation(*ranked[0], tuple(ranked), complete=not cut, parts=found.parts, notes=tuple(notes))


def _fault(text: str) -> str | None:
    """Why a text cannot be translated, if that shows without looking closer."""
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; {LONGEST_TEXT:,} are translated at most: break it into lines"
    if has_invalid_bytes(text):
        return "has bytes that are not UTF-8 (lone surrogates); decode it with the encoding that it was written in"
    return None


_MARK = re.compile(r"\s*(>>[^<>\s]+<<)")


def _said(text: str, found: _Text, start: int, end: int) -> str:
    """A part of a text, behind the mark that the text has at its beginning."""
    part = text[start:end]
    return part if part.startswith(found.mark) else f"{found.mark} {part}"


def _whole(text: str) -> list[tuple[int, int]]:
    return [_stripped(text, 0, len(text))] if text.strip() else []


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a text without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def with_notes(scores: TranslationScores, found: Sequence[Translation]) -> TranslationScores:
    """Scores of translations, with what there is to say of these: how many were refused, cut, or made in parts."""
    refused = [(number, each.problem) for number, each in enumerate(found, 1) if each.problem]
    cut = [number for number, each in enumerate(found, 1) if not each.complete]
    notes = list(scores.notes)
    if refused:
        number, problem = refused[0]
        notes.append(f"refused, and scored as empty: {len(refused):,} (sentence {number} {problem}{_more(refused)})")
    if cut:
        notes.append(f"cut at the length limit: {len(cut):,} (sentence {cut[0]}{_more(cut)}); see decode.max_ratio")
    if parts := [number for number, each in enumerate(found, 1) if each.parts]:
        notes.append(
            f"translated in parts, longer than the model takes: {len(parts):,} (sentence {parts[0]}{_more(parts)})"
        )
    return replace(scores, notes=tuple(notes), refused=len(refused), cut=len(cut))


def _more(rows: Sequence[Any]) -> str:
    return ", …" if len(rows) > 1 else ""


# Where a sentence may be cut that is too long, the best places first.
_PLACES = [re.compile(pattern) for pattern in (r"[;；]\s*", r":\s+|：\s*", r",\s+|[，、]\s*", r"\s+")]


def _middle(sentence: str) -> int | None:
    """Where to cut a sentence in two: the best kind of place in its middle half, else anywhere; the nearest to it."""
    half, size = len(sentence) // 2, len(sentence)
    found = [[place.end() for place in places.finditer(sentence) if place.end() < size] for places in _PLACES]
    for reach in (size / 4, size):
        for places in found:
            nearest = min(places, key=lambda place: abs(place - half), default=None)
            if nearest is not None and abs(nearest - half) <= reach:
                return nearest
    return None


def joint(left: str, gap: str, right: str) -> str:
    """What stands between two translated sentences: the white space of the original, if the script has spaces there."""
    unspaced = bool(UNSPACED.match(left[-1:]))
    if gap == "":
        return "" if not left or not right or unspaced or UNSPACED.match(right) else " "
    return "" if gap == " " and unspaced and left[-1] in "。！？｡…）」』”" else gap
