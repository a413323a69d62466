"""Texts through tokenizer, model and decoding: cut where too long, batched by length, in the order they came."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from mirada.contracts import Generator
from mirada.data.batching import collate, similar
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig, Hypothesis, decode
from mirada.errors import InputError

CELLS = 4096
"""Source tokens × beam that are translated at the same time."""

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\"'»”’)\]]*\s+")


@dataclass(frozen=True)
class Translation:
    """A translated text. `problem` says why there is none, if so: the text is then empty."""

    text: str
    score: float = 0.0
    """The average log probability of its tokens (with the length penalty of `decode`); summed over split sentences."""
    alternatives: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """The n best texts with their scores, this one first."""
    problem: str | None = None

    def __str__(self) -> str:
        return self.text


Options = list[tuple[str, float]]
"""Texts with their scores, best first."""


@dataclass
class _Piece:
    """A part of a text that the model can take: a sentence, if it had to be split, and where it belongs."""

    text: int
    ids: list[int]
    prefix: list[int]


class Translator:
    """Texts through tokenizer, model and decoding, batched by length, in the order they came."""

    def __init__(self, model: Generator, source: Tokenizer, target: Tokenizer, max_length: int, device: torch.device):
        self.model = model
        self.device = device
        self.source = source
        self.target = target
        self.max_length = max_length

    def translate(
        self,
        texts: Sequence[str],
        config: DecodeConfig,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Translation]:
        """Each text's translation. A blank text gives a blank one; one that is too long is split into its sentences,
        and refused (`Translation.problem`) when a sentence still is."""
        forced = self.target.encode([prefix])[0] if prefix else []
        pieces, problems = self._cut(texts, forced)
        options = self._decode(pieces, config, progress)
        found: dict[int, list[Options]] = {}
        for piece, option in zip(pieces, options, strict=True):
            found.setdefault(piece.text, []).append(option)
        return [self._join(found.get(number, []), problems.get(number)) for number in range(len(texts))]

    def _cut(self, texts: Sequence[str], prefix: list[int]) -> tuple[list[_Piece], dict[int, str]]:
        """The pieces to translate, and why a text cannot be."""
        longest = self.max_length - 1  # EOS
        pieces: list[_Piece] = []
        problems: dict[int, str] = {}
        for number, (text, ids) in enumerate(zip(texts, self.source.encode(texts), strict=True)):
            if not text.strip():
                continue
            if len(ids) <= longest:
                pieces.append(_Piece(number, ids, prefix))
                continue
            if prefix:
                problems[number] = f"has {len(ids)} tokens; the model takes {longest}, and a prefix cannot be split"
                continue
            sentences = self.source.encode([part for part in _SENTENCE_END.split(text) if part.strip()])
            if worst := max((len(part) for part in sentences if len(part) > longest), default=0):
                problems[number] = f"has a sentence of {worst} tokens; the model takes at most {longest}"
                continue
            pieces += [_Piece(number, part, prefix) for part in sentences]
        return pieces, problems

    def _decode(self, pieces: Sequence[_Piece], config: DecodeConfig, progress: Callable[[int], None]) -> list[Options]:
        """Every piece's n best texts."""
        options: dict[int, Options] = {}
        for numbers in similar([len(piece.ids) for piece in pieces], CELLS // config.width):
            chosen = [pieces[number] for number in numbers]
            batch = collate([piece.ids for piece in chosen], [piece.prefix for piece in chosen]).to(self.device)
            room = self.max_length - len(chosen[0].prefix)
            limits = [self._limit(config, piece.ids, room) for piece in chosen]
            best = decode(self.model, batch, config, limits)
            for number, hypotheses in zip(numbers, best, strict=True):
                options[number] = self._texts(hypotheses)
            progress(len(options))
        return [options[number] for number in range(len(pieces))]

    def look(self, text: str, config: DecodeConfig) -> tuple[list[int], Hypothesis]:
        """The source ids of one sentence and its best hypothesis, with the attention that chose it."""
        pieces, problems = self._cut([text], [])
        if len(pieces) != 1:
            raise InputError(
                f"attention is shown for one sentence at a time: the text {problems.get(0, 'is empty or has several')}"
            )
        ids = pieces[0].ids
        limit = self._limit(config, ids, self.max_length)
        return ids, decode(self.model, collate([ids]).to(self.device), config, [limit], attention=True)[0][0]

    @staticmethod
    def _limit(config: DecodeConfig, source: Sequence[int], room: int) -> int:
        """The most tokens that the translation of a source may have."""
        return max(1, min(room, int(config.max_ratio * len(source)) + 20))

    def _texts(self, hypotheses: Sequence[Hypothesis]) -> Options:
        texts = self.target.decode([hypothesis.tokens for hypothesis in hypotheses])
        return [(text, hypothesis.score) for text, hypothesis in zip(texts, hypotheses, strict=True)]

    @staticmethod
    def _join(parts: list[Options], problem: str | None) -> Translation:
        if problem or not parts:
            return Translation("", problem=problem)
        ranked = [
            (" ".join(text for text, _ in option), sum(score for _, score in option))
            for option in zip(*parts, strict=False)
        ]
        return Translation(*ranked[0], alternatives=tuple(ranked))
