"""The verb `align`: word alignments of sentence pairs, and their score against a gold alignment."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mirada.cli import app as cli
from mirada.cli.answers import formatted
from mirada.cli.app import LOOK, app, listed, note, option, say
from mirada.cli.output import check_new, text_output
from mirada.cli.predict import load
from mirada.cli.progress import Progress
from mirada.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from mirada.data.sources import PairFiles
    from mirada.inspection.alignment import Alignment, Breaks
    from mirada.metrics.alignment import Gold
    from mirada.tasks.translation.alignment import Pair
    from mirada.tasks.translation.model import TranslationModel

NAMED = 10
"""Pairs without an alignment that are named, one by one."""


@app.command(panel=LOOK)
def align(
    bundle: cli.Bundle,
    pairs: Annotated[Path | None, cli.argument(help="Sentence pairs, in any format that `train` reads.")] = None,
    source: cli.SourceFile = None,
    target: cli.TargetFiles = None,
    from_: cli.From = None,
    to: cli.To = None,
    columns: cli.Columns = None,
    out: cli.Out = None,
    gold: Annotated[
        Path | None, option(help="A gold alignment, one line per pair (0-0 1-2 3?3): print AER, precision and recall.")
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="List how well each layer and head aligns, and which was chosen.")
    ] = False,
    by: Annotated[
        str, typer.Option(help="Method: attention, or leave-out (better, but several times slower).")
    ] = "attention",
    layer: Annotated[
        str | None, typer.Option(help="The layer, counted from 0, or mean.", show_default="the best one")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="The head, counted from 0, or mean.", show_default="the best one")
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(
            help="The attention with which a token was chosen (chosen), or after it was fed in (fed-in).",
            show_default="the best one",
        ),
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(
            help="target: one link per target word; both: best in both directions; either; grow: in between.",
            show_default="grow",
        ),
    ] = None,
    threshold: Annotated[
        float | None, option(help="Link all words with at least this weight instead: 0.2", show_default=False)
    ] = None,
    word_breaks: Annotated[
        str, typer.Option(help="Where words end: spaces, or punctuation (punctuation marks are then separate words).")
    ] = "spaces",
    json_: cli.Json = False,
    threads: cli.Threads = None,
    device: cli.Device = None,
) -> None:
    """Align the words of sentence pairs by a translator's attention: 0-0 1-2 …, one line per pair (Pharaoh format).

    A pair that cannot be aligned is reported and gives an empty line, so that line n always belongs to pair n.
    """
    from mirada.tasks.translation.alignment import Aligner
    from mirada.tasks.translation.explaining import check_linking, choose
    from mirada.tasks.translation.model import TranslationModel

    check_new(out, "--out")
    check_linking(by, links, threshold, layer, head, row)
    if heads and by != "attention":
        raise UsageError("--heads: applies only to attention; leave it out, or use --by attention")
    model = load(bundle, device, threads, TranslationModel)
    aligner = Aligner(model, word_breaks, model.directions.of_files(to))  # type: ignore[arg-type]  # refuses what it does not know
    places = _place(layer), _place(head)
    aligner.among(*places, row)
    files = _open(model, pairs, source, target or [], from_, to, listed(columns))
    given = _Pairs(files, gold, aligner.breaks)
    linking = links or "grow"
    with text_output(out) as sink, Progress(given, out is not None or not sys.stdout.isatty()) as progress:
        reading = ranking = None
        if by == "attention":
            sample = given.sample
            truth = None if gold is None else [one for _, one in sample]
            reading, ranking = choose(aligner, [pair for pair, _ in sample], truth, *places, row, linking)  # type: ignore[arg-type]
            if heads:
                ranking = ranking or aligner.rank([pair for pair, _ in sample], truth, [reading], linking)  # type: ignore[arg-type]
                print(json.dumps(ranking.as_dict()) if json_ else ranking.as_text(), flush=True)
            how = f", chosen on a sample of {counted(ranking.pairs, 'pair')}: {ranking}" if ranking else ""
            note(f"mirada: aligned by {reading}{how}")
        shown = out is not None or not (gold or heads)
        progress.start(0)
        for alignment in given.scored(aligner.align(given.pairs(), reading, linking, threshold, progress)):  # type: ignore[arg-type]
            if shown:
                sink.write(formatted(alignment, json_) + "\n")
    given.say_problems()
    if gold is not None:
        print(formatted(given.counts.scores((f"aligned by {reading or 'leaving words out'}",)), json_))


def _place(given: str | None) -> int | str | None:
    """A layer or head as a number; other text is refused later."""
    return int(given) if given is not None and given.isdecimal() else given


def _open(
    model: TranslationModel,
    pairs: Path | None,
    source: Path | None,
    targets: list[Path],
    from_: str | None,
    to: str | None,
    columns: list[str],
) -> PairFiles:
    """The files of pairs; their languages are those of the model, unless told."""
    from mirada import config
    from mirada.data.sources import DataConfig, data_settings

    if pairs is None and source is None and not targets:
        raise UsageError("there are no pairs to align: name a file, or give --source and --target files")
    own = model.directions.pair(model.directions.of_files(to))
    _check_source(model, from_, own)
    tags = from_ or own[0], to or own[1]
    settings = data_settings(() if pairs is None else pairs, source, targets, (), *tags, columns, absolute=False)
    files: PairFiles = config.build({"data": DataConfig}, {"data": settings})["data"].open()
    return files


def _check_source(model: TranslationModel, from_: str | None, own: tuple[str | None, str | None]) -> None:
    """Refuse sources in another language than that of the model, if it has one: not a group of them (roa, mul)."""
    from mirada.data.language import primary

    known = primary(own[0] or "")
    if from_ is None or len(known) != 2 or primary(from_) == known:
        return
    other = f"; for the other direction: --to {own[0]}" if model.directions.both else ""
    raise UsageError(f"--from {from_}: {model.path} translates from {own[0]} into {own[1]}{other}")


@dataclass
class _Pairs:
    """The pairs of files with their gold alignments: read once to count them and to take a sample, then to align."""

    files: PairFiles
    gold: Path | None
    breaks: Breaks
    unit: str = "pairs"
    total: int = 0
    sample: list[tuple[Pair, Gold]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from mirada.metrics.alignment import AlignmentCounts
        from mirada.tasks.translation.alignment import SAMPLE

        self.counts = AlignmentCounts()
        self._problems: list[str] = []
        self._where: list[str] = []
        chance = random.Random(0)
        usable = 0
        for pair, gold, _ in self._read():
            self.total += 1
            if pair is None:
                continue
            usable += 1
            if len(self.sample) < SAMPLE:
                self.sample.append((pair, gold))
            elif (place := chance.randrange(usable)) < SAMPLE:
                self.sample[place] = pair, gold
        if not usable:
            raise DataError(f"{self.files}: has no sentence pairs to align")

    def _read(self) -> Iterator[tuple[Pair | None, Gold, str]]:
        """Each pair, None if it cannot be used; its gold alignment; where it stands, or what is wrong with it."""
        from mirada.data.checks import fault, of_one
        from mirada.data.text import shown_path
        from mirada.inspection.alignment import word_spans
        from mirada.metrics.alignment import Gold, read_gold

        if self.gold is None:
            rows: Iterable[tuple[object, Gold | None]] = ((record, Gold()) for record in self.files)
        else:
            rows = zip_longest(self.files, read_gold(self.gold))
        hint = "; if its words end at punctuation, too: --word-breaks punctuation" if self.breaks == "spaces" else ""
        for number, (record, gold) in enumerate(rows, 1):
            if record is None or gold is None:
                raise self._unequal(number - 1)
            where = f"{shown_path(record.file)}, line {record.line}"  # type: ignore[attr-defined]
            if reason := fault(record, longest=0):  # type: ignore[arg-type]
                yield None, gold, f"{where}: {of_one(reason)}"
                continue
            pair = record.fields[:2]  # type: ignore[attr-defined]
            if self.gold is not None:
                sizes = [len(word_spans(text, self.breaks)) for text in pair]
                gold.check(sizes[0], sizes[1], f"{shown_path(self.gold)}, line {number}", hint)
            yield pair, gold, where

    def _unequal(self, common: int) -> DataError:
        from mirada.data.text import lines, shown_path

        assert self.gold is not None
        pairs, alignments = sum(1 for _ in self.files), sum(1 for _ in lines(self.gold))
        return DataError(
            f"{shown_path(self.gold)}: has {counted(alignments, 'line')}, and {self.files} has "
            f"{counted(pairs, 'pair')}; line n must belong to pair n"
        )

    def pairs(self) -> Iterator[Pair | None]:
        """The pairs to align, in order."""
        self._golds: list[Gold] = []
        for pair, gold, where in self._read():
            self._golds.append(gold)
            self._where.append(where)
            yield pair

    def scored(self, alignments: Iterable[Alignment]) -> Iterator[Alignment]:
        """The alignments, counted against gold; those that are empty for a reason are kept in mind."""
        for alignment in alignments:
            gold, where = self._golds.pop(0), self._where.pop(0)
            self.counts.add(alignment.links, gold)
            if alignment.problem:
                self._problems.append(where if alignment.problem == "left out" else f"{where}: {alignment.problem}")
            yield alignment

    def say_problems(self) -> None:
        """Report the pairs that have no alignment, the first of them one by one."""
        for problem in self._problems[:NAMED]:
            say(f"mirada: {problem}; its line is left empty")
        if len(self._problems) > NAMED:
            say(f"mirada: {counted(len(self._problems) - NAMED, 'more line')} left empty")
