"""Translation metrics: BLEU, chrF++ and TER with signatures, by length, and lost numbers, URLs and placeholders.

The scores are sacrebleu's, so that they can be compared with anyone's; a signature says how each was computed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mirada.data.language import UNSPACED
from mirada.data.normalize import nfc
from mirada.data.placeholders import found, key
from mirada.errors import UsageError
from mirada.metrics.score import Evaluation, Score, check_sizes, shown

LENGTH_CLASSES = ((0, 0), (1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 50))
"""Shortest and longest source, in words; longer sentences are a class of their own."""

MAX_EXAMPLES = 5

BLEU_TOKENIZERS = {"zh": "zh", "yue": "zh", **dict.fromkeys(("ja", "th", "lo", "km", "my", "bo", "dz"), "char")}
"""sacrebleu's tokenizers for languages that put no spaces between words."""


@dataclass(frozen=True)
class LengthRow:
    """The scores of the sentences whose source has from `shortest` to `longest` words."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Damage:
    """Numbers, URLs or placeholders that should have been kept from source to output, and were lost.

    Something is expected if the source has it and every reference of that sentence keeps it: a "2" that a reference
    writes as "two" is not. Repetitions count.
    """

    kind: str
    """"number", "url" (e-mail addresses too) or "placeholder" (%s, {name}, <b>, &amp; and the like)."""
    expected: int
    lost: int
    examples: tuple[tuple[int, str], ...]
    """The first few: the number of the sentence, from 1, and what it lost."""


@dataclass(frozen=True)
class TranslationScores(Evaluation):
    """The evaluation of one translation of a test set."""

    by_length: tuple[LengthRow, ...]
    damage: tuple[Damage, ...]
    refused: int = 0
    """Sentences that the model could not take: they count as empty translations."""
    cut: int = 0
    """Translations that were cut at the length limit."""

    unit = "sentences"

    def tables(self) -> Iterator[Iterator[str]]:
        yield self._text_by_length()
        yield self._text_of_damage()

    def _text_by_length(self) -> Iterator[str]:
        yield f"{'source words':<14}{'sentences':>10}{'BLEU':>8}{'chrF++':>8}"
        for row in self.by_length:
            words = f"{row.shortest}–{row.longest}" if row.shortest < row.longest else f"{row.shortest}"
            yield f"{words:<14}{row.sentences:>10}{row.bleu:>8.2f}{row.chrf:>8.2f}"

    def _text_of_damage(self) -> Iterator[str]:
        yield f"{'to be kept':<14}{'expected':>10}{'lost':>8}"
        for row in self.damage:
            examples = ", ".join(f"{shown(what, 60)} (sentence {number})" for number, what in row.examples)
            line = f"{_KINDS[row.kind]:<14}{row.expected:>10}{row.lost:>8}"
            yield f"{line}  {examples}{', …' if row.lost > len(row.examples) else ''}" if examples else line


@dataclass(frozen=True)
class BothWays(TranslationScores):
    """The evaluation of a model that translates both ways. The tables are those of each direction."""

    ways: dict[str, TranslationScores] = field(default_factory=dict)
    """By direction: es→en."""

    @classmethod
    def of(cls, ways: dict[str, TranslationScores]) -> "BothWays":
        """All scores with their direction in their names, those of the first direction first."""
        scores = [replace(score, name=f"{score.name} {way}") for way, one in ways.items() for score in one.scores]
        notes = [f"{way}: {note}" for way, one in ways.items() for note in one.notes]
        size, refused, cut = (sum(getattr(one, key) for one in ways.values()) for key in ("size", "refused", "cut"))
        return cls(size, tuple(scores), (), (), refused, cut, ways, notes=tuple(notes))

    def tables(self) -> Iterator[Iterator[str]]:
        for way, one in self.ways.items():
            yield iter([way])
            yield from one.tables()


def evaluate(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: str = "13a",
) -> TranslationScores:
    """Score one translation of a test set; `references[i]` are the one or more references of sentence i, `tokenizer`
    is sacrebleu's for the target language (see `bleu_tokenizer`).

    TER searches for shifted words: sentences of hundreds of words take it many seconds each.
    """
    check_sizes("source", sources, hypotheses)
    hypotheses, references = _checked(hypotheses, references)
    return TranslationScores(
        size=len(hypotheses),
        scores=text_scores(hypotheses, references, tokenizer),
        by_length=tuple(_by_length(sources, hypotheses, references, tokenizer)),
        damage=_damage(sources, hypotheses, references),
    )


def text_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str = "13a"
) -> tuple[Score, ...]:
    """BLEU, chrF++ and TER of texts, each beside one or more references."""
    hypotheses, references = _checked(hypotheses, references)
    scores = []
    for name, metric in _metrics(tokenizer).items():
        value = metric.corpus_score(hypotheses, _streams(references)).score
        scores.append(Score(name, float(value), str(metric.get_signature()), lower_is_better=name == "TER"))
    return tuple(scores)


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str = "13a") -> float:
    """The BLEU of a translation alone, fast enough for validations during training."""
    hypotheses, references = _checked(hypotheses, references)
    return float(_bleu_metric(tokenizer).corpus_score(hypotheses, _streams(references)).score)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The chrF++ of texts alone; unlike BLEU, it distinguishes texts of a few words."""
    hypotheses, references = _checked(hypotheses, references)
    return float(_metrics()["chrF++"].corpus_score(hypotheses, _streams(references)).score)


