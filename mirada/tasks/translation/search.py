"""Searches the translations of pieces with an engine, and once more where the first one has a fault."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mirada.data.batching import similar
from mirada.data.masking import MARKERS
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import NEVER, DecodeConfig, Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.tasks.translation import constrained
from mirada.tasks.translation.constrained import ANYWHERE, Constraints, Form, Request, Speller
from mirada.tasks.translation.flags import faults
from mirada.tasks.translation.markup import put_back
from mirada.tasks.translation.pieces import Piece

_WORD = re.compile(r"(?<!\S)[^\W\d_]{4,}(?![\w'’-])")
SCORED = 8192
"""Tokens of pairs that are scored at a time."""
LONGER = 1.3
"""How much longer than a translation that lacks markers one that has them may be, apart from the markers."""
NO_REPEAT = 3
"""Tokens in a row that a translation may not repeat, once it has looped."""


class Search:
    """Gives pieces their translations, with flags and confidence."""

    def __init__(self, engine: Engine, source: Tokenizer, target: Tokenizer, max_length: int):
        self.engine, self.source, self.target, self.max_length = engine, source, target, max_length

    def __call__(self, pieces: Sequence[Piece], config: DecodeConfig, progress: Callable[[int], None]) -> None:
        """Give every piece its n best translations, as the model makes them: `finish` puts back what was taken out.

        Those with a prefix are in batches of their own.
        """
        left = Counter(piece.text for piece in pieces)
        done = 0
        for piece in pieces:
            if piece.copied and not piece.prefix and piece.remembered is None:
                piece.best, piece.confidence = [(piece.source, 0.0)] * config.n_best, 1.0
                left[piece.text] -= 1
        for group in ([p for p in pieces if p.prefix], [p for p in pieces if not p.prefix and not p.best]):
            for chosen in self._batches(group, config):
                for piece, best in zip(chosen, self.generate(chosen, config), strict=True):
                    texts = self.target.decode([hypothesis.tokens for hypothesis in best])
                    piece.best = [(text, each.score) for text, each in zip(texts, best, strict=True)]
                    self._take(piece, best[0], _faults(piece, best[0], texts[0]))
                if config.recover and not config.sample:
                    self._recover([piece for piece in chosen if piece.flags], config)
                left.subtract(piece.text for piece in chosen)
                done += sum(1 for number in {piece.text for piece in chosen} if not left[number])
                progress(done)

    def finish(self, pieces: Sequence[Piece], config: DecodeConfig) -> None:
        """Give the translations of pieces their tags, spans and case, or what a memory has for them."""
        made = [piece for piece in pieces if piece.best and (piece.tokens or not piece.copied)]
        for chosen in self._batches(made, config):
            if config.words:
                self._measure_words([piece for piece in chosen if piece.tokens])
            self._place_tags([piece for piece in chosen if piece.tags.texts])
            for piece in chosen:
                piece.best = [(piece.finish(text), score) for text, score in piece.best]
        for piece in pieces:
            if (known := piece.remembered) is not None:
                others = [each for each in piece.best if each[0] != known]
                piece.best, piece.complete = [(known, 0.0), *others][: config.n_best], True
                piece.flags, piece.confidence, piece.words = set(), 1.0, []

    def generate(self, pieces: Sequence[Piece], config: DecodeConfig, **settings: Any) -> list[list[Hypothesis]]:
        """The n best hypotheses of each piece; `settings` are others of the engine."""
        sources, prefixes = [piece.ids for piece in pieces], [piece.prefix for piece in pieces]
        settings["limits"] = self._limits(pieces, config)
        return self.engine.generate(sources, prefixes, GenerationSettings(config, **settings))

    def _limits(self, pieces: Sequence[Piece], config: DecodeConfig) -> list[int]:
        """The most tokens that may follow the prefix of each piece, EOS included."""
        most = [int(config.max_ratio * len(piece.ids)) + 20 for piece in pieces]
        room = [self.max_length - len(piece.prefix) for piece in pieces]
        return [max(1, min(pair)) for pair in zip(most, room, strict=True)]

    def _batches(self, pieces: Sequence[Piece], config: DecodeConfig) -> Iterator[list[Piece]]:
        """Pieces of similar length, as many at a time as suit the engine."""
        for numbers in similar([len(piece.ids) for piece in pieces], self.engine.cells // config.width):
            yield [pieces[number] for number in numbers]

    @staticmethod
    def _take(piece: Piece, hypothesis: Hypothesis, flags: set[str]) -> None:
        """Make a hypothesis the translation of a piece."""
        piece.tokens, piece.complete, piece.flags = hypothesis.tokens, hypothesis.complete, flags
        length = len(hypothesis.tokens) - len(piece.prefix) + 1
        piece.confidence = math.exp(hypothesis.log_probability / max(1, length))

    # ── once more ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _recover(self, pieces: Sequence[Piece], config: DecodeConfig) -> None:
        """Search again for pieces whose translation has a fault, among all hypotheses of the beam.

        What loops may not repeat three tokens; where a marker got lost, all must be there.
        """
        config = config.model_copy(update={"n_best": config.beam})
        again = [piece for piece in pieces if piece.flags & {"repetition", "cut", "short"}]
        self._retry(again, config, no_repeat_ngram=NO_REPEAT)
        lost = [piece for piece in pieces if "lost" in piece.flags]
        self._force([piece for piece in lost if piece.masked.spans], config)
        self._retry([piece for piece in lost if not piece.masked.spans], config)

    def _retry(self, pieces: Sequence[Piece], config: DecodeConfig, **settings: Any) -> None:
        """Search again with other settings."""
        for chosen in self._batches(pieces, config):
            for piece, best in zip(chosen, self.generate(chosen, config, **settings), strict=True):
                self._improve(piece, best)

    def _force(self, pieces: Sequence[Piece], config: DecodeConfig) -> None:
        """Search for translations that have the markers of their sources, however unlikely these are.

        They are hardly longer than those that lack them.
        """
        speller, sought = Speller(self.target), []
        for piece, most in zip(pieces, self._limits(pieces, config), strict=True):
            markers = self._markers[: len(piece.masked.spans)]
            limit = min(most, int(LONGER * len(piece.tokens)) + 2 * len(markers) + 5)
            sought.append(Request(piece.ids, piece.prefix, limit, NEVER, Constraints(markers, speller)))
        constrained.search(self.engine, sought, config)
        for piece, one in zip(pieces, sought, strict=True):
            self._improve(piece, one.ended)

    @cached_property
    def _markers(self) -> list[list[Form]]:
        """How each marker is spelt, with and without a space before it."""
        return [[Form((id,), ANYWHERE) for id in self.target.units(marker)] for marker in MARKERS]

    def _improve(self, piece: Piece, best: Sequence[Hypothesis]) -> None:
        """Give a piece the first hypothesis that has fewer faults than its translation.

        One that repeats words is better than one that lacks a span.
        """
        texts = self.target.decode([hypothesis.tokens for hypothesis in best])
        for text, hypothesis in zip(texts, best, strict=True):
            left = _faults(piece, hypothesis, text)
            if left < piece.flags or (left == {"repetition"} and "lost" in piece.flags):
                piece.best = [(text, hypothesis.score), *piece.best[1:]]
                self._take(piece, hypothesis, left)

    # ── tags ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _place_tags(self, pieces: Sequence[Piece]) -> None:
        """Put the tags of pieces where the words of their translations look at those that they enclose."""
        wanted = [(piece, place, text) for piece in pieces for place, (text, _) in enumerate(piece.best)]
        sources = [self.source.tokens(piece.masked.text) for piece, _, _ in wanted]
        targets = [self.target.tokens(text) for _, _, text in wanted]
        ids = [[token.id for token in tokens] for tokens in targets]
        read = [
            [*piece.tag, *(token.id for token in tokens)] for (piece, _, _), tokens in zip(wanted, sources, strict=True)
        ]
        looked = self.engine.attention(read, ids) if wanted else []
        for row, ((piece, place, text), source, target) in enumerate(zip(wanted, sources, targets, strict=True)):
            here, there = ([(token.start, token.end) for token in tokens] for tokens in (source, target))
            first = len(piece.tag)
            alike = np.ones((len(there), len(here)), np.float32)  # a model without attention says nothing
            weights = alike if looked is None else looked[row][: len(there), first : first + len(here)]
            placed = put_back(piece.tags, piece.masked.text, here, text, there, weights)
            piece.best[place] = placed, piece.best[place][1]

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _measure_words(self, pieces: Sequence[Piece]) -> None:
        """Give pieces the probability of each word of their translation: that of all its tokens."""
        for piece, ids in zip(pieces, self.target.encode([piece.best[0][0] for piece in pieces]), strict=True):
            if self.target.decode([piece.tokens]) != [piece.best[0][0]]:  # a glossary has changed it
                piece.tokens = ids
        scores = self._scores([(piece.ids, piece.tokens) for piece in pieces])
        self._find_uncovered(pieces, [sum(found) for found in scores])
        for piece, found in zip(pieces, scores, strict=True):
            words: list[tuple[str, float]] = []
            for text, log_p in zip(self.target.pieces(piece.tokens), found, strict=False):
                if words and self.target.unit == "subwords" and not text.startswith(" "):
                    words[-1] = words[-1][0] + text, words[-1][1] + log_p
                else:
                    words.append((text.strip(), log_p))
            piece.words = [
                (piece.finish(word, first=not place), math.exp(log_p)) for place, (word, log_p) in enumerate(words)
            ]

    def _find_uncovered(self, pieces: Sequence[Piece], whole: Sequence[float]) -> None:
        """Find words of the source without which a translation would be as likely as it is: it may lack them."""
        shorter = [(number, *one) for number, piece in enumerate(pieces) for one in _without_a_word(piece.masked.text)]
        ids = self.source.encode([text for _, _, text in shorter])
        tagged = [([*pieces[number].tag, *ids[row]], pieces[number].tokens) for row, (number, *_) in enumerate(shorter)]
        scores = self._scores(tagged)
        for (number, word, _), found in zip(shorter, scores, strict=True):
            if sum(found) >= whole[number]:
                pieces[number].uncovered.append(word)
                pieces[number].flags.add("uncovered")

    def _scores(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[list[float]]:
        """The log probability of each token of targets, given their sources."""
        found: list[list[float]] = [[] for _ in pairs]
        for numbers in similar([len(source) + len(target) for source, target in pairs], SCORED):
            sources, targets = zip(*(pairs[number] for number in numbers), strict=True)
            for number, scores in zip(numbers, self.engine.score(sources, targets), strict=True):
                found[number] = scores
        return found


def _without_a_word(text: str) -> Iterator[tuple[str, str]]:
    """Each word of a text that is long enough to mean something by itself, and the text without it."""
    for word in _WORD.finditer(text):
        yield word[0], " ".join(f"{text[: word.start()]}{text[word.end() :]}".split())


def _faults(piece: Piece, hypothesis: Hypothesis, text: str) -> set[str]:
    found = faults(piece.plain, piece.masked, piece.ids, text, hypothesis.tokens)
    return found if hypothesis.complete else found | {"cut"}
