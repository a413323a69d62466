"""Two thousand damaged files of all formats; `python -m bench fuzz` does two hundred thousand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mirada.data.sources import DataConfig
from tests import fuzzing


@pytest.mark.parametrize("block", range(4))
def test_a_damaged_file_gives_pairs_or_one_clear_line(tmp_path: Path, block: int) -> None:
    outcomes = Counter(fuzzing.trial(tmp_path, seed) for seed in range(500 * block, 500 * (block + 1)))
    assert min(outcomes["read"], outcomes["refused"]) > 50


@pytest.mark.parametrize("name", fuzzing.FORMATS)
def test_an_undamaged_file_gives_every_record(tmp_path: Path, name: str) -> None:
    texts = [("fuente0a ñ", "word0a"), ("fuente1a", 'word1a "x"'), ("fuente2a", "word2a 😀")]
    path = tmp_path / f"good.{name}"
    path.write_bytes(fuzzing.FORMATS[name](texts))
    data = DataConfig(files=(str(path),), source_language="es", target_language="en")
    assert sorted(pair.fields for pair in data.open()) == sorted(texts)