_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")


def bleu_tokenizer(language: str | None, references: Sequence[Sequence[str]]) -> str:
    """sacrebleu's tokenizer for a target language: `13a` cuts at spaces and marks, and would take a whole Chinese
    sentence for one word.

    `zh` for Chinese; `char`, which counts characters, for Japanese, Thai, Lao, Khmer, Burmese and Tibetan. Where the
    language is not known, the script of the references decides.
    """
    code = re.split("[-_]", (language or "").lower())[0]
    if code in BLEU_TOKENIZERS:
        return BLEU_TOKENIZERS[code]
    if code:
        return "13a"
    text = "".join(given[0] for given in references[:1000])
    unspaced = len(UNSPACED.findall(text))
    if unspaced == 0 or 2 * unspaced < len(_LETTER.findall(text)):
        return "13a"
    return "char" if _KANA.search(text) or not _HAN.search(text) else "zh"


# --- scores -------------------------------------------------------------------------------------------------------


def _checked(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The translations, and the references of each, all in Unicode's composed form (NFC).

    An empty reference beside a real one is taken for one that nobody wrote.
    """
    check_sizes("sentence", references, hypotheses)
    if [] in map(list, references):
        raise UsageError(f"sentence {[*map(list, references)].index([]) + 1} has no reference")
    written = [[nfc(text) for text in given if text.strip()] or [""] for given in references]
    return list(map(nfc, hypotheses)), written


def _streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The references as sacrebleu wants them: the first of every sentence, the second of every sentence, …

    Gaps are None, which sacrebleu leaves out. It would take an empty text, though its documentation says otherwise,
    for an empty reference: the shortest there can be, and so the closest in length to any short translation.
    """
    most = max(len(given) for given in references)
    return [[given[index] if index < len(given) else None for given in references] for index in range(most)]


def _bleu_metric(tokenizer: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    # `force` only silences a warning about tokenized text, which names an option that nobody here can set.
    return BLEU(tokenize=tokenizer, force=True)


def _metrics(tokenizer: str = "13a") -> dict[str, Any]:
    """The metrics by name, new ones each time: a metric remembers the references it last saw."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    return {"BLEU": _bleu_metric(tokenizer), "chrF++": CHRF(word_order=2), "TER": TER()}


def _by_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str
) -> Iterator[LengthRow]:
    """Corpus scores of each class of source lengths that has sentences."""
    lengths = [len(source.split()) for source in sources]
    beyond = LENGTH_CLASSES[-1][1] + 1
    for shortest, longest in (*LENGTH_CLASSES, (beyond, max(beyond, *lengths))):
        members = [index for index, length in enumerate(lengths) if shortest <= length <= longest]
        if not members:
            continue
        translated = [hypotheses[index] for index in members]
        streams = _streams([references[index] for index in members])
        metrics = _metrics(tokenizer)
        scores = [float(metrics[name].corpus_score(translated, streams).score) for name in ("BLEU", "chrF++")]
        yield LengthRow(shortest, longest, len(members), *scores)


# --- damage -------------------------------------------------------------------------------------------------------

_KINDS: dict[str, str] = {"number": "numbers", "url": "URLs, e-mails", "placeholder": "placeholders"}


def _damage(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[Damage, ...]:
    """Count what was to be kept and what was lost, of each kind."""
    expected: Counter[str] = Counter()
    lost: dict[str, list[tuple[int, str]]] = {kind: [] for kind in _KINDS}
    for number, (source, hypothesis, given) in enumerate(zip(sources, hypotheses, references, strict=True), 1):
        there = found(source)
        if not any(there.values()):
            continue
        outcome, kept = found(hypothesis), [found(reference) for reference in given]
        for kind, items in there.items():
            due = Counter(map(key, items))
            for reference in kept:
                due &= Counter(map(key, reference[kind]))
            expected[kind] += due.total()
            gone = due - Counter(map(key, outcome[kind]))
            for item in items:
                if gone[key(item)] > 0:
                    gone[key(item)] -= 1
                    lost[kind].append((number, item))
    return tuple(Damage(kind, expected[kind], len(lost[kind]), tuple(lost[kind][:MAX_EXAMPLES])) for kind in _KINDS)
