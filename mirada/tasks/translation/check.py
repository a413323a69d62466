"""What `mirada check` does: the checker on files of the user's, without training anything."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from mirada import config as configuration
from mirada.data.checks import CheckConfig
from mirada.data.quality import HeldOut, Notify, QualityChecker, QualityReport
from mirada.data.sources import DataConfig, PairFiles, Paths, data_settings, named, open_some
from mirada.tasks.translation.data import read_examples


def check(
    pairs: Paths = (),
    *,
    source: str | Path | None = None,
    target: Paths = (),
    dev: Paths = (),
    test: Paths = (),
    source_language: str | None = None,
    target_language: str | None = None,
    columns: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    excluded: TextIO | None = None,
    notify: Notify = lambda what, done, total: None,
) -> QualityReport:
    """Say what is wrong with the data and what training would do about it. Writes what it leaves out to `excluded`."""
    given = data_settings(pairs, source, target, dev, source_language, target_language, columns, absolute=False)
    built = configuration.build(
        {"data": DataConfig, "check": CheckConfig}, configuration.merge(settings or {}, {"data": given})
    )
    data: DataConfig = built["data"]
    held = [(str(files), *read_examples(files)) for files in _held_out(data, named(test))]
    # Read leniently, so that all such lines are found, and not the first alone.
    refuses = frozenset({"languages"} | ({"invalid_bytes"} if data.invalid_bytes == "refuse" else set()))
    checker = QualityChecker(
        data.model_copy(update={"invalid_bytes": "drop"}).open(),
        built["check"],
        longest=data.max_tokens,
        languages=(data.source_language, data.target_language),
        held=HeldOut(pair for _, pairs, _ in held for pair in pairs),
        refuses=refuses,
        notify=notify,
    )
    for name, pairs_held, passed in held:
        checker.check_set(name, pairs_held)
        checker.diagnosis.notes += passed
    with open(os.devnull, "w") as nowhere:
        return checker.examine(excluded or nowhere)


def _held_out(data: DataConfig, test: list[str]) -> list[PairFiles]:
    """The dev and test sets that were given."""
    dev = [data.open_dev()] if data.dev else []
    return dev + ([open_some(test, data.wanted, data.format)] if test else [])
