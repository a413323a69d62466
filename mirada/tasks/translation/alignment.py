"""Aligns the words of sentence pairs by a translator's attention, and finds the layer and head that align best.

With a gold alignment the best reading is that of the lowest AER on a sample. Without one it is that whose links agree
most with another view of the same model: leave a word of the source out, and see which words of the target become less
likely (Li et al. 2019, "On the Word Alignment from Neural Machine Translation": prediction difference). The best of
many on a small sample is mostly luck: of those that it cannot tell apart, the one that averages most heads is taken
(`steadiest`). What was compared is in docs/alignment.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from mirada.contracts import GenerativeNetwork
from mirada.data.batching import collate_pairs, similar
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.masking import Span as Masking
from mirada.data.masking import shared_spans
from mirada.data.tokenizer import Tokenizer
from mirada.engines.torch import TorchEngine
from mirada.errors import InputError, UsageError
from mirada.inspection.alignment import (
    Alignment,
    Breaks,
    Linking,
    Reading,
    Span,
    Weights,
    WordWeights,
    between_words,
    link,
    needed,
    overlap,
    readings,
    word_spans,
)
from mirada.metrics.alignment import AlignmentCounts, Gold
from mirada.parts import ALL_ON, active_switches, recording, switched
from mirada.tasks.translation.ranking import Ranked, Ranking, steadiest

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel

CHUNK = 512
"""Pairs that are read before they are put into batches of similar length."""
CELLS = 2048
"""Tokens of a batch, the longest source and target of it together."""
KEPT = 2**24
"""Attention weights of a batch, of all layers and heads, that are kept at a time."""
SAMPLE = 200
"""Pairs that readings are compared on by AER."""
REMOVALS = 60
"""Pairs that they are compared on without a gold alignment, each once for every word of its source."""
LONGEST_SAMPLED = 60
"""Words on either side of such a pair."""

Pair = tuple[str, str]
METHODS = ("attention", "leave-out")
MEAN = "mean"
Place = int | str | None
"""A layer or a head, counted from 0; `mean` for the mean of all; None for whichever aligns best."""
ROWS = ("chosen", "fed-in")


@dataclass(frozen=True)
class Side:
    """One side of a pair as the model reads it."""

    text: str
    words: list[Span]
    ids: list[int]
    tokens: list[Span]
    """The characters of `text` that each token stands for."""
    read: str
    """The text with markers for what both sides have."""
    origin: list[Span]
    """The characters of `text` that each character of `read` stands for."""

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer, breaks: Breaks, masked: Sequence[tuple[Masking, str]]) -> Side:
        read, origin, end = "", list[Span](), 0
        for span, marker in [*masked, (Masking(len(text), len(text), ""), "")]:
            read += text[end : span.start] + marker
            origin += [(place, place + 1) for place in range(end, span.start)] + [span[:2]] * len(marker)
            end = span.end
        found = tokenizer.tokens(read)
        tokens = [
            (origin[token.start][0], origin[token.end - 1][1]) if token.end > token.start else (0, 0) for token in found
        ]
        return cls(text, word_spans(text, breaks), [token.id for token in found], tokens, read, origin)

    def without(self, word: int) -> str:
        """The text as the model reads it, without one of its words."""
        first, last = self.words[word]
        kept = (
            letter for letter, (start, end) in zip(self.read, self.origin, strict=True) if end <= first or last <= start
        )
        return " ".join("".join(kept).split())


NOTHING = Side("", [], [], [], "", [])


@dataclass(frozen=True)
class Sides:
    """A pair as the model reads it, or why it cannot."""

    source: Side
    target: Side
    problem: str | None = None

    @classmethod
    def unread(cls, problem: str) -> Sides:
        """A pair that cannot be aligned."""
        return cls(NOTHING, NOTHING, problem)

    @property
    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of both."""
        sides = self.source, self.target
        one, other = (tuple(side.text[slice(*word)].strip() for word in side.words) for side in sides)
        return one, other


