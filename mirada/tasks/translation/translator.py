"""Translates texts with an engine: split into sentences, batched by length, joined again in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from mirada.data.batching import similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.language import UNSPACED
from mirada.data.sentences import sentences
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import SYNTHETIC
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.errors import InputError
from mirada.metrics.translation import TranslationScores
from mirada.tasks.model import GeneratedText

LONGEST_TEXT = 1_000_000
"""Characters in a text, beyond which it is refused."""


@dataclass(frozen=True)
class Translation(GeneratedText):
    """A translated text, its score summed over its sentences; empty if there is a `problem`."""

    key = "translation"
    parts: int = 0
    """How many parts its overlong sentences were translated in."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Translation:
        """A translation from what `as_dict` made of it."""
        return cls(
            values["translation"],
            values["score"],
            tuple((other["text"], other["score"]) for other in values["alternatives"]),
            values["complete"],
            notes=tuple(values.get("notes", ())),
            problem=values.get("problem"),
        )


@dataclass
class _Piece:
    """A part of a text that the model can take: a sentence, or a part of a long one."""

    text: int
    """Which of the texts it belongs to."""
    start: int
    end: int
    ids: list[int]
    prefix: list[int]
    best: list[tuple[str, float]] = field(default_factory=list)
    """Its n best translations with their scores."""
    complete: bool = True


@dataclass
class _Text:
    """A text being translated: its pieces, or why there are none."""

    mark: str = ""
    """The language mark (>>fra<<) in front of each of its sentences."""
    problem: str | None = None
    pieces: list[_Piece] = field(default_factory=list)
    parts: int = 0
    """How many parts its overlong sentences were split into."""
    notes: list[str] = field(default_factory=list)


