"""Word alignments by a translator's attention, compared with eflomal's, and attention compared with attribution.

    python -m bench alignment transformer lstm --train train.tsv         # against the built-in corpus's gold alignments
    python -m bench alignment es-en --pairs pairs.tsv                    # real pairs: agreement with eflomal, no gold

The bundles of the first form translate es → en of the built-in language, trained on `train.tsv` (`mirada corpus`).
Layer, head and row are chosen on 200 pairs of another seed than the 1,000 that are scored: once by AER, once without
gold alignments. eflomal (Östling & Tiedemann 2016; PyPI, installed into the benchmarks' own cache) learns from
`train.tsv` and the scored pairs, on the same words, lower-cased; its two directions are combined in the same way.

AER is given with precision and recall. Where all links are sure, 1 − AER is F1 and is the same whichever of two
alignments counts as gold: so on real pairs it says how far two aligners are apart, not which is right. `ρ` is the
mean rank correlation of a target word's attention with two measures: leaving words out, and gradient × input.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

import mirada
from bench.packages import importable
from mirada import builtin
from mirada.data.text import lines
from mirada.device import keep_memory
from mirada.inspection.alignment import Breaks, Reading, grown, word_spans
from mirada.metrics.alignment import AlignmentCounts, Gold, Links, parse_links
from mirada.tasks.translation.alignment import Aligner, Pair
from mirada.tasks.translation.attribution import attribute
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.ranking import Ranking

EFLOMAL = "eflomal==2.0.0"
TESTED, COMPARED, CHOSEN_ON, ATTRIBUTED = 1000, 2000, 200, 100


def sure(links: Iterable[tuple[int, int]]) -> Gold:
    found = frozenset(links)
    return Gold(found, found)


def counted(found: Iterable[Links], gold: Iterable[Gold]) -> AlignmentCounts:
    counts = AlignmentCounts()
    for links, truth in zip(found, gold, strict=True):
        counts.add(links, truth)
    return counts


def show(name: str, counts: AlignmentCounts, seconds: float | None = None) -> None:
    scores = counts.scores()
    took = "" if seconds is None else f"   {seconds:7.1f} CPU s"
    aer, precision, recall = (scores.score(which) for which in ("AER", "precision", "recall"))
    print(f"{name:<62} {aer:5.1f}  {precision:5.1f}  {recall:5.1f}{took}", flush=True)


def eflomal(pairs: Sequence[Pair], breaks: Breaks, last: int) -> dict[str, list[Links]]:
    """eflomal's links of the last pairs, having learned from all: forwards, backwards, and both grown together."""
    importable(EFLOMAL)
    peer: Any = import_module("eflomal")

    def tokenized(text: str) -> str:
        return " ".join(text[start:end] for start, end in word_spans(text, breaks)).lower() + "\n"

    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        forwards, backwards = Path(folder) / "forwards", Path(folder) / "backwards"
        source, target = ([tokenized(pair[side]) for pair in pairs] for side in (0, 1))
        peer.Aligner().align(source, target, str(forwards), str(backwards))
        found = {
            name: [parse_links(line, name).sure for line in lines(path)][-last:]
            for name, path in (("forwards", forwards), ("backwards", backwards))
        }
    found["grow"] = [
        symmetric(one, other, *(len(word_spans(text, breaks)) for text in pair))
        for one, other, pair in zip(*found.values(), pairs[-last:], strict=True)
    ]
    return found


def symmetric(one: Links, other: Links, sources: int, targets: int) -> Links:
    """Two alignments of a pair as one, as `link` does with "grow"."""
    tables = np.zeros((2, targets, sources), bool)
    for table, links in zip(tables, (one, other), strict=True):
        for source, target in links:
            table[target, source] = True
    return frozenset((int(s), int(t)) for t, s in np.argwhere(grown(tables[0] & tables[1], tables[0] | tables[1])))


def ours(
    aligner: Aligner, pairs: Sequence[Pair], reading: Reading | None, how: str = "grow"
) -> tuple[list[Links], float]:
    """Our links of the pairs, and the CPU seconds they took."""
    began = time.process_time()
    found = [each.links for each in aligner.align(pairs, reading, how)]  # type: ignore[arg-type]
    return found, time.process_time() - began


def best(ranking: Ranking, fed_in: bool) -> Reading:
    return next(row.reading for row in ranking.rows if row.reading.fed_in == fed_in)


