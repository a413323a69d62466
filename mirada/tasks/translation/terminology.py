"""Puts the terms of a glossary into translations that lack them.

1. Most terms are right in the free translation: then nothing is done.
2. A beam search finds the best translation that has them all. It is taken if the model thinks nearly as well of it as
   of its free translation, it is about as long, and each term is what attends most to its source in it.
3. Else, the model does not know the word: a name, a made-up term. It then replaces the word of the free translation
   that attends to its source, and all else stays as it was.

(2) alone puts unknown words at the end, after a text that says everything without them; (3) alone leaves the words
around a term as they were for another word. Together they are better than each: see `bench/glossary.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from mirada.data.batching import similar
from mirada.data.language import UNSPACED
from mirada.data.normalize import normalize
from mirada.decoding import DecodeConfig
from mirada.inspection.alignment import overlap
from mirada.tasks.translation.constrained import CELLS, Constraints, Request, Speller, search
from mirada.tasks.translation.glossary import Required, missing, places

if TYPE_CHECKING:
    from mirada.tasks.translation.pieces import Find, Piece, SourceText
    from mirada.tasks.translation.translator import Translator

MOST_LOST = 1.3
"""How much less a token's log probability may be, on average, than in the free translation."""
HOPELESS = 2.0
"""How much less it is in the place of another word for a term that is not worth searching for."""
LONGER, SHORTER = 1.2, 0.8
"""How much longer and shorter than the free translation one may be that is searched for."""
SPARE = 3
"""How many more hypotheses of a search are looked at than are wanted."""

Best = list[tuple[str, float]]
"""Translations with their scores, best first."""
Ids = Sequence[Sequence[int]]
Answer = TypeVar("Answer")


@dataclass
class _Job:
    """A sentence whose translation must contain terms."""

    piece: Piece
    text: SourceText
    sentence: str
    required: list[Required]

    def lacks(self, translation: str) -> list[Required]:
        return missing(translation, self.required)


def impose(translator: Translator, work: Sequence[SourceText], find: Find, config: DecodeConfig) -> None:
    """Change the translations of pieces so that they contain the terms of their sources; note what could not be done.

    Every one of the n best gets them.
    """
    placing = _Placing(translator, config)
    jobs = []
    for found in work:
        for piece in found.pieces:
            sentence = normalize(piece.masked.text) if translator.source.normalizes else piece.masked.text
            if required := find(sentence):
                jobs.append(_Job(piece, found, sentence, required))
    free = [job for job in jobs if job.piece.remembered is None]  # what a memory has is used as it is
    placing.place([job for job in free if any(job.lacks(text) for text, _ in job.piece.best)])
    for job in jobs:
        if lost := job.lacks(job.piece.remembered or job.piece.best[0][0]):
            why = "could not be placed" if job.piece.remembered is None else "not in the translation of the memory"
            job.text.notes.append(f"the glossary's {', '.join(map(str, lost))}: {why}")


