"""Translate noisy and unusual input, compared with the clean test set it is derived from.

    python -m bench robustness BUNDLE [BUNDLE …] TEST.tsv [--peer FOLDER] [--sentences 300] [--worst 3] [--json FILE]

`bench/noise.py` has the kinds of noise. A row of the table is a kind and a system:

clean      chrF++ of the same lines without the noise
chrF++     with it, the reference changed alike where the noise should pass into the translation
kept       the share of spans (numbers, addresses, tags, names, emoji) that are in the translation, exactly
loops      the share of translations that repeat the same few words over and over
length     the share whose length is less than a third or more than three times that of the source
flagged    the share that Mirada flags (`Translation.flags`)

Of several references, the first counts. The peer is a model that `bench/marian.py` trained; it gets whole lines.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from bench.noise import KINDS, Altered, Case, Pair, cases
from mirada.errors import MiradaError
from mirada.metrics.translation import bleu, bleu_tokenizer, chrf
from mirada.tasks.translation.flags import loops

CLEAN = "clean"


class Output(NamedTuple):
    """A translation and its flags; None of a system that has none."""

    text: str
    flags: tuple[str, ...] | None = None


System = Callable[[Sequence[str]], list[Output]]


@dataclass(frozen=True)
class Row:
    """How a system translates one kind of input; None where a figure makes no sense."""

    kind: str
    system: str
    lines: int
    clean: float | None = None
    chrf: float | None = None
    bleu: float | None = None
    spans: int = 0
    kept: float | None = None
    loops: float = 0.0
    length: float = 0.0
    flagged: float | None = None


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────


def measure(
    system: str, inputs: Sequence[Case], outputs: Sequence[Output], clean: Sequence[Pair], tokenizer: str
) -> Row:
    """The row of a kind; `clean` are the translations of the inputs without noise, and their references."""
    scored = [number for number, case in enumerate(inputs) if case.altered.reference is not None]
    references = [[str(inputs[number].altered.reference)] for number in scored]
    texts = [outputs[number].text for number in scored]
    before = [clean[number] for number in scored]
    spans = sum(len(case.altered.spans) for case in inputs)
    lost = sum(len(missing(case.altered, output.text)) for case, output in zip(inputs, outputs, strict=True))
    flags = [bool(output.flags) for output in outputs if output.flags is not None]
    return Row(
        inputs[0].kind,
        system,
        len(inputs),
        chrf([text for text, _ in before], [[reference] for _, reference in before]) if scored else None,
        chrf(texts, references) if scored else None,
        bleu(texts, references, tokenizer) if scored else None,
        spans,
        1 - lost / spans if spans else None,
        _share([repeats(output.text) for output in outputs]),
        _share([odd_length(case.altered.source, output.text) for case, output in zip(inputs, outputs, strict=True)]),
        _share(flags) if flags else None,
    )


def missing(altered: Altered, text: str) -> list[str]:
    """The spans of an input that its translation lacks; each counts as often as it occurs."""
    gone = []
    for span, times in Counter(altered.spans).items():
        edges = r"(?<!\w)" * span[0].isalnum(), r"(?!\w)" * span[-1].isalnum()  # 47 is not in 4721
        found = len(re.findall(edges[0] + re.escape(span) + edges[1], text))
        gone += [span] * max(0, times - found)
    return gone


def repeats(text: str) -> bool:
    """Whether a text repeats the same few words over and over."""
    numbers: dict[str, int] = {}
    return loops([numbers.setdefault(word, len(numbers)) for word in re.findall(r"\w+", text.lower())])


def odd_length(source: str, text: str) -> bool:
    """Whether a translation is much shorter or longer than its source; ten characters more or less are neither."""
    one, other = len(source.strip()), len(text.strip())
    return 3 * other + 10 < one or other > 3 * one + 10 or not other


def _share(values: Sequence[bool]) -> float:
    return sum(values) / max(1, len(values))


# ── systems ───────────────────────────────────────────────────────────────────────────────────────────────────────


def bundle(path: Path, beam: int, engine: str) -> tuple[System, str | None]:
    """A bundle as a system, and its target language."""
    import mirada
    from mirada.tasks.translation.model import TranslationModel

    model = mirada.load(path, TranslationModel, engine=engine)

    def translate(texts: Sequence[str]) -> list[Output]:
        return [Output(found.text, found.flags) for found in model.translate(texts, beam=beam)]

    return translate, model.card["languages"]["target"]


def peer(folder: Path, beam: int) -> System:
    """A model of `bench/marian.py` as a system."""
    marian = import_module("bench.marian")
    return lambda texts: [Output(text) for text in marian.translate(folder, texts, beam)]


def read(path: Path) -> list[Pair]:
    """The pairs of a test set."""
    from mirada.data.sources import DataConfig
    from mirada.tasks.translation.data import read_examples

    examples, _ = read_examples(DataConfig.model_validate({"files": [str(path)]}).open())
    return [(source, references[0]) for source, references in examples]


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────


def show(rows: Sequence[Row]) -> None:
    """Print the rows, those of a kind together."""
    names = max(len("system"), *(len(row.system) for row in rows))
    print(
        f"{'':17}{'lines':>6}  {'system':{names}}{'clean':>8}{'chrF++':>8}{'':>7}{'BLEU':>7}{'kept':>8}{'loops':>8}"
        f"{'length':>8}{'flagged':>9}"
    )
    last = ""
    for row in rows:
        change = "" if row.clean is None or row.chrf is None or row.kind == CLEAN else f"{row.chrf - row.clean:+.1f}"
        head = f"{row.kind:17}{row.lines:>6}" if row.kind != last else " " * 23
        print(
            f"{head}  {row.system:{names}}{_number(row.clean):>8}{_number(row.chrf):>8}{change:>7}"
            f"{_number(row.bleu):>7}{_percent(row.kept):>8}{_percent(row.loops):>8}{_percent(row.length):>8}{_percent(row.flagged):>9}"
        )
        last = row.kind


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def show_worst(system: str, inputs: Sequence[Case], outputs: Sequence[Output], count: int) -> None:
    """Print the worst translations of a kind: spans lost, loops, then the least like their references."""

    def badness(number: int) -> tuple[bool, bool, float]:
        altered, text = inputs[number].altered, outputs[number].text
        score = chrf([text], [[altered.reference]]) if altered.reference is not None else 0.0
        return not missing(altered, text), not (repeats(text) or odd_length(altered.source, text)), score

    for number in sorted(range(len(inputs)), key=badness)[:count]:
        altered, output = inputs[number].altered, outputs[number]
        gone = ", ".join(missing(altered, output.text))
        flags = ", ".join(output.flags or ())
        print(f"\n{inputs[number].kind}, {system}{gone and f', lost: {gone}'}{flags and f', flagged: {flags}'}")
        for text in (altered.source, output.text, altered.reference):
            if text is not None:
                print(f"    {text!r}")


# ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench robustness")
    parser.add_argument("bundles", type=Path, nargs="+", metavar="BUNDLE")
    parser.add_argument("test", type=Path, metavar="TEST", help="pairs, as `mirada evaluate` takes them")
    parser.add_argument("--peer", type=Path, metavar="FOLDER", help="a model that bench/marian.py saved")
    parser.add_argument("--sentences", type=int, default=300, help="number of test sentences to use")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--engine", default="auto", help="auto, torch or ctranslate2")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst translations of each kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this new file")
    options = parser.parse_args(arguments)
    if options.sentences < 1:
        parser.error("--sentences must be 1 or more")
    if options.json and (options.json.exists() or not options.json.absolute().parent.is_dir()):
        parser.error(f"--json {options.json}: it exists, or its folder does not; give another name")
    if options.peer and not (options.peer / "sentencepiece.model").is_file():
        parser.error(f"--peer {options.peer}: is no folder of a model that bench/marian.py saved")
    try:
        rows = run(options)
    except MiradaError as error:
        sys.exit(str(error))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1) + "\n")


def run(options: argparse.Namespace) -> list[Row]:
    """Translate everything with every system, print the table and return its rows."""
    pairs = read(options.test)
    count = min(options.sentences, len(pairs))
    sample = [number * len(pairs) // count for number in range(count)]
    kinds = [[Case(CLEAN, (pairs[line],), Altered(*pairs[line])) for line in sample]]
    kinds += [found for kind in KINDS if (found := cases(kind, pairs, sample))]
    clean = list(dict.fromkeys(source for inputs in kinds for case in inputs for source, _ in case.clean))
    noisy = [case.altered.source for inputs in kinds for case in inputs]
    systems, language = dict[str, System](), None
    for path in options.bundles:
        name = path.resolve().name
        translate, language = bundle(path, options.beam, options.engine)
        systems[str(path) if name in systems else name] = translate
    if options.peer:
        systems[f"{options.peer.name} (peer)"] = peer(options.peer, options.beam)
    tokenizer = bleu_tokenizer(language, [[reference] for _, reference in pairs])
    translated: dict[str, list[list[Output]]] = {}
    table: list[list[Row]] = [[] for _ in kinds]
    for name, translate in systems.items():
        print(f"translating with {name}", file=sys.stderr, flush=True)
        # all at once: sentences of similar length share batches, and a peer is loaded once
        answers = iter(translate([*clean, *noisy]))
        texts = {source: next(answers).text for source in clean}
        translated[name] = [[next(answers) for _ in inputs] for inputs in kinds]
        for inputs, outputs, rows in zip(kinds, translated[name], table, strict=True):
            before = [_joined([(texts[source], reference) for source, reference in case.clean]) for case in inputs]
            rows.append(measure(name, inputs, outputs, before, tokenizer))
    every = [row for rows in table for row in rows]
    show(every)
    for name in systems if options.worst > 0 else ():
        for inputs, outputs in zip(kinds, translated[name], strict=True):
            show_worst(name, inputs, outputs, options.worst)
    return every


def _joined(pairs: Sequence[Pair]) -> Pair:
    return " ".join(text for text, _ in pairs), " ".join(reference for _, reference in pairs)
