"""Accuracy by the length of the texts."""

from __future__ import annotations

from mirada.tasks.classification.report import accuracy_by_length


def test_every_length_is_in_one_class() -> None:
    lengths = [1, 50, 51, 100, 200, 400, 401, 900]
    rows = accuracy_by_length(lengths, [True, False, True, True, True, False, True, False])
    assert [row.name for row in rows] == ["1–50", "51–100", "101–200", "201–400", "401–900"]
    assert [(row.count, row.value) for row in rows] == [(2, 50), (2, 100), (1, 100), (1, 0), (2, 50)]
    short = accuracy_by_length([5, 6, 50], [True, True, False])  # no text is long, so the classes are finer
    assert [(row.name, row.value) for row in short] == [("1–5", 100), ("6–10", 100), ("21–50", 0)]