def against_gold(bundles: Sequence[Path], train: Path | None) -> None:
    """AER on the built-in corpus."""
    examples = builtin.test("es", "en", TESTED)
    scored = {example.source for example in examples}
    others = [each for each in builtin.test("es", "en", 2 * CHOSEN_ON, seed=1) if each.source not in scored][:CHOSEN_ON]
    pairs, gold = [(each.source, each.targets[0]) for each in examples], [sure(each.alignment) for each in examples]
    sample = [(each.source, each.targets[0]) for each in others]
    print(f"{TESTED:,} pairs of the built-in language, es → en, words and punctuation marks")
    print(f"{'':62}   AER   prec.   rec.")
    for bundle in bundles:
        model = mirada.load(bundle, TranslationModel, threads=1)
        aligner = Aligner(model, "punctuation")
        by_gold = aligner.rank(sample, [sure(each.alignment) for each in others])
        blind = aligner.rank(sample)
        for row in by_gold.rows:
            print(f"    {row.value:5.1f} on the {CHOSEN_ON} pairs to choose by: {row.reading}")
        rows: list[tuple[str, Reading | None, str]] = [
            ("chosen by AER", by_gold.chosen.reading, "grow"),
            ("chosen without gold", blind.chosen.reading, "grow"),
            ("best of tokens being chosen", best(by_gold, False), "grow"),
            ("best of tokens fed in", best(by_gold, True), "grow"),
            ("chosen by AER, one link a target word", by_gold.chosen.reading, "target"),
            ("leaving words out", None, "grow"),
        ]
        for name, reading, how in rows:
            found, seconds = ours(aligner, pairs, reading, how)
            show(f"{bundle.name}: {name} ({reading or 'no attention'})", counted(found, gold), seconds)
        correlations(aligner, pairs[:ATTRIBUTED], by_gold.chosen.reading)
    if train is not None:
        with train.open(encoding="utf-8") as file:
            learned = [(row[0], row[1]) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        for name, some in ((f"{len(learned):,} pairs and these", [*learned, *pairs]), ("these pairs alone", pairs)):
            for how, links in eflomal(some, "punctuation", len(pairs)).items():
                show(f"eflomal, from {name}: {how}", counted(links, gold))


def correlations(aligner: Aligner, pairs: Sequence[Pair], reading: Reading) -> None:
    """The mean rank correlations of attention with the other measures."""
    for which in dict.fromkeys((aligner.among("mean", "mean", "chosen")[0], reading)):
        values: dict[str, list[float]] = {}
        first: dict[str, list[float]] = {}
        for pair in pairs:
            piece, (chosen,) = aligner.model.chosen(*pair)
            found = attribute(aligner, piece, chosen, reading=which)
            for name in found.measures:
                values.setdefault(name, []).extend(one for one in found.correlation(name) if not isnan(one))
                first.setdefault(name, []).extend([found.same_first(name)] * len(found.target))
        print(f"    attention ({which}) of the target words of {len(pairs)} pairs", flush=True)
        for name, each in values.items():
            same = f"the same source word is first for {np.mean(first[name]):.0%}"
            print(f"        with {name}: mean ρ {np.mean(each):+.2f} (sd {np.std(each):.2f}), {same}", flush=True)


def apart(bundles: Sequence[Path], file: Path, sentences: int) -> None:
    """How far our alignments of real pairs and eflomal's are apart."""
    from mirada.data.sources import DataConfig
    from mirada.tasks.translation.data import read_examples

    examples = read_examples(DataConfig.model_validate({"files": [str(file)]}).open())[0][:sentences]
    pairs = [(source, references[0]) for source, references in examples]
    last = min(COMPARED, len(pairs))
    peers = eflomal(pairs, "punctuation", last)
    print(f"{len(pairs):,} pairs of {file.name}, of which the last {last:,} are compared with eflomal's (grow)")
    pairs, gold = pairs[-last:], [sure(links) for links in peers["grow"]]
    print(f"{'':62}   AER   prec.   rec.")
    for name in ("forwards", "backwards"):
        show(f"eflomal: {name}", counted(peers[name], gold))
    for bundle in bundles:
        aligner = Aligner(mirada.load(bundle, TranslationModel, threads=1), "punctuation")
        blind = aligner.rank(pairs[:CHOSEN_ON])
        for name, reading in (("chosen without gold", blind.chosen.reading), ("leaving words out", None)):
            found, seconds = ours(aligner, pairs, reading)
            show(f"{bundle.name}: {name} ({reading or 'no attention'})", counted(found, gold), seconds)
        against = aligner.rank(pairs[:CHOSEN_ON], gold[:CHOSEN_ON])
        for fed_in in (False, True):
            found, seconds = ours(aligner, pairs, best(against, fed_in))
            show(f"{bundle.name}: nearest ({best(against, fed_in)})", counted(found, gold), seconds)
        correlations(aligner, pairs[:ATTRIBUTED], blind.chosen.reading)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench alignment")
    parser.add_argument("bundles", type=Path, nargs="+")
    parser.add_argument("--train", type=Path, help="the pairs that the bundles were trained on, for eflomal")
    parser.add_argument("--pairs", type=Path, help="real pairs, in any format that `mirada train` reads")
    parser.add_argument(
        "--sentences", type=int, default=15_000, help="maximum number of real pairs that eflomal learns from"
    )
    options = parser.parse_args(arguments)
    if options.pairs and options.train:
        sys.exit("--pairs and --train are for different comparisons; give one of them")
    keep_memory()
    if options.pairs:
        apart(options.bundles, options.pairs, options.sentences)
    else:
        against_gold(options.bundles, options.train)