class _Placing:
    """Places terms with the network of a translator's engine."""

    def __init__(self, translator: Translator, config: DecodeConfig):
        self.translator, self.config, self.speller = translator, config, Speller(translator.target)
        self.engine = translator.engine

    def place(self, jobs: Sequence[_Job]) -> None:
        """Give every job as many translations as it has, with all terms where that can be done."""
        open_ = [(n, text, score) for n, job in enumerate(jobs) for text, score in job.piece.best if job.lacks(text)]
        replaced: list[Best] = [[] for _ in jobs]
        for (number, _, _), better in zip(open_, self._replaced(jobs, open_), strict=True):
            replaced[number].append(better)
        for job, found, others in zip(jobs, self._searched(jobs, replaced), replaced, strict=True):
            best = [*found, *(each for each in job.piece.best if not job.lacks(each[0]))]
            if len(dict(best)) < len(job.piece.best):
                best += others
            ranked = sorted(dict(reversed(best)).items(), key=lambda each: (len(job.lacks(each[0])), -each[1]))
            job.piece.best = ranked[: len(job.piece.best)]

    # ── searching ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _searched(self, jobs: Sequence[_Job], replaced: Sequence[Best]) -> list[Best]:
        """For each job, translations that the model finds nearly as likely as its free one.

        They are not searched for where a term is too unlikely in the place of another word.
        """
        sought = [
            self._sought(job) if not better or better[0][1] >= job.piece.best[0][1] - HOPELESS else None
            for job, better in zip(jobs, replaced, strict=True)
        ]
        known = [one for one in sought if one is not None]
        search(self.engine, known, self.config)
        likely = [
            (job, text, score)
            for job, one in zip(jobs, sought, strict=True)
            if one is not None
            for text, score in self._likely(job, one)
        ]
        seen = self._attention([job for job, _, _ in likely], [text for _, text, _ in likely])
        found: dict[int, Best] = {id(job): [] for job in jobs}
        for (job, text, score), attention in zip(likely, seen, strict=True):
            if self._stands_for_source(job, text, attention) and len(found[id(job)]) < len(job.piece.best):
                found[id(job)].append((text, score))
        return [found[id(job)] for job in jobs]

    def _likely(self, job: _Job, one: Request) -> Best:
        """The best of what was found, if it is likely and long enough."""
        shortest = SHORTER * self._length(job) - 1
        ended = []
        for each in one.ended:
            average = each.log_probability / (len(each.tokens) - len(one.prefix) + 1)
            if len(each.tokens) >= shortest and average >= one.least:
                ended.append(each)
        texts = self.translator.target.decode([each.tokens for each in ended])
        whole = [not job.lacks(text) and job.piece.masked.intact(text) for text in texts]
        both = [(text, each.score) for text, each, good in zip(texts, ended, whole, strict=True) if good]
        return both[: len(job.piece.best) + SPARE]

    def _stands_for_source(self, job: _Job, text: str, attention: npt.NDArray[np.float32] | None) -> bool:
        """Whether each term is what attends most to its source; if not, another word stands for it already."""
        words = _spans(text)
        free = job.piece.best[0][0]
        if not Counter(_WORD.findall(free)) - Counter(_WORD.findall(text)):
            return False  # it has all words of the free translation, and the term besides
        aligned = None if attention is None else self._aligned(job, text, words, attention)
        if aligned is None:
            return True
        where = places(text, job.required)
        for term in job.required:
            own = _own(job, term)
            start, end = words[int(aligned[:, own].sum(1).argmax())]
            spans = [span for other, span in zip(job.required, where, strict=True) if other.targets == term.targets]
            if own.any() and not any(span and span[0] < end and start < span[1] for span in spans):
                return False
        return True

    def _length(self, job: _Job) -> int:
        """How many tokens the free translation has."""
        return len(self.translator.target.encode([job.piece.best[0][0]])[0])

    def _sought(self, job: _Job) -> Request | None:
        """What to search for; nothing if the model cannot spell a term."""
        capital = next((letter for letter in job.sentence if letter.isalpha()), "").isupper()
        forms = [
            [
                form
                for target in term.targets
                for form in self.speller.forms(target, capital and target.islower() and not term.kept)
            ]
            for term in job.required
        ]
        if not all(forms):
            return None
        constraints = Constraints(forms, self.speller)
        prefix, length = job.piece.prefix, self._length(job) - len(job.piece.prefix) + 1
        average = job.piece.best[0][1] * length ** (self.config.length_penalty - 1)
        limit = min(int(LONGER * length) + 1 + constraints.tokens, self.translator.max_length - len(prefix))
        return Request(job.piece.ids, prefix, max(1, limit), average - MOST_LOST, constraints)

    # ── replacing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _replaced(self, jobs: Sequence[_Job], given: Sequence[tuple[int, str, float]]) -> list[tuple[str, float]]:
        """Free translations in which the words that attend to the terms are replaced by them, with their scores."""
        texts = [text for _, text, _ in given]
        rounds = max((len(jobs[number].required) for number, _, _ in given), default=0)
        for _ in range(rounds):
            open_ = [place for place, (number, _, _) in enumerate(given) if jobs[number].lacks(texts[place])]
            seen = self._attention([jobs[given[place][0]] for place in open_], [texts[place] for place in open_])
            for place, attention in zip(open_, seen, strict=True):
                job = jobs[given[place][0]]
                texts[place] = self._replace(job, texts[place], attention)
        scores = self._scores([jobs[number] for number, _, _ in given], texts)
        return [
            (text, old if score is None else score)
            for text, (_, _, old), score in zip(texts, given, scores, strict=True)
        ]

    def _attention(self, jobs: Sequence[_Job], texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """The attention of each translation's tokens, where there is any."""
        return self._asked(self.engine.attention, jobs, texts)

    def _scores(self, jobs: Sequence[_Job], texts: Sequence[str]) -> list[float | None]:
        """The score of each translation, as in a search: without its prefix."""
        scores: list[float | None] = []
        for job, found in zip(jobs, self._asked(self.engine.score, jobs, texts), strict=True):
            own = None if found is None else found[len(job.piece.prefix) :]
            scores.append(None if own is None else sum(own) / max(1, len(own)) ** self.config.length_penalty)
        return scores

    def _asked(
        self, ask: Callable[[Ids, Ids], Sequence[Answer] | None], jobs: Sequence[_Job], texts: Sequence[str]
    ) -> list[Answer | None]:
        """What an engine says of each translation; nothing of one that is too long for the model."""
        found: list[Answer | None] = [None] * len(texts)
        ids = self.translator.target.encode(texts)
        fit = [number for number, each in enumerate(ids) if len(each) < self.translator.max_length]
        for group in similar([len(jobs[number].piece.ids) for number in fit], CELLS):
            chosen = [fit[place] for place in group]
            answers = ask([jobs[number].piece.ids for number in chosen], [ids[number] for number in chosen])
            for number, answer in zip(chosen, answers or (), strict=answers is not None):
                found[number] = answer
        return found

    def _replace(self, job: _Job, text: str, attention: npt.NDArray[np.float32] | None) -> str:
        """The translation with its first missing term in the place of the word that attends to it."""
        term = job.lacks(text)[0]
        words = _spans(text) or [(len(text), len(text))]
        kept = [place for place in places(text, job.required) if place]
        after = len(self.translator.target.decode([job.piece.prefix])[0]) if job.piece.prefix else 0
        aligned = None if attention is None else self._aligned(job, text, words, attention)
        start, end = _place(words, after, kept, _own(job, term), aligned)
        return _put(text, start, end, term)

    def _aligned(
        self, job: _Job, text: str, words: Sequence[tuple[int, int]], attention: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32] | None:
        """How much each word of a translation [T'] attends to each word of the source [S']."""
        mark = f"{job.text.mark} " if job.text.mark and not job.sentence.startswith(job.text.mark) else ""
        source = [
            (token.start - len(mark), token.end - len(mark))
            for token in self.translator.source.tokens(mark + job.sentence)
        ]
        target = [(token.start, token.end) for token in self.translator.target.tokens(text)]
        if attention.shape[0] != len(target) + 1 or attention.shape[1] < len(job.piece.tag) + len(source):
            return None
        rows = overlap(words, target)  # [T', T]
        rows /= np.maximum(rows.sum(1, keepdims=True), 1)
        columns = overlap(_spans(job.sentence), source)  # [S', S]
        first = len(job.piece.tag)
        looked = attention[: len(target), first : first + len(source)]
        return np.asarray(rows @ looked @ columns.T, np.float32)


_WORD = re.compile(rf"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern})\w)+(?:[-'’](?:(?!{UNSPACED.pattern})\w)+)*")


def _spans(text: str) -> list[tuple[int, int]]:
    """The places of a text's words; of scripts without spaces, those of its characters."""
    return [word.span() for word in _WORD.finditer(text)]


def _own(job: _Job, term: Required) -> npt.NDArray[np.bool_]:
    """Which words of a sentence are those of a term."""
    return np.array([start < term.end and term.start < end for start, end in _spans(job.sentence)], bool)


def _place(
    words: Sequence[tuple[int, int]],
    after: int,
    kept: Sequence[tuple[int, int]],
    own: npt.NDArray[np.bool_],
    aligned: npt.NDArray[np.float32] | None,
) -> tuple[int, int]:
    """The part of a translation that a term replaces, after a prefix; an empty one where it is inserted.

    `kept` are the places of other terms; `own` are the words of the source that are the term's.
    """
    behind = np.array([start >= after for start, _ in words])
    if aligned is None or not own.any() or not behind.any():
        return words[-1][1], words[-1][1]
    free = behind & [all(end <= first or last <= start for first, last in kept) for start, end in words]
    focus = aligned[:, own].sum(1)
    best = int(np.where(behind, focus, -1.0).argmax())
    if not free[best]:
        top, best = best, int(np.where(free, focus, -1.0).argmax())
        if not free.any() or focus[best] < focus[top] / 2:
            end = next(last for first, last in kept if first < words[top][1] and words[top][0] < last)
            return end, end  # the free translation has no word for it; it belongs beside another term
    belongs = own[aligned.argmax(1)] & free  # words that attend to the term more than to any other word
    other = int(aligned[best].argmax())
    if not belongs[best] and int(aligned[:, other].argmax()) == best:
        return words[best][1], words[best][1]  # it stands for another word of the source
    first = last = best
    if own.sum() > 1:
        while first > 0 and belongs[first - 1]:
            first -= 1
        while last + 1 < len(words) and belongs[last + 1]:
            last += 1
    return words[first][0], words[last][1]


def _put(text: str, start: int, end: int, term: Required) -> str:
    """A text with a term in the place of a part of it, or inserted after it if that is empty."""
    target = term.targets[0]
    first = not any(character.isalnum() for character in text[:start])
    if first and not term.kept and target.islower() and text[start : start + 1].isupper():
        target = target[:1].upper() + target[1:]
    space = " " if start == end and text[:start].strip() and not UNSPACED.match(target) else ""
    return text[:start] + space + target + text[end:]
