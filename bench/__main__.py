"""`python -m bench` runs all benchmarks that need no download; `python -m bench NAME …` runs the named ones."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import takewhile

BENCHMARKS = [
    "training_speed",
    "decoding_speed",
    "generation_speed",
    "joeynmt_speed",
    "busy",
    "kills",
    "fuzz",
    "tamper",
]
DOWNLOADS = ["minilm", "shakespeare", "images", "pretraining"]
"""Benchmarks that download data, and so run only by name."""
ARGUMENTS = [
    "alignment",
    "before_after",
    "glossary",
    "more_data",
    "mutants",
    "preparing",
    "robustness",
    "start",
    "time_to_quality",
    "tokenizing",
    "translating",
    "workers",
]
"""Benchmarks with arguments of their own."""


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ARGUMENTS:
        import_module(f"bench.{sys.argv[1]}").main(sys.argv[2:])
        return
    names = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))  # options of a benchmark follow
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS + DOWNLOADS:
            known = ", ".join([*BENCHMARKS, *DOWNLOADS, *ARGUMENTS])
            sys.exit(f"there is no benchmark {name!r}; choose from: {known}")
        print(f"── {name}", flush=True)
        import_module(f"bench.{name}").main()


if __name__ == "__main__":  # not in child processes
    main()
