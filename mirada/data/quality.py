"""The checker: what is wrong with the data, what training does about it, and the setting that changes that.

It reads the data twice and keeps a few bytes a pair. The first reading finds what cannot be learned from and takes a
fingerprint of every pair; then duplicates and the usual ratio of lengths are known, and the second reading judges each
pair. One byte a pair remembers the verdict, so that nothing is judged again.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from mirada.data import language
from mirada.data.checks import KINDS, CheckConfig, doubts, far_apart, faults
from mirada.data.readers import Pair
from mirada.data.sources import PairFiles
from mirada.data.text import shown_path
from mirada.errors import DataError

EXAMPLES = 3
"""Pairs shown of each kind of finding."""
SAMPLE = 500
"""Pairs that decide which languages the data is in."""
LANGUAGE_SAMPLE = 5000
"""Pairs whose languages are looked at, unless those in a wrong one are to be left out."""

Notify = Callable[[str, int, int], None]
"""DataSummary how far the work is: what is being done, how much is done, out of how much."""

REFUSES, LEAVES_OUT, KEEPS = "refuses the file", "leaves them out", "keeps them"

_Votes = tuple[Counter[str], Counter[str]]
"""How many lines look like which language, of source and target."""

_LEFT_OUT, _DUPLICATE, _NEAR = 1, 2, 4  # bits of a pair's verdict


@dataclass
class Finding:
    """Something wrong with a number of pairs."""

    kind: str
    title: str
    training: str
    """What training does about them."""
    setting: str
    """What to set to have it otherwise; empty where nothing can be set."""
    count: int = 0
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    """The first few: file, line, text."""

    @property
    def left_out(self) -> bool:
        return self.training != KEEPS


@dataclass
class QualityReport:
    """What the checker has to say."""

    files: list[tuple[str, str, int]] = field(default_factory=list)
    """Name, how it is read, pairs in it."""
    notes: list[str] = field(default_factory=list)
    read: int = 0
    left_out: int = 0
    looks_like: tuple[str | None, str | None] = (None, None)
    """The languages most lines are in, as far as can be told."""
    language_sample: int = 0
    """Pairs whose languages were looked at."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def good(self) -> int:
        return self.read - self.left_out

    def share(self, finding: Finding) -> float:
        """Of the pairs that were looked at."""
        if finding.kind == "languages":
            return 1.0
        sampled = finding.kind in ("swapped", "wrong_language")
        return finding.count / max(1, self.language_sample if sampled else self.read)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "read": self.read,
            "good": self.good,
            "left_out": self.left_out,
            "looks_like": {"source": self.looks_like[0], "target": self.looks_like[1]},
            "language_sample": self.language_sample,
            "files": [{"file": name, "read_as": about, "pairs": pairs} for name, about, pairs in self.files],
            "notes": self.notes,
            "findings": [
                {
                    "kind": finding.kind,
                    "title": finding.title,
                    "count": finding.count,
                    "share": round(self.share(finding), 6),
                    "training": finding.training,
                    "setting": finding.setting,
                    "examples": [{"file": file, "line": line, "text": text} for file, line, text in finding.examples],
                }
                for finding in self.findings
            ],
        }

    def as_text(self, examples: bool = True) -> str:
        """For a person: what was read, what is left out, what to look at."""
        out = []
        shown = self.files if len(self.files) <= 10 else self.files[:8]
        out += [f"{name}: {about}; {pairs:,} pairs" for name, about, pairs in shown]
        if len(shown) < len(self.files):
            rest = sum(pairs for _, _, pairs in self.files[8:])
            out.append(f"… and {len(self.files) - len(shown)} more files; {rest:,} pairs")
        out += self.notes
        share = f" ({_percent(self.left_out / self.read).strip()})" if self.left_out else ""
        out.append(f"{self.read:,} pairs read: {self.good:,} to learn from, {self.left_out:,} left out{share}")
        if all(self.looks_like):
            out.append(f"the text looks like {self.looks_like[0]} → {self.looks_like[1]}")
        headings = {
            REFUSES: "training refuses the file because of:",
            LEAVES_OUT: "left out of training:",
            KEEPS: "kept, but worth a look:",
        }
        for training, heading in headings.items():
            group = [finding for finding in self.findings if finding.training == training]
            if group:
                out += ["", heading]
            for finding in group:
                sampled = finding.kind in ("swapped", "wrong_language") and self.language_sample < self.good
                of = f", of {self.language_sample:,} pairs looked at" if sampled else ""
                change = f"   [--set {finding.setting}]" if finding.setting else ""
                out.append(f"{finding.count:>9,} {_percent(self.share(finding))}  {finding.title}{of}{change}")
                if examples:
                    out += [f"{'':18}{_short(file)}:{line}  {text}" for file, line, text in finding.examples]
        if not self.findings:
            out.append("nothing wrong was found")
        return "\n".join(out)


