"""Sentence pairs: how they are checked, split by source, and encoded."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from mirada.data import language
from mirada.data.batching import Batches
from mirada.data.checks import CheckConfig, doubts, far_apart, fault, in_words
from mirada.data.corpus import Corpus
from mirada.data.masking import MARKERS, mask_pair
from mirada.data.normalize import normalize
from mirada.data.preparation import Preparation, Prepared
from mirada.data.profile import Profile, ProfileBuilder
from mirada.data.quality import EXAMPLES
from mirada.data.records import AnyRecord, Record
from mirada.data.report import Report as Report
from mirada.data.sources import DataConfig, PairFiles, open_some
from mirada.data.splits import Mask, first_of
from mirada.data.survey import HELD, Survey, fingerprint, quick, shown_fields
from mirada.data.tokenizer_learning import SYNTHETIC, tag_to
from mirada.errors import ConfigError, DataError
from mirada.tasks.task import evenly
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.tags import MADE, Row, is_made, most_tags, rows

LEARN_FROM = 2_000_000
"""Sentences a tokenizer is learned from at most; a larger corpus is sampled evenly."""
LANGUAGE_SAMPLE = 5000
"""Pairs whose languages are looked at, unless those in a wrong one are to be left out."""
MASK_SAMPLE, ENOUGH_MASKED = 20_000, 500
"""Pairs that are looked at to tell how many have something to copy, and how many must have."""
FINAL_SENTENCES = 2000
"""Dev sentences that the scores of a finished training are measured on, at most."""

Example = tuple[str, Annotated[tuple[str, ...], Field(min_length=1)]]
Examples = list[tuple[str, tuple[str, ...]]]
"""Sources with their references, for evaluation."""

_SOURCE, _PAIR, _NEAR, _LENGTHS, _MADE = range(5)  # the keys of a pair; the last is 1 if a model made one side
_DIGITS = re.compile(r"\d+")
_Votes = tuple[Counter[str], Counter[str]]
"""How many lines look like which language, of source and target."""


class TranslationData(Preparation[Any]):
    """Sentence pairs, each with one translation or several."""

    noun = "pair"
    counted = "usable sentence pairs"
    fewest = 20
    preprocessor_type = TranslationPreprocessor
    key_types = "QQQIB"
    example_type = Example
    settings = {
        reason: f"check.{reason}" for reason, f in CheckConfig.model_fields.items() if f.default in ("drop", "keep")
    }
    data: DataConfig

    @property
    def checks(self) -> CheckConfig:
        config: CheckConfig = self.built["check"]
        return config

    # ── reading and checking ──────────────────────────────────────────────────────────────────────────────────────

    def open(self, paths: Sequence[str]) -> PairFiles:
        return self.data.open() if paths == self.data.files else open_some(paths, self.data.wanted, self.data.format)

    @property
    def both(self) -> bool:
        """Whether every pair is learned in both directions."""
        return self.data.direction == "both"

    def fault(self, record: AnyRecord) -> str:
        found = fault(record, self.data.max_tokens)
        return "synthetic_target" if not found and "synthetic_target" in record.marks and not self.both else found

    def drops(self, reason: str) -> bool:
        return super().drops(reason) and not (reason == "synthetic_target" and self.both)

    def doubts(self, record: AnyRecord) -> list[str]:
        return doubts(record.fields[0], record.fields[1], self.checks)

    def keys(self, record: AnyRecord) -> tuple[int, ...]:
        source, target = record.fields[:2]
        near, made = quick(simplified(source), simplified(target)), int(is_made(record))
        return fingerprint(source), quick(*record.fields, *MADE[:made]), near, len(source) << 16 | len(target), made

    def count_words(self, record: AnyRecord) -> int:
        return sum(map(len, map(str.split, record.fields)))

    def hint(self, reason: str) -> str:
        return "data.fuzzy=true" if reason == "fuzzy" else super().hint(reason)

    def show(self, record: AnyRecord) -> str:
        return shown_fields(record.fields[:2])

    def read_examples(self, paths: Sequence[str], survey: Survey) -> Examples:
        """Read a dev or test set, and refuse one in other languages than those declared."""
        files = self.open(paths)
        examples, passed = read_examples(files)
        survey.quality.notes += passed
        votes = _votes(examples[:: max(1, len(examples) // language.SAMPLE)])
        self._check_languages(survey, str(files), votes, len(examples))
        return examples

    def judge(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        alike, again = ~first_of(survey.pop(_NEAR)), ~first_of(survey.pop(_PAIR))
        yield "duplicate", again
        yield "near_duplicate", alike & ~again
        yield from self._in_dev(survey)
        yield "length_ratio", far_apart(survey.pop(_LENGTHS), self.checks.ratio)
        yield from self._languages(survey)

    def _in_dev(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        if not survey.compared:
            return
        held: dict[int, set[str]] = {}
        for source, targets in chain.from_iterable(survey.compared):
            held.setdefault(fingerprint(source), set()).update(targets)
        known = np.isin(survey.column(_SOURCE), np.array(list(held), np.uint64))
        same = np.zeros(len(survey), bool)
        for place, record in survey.at(known):
            same[place] = not held[fingerprint(record.fields[0])].isdisjoint(record.fields[1:])
        yield "in_dev", same
        yield "source_in_dev", known & ~same
        yield "synthetic_in_dev", self._made_of(survey, chain.from_iterable(survey.compared))

    @staticmethod
    def _made_of(survey: Survey, dev: Iterable[tuple[str, Sequence[str]]]) -> Mask:
        """Which synthetic pairs have a sentence of a dev set on either side."""
        texts = {text for source, targets in dev for text in (source, *targets)}
        found = np.zeros(len(survey), bool)
        for place, record in survey.at(survey.column(_MADE) > 0):
            found[place] = not texts.isdisjoint(record.fields)
        return found

    def _languages(self, survey: Survey) -> Iterator[tuple[str, Mask]]:
        """Which of a sample of the pairs are not in the languages that the data is in."""
        every = max(1, len(survey) // language.SAMPLE)
        sample = [record for _, record in survey.at(slice(None, None, every))]
        votes = _votes([(record.fields[0], record.fields[1:]) for record in sample])
        looks = language.majority(votes[0]), language.majority(votes[1])
        self._check_languages(survey, str(survey.source), votes, survey.quality.read, sample[:EXAMPLES])
        survey.quality.figures["looks_like"] = {"source": looks[0], "target": looks[1]}
        if all(looks):
            survey.quality.lines.append(f"the text looks like {looks[0]} → {looks[1]}")
        given = self.data.source_language, self.data.target_language
        source, target = (
            look if tag is None else language.primary(tag) if language.known(tag) else None
            for tag, look in zip(given, looks, strict=True)
        )
        drops = "drop" in (self.checks.wrong_language, self.checks.swapped)
        every = 1 if drops else max(1, math.ceil(len(survey) / LANGUAGE_SAMPLE))
        looked = survey.quality.figures["language_sample"] = -(-len(survey) // every)
        if source is None or target is None or source == target:
            return
        marked = {reason: np.zeros(len(survey), bool) for reason in ("swapped", "wrong_language")}
        for place, record in survey.at(slice(None, None, every)):
            seen = language.guess(record.fields[0]), language.guess(record.fields[1])
            if seen == (target, source):
                marked["swapped"][place] = True
            else:
                wrong = any(look not in (None, want) for look, want in zip(seen, (source, target), strict=True))
                marked["wrong_language"][place] = wrong
        for reason, mask in marked.items():
            if mask.any():
                survey.finding(reason).of = looked
            yield reason, mask

    def _check_languages(
        self, survey: Survey, name: str, votes: _Votes, count: int, examples: Sequence[Record] = ()
    ) -> None:
        """Refuse data in other languages than those declared."""
        mismatch = language.mismatch(votes, (self.data.source_language, self.data.target_language))
        if mismatch and self.checks.languages == "refuse":
            survey.refuse("languages", f"{name}: {mismatch}", "check.languages=keep", count, examples)

    # ── splitting ─────────────────────────────────────────────────────────────────────────────────────────────────

    def split(self, survey: Survey) -> Examples:
        """Hold out by source fingerprint, so that no sentence of the dev set, source or target, is in training.

        All pairs of one source go together. A source whose translation is also the translation of a training sentence
        goes back to training, with everything that hangs on it. Synthetic pairs are never held out; those that have a
        sentence of the dev set are left out.
        """
        dev: Examples = survey.dev
        if self.data.dev:
            return dev
        sources, real = survey.kept(_SOURCE), survey.kept(_MADE) == 0
        if not real.any():
            raise DataError(f"{survey.source}: all pairs are synthetic; add real ones, or give a dev file (--dev)")
        share = max(1, min(self.data.hold_out, int(real.sum()) // 20))
        survey.hold(real & np.isin(sources, np.partition(sources[real], share - 1)[:share]))
        groups: dict[int, list[Record]] = {}
        for record in survey.records(HELD):
            groups.setdefault(fingerprint(record.fields[0]), []).append(record)
        owners: dict[str, set[int]] = {}  # target -> the chosen sources it translates
        for hashed, records in groups.items():
            for target in _targets(records):
                owners.setdefault(target, set()).add(hashed)
        training = (record.fields[1:] for record in survey.records() if not is_made(record))
        waiting = {target for targets in training for target in targets if target in owners}
        back: set[int] = set()
        while waiting:
            for source in owners[waiting.pop()] - back:
                back.add(source)
                waiting |= _targets(groups[source])
        survey.release(np.isin(survey.column(_SOURCE), np.array(list(back), np.uint64)))
        if len(back) == len(groups):
            raise DataError("every translation occurs many times, so none can be held out; give a dev file (--dev)")
        dev = [
            (records[0].fields[0], tuple(dict.fromkeys(target for record in records for target in record.fields[1:])))
            for hashed, records in groups.items()
            if hashed not in back
        ]
        survey.drop(self._made_of(survey, dev), "synthetic_in_dev")
        return dev

    # ── encoding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def learn(self, survey: Survey) -> TranslationPreprocessor:
        tags = [*map(tag_to, self.data.languages)] if self.both else []
        if self.base:
            base: TranslationPreprocessor = self.base
            if not set(tags) <= set(base.source.tags):
                raise ConfigError("data.direction=both: the base translates one way; train a new model without --base")
            return replace(base, profile=base.profile and base.profile.merged(self._profile(survey)))
        tags += [SYNTHETIC] if (survey.kept(_MADE) > 0).any() else []
        config = self.built["tokenizer"]
        survey.notify(f"learning {config.unit}", 0, 0)
        every = max(1, 2 * survey.good // LEARN_FROM)

        profile = ProfileBuilder()
        markers = MARKERS if self.data.mask and config.unit == "subwords" and _enough_to_mask(survey) else ""

        def texts(sides: Sequence[int]) -> Iterator[str]:
            for number, pair in enumerate(self._pairs(survey)):
                if number % every == 0:
                    yield from (pair[:2][side] for side in sides)
                    for text in pair[:2][: 1 + self.both] if 0 in sides else ():
                        profile.add(normalize(text))

        if config.joint:
            joint = config.learn(texts((0, 1)), survey.words, markers=markers, tags=tags, languages=2)
            return TranslationPreprocessor(joint, joint, profile.build())
        source, target = (
            config.learn(texts((side,)), survey.words, markers=markers, tags=own) for side, own in ((0, tags), (1, ()))
        )
        return TranslationPreprocessor(source, target, profile.build())

    def _profile(self, survey: Survey) -> Profile:
        found = ProfileBuilder()
        for record in survey.records():
            for text in record.fields[: 1 + self.both]:
                found.add(normalize(text))
        return found.build()

    @staticmethod
    def _pairs(survey: Survey, masked: bool = False) -> Iterator[tuple[str, str, Record]]:
        """The training pairs, each translation a pair of its own; with markers for what is copied if `masked`."""
        for record in survey.records():
            source, *targets = record.fields
            for target in targets:
                yield (*(mask_pair(source, target) if masked else (source, target)), record)

    def encode(self, survey: Survey, preprocessor: TranslationPreprocessor, folder: Path) -> None:
        sides = preprocessor.source, preprocessor.target
        encoders, vocabulary = [side.encode for side in sides], max(side.size for side in sides)
        tags, longest = preprocessor.source.tags, self.data.max_tokens
        most = getattr(self.built.get("model"), "max_length", math.inf) - 1 - most_tags(preprocessor.source)
        if longest > most:
            raise ConfigError(f"data.max_tokens={longest}: with its tags the model accepts {most}; lower it to that")

        def too_long(row: Row, tokens: int) -> None:
            if not row.again:  # one that was left out before
                survey.leave_out(row.record, "too_many_tokens")

        self.write_corpus(
            survey,
            folder,
            rows(self._pairs(survey, masked=preprocessor.masks), self.data.languages if self.both else None),
            *encoders,
            vocabulary=vocabulary,
            longest=longest,
            before=lambda row: [tags[tag] for tag in row.tags if tag in tags],
            too_long=too_long,
        )
        self.report.vocabulary = preprocessor.source.size
        if self.both:
            self.report.notes.append("every pair is learned in both directions, and counts twice")
        if SYNTHETIC not in tags and (survey.kept(_MADE) > 0).any():
            self.report.notes.append("the base has no tag for synthetic pairs: they are treated like all others")

    # ── opening and use ───────────────────────────────────────────────────────────────────────────────────────────

    def open_store(self, folder: Path, preprocessor: TranslationPreprocessor) -> Corpus:
        corpus = Corpus(folder / "corpus")
        longest = self.data.max_tokens + most_tags(preprocessor.source)
        corpus.check((preprocessor.source.size, preprocessor.target.size), longest)
        return corpus

    def dev(self, prepared: Prepared) -> Examples:
        return evenly(prepared.saved_dev, FINAL_SENTENCES)

    def batches(self, prepared: Prepared, tokens: int, seed: int) -> Batches:
        return Batches(prepared.store, tokens, seed)

    @classmethod
    def describe(cls, data: Mapping[str, Any], nouns: str = "") -> list[tuple[str, str]]:
        made = sum(data.get("findings", {}).get(reason, 0) for reason in MADE)
        found = super().describe(data, nouns)
        return [(name, f"{text}, {made:,} synthetic" if made and name == "data" else text) for name, text in found]


def read_examples(files: PairFiles) -> tuple[Examples, tuple[str, ...]]:
    """A dev or test set, without the pairs that cannot be evaluated with; and how many those are, and why."""
    examples: Examples = []
    passed = Counter[str]()
    for pair in files:
        if reason := fault(pair, longest=0):
            passed[reason] += 1
        else:
            examples.append((pair.fields[0], pair.fields[1:]))
    if not examples:
        raise DataError(f"{files}: has no sentence pairs to evaluate with")
    notes = [f"left out of {files}: {count:,} ({in_words(reason, 'pair')})" for reason, count in passed.items()]
    return examples, (*files.notes, *notes)


def _enough_to_mask(survey: Survey) -> bool:
    """Whether enough pairs have something to copy for a model to learn it."""
    every = max(1, len(survey) // MASK_SAMPLE)
    sample = (record.fields for _, record in survey.at(slice(None, None, every)))
    return every * sum(mask_pair(*fields[:2])[0] != fields[0] for fields in sample) >= ENOUGH_MASKED


def simplified(text: str) -> str:
    """The text without what makes near duplicates differ: case, punctuation, spaces, the digits themselves."""
    return "".join(filter(str.isalnum, _DIGITS.sub("0", text.casefold())))


def _targets(records: Sequence[Record]) -> set[str]:
    return {target for record in records for target in record.fields[1:]}


def _votes(pairs: Sequence[tuple[str, Sequence[str]]]) -> _Votes:
    return language.votes(source for source, _ in pairs), language.votes(targets[0] for _, targets in pairs)
