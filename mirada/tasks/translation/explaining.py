"""What a translator tells of its translations, word by word: alignments, and what each word rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack, cast

from mirada.errors import DataError, UsageError, counted
from mirada.inspection.alignment import Alignment, Breaks, Linking, Reading, word_spans
from mirada.metrics.alignment import NO_LINKS, Gold, parse_links
from mirada.tasks.inputs import check_choice, check_text
from mirada.tasks.model import DecodeOptions, evenly
from mirada.tasks.translation.alignment import METHODS, SAMPLE, Aligner, Pair, Place
from mirada.tasks.translation.ranking import Ranking

if TYPE_CHECKING:
    from mirada.inspection.attribution import Attribution
    from mirada.tasks.translation.model import TranslationModel

GoldLike = str | Gold | Iterable[tuple[int, int]]
"""A gold alignment: a line in Pharaoh's format, or links as pairs of places."""


class Explaining:
    """The verbs of a translator that explain: `align`, `attribute`."""

    def align(
        self,
        pairs: Pair | Iterable[Pair],
        *,
        gold: GoldLike | Sequence[GoldLike] | None = None,
        by: str = "attention",
        layer: Place = None,
        head: Place = None,
        row: str | None = None,
        links: Linking | None = None,
        threshold: float | None = None,
        word_breaks: Breaks = "spaces",
        to: str | None = None,
    ) -> list[Alignment]:
        """Align the words of sentence pairs; a pair that cannot be read has a `problem` and no links.

        `by` is attention, or leave-out: slower, and better. The layer and the head (from 0, or "mean") and the row
        ("chosen", or "fed-in") that are not given are chosen on a sample of the pairs: by AER with `gold` (an alignment
        for each pair), else by their agreement with leaving words out. `links` ("grow" if nothing is said) or a
        `threshold`: see `mirada.inspection.alignment.link`. Words end at spaces, or also at punctuation. `to` is the
        target language, for a model of two directions.
        """
        given = check_pairs(pairs)
        check_linking(by, links, threshold, layer, head, row)
        aligner = Aligner(cast("TranslationModel", self), word_breaks, to)
        truth = None if gold is None else check_gold(gold, given, word_breaks)
        reading, how = None, links or "grow"
        if by == "attention":
            reading, _ = choose(aligner, given, truth, layer, head, row, how)
        return list(aligner.align(given, reading, how, threshold, self._count(len(given))))

    def _count(self, total: int) -> Callable[[int], None]:
        model = cast("TranslationModel", self)
        return lambda done: model.progress(done, total)

    def attribute(
        self,
        text: str,
        target: str | None = None,
        *,
        methods: Sequence[str] = ("leave-out", "gradient"),
        layer: Place = "mean",
        head: Place = "mean",
        row: str = "chosen",
        to: str | None = None,
        **decode: Unpack[DecodeOptions],
    ) -> Attribution:
        """How much each word of a translation rests on each word of its source, beside what attention shows.

        `methods`: leave-out (how much less likely the word becomes without the word of the source) and gradient
        (gradient × input). `target` is the translation to explain; by default the model's own. Words are those of
        `attend(…).select(words=True)`.
        """
        from mirada.tasks.translation.attribution import attribute

        model = cast("TranslationModel", self)
        check_text(text)
        to, _ = model._direction(to, [text])
        aligner = Aligner(model, to=to)
        piece, (chosen, *_) = model.chosen(text, target, to=to, **decode)
        return attribute(aligner, piece, chosen, methods, aligner.among(layer, head, row)[0])


def choose(
    aligner: Aligner,
    pairs: Sequence[Pair],
    gold: Sequence[Gold] | None,
    layer: Place = None,
    head: Place = None,
    row: str | None = None,
    links: Linking = "grow",
) -> tuple[Reading, Ranking | None]:
    """The reading that aligns a sample of the pairs best among those that suit; its ranking, if there was a choice."""
    among = aligner.among(layer, head, row)
    if len(among) == 1:
        return among[0], None
    numbers = evenly(list(range(len(pairs))), SAMPLE)
    truth = None if gold is None else [gold[number] for number in numbers]
    ranking = aligner.rank([pairs[number] for number in numbers], truth, among, links)
    return ranking.chosen.reading, ranking


def check_linking(
    by: str, links: str | None, threshold: Any, layer: Place = None, head: Place = None, row: str | None = None
) -> None:
    """Refuse unknown or contradictory options of an alignment."""
    check_choice("by", by, METHODS)
    if links is not None:
        check_choice("links", links, ("target", "both", "either", "grow"))
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
            raise UsageError(f"--threshold {threshold!s:.40}: must be a weight above 0 and at most 1")
        if by != "attention":
            raise UsageError(
                f"--threshold {threshold}: is an attention weight, and {by} measures losses of log probability; "
                "leave it out, and use --links instead"
            )
        if links is not None:
            raise UsageError(f"--links {links}: --threshold {threshold} replaces it; leave out one of them")
    for name, given in (("layer", layer), ("head", head), ("row", row)):
        if by != "attention" and given is not None:
            raise UsageError(f"--{name} {given}: applies only to attention; leave it out, or use --by attention")


def check_pairs(given: Any) -> list[Pair]:
    """The pairs, if they are pairs of texts."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"pairs must be pairs of texts, (source, target), not {given!r:.40}")
    found = []
    for number, pair in enumerate(given, 1):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise UsageError(f"pair {number} must be a source and a target, not {pair!r:.40}")
        found.append(
            (check_text(pair[0], f"the source of pair {number}"), check_text(pair[1], f"its target, pair {number}"))
        )
    return found


def check_gold(given: Any, pairs: Sequence[Pair], breaks: Breaks = "spaces") -> list[Gold]:
    """Gold alignments, one for each pair, between words that it has; a single one may stand by itself."""
    if isinstance(given, (str, Gold)):
        given = [given]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise UsageError(f"gold must be an alignment for each pair, such as '0-0 1-2', not {given!r:.40}")
    lines = list(given)
    if len(lines) != len(pairs):
        counts = f"{counted(len(lines), 'gold alignment')} for {counted(len(pairs), 'pair')}"
        raise UsageError(f"{counts}: there must be one for each pair")
    hint = "; its words end at punctuation, too? word_breaks='punctuation'" if breaks == "spaces" else ""
    found = []
    for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), 1):
        where = f"gold alignment {number}"
        try:
            gold = _gold(line, where)
        except (TypeError, ValueError):
            raise UsageError(
                f"{where}: {line!r:.40} is not an alignment; write '0-0 1-2' or [(0, 0), (1, 2)]"
            ) from None
        gold.check(len(word_spans(pair[0], breaks)), len(word_spans(pair[1], breaks)), where, hint)
        found.append(gold)
    if found and not any(gold.sure | gold.possible for gold in found):
        raise DataError(f"gold: {NO_LINKS}")
    return found


def _gold(given: GoldLike, where: str) -> Gold:
    if isinstance(given, Gold):
        return given
    if isinstance(given, str):
        return parse_links(given, where)
    links = frozenset((int(source), int(target)) for source, target in given)
    return Gold(links, links)