class Aligner:
    """Aligns pairs with one translator."""

    def __init__(self, model: TranslationModel, breaks: Breaks = "spaces", to: str | None = None):
        """`to` is the language of the target, for a model of two directions; by default that of its training data."""
        if not isinstance(model.network, GenerativeNetwork):
            raise UsageError(f"{model.path}: each member of an ensemble has its own attention; use one of them")
        if breaks not in ("spaces", "punctuation"):
            raise UsageError(f"--word-breaks {breaks!s:.40}: there are spaces, punctuation")
        self.model, self.breaks = model, breaks
        codes = model.directions.codes
        self.tag = model.directions.tag(model.directions.find(to) or (codes[0] if codes else None))
        self.engine = TorchEngine(model.network, model.device)
        self.layers, self.heads = self._shape()

    # ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, pair: Pair) -> Sides:
        """A pair as the model reads it."""
        if has_invalid_bytes(*pair):
            return Sides.unread("has bytes that are not UTF-8")
        shared = shared_spans(*pair) if self.model.preprocessor.masks else ([], [])
        tokenizers = self.model.source_tokenizer, self.model.target_tokenizer
        try:
            source, target = (
                Side.of(text, tokenizer, self.breaks, masked)
                for text, tokenizer, masked in zip(pair, tokenizers, shared, strict=True)
            )
        except InputError as error:
            return Sides.unread(str(error))
        limits = self.model.translator.longest, self.model.translator.max_length - 1
        for name, side, limit in zip(("source", "target"), (source, target), limits, strict=True):
            if not side.words or not side.ids:
                return Sides.unread(f"its {name} has no words")
            if len(side.ids) > limit:
                return Sides.unread(f"its {name} has {len(side.ids):,} tokens, and the model takes {limit:,}")
        return Sides(source, target)

    def weights(self, pairs: Sequence[Sides], reading: Reading | None = None) -> Iterator[tuple[int, WordWeights]]:
        """The numbers of pairs with their weights between words, in an order that suits computing.

        With a `reading` they have one layer and one head, averaged if it says so.
        """
        known = [(number, each.source, each.target) for number, each in enumerate(pairs) if not each.problem]
        lengths = [len(source.ids) + len(target.ids) + 2 for _, source, target in known]
        longest = max(lengths, default=1)
        room = KEPT // (1 if reading else self.layers * self.heads)
        for group in similar(lengths, max(1, min(CELLS, room // longest))):
            some = [known[place] for place in group]
            sources = [[*self.tag, *source.ids] for _, source, _ in some]
            found = self._attention(sources, [target.ids for _, _, target in some], reading)
            for (number, source, target), weights in zip(some, found, strict=True):
                first = len(self.tag)
                yield number, between_words(weights, first, source.tokens, target.tokens, source.words, target.words)

    @torch.inference_mode()
    def _attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], reading: Reading | None
    ) -> list[Weights]:
        """[L, H, T+1, S+1] of each pair."""
        batch = collate_pairs(sources, targets).to(self.model.device)
        layer = "*" if reading is None or reading.layer is None else reading.layer
        with recording(f"decoder.{layer}.cross.weights", "attention.weights") as recorder:
            self.model.network.hidden(batch)
        if not (found := recorder.tensors):
            off = ", ".join(active_switches().names())
            raise UsageError(
                f"without {off}: the attention to align words by is switched off; read that of another layer"
            )
        if reading is None and len(found) < self.layers:  # a layer that is switched off attends to nothing
            nothing = torch.zeros_like(next(iter(found.values())))
            paths = (f"decoder.{layer}.cross.weights" for layer in range(self.layers))
            found = {path: found.get(path, nothing) for path in paths}
        weights = torch.stack(list(found.values()), 1).float()  # [B, L, H, T, S]
        if reading is not None:
            weights = weights.mean(1, keepdim=True)
            weights = weights.mean(2, keepdim=True) if reading.head is None else weights[:, :, [reading.head]]
        arrays = weights.cpu().numpy()
        sizes = zip(targets, sources, strict=True)
        return [arrays[row, :, :, : len(t) + 1, : len(s) + 1] for row, (t, s) in enumerate(sizes)]

    def _shape(self) -> tuple[int, int]:
        """How many layers attend to the source, and with how many heads, also where some are switched off."""
        network, paths = self.model.network, ("decoder.*.cross.weights", "attention.weights")
        with torch.inference_mode(), switched(network, ALL_ON), recording(*paths) as recorder:
            network.hidden(collate_pairs([[3]], [[3]]).to(self.model.device))
        if not recorder.tensors:
            raise UsageError(
                f"{self.model.path}: {self.model.card['model']} has no attention to align words by; train one that has "
                "(--model transformer, or --set model.attention=additive)"
            )
        return len(recorder.tensors), next(iter(recorder.tensors.values())).shape[1]

    # ── aligning ──────────────────────────────────────────────────────────────────────────────────────────────────

    def align(
        self,
        pairs: Iterable[Pair | None],
        reading: Reading | None,
        how: Linking = "grow",
        threshold: float | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Iterator[Alignment]:
        """The alignment of each pair, in order; a pair that is None, or cannot be read, gives an empty one.

        Without a reading, words are left out instead: slower, and better.
        """
        done = 0
        for chunk in batched(pairs, CHUNK):
            sides = [Sides.unread("left out") if pair is None else self.read(pair) for pair in chunk]
            found = [Alignment(problem=each.problem) for each in sides]
            for number, words, null in self._matrices(sides, reading):
                source, target = sides[number].texts
                links = link(words, null, how, threshold)
                found[number] = Alignment(source, target, links, words, null, reading)
                done += 1
                progress(done)
            yield from found

    def _matrices(self, sides: Sequence[Sides], reading: Reading | None) -> Iterator[tuple[int, Weights, Weights]]:
        """The numbers of pairs with the weights between their words, and what is left for none."""
        if reading is not None:
            for number, weights in self.weights(sides, reading):
                yield number, *weights.read(Reading(0, 0, reading.fed_in))
            return
        known = [number for number, each in enumerate(sides) if not each.problem]
        for some in batched(known, REMOVALS):
            for number, drops in zip(some, self.leave_out([sides[number] for number in some]), strict=True):
                yield number, needed(drops), np.zeros(len(drops), np.float32)

    # ── choosing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def among(self, layer: Place, head: Place, row: str | None) -> list[Reading]:
        """The readings of a layer, a head (from 0, or `mean`) and a row; None leaves it open."""
        for name, place, size in (("layer", layer, self.layers), ("head", head, self.heads)):
            if place not in (None, MEAN) and place not in range(size):
                has = f"{name}s 0 to {size - 1}, and their mean" if size > 1 else f"one {name}, 0"
                raise UsageError(f"--{name} {place!s:.40}: {self.model.path} has {has}")
        if row not in (None, *ROWS):
            raise UsageError(f"--row {row!s:.40}: there are {', '.join(ROWS)}")
        if layer == MEAN and head not in (None, MEAN):
            which = f"--layer 0 to {self.layers - 1}" if self.layers > 1 else "--layer 0"
            raise UsageError(f"--head {head}: is a head of one layer; give --layer as well ({which})")
        found = [one for one in readings(self.layers, self.heads) if row in (None, one.row)]
        if layer is not None:
            found = [one for one in found if one.layer == self._place(layer, self.layers)]
        if head is not None:
            found = [one for one in found if one.head == self._place(head, self.heads)]
        return found

    @staticmethod
    def _place(place: Place, size: int) -> int | None:
        """What a reading calls a layer or head; the mean of one is that one."""
        return (None if size > 1 else 0) if place == MEAN else int(place or 0)

    def rank(
        self,
        pairs: Sequence[Pair],
        gold: Sequence[Gold] | None = None,
        among: Sequence[Reading] = (),
        how: Linking = "grow",
    ) -> Ranking:
        """Rank readings by AER on the pairs, or by how much they agree with what leaving a word out shows."""
        among = among or readings(self.layers, self.heads)
        sides = [self.read(pair) for pair in pairs]
        fit = [n for n, each in enumerate(sides) if not each.problem and len(each.source.words) <= LONGEST_SAMPLED]
        fit = fit[: REMOVALS if gold is None else SAMPLE]
        if gold is None:
            drops = dict(zip(fit, self.leave_out([sides[n] for n in fit]), strict=True))
            agreed = np.zeros(len(among))
            words = 0
            for place, weights in self.weights([sides[n] for n in fit]):
                most = drops[fit[place]].argmax(1)  # [T']
                words += len(most)
                agreed += [(weights.read(one)[0].argmax(1) == most).sum() for one in among]
            rows = [Ranked(one, 100.0 * float(each) / max(1, words)) for one, each in zip(among, agreed, strict=True)]
            rows.sort(key=lambda row: -row.value)
            return Ranking(tuple(rows), "agreement", len(fit), steadiest(rows, rows[0].value / 100, words))
        counts = [AlignmentCounts() for _ in among]
        for place, weights in self.weights([sides[n] for n in fit]):
            for count, one in zip(counts, among, strict=True):
                count.add(link(*weights.read(one), how), gold[fit[place]])
        rows = [Ranked(one, count.aer) for one, count in zip(among, counts, strict=True)]
        rows.sort(key=lambda row: row.value)
        best = min(counts, key=lambda count: count.aer)
        links = (best.found + best.sure) / 2  # 1 − AER = (|A ∩ S| + |A ∩ P|) / (|A| + |S|): a sure one counts twice
        return Ranking(tuple(rows), "AER", len(fit), steadiest(rows, 1 - best.aer / 100, links))

    # ── leaving words out ─────────────────────────────────────────────────────────────────────────────────────────

    def leave_out(self, pairs: Sequence[Sides]) -> list[Weights]:
        """[T', S'] of each pair: by how much each target word's log probability drops without each source word.

        drop(t, s) = log p(t | x) − log p(t | x without s), summed over the tokens of t
        """
        rows: list[tuple[list[int], list[int]]] = []
        for each in pairs:
            texts = [each.source.without(word) for word in range(len(each.source.words))]
            encoded = [each.source.ids, *self.model.source_tokenizer.encode(texts)]
            rows += [([*self.tag, *ids], each.target.ids) for ids in encoded]
        scores = self._scores(rows)
        found = []
        at = 0
        for each in pairs:
            size = len(each.source.words) + 1
            log_p = np.array([score[:-1] for score in scores[at : at + size]], np.float32)  # [1 + S', T]
            at += size
            found.append(by_word(log_p[:1] - log_p[1:], each.target).T)
        return found

    def _scores(self, rows: Sequence[tuple[list[int], list[int]]]) -> list[list[float]]:
        """The log probability of each target's tokens and of </s>, given its source."""
        found: list[list[float]] = [[] for _ in rows]
        for group in similar([len(source) + len(target) for source, target in rows], CELLS):
            scores = self.engine.score(*zip(*(rows[place] for place in group), strict=True))
            for place, score in zip(group, scores, strict=True):
                found[place] = score
        return found


def by_word(values: Weights, side: Side) -> Weights:
    """Values of tokens [.., T] summed over those of each word: [.., T']."""
    share = overlap(side.words, side.tokens)  # [T', T]
    return np.asarray(values @ (share / np.maximum(share.sum(0, keepdims=True), 1)).T, np.float32)
