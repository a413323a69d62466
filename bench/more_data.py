"""Back-translation, both directions, ensembles and distillation, compared with plain training on the same data.

    python -m bench more_data base --pairs es-en.train.tsv.gz --dev es-en.dev.tsv.gz --from es --to en --minutes 20
    python -m bench more_data reverse|back|both|ensemble|distilled|table …

Each variant is one command that trains for so many minutes and keeps what it makes in --work; those that need another
variant say so. Every model has the same preset and the same number of subwords.

    base        the pairs as they are
    reverse     the other direction, which back-translates (no variant by itself)
    back        the pairs and back-translated sentences (--mono, needs reverse); --sample for sampled ones
    both        one model of both directions
    ensemble    two models of half the time each, their probabilities averaged
    distilled   a model trained on the ensemble's translations of the sources and on the pairs (needs ensemble)

The first half of the dev set chooses the weights, the second is the test set.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.command import mirada

Options = Any


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench more_data")
    parser.add_argument("variant", choices=[*VARIANTS, "table"])
    parser.add_argument("--pairs", type=Path, help="TSV, plain or gzipped")
    parser.add_argument("--dev", type=Path, help="TSV: the first half is used for choices, the second is scored")
    parser.add_argument("--mono", type=Path, help="TSV whose first column is text in the target language")
    parser.add_argument("--sentences", type=int, default=30_000, help="number of sentences to use")
    parser.add_argument("--from", dest="source", default="es")
    parser.add_argument("--to", dest="target", default="en")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--vocabulary", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", action="store_true", help="sample back-translations from the 10 likeliest tokens")
    parser.add_argument("--work", type=Path, default=Path("more_data"))
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.variant == "table":
        print((options.work / "results.txt").read_text(), end="")
        return
    if options.pairs is None or options.dev is None:
        parser.error("--pairs and --dev are needed")
    split_dev(options)
    began = time.monotonic()
    bundle = VARIANTS[options.variant](options)
    found = scored(options, bundle, options.variant == "reverse")
    figures = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    name = f"{options.variant}{' (sampled)' * options.sample}, {options.minutes:g} minutes, seed {options.seed}"
    line = f"{name}: {figures}; took {time.monotonic() - began:.0f} s"
    print(line)
    with open(options.work / "results.txt", "a", encoding="utf-8") as results:
        results.write(line + "\n")


# ── variants ──────────────────────────────────────────────────────────────────────────────────────────────────────


def base(options: Options) -> str:
    return trained(options, options.work / "base", [options.pairs])


def reverse(options: Options) -> str:
    return trained(options, options.work / "reverse", [options.pairs], way=(options.target, options.source))


def back(options: Options) -> str:
    name = "sampled" if options.sample else "back"
    more, mono = options.work / f"{name}.tsv", options.work / "mono.txt"
    if not more.exists():
        if options.mono is None:
            sys.exit("back: needs --mono, text in the target language")
        new_sentences(options, mono)
        how = ("--sample", "--top-k", "10") if options.sample else ("--beam", "1")
        mirada("backtranslate", needed(options, "reverse"), mono, "--out", more, *how)
    return trained(options, options.work / name, [options.pairs, more])


def both(options: Options) -> str:
    return trained(options, options.work / "both", [options.pairs], "--direction", "both")


def ensemble(options: Options) -> str:
    names = [options.work / f"half-{number}" for number in (1, 2)]
    for seed, name in enumerate(names, options.seed):
        trained(options, name, [options.pairs], minutes=options.minutes / 2, seed=seed)
    return "+".join(map(str, names))


def distilled(options: Options) -> str:
    teacher = "+".join(str(needed(options, f"half-{number}")) for number in (1, 2))
    made = options.work / "distilled.tsv"
    if not made.exists():
        mirada("distill", teacher, options.pairs, "--out", made, "--originals")
    return trained(options, options.work / "distilled", [made])


VARIANTS = {name.__name__: name for name in (base, reverse, back, both, ensemble, distilled)}


def needed(options: Options, name: str) -> Path:
    bundle: Path = options.work / name
    if not (bundle / "card.json").exists():
        variant = "ensemble" if name.startswith("half") else name
        sys.exit(f"{options.variant}: run this first, with the same --work: python -m bench more_data {variant} …")
    return bundle


def trained(
    options: Options,
    bundle: Path,
    files: list[Path],
    *more: str,
    way: tuple[str, str] | None = None,
    minutes: float | None = None,
    seed: int | None = None,
) -> str:
    """Train a bundle, unless it is there."""
    source, target = way or (options.source, options.target)
    columns = () if way is None else ("--columns", "2,1")
    if not (bundle / "card.json").exists():
        mirada(
            *(
                "train",
                *files,
                "--from",
                source,
                "--to",
                target,
                "--dev",
                options.work / "dev.tsv",
                "--out",
                bundle,
                "--overwrite",
            ),
            *("--minutes", str(minutes or options.minutes), "--preset", options.preset),
            *("--seed", str(seed or options.seed), "--set", f"tokenizer.vocabulary={options.vocabulary}"),
            *columns,
            *more,
        )
    return str(bundle)


# ── data ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(path: Path) -> Iterator[list[str]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def split_dev(options: Options) -> None:
    """Write the halves of the dev set."""
    found = list(rows(options.dev))
    half = len(found) // 2
    for name, part in (("dev", found[:half]), ("test", found[half:])):
        (options.work / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in part), encoding="utf-8")


def new_sentences(options: Options, out: Path) -> None:
    """Sentences that are neither in the pairs nor in the dev set."""
    known = {row[1] for path in (options.pairs, options.dev) for row in rows(path)}
    fresh = dict.fromkeys(row[0] for row in rows(options.mono) if row[0] not in known)
    out.write_text("".join(f"{text}\n" for text in [*fresh][: options.sentences]), encoding="utf-8")


def scored(options: Options, bundle: str, reversed_: bool) -> dict[str, float]:
    """BLEU and chrF++ on the test half."""
    columns = ("--columns", "2,1") if reversed_ else ()
    found = json.loads(mirada("evaluate", bundle, options.work / "test.tsv", "--json", *columns))
    return {score["name"]: score["value"] for score in found["scores"] if not score["name"].startswith("TER")}