class Translator:
    """Translates texts with an engine and the tokenizers of its languages."""

    def __init__(self, engine: Engine, source: Tokenizer, target: Tokenizer, max_length: int):
        self.engine, self.source, self.target, self.max_length = engine, source, target, max_length
        self.longest = max_length - 1 - any(tag != SYNTHETIC for tag in source.tags)
        """The most source tokens that the model takes, without EOS and the tag of a direction."""

    def translate(
        self,
        texts: Sequence[str],
        config: DecodeConfig,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
        tag: Sequence[int] = (),
    ) -> list[Translation]:
        """Translate texts sentence by sentence (unless `config.split` is false), keeping the white space between them.

        A blank text gives a blank one. A sentence that is too long for the model is split at a comma or a space; where
        it has none the text is refused (`Translation.problem`). `progress` gets the number of texts that are done, and
        the ids of `tag` stand before every source.
        """
        work = self._cut(texts, self._forced(prefix), config.split, tag)
        self._decode([piece for found in work for piece in found.pieces], config, progress)
        return [self._join(text, found) for text, found in zip(texts, work, strict=True)]

    def _forced(self, prefix: str) -> list[int]:
        """The ids of a prefix, without white space at its end: the next word brings its own."""
        if not prefix.strip():
            return []
        ids = self.target.encode([prefix.rstrip()])[0]
        if len(ids) >= self.max_length:
            raise InputError(f"the prefix has {len(ids):,} tokens; the model takes {self.max_length - 1:,}; shorten it")
        return ids

    # ── cutting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _cut(self, texts: Sequence[str], prefix: list[int], split: bool, tag: Sequence[int] = ()) -> list[_Text]:
        """Split every text into pieces; the prefix belongs to the first, and the tag to all."""
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
            for piece in pieces if not found.mark else ():
                piece.ids[:0] = tag
        for found in work:
            if found.problem:
                found.pieces, found.notes = [], []
            elif found.pieces:
                found.pieces[0].prefix = prefix
        return work

    def _mark(self, text: str) -> str:
        """The mark at the beginning of a text that tells a multilingual model its target language (>>fra<<)."""
        mark = _MARK.match(text) if self.source.unit == "pieces" else None
        ids = self.source.encode([mark[1]])[0] if mark else []
        return mark[1] if mark and len(ids) == 1 and ids[0] != self.source.unknown else ""

    def _shortened(self, text: str, found: _Text, piece: _Piece) -> Iterator[_Piece]:
        """Split a piece into parts that the model takes, or that cannot be split any further."""
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
            for numbers in similar([len(piece.ids) for piece in group], self.engine.cells // config.width):
                chosen = [group[number] for number in numbers]
                for piece, best in zip(chosen, self._generate(chosen, config), strict=True):
                    texts = self.target.decode([hypothesis.tokens for hypothesis in best])
                    piece.best = [(text, hypothesis.score) for text, hypothesis in zip(texts, best, strict=True)]
                    piece.complete = best[0].complete
                left.subtract(piece.text for piece in chosen)
                done += sum(1 for number in {piece.text for piece in chosen} if not left[number])
                progress(done)

    def _generate(
        self, pieces: Sequence[_Piece], config: DecodeConfig, attention: bool = False
    ) -> list[list[Hypothesis]]:
        most = [int(config.max_ratio * len(piece.ids)) + 20 for piece in pieces]  # tokens, EOS included
        room = [self.max_length - len(piece.prefix) for piece in pieces]
        limits = [max(1, min(pair)) for pair in zip(most, room, strict=True)]
        settings = GenerationSettings(config, limits, attention=attention)
        return self.engine.generate([piece.ids for piece in pieces], [piece.prefix for piece in pieces], settings)

    def attend(self, text: str, config: DecodeConfig, tag: Sequence[int] = ()) -> tuple[list[int], Hypothesis]:
        """The source ids of one sentence and its best hypothesis, with the attention weights that chose it."""
        (found,) = self._cut([text], [], split=False, tag=tag)
        if len(found.pieces) != 1:
            fault = found.problem or (f"has more than {self.longest:,} tokens" if found.pieces else "is empty")
            raise InputError(f"attention is shown for one sentence at a time: the text {fault}")
        return found.pieces[0].ids, self._generate(found.pieces, config, attention=True)[0][0]

    # ── joining ───────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def _join(text: str, found: _Text) -> Translation:
        """Join the translations of a text's pieces with the white space between them."""
        pieces = found.pieces
        if found.problem or not pieces:
            return Translation("", problem=found.problem)
        before, after = text[: pieces[0].start], text[pieces[-1].end :]
        gaps = [text[one.end : other.start] for one, other in pairwise(pieces)]
        options = []
        for option in zip(*(piece.best for piece in pieces), strict=False):
            whole = option[0][0]
            for gap, (said, _) in zip(gaps, option[1:], strict=True):
                whole += joint(whole, gap, said) + said
            options.append((before + whole + after, sum(score for _, score in option)))
        cut = sum(not piece.complete for piece in pieces)
        notes = list(found.notes)
        if cut:
            part = f", {cut} of its {len(pieces)} sentences" if len(pieces) > 1 else ""
            notes.append(f"the translation was cut at the length limit{part}; allow more with decode.max_ratio")
        return Translation(*options[0], tuple(options), not cut, found.parts, notes=tuple(notes))


def _fault(text: str) -> str | None:
    """Why a text cannot be translated, if that shows before it is tokenized."""
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; {LONGEST_TEXT:,} are translated at most: break it into lines"
    if has_invalid_bytes(text):
        return "has bytes that are not UTF-8 (lone surrogates); decode it with the encoding that it was written in"
    return None


_MARK = re.compile(r"\s*(>>[^<>\s]+<<)")


def _said(text: str, found: _Text, start: int, end: int) -> str:
    """A part of a text, preceded by the text's language mark."""
    part = text[start:end]
    return part if part.startswith(found.mark) else f"{found.mark} {part}"


def _whole(text: str) -> list[tuple[int, int]]:
    return [_stripped(text, 0, len(text))] if text.strip() else []


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a text without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def with_notes(scores: TranslationScores, found: Sequence[Translation]) -> TranslationScores:
    """Scores with notes on how many of the translations were refused, cut off, or made in parts."""
    refused = [number for number, each in enumerate(found, 1) if each.problem]
    cut = [number for number, each in enumerate(found, 1) if not each.complete]
    parts = [number for number, each in enumerate(found, 1) if each.parts]

    def note(what: str, numbers: list[int], more: str = "") -> list[str]:
        first = f"sentence {numbers[0]}{more}{', …' * (len(numbers) > 1)}" if numbers else ""
        return [f"{what}: {len(numbers):,} ({first})"] if numbers else []

    problem = f" {found[refused[0] - 1].problem}" if refused else ""
    notes = (
        *note("refused, and scored as empty", refused, problem),
        *note("cut at the length limit (decode.max_ratio)", cut),
        *note("translated in parts, longer than the model takes", parts),
    )
    return replace(scores, notes=(*scores.notes, *notes), refused=len(refused), cut=len(cut))


# Where an overlong sentence may be split, the best places first.
_PLACES = [re.compile(pattern) for pattern in (r"[;；]\s*", r":\s+|：\s*", r",\s+|[，、]\s*", r"\s+")]


def _middle(sentence: str) -> int | None:
    """Where to split a sentence in two: the best kind of place, in its middle half if possible."""
    half, size = len(sentence) // 2, len(sentence)
    found = [[place.end() for place in places.finditer(sentence) if place.end() < size] for places in _PLACES]
    for reach in (size / 4, size):
        for places in found:
            nearest = min(places, key=lambda place: abs(place - half), default=None)
            if nearest is not None and abs(nearest - half) <= reach:
                return nearest
    return None


def joint(left: str, gap: str, right: str) -> str:
    """The white space between two translated sentences: the original's, if the script has spaces there."""
    unspaced = bool(UNSPACED.match(left[-1:]))
    if gap == "":
        return "" if not left or not right or unspaced or UNSPACED.match(right) else " "
    return "" if gap == " " and unspaced and left[-1] in "。！？｡…）」』”" else gap