class HeldOut:
    """The pairs of the dev and test parts, as fingerprints."""

    def __init__(self, pairs: Iterable[tuple[str, Sequence[str]]] = ()):
        self.pairs: set[int] = set()
        self.sources: set[int] = set()
        for source, targets in pairs:
            self.sources.add(fingerprint(source))
            self.pairs |= {fingerprint(source, target) for target in targets}


class QualityChecker:
    """Examines the data once, and then hands out the pairs that are good to learn from."""

    def __init__(
        self,
        files: PairFiles,
        config: CheckConfig,
        *,
        longest: int,
        languages: tuple[str | None, str | None] = (None, None),
        held: HeldOut | None = None,
        refuses: frozenset[str] = frozenset(),
        notify: Notify = lambda what, done, total: None,
    ):
        self.files, self.config, self.longest, self.languages = files, config, longest, languages
        self.held = held or HeldOut()
        self.refuses = refuses  # kinds of finding that stop a training
        self.notify = notify
        self.diagnosis = QualityReport(notes=list(files.notes))
        self._verdicts = bytearray()
        self._sample: list[Pair] = []  # evenly from the whole, for a look at the languages
        self._findings: dict[str, Finding] = {}

    def examine(self, excluded: TextIO, kept: Callable[[Pair], None] = lambda pair: None) -> QualityReport:
        """Look at everything; list what is left out (file, line, reason), and tell `kept` of every other pair."""
        usual = self._first_reading()
        expected = self._expected_languages()
        total = len(self._verdicts)
        looks_wrong = "drop" in (self.config.wrong_language, self.config.swapped)
        every = 1 if looks_wrong else max(1, math.ceil(total / LANGUAGE_SAMPLE))
        for index, pair in enumerate(self.files):
            if index % 20_000 == 0:
                self.notify("checking", index, total)
            reason = faults(pair, self.longest)
            kinds = [reason] if reason else self._judged(pair, self._verdicts[index], usual)
            if not reason and index % every == 0:
                self.diagnosis.language_sample += 1
                kinds += _language_doubts(pair, expected)
            # A pair that is left out counts once, for the gravest reason, so that the numbers add up.
            dropped = next((kind for kind in kinds if self.config.action(kind) == "drop"), None)
            for kind in [dropped] if dropped else [*kinds, *pair.marks]:
                self._note(kind, pair)
            if dropped:
                self._verdicts[index] = _LEFT_OUT
                self.diagnosis.left_out += 1
                title = KINDS[dropped].title if dropped in KINDS else dropped
                excluded.write(f"{pair.file}\t{pair.line}\t{title}\n")
            else:
                kept(pair)
        self.diagnosis.read = total
        order = [*KINDS]
        self.diagnosis.findings = sorted(
            self._findings.values(), key=lambda f: order.index(f.kind) if f.kind in order else len(order)
        )
        return self.diagnosis

    def good(self) -> Iterator[Pair]:
        """The pairs to learn from, in order; as often as you like after `examine`."""
        for pair, verdict in zip(self.files, self._verdicts, strict=True):
            if not verdict & _LEFT_OUT:
                yield pair

    def _first_reading(self) -> float:
        """Fingerprints of all pairs; marks duplicates. Returns the usual length of a target character by character."""
        exact, near = array("Q"), array("Q")
        lengths = [0, 0]
        every = 1
        opened = {path: reader.about for path, reader in self.files.readers}
        counts: Counter[str] = Counter()
        usable: set[str] = set()
        for index, pair in enumerate(self.files):
            if index % 20_000 == 0:
                self.notify("reading", index, 0)
            counts[pair.file] += 1
            faulty = faults(pair, self.longest) is not None
            self._verdicts.append(_LEFT_OUT if faulty else 0)
            if not faulty:
                usable.add(pair.file)
                if len(exact) % every == 0:
                    self._sample.append(pair)
                    if len(self._sample) == SAMPLE:
                        del self._sample[1::2]
                        every *= 2
                exact.append(fingerprint(pair.source, *pair.targets))
                near.append(fingerprint(_simplified(pair.source), _simplified(pair.targets[0])))
                lengths[0] += len(pair.source)
                lengths[1] += len(pair.targets[0])
        self.diagnosis.files = [(path, about, counts[path]) for path, about in opened.items()]
        empty = [path for path in opened if path not in usable]
        if usable and empty:
            self.diagnosis.notes.append(f"nothing to learn from in {', '.join(map(shown_path, empty))}")
        verdicts = np.frombuffer(self._verdicts, dtype=np.uint8)
        sound = np.flatnonzero(verdicts == 0)
        again = _repeated(np.frombuffer(exact, dtype=np.uint64))
        verdicts[sound[again]] |= _DUPLICATE
        alike = _repeated(np.frombuffer(near, dtype=np.uint64)) & ~again
        verdicts[sound[alike]] |= _NEAR
        return (lengths[1] + 1) / (lengths[0] + 1)

    def _judged(self, pair: Pair, verdict: int, usual: float) -> list[str]:
        """What is doubtful about a pair, the gravest first."""
        kinds = []
        if verdict & _DUPLICATE:
            kinds.append("duplicate")
        elif verdict & _NEAR:
            kinds.append("near_duplicate")
        if self.held.sources and fingerprint(pair.source) in self.held.sources:
            same = any(fingerprint(pair.source, target) in self.held.pairs for target in pair.targets)
            kinds.append("in_dev" if same else "source_in_dev")
        if far_apart(len(pair.source), len(pair.targets[0]), usual, self.config.ratio):
            kinds.append("length_ratio")
        return kinds + doubts(pair, self.config)

    def _expected_languages(self) -> tuple[str | None, str | None]:
        """What each side should be in: as given, or as most lines look; None when nobody can tell."""
        votes = _votes([(pair.source, pair.targets) for pair in self._sample])
        looks = language.majority(votes[0]), language.majority(votes[1])
        self.diagnosis.looks_like = looks
        self._check_languages(str(self.files), votes, len(self._verdicts), self._sample[:EXAMPLES])
        source, target = (
            look if given is None else language.primary(given) if language.known(given) else None
            for given, look in zip(self.languages, looks, strict=True)
        )
        return source, target

    def check_set(self, name: str, pairs: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Refuse a dev or test set in other languages than the data is said to be in."""
        self._check_languages(name, _votes(pairs[:: max(1, len(pairs) // SAMPLE)]), len(pairs))

    def _check_languages(self, name: str, votes: _Votes, count: int, examples: Sequence[Pair] = ()) -> None:
        """Refuse what is in other languages than it is said to be in; a mere check makes a finding of it."""
        mismatch = language.mismatch(votes, self.languages)
        if not mismatch or self.config.languages == "keep":
            return
        setting = "check.languages=keep"
        if "languages" not in self.refuses:
            raise DataError(f"{name}: {mismatch}; if all is right as it is: --set {setting}")
        finding = Finding("languages", f"{name}: {mismatch}", REFUSES, setting, count)
        finding.examples = [(pair.file, pair.line, _shown(pair)) for pair in examples]
        self._findings[f"languages of {name}"] = finding

    def _note(self, kind: str, pair: Pair) -> None:
        finding = self._findings.get(kind)
        if finding is None:
            left_out = kind not in pair.marks and self.config.action(kind) == "drop"
            training = REFUSES if kind in self.refuses else LEAVES_OUT if left_out else KEEPS
            fixed = kind not in KINDS or KINDS[kind].always
            other = "keep" if left_out else "drop"
            setting = _SETTINGS.get(kind, "") if fixed else f"check.{kind}={other}"
            title = KINDS[kind].title if kind in KINDS else kind
            finding = self._findings[kind] = Finding(kind, title, training, setting)
        finding.count += 1
        if len(finding.examples) < EXAMPLES:
            finding.examples.append((pair.file, pair.line, _shown(pair)))


_SETTINGS = {
    "invalid_bytes": "data.invalid_bytes=drop",
    "fuzzy": "data.fuzzy=true",
    "too_many_words": "data.max_tokens=200",
}
"""What to set about findings that no `check` setting is about."""


def fingerprint(*texts: str) -> int:
    """64 bits of one or more texts, the same on every machine."""
    digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


_TRIFLES = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


def _simplified(text: str) -> str:
    """The text without what makes near duplicates differ: case, punctuation, spaces, the digits themselves."""
    return _TRIFLES.sub("", _DIGITS.sub("0", text.casefold()))


def _repeated(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Which of them have occurred before."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    again = np.zeros(len(hashes), dtype=bool)
    again[order[1:][ranked[1:] == ranked[:-1]]] = True
    return again


def _votes(pairs: Sequence[tuple[str, Sequence[str]]]) -> _Votes:
    return language.votes(source for source, _ in pairs), language.votes(targets[0] for _, targets in pairs)


def _language_doubts(pair: Pair, expected: tuple[str | None, str | None]) -> list[str]:
    source, target = expected
    if source is None or target is None or source == target:
        return []
    seen = language.guess(pair.source), language.guess(pair.targets[0])
    if seen == (target, source):
        return ["swapped"]
    wrong = any(look is not None and look != want for look, want in zip(seen, expected, strict=True))
    return ["wrong_language"] if wrong else []


def _percent(share: float) -> str:
    return " <0.1%" if 0 < share < 0.0005 else f"{share:>6.1%}"


def _shown(pair: Pair, width: int = 100) -> str:
    """A pair on one line, shortened, without characters that act on a terminal."""
    half = width // 2
    sides = [side if len(side) <= half else side[: half - 1] + "…" for side in (pair.source, pair.targets[0])]
    text = " → ".join(sides).replace("\xa0", " ")
    return text if text.isprintable() else repr(text)[1:-1]


def _short(path: str, width: int = 40) -> str:
    return path if len(path) <= width else "…" + path[1 - width :]
