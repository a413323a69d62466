"""Translates texts with an engine: split into sentences, batched by length, joined again in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from mirada.data.checks import has_invalid_bytes
from mirada.data.language import UNSPACED, primary
from mirada.data.masking import spans
from mirada.data.profile import SEVERAL
from mirada.data.spelling import corrections
from mirada.data.tokenizer_learning import SYNTHETIC
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import Engine
from mirada.errors import InputError
from mirada.tasks.translation.clauses import anywhere, better, between_clauses
from mirada.tasks.translation.flags import FLAGS, is_copy, other_language
from mirada.tasks.translation.memory import Recall, recall
from mirada.tasks.translation.pieces import ONE_DIRECTION, Cutter, Direction, Find, Piece, SourceText, stripped
from mirada.tasks.translation.prediction import Translation
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.search import Search
from mirada.tasks.translation.terminology import impose

FAR = 3
"""How many times as long as most that the model has learned from a sentence is that is always split into clauses."""
CAPITAL_NOUNS = ("de", "lb")
"""Languages in which any clause may begin with a capital letter."""
LONGEST_TEXT = 1_000_000
"""The most characters of a text; a longer one is refused."""


class Translator:
    """Translates texts with an engine and the tokenizers of its languages."""

    def __init__(
        self, engine: Engine, preprocessor: TranslationPreprocessor, max_length: int, language: str | None = None
    ):
        """`language` is that of the sources, if it is known."""
        self.max_length, self.language = max_length, language
        self.source, self.target = preprocessor.source, preprocessor.target
        self.search = Search(engine, self.source, self.target, max_length)
        self.profile = preprocessor.profile
        self.cutter = Cutter(preprocessor.profile, preprocessor.masks)
        self.longest = max_length - 1 - any(tag != SYNTHETIC for tag in self.source.tags)
        """The most source tokens that the model takes, without EOS and the tag of a direction."""

    @property
    def engine(self) -> Engine:
        """What computes translations."""
        return self.search.engine

    @engine.setter
    def engine(self, engine: Engine) -> None:
        self.search.engine = engine

    def translate(
        self,
        texts: Sequence[str],
        config: DecodeConfig,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
        terms: Find | None = None,
        memory: Recall | None = None,
        direction: Direction = ONE_DIRECTION,
    ) -> list[Translation]:
        """Translate texts sentence by sentence (unless `config.split` is false), keeping the white space between them.

        A blank text gives a blank one. A sentence that is too long for the model is split at a comma or a space; where
        it has none the text is refused (`Translation.problem`). `progress` gets the number of texts that are done.
        `terms` finds the terms of a glossary in a sentence, `memory` finds sentences that were translated before.
        `direction` is needed by a model of two.
        """
        direction = Direction(language=self.language) if direction is ONE_DIRECTION else direction
        work = self._cut(texts, self._forced(prefix), self.splits(config), direction, terms, spelling=config.spelling)
        pieces = [piece for found in work for piece in found.pieces]
        if memory is not None:
            recall(texts, work, memory)
        open_ = [piece for piece in pieces if piece.remembered is None or (config.n_best > 1 and piece.ids)]
        self.search(open_, config, progress)
        if self.splits(config) and not config.sample:
            self._try_clauses(texts, work, config)
        if terms is not None:
            impose(self, work, terms, config)
        self.search.finish([piece for found in work for piece in found.pieces], config)
        return [self._join(text, found, direction.language) for text, found in zip(texts, work, strict=True)]

    def splits(self, config: DecodeConfig) -> bool:
        """Whether texts are split into sentences: unless told, if the model was trained on single ones."""
        if config.split is not None:
            return config.split
        return self.profile is None or self.profile.sentences < SEVERAL

    def _forced(self, prefix: str) -> list[int]:
        """The ids of a prefix, without white space at its end: the next word brings its own."""
        if not prefix.strip():
            return []
        ids = self.target.encode([prefix.rstrip()])[0]
        if len(ids) >= self.max_length:
            raise InputError(f"the prefix has {len(ids):,} tokens; the model takes {self.max_length - 1:,}; shorten it")
        return ids

    # ── cutting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _cut(
        self,
        texts: Sequence[str],
        prefix: list[int],
        split: bool,
        direction: Direction,
        terms: Find | None = None,
        spelling: bool = True,
    ) -> list[SourceText]:
        """Cut the texts into pieces that the model can take; `terms` of a glossary are not unknown names.

        With `split` into sentences, and those that are far longer than most that it has learned from into clauses; with
        `spelling`, misspelt words are corrected.
        """
        work = [SourceText(problem=_fault(text), direction=direction, terms=terms, spelling=spelling) for text in texts]
        waiting = list[Piece]()
        for number, (text, found) in enumerate(zip(texts, work, strict=True)):
            if not found.problem:
                found.mark = self._mark(text)
                waiting += list(self.cutter.cut(number, text, split, direction.language, terms))
        self._encode(waiting, work)
        for piece in waiting:
            found = work[piece.text]
            far = split and len(piece.source.split()) > FAR * self.usual
            pieces = list(self._shortened(texts[piece.text], work, piece, self.usual if far else 0))
            if len(pieces) > 1 and len(piece.ids) > self.longest:
                found.parts += len(pieces)
                found.notes.append(
                    f"a sentence has {len(piece.ids):,} tokens, but the model takes {self.longest:,}: "
                    f"it was translated in {len(pieces)} parts"
                )
            if worst := max((len(part.ids) for part in pieces if len(part.ids) > self.longest), default=0):
                found.problem = (
                    f"has a sentence with {worst:,} tokens and no place to cut it; the model takes at most "
                    f"{self.longest:,}"
                )
            found.pieces += [part for part in pieces if part.ids]  # none if all of it is invisible
            self._tag(pieces, found)
        for found in work:
            if found.problem:
                found.pieces, found.notes = [], []
            elif found.pieces:
                found.pieces[0].prefix = prefix
        return work

    def _encode(self, pieces: Sequence[Piece], work: Sequence[SourceText]) -> None:
        """Give pieces their ids, each preceded by the language mark of its text, and correct their spelling."""
        for piece in pieces:
            found = work[piece.text]
            if found.spelling and self.profile:
                piece.correct(corrections(piece.masked.text, self.profile, found.terms or (lambda word: None)))
        read = [_marked(piece.masked.text, work[piece.text].mark) for piece in pieces]
        for piece, ids in zip(pieces, self.source.encode(read), strict=True):
            piece.ids = ids

    def _mark(self, text: str) -> str:
        """The mark at the beginning of a text that tells a multilingual model its target language (>>fra<<)."""
        mark = _MARK.match(text) if self.source.unit == "pieces" else None
        ids = self.source.encode([mark[1]])[0] if mark else []
        return mark[1] if mark and len(ids) == 1 and ids[0] != self.source.unknown else ""

    @property
    def usual(self) -> int:
        """How many words most of the sentences have that the model has learned from; 0 if that is not known."""
        return self.profile.words if self.profile else 0

    @staticmethod
    def _tag(pieces: Sequence[Piece], found: SourceText) -> None:
        """Put the tag of the direction before the ids of pieces."""
        for piece in pieces if not found.mark else ():
            piece.tag, piece.ids[:0] = found.direction.tag, found.direction.tag

    def _shortened(self, text: str, work: Sequence[SourceText], piece: Piece, words: int) -> Iterator[Piece]:
        """Split a piece into parts that the model takes, and into clauses of at most `words` words, unless that is 0.

        A part that begins inside the sentence, with a lowercase letter, gets a translation that does too, if it may.
        """
        small = primary(work[piece.text].direction.into or "") not in CAPITAL_NOUNS
        waiting = [piece]
        while waiting:
            piece = waiting.pop()
            place = self._place(piece, text[piece.start : piece.end], words)
            if place is None:
                yield replace(piece, inner=piece.inner and small)
                continue
            cut = piece.start + place
            left, right = stripped(text, piece.start, cut), stripped(text, cut, piece.end)
            if text[left[1] - 1] in ",;:":  # it stays where it is, between the translations
                left = stripped(text, left[0], left[1] - 1)
            of = piece.case, work[piece.text].terms
            halves = [
                self.cutter.piece(piece.text, text, *left, *of, inner=piece.inner, cut=True),
                self.cutter.piece(piece.text, text, *right, *of, inner=True, cut=piece.cut),
            ]
            self._encode(halves, work)
            waiting += reversed(halves)

    def _place(self, piece: Piece, sentence: str, words: int) -> int | None:
        """Where to split a sentence that the model cannot take, or that has more than `words` words (0: no limit)."""
        if len(piece.ids) > self.longest:
            return anywhere(sentence, spans(sentence))
        return between_clauses(sentence, spans(sentence)) if 0 < words < len(sentence.split()) else None

    def _try_clauses(self, texts: Sequence[str], work: Sequence[SourceText], config: DecodeConfig) -> None:
        """Translate sentences that are longer than most in clauses, too, and keep what the model finds more likely.

        That is the one with the higher mean log probability of a token; or the one without a fault.
        """
        parts: dict[int, list[Piece]] = {}
        for found in work:
            for piece in found.pieces:
                long = 0 < self.usual < len(piece.source.split())
                if long and not (piece.prefix or piece.inner or piece.cut or piece.match):
                    split = list(self._shortened(texts[piece.text], work, piece, self.usual))
                    if len(split) > 1:
                        self._tag(split, found)
                        parts[id(piece)] = split
        if not parts:
            return
        self.search([part for split in parts.values() for part in split], config, lambda done: None)
        for found in work:
            pieces = (
                [piece] if id(piece) not in parts else better([piece], parts[id(piece)]) for piece in found.pieces
            )
            found.pieces = list(chain.from_iterable(pieces))

    def sentence(self, text: str, split: bool, direction: Direction = ONE_DIRECTION) -> Piece:
        """A text that is one sentence, as the model reads it."""
        direction = Direction(language=self.language) if direction is ONE_DIRECTION else direction
        (found,) = self._cut([text], [], split, direction)
        if len(found.pieces) != 1:
            fault = found.problem or "is empty"
            if found.pieces:
                fault = f"is translated in {len(found.pieces)} parts; the first is {found.pieces[0].source!r:.80}"
            raise InputError(f"give one sentence at a time: the text {fault}")
        return found.pieces[0]

    def chosen(self, piece: Piece, config: DecodeConfig) -> list[Hypothesis]:
        """The n best hypotheses of a piece, that of its translation first."""
        self.search([piece], config, lambda done: None)
        if piece.copied:
            raise InputError(f"{piece.source!r:.80} is copied unchanged: the model does not translate it")
        first, *others = self.search.generate([piece], config)[0]
        if first.tokens != piece.tokens:  # it was searched again, for the first one had a fault
            log_p = sum(self.engine.score([piece.ids], [piece.tokens])[0])
            score = log_p / (len(piece.tokens) + 1) ** config.length_penalty
            first = Hypothesis(piece.tokens, log_p, score, piece.complete)
        return [first, *others]

    # ── joining ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _join(self, text: str, found: SourceText, language: str | None) -> Translation:
        """Join the translations of a text's pieces with what is between them, white space and tags."""
        pieces = found.pieces
        if found.problem or not pieces:
            return Translation(text if "<" in text and not found.problem else "", problem=found.problem)
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
            notes.append(f"the translation was cut at the length limit{part}; break the source into shorter sentences")
        corrected = tuple(one for piece in pieces for one in piece.corrected)
        notes += [f"{word!r} corrected to {other!r}" for word, other in dict.fromkeys(corrected)]
        names = list(dict.fromkeys(piece.copied_name for piece in pieces if piece.copied_name))
        notes += [f"{word!r} is not known, and was copied like a name" for word in names]
        flags = set().union(*(piece.flags for piece in pieces), ["spelling"] * bool(corrected), ["name"] * bool(names))
        if is_copy(text, options[0][0]):
            flags.add("copied")
        if other_language(language, text, self.profile):
            flags.add("language")
        return Translation(
            *options[0],
            tuple(options),
            complete=not cut,
            parts=found.parts,
            flags=tuple(flag for flag in FLAGS if flag in flags),
            confidence=min(piece.confidence for piece in pieces),
            words=tuple(word for piece in pieces for word in piece.words),
            uncovered=tuple(word for piece in pieces for word in piece.uncovered),
            corrected=corrected,
            memory=tuple(piece.match for piece in pieces if piece.match),
            notes=tuple(notes),
        )


def _fault(text: str) -> str | None:
    """Why a text cannot be translated, if that shows before it is tokenized."""
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; {LONGEST_TEXT:,} is the limit: break it into lines"
    if has_invalid_bytes(text):
        return "has bytes that are not UTF-8 (lone surrogates); decode it with the encoding that it was written in"
    return None


_MARK = re.compile(r"\s*(>>[^<>\s]+<<)")


def _marked(text: str, mark: str) -> str:
    """A part of a text, preceded by the text's language mark."""
    return text if text.startswith(mark) else f"{mark} {text}"


def joint(left: str, gap: str, right: str) -> str:
    """The white space between two translated sentences: the original's, if the script has spaces there."""
    unspaced = bool(UNSPACED.match(left[-1:]))
    if gap == "":
        return "" if not left or not right or unspaced or UNSPACED.match(right) else " "
    return "" if gap == " " and unspaced and left[-1] in "。！？｡…）」』”" else gap
