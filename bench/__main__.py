"""`python -m bench` runs every measurement that needs no data of yours; `python -m bench NAME …` those named."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import takewhile

MEASUREMENTS = ["training_speed", "decoding_speed", "generation_speed", "joeynmt_speed", "kills", "fuzz", "tamper"]
DOWNLOADS = ["minilm", "shakespeare", "images", "pretraining"]
"""Those that need a download, and so are only run when they are named."""


def main() -> None:
    if sys.argv[1:2] == ["mutants"]:  # takes hours, and options
        import_module("bench.mutants").main(sys.argv[2:])
        return
    words = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))  # what follows are options of one
    for name in words or MEASUREMENTS:
        if name not in MEASUREMENTS + DOWNLOADS:
            sys.exit(f"there is no measurement {name!r}; there are: {', '.join(MEASUREMENTS + DOWNLOADS)}")
        print(f"── {name}", flush=True)
        import_module(f"bench.{name}").main()


if __name__ == "__main__":  # not in the processes that a measurement starts
    main()
