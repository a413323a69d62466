"""Times that go on, and the order they have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirada.tasks.forecasting.times import continue_times, dates_of, is_later, step_between


def days(first: date, steps: Sequence[int]) -> list[str]:
    return [(first + timedelta(days=step)).isoformat() for step in steps]


@pytest.mark.parametrize(
    ("times", "step", "ahead"),
    [
        (["2024-02-27", "2024-02-28"], "1 day", ["2024-02-29", "2024-03-01", "2024-03-02"]),
        (["1.9.2024", "8.9.2024", "15.9.2024"], "7 days", ["22.9.2024", "29.9.2024", "6.10.2024"]),
        (["2023/11/15", "2023/12/15"], "1 month", ["2024/01/15", "2024/02/15", "2024/03/15"]),
        (["2023-10-31", "2023-11-30", "2023-12-31"], "1 month", ["2024-01-31", "2024-02-29", "2024-03-31"]),
        (["2023-11-30", "2023-12-30"], "1 month", ["2024-01-30", "2024-02-29", "2024-03-30"]),
        (["2023-06-30", "2023-09-30"], "3 months", ["2023-12-31", "2024-03-31", "2024-06-30"]),
        (["2023-11", "2023-12"], "1 month", ["2024-01", "2024-02", "2024-03"]),
        (["1998", "1999"], "1 year", ["2000", "2001", "2002"]),
        (["7", "9"], "2 steps", ["11", "13", "15"]),
        (["2024-1-1 8:00", "2024-1-1 8:45"], "45 minutes", [f"2024-1-1 {t}" for t in ("09:30", "10:15", "11:00")]),
        (["2024-01-01T22:00:00Z", "2024-01-01T23:00:00Z"], "1 hour", [f"2024-01-02T0{h}:00:00Z" for h in range(3)]),
        (["2024-01-01", "2024-01-05", "2024-03-07", "2024-03-09", "2024-04-01"], "1 step", ["+1", "+2", "+3"]),
        (["2024-01-01"], "1 step", ["+1", "+2", "+3"]),
        (["9999-12-30", "9999-12-31"], "1 day", ["+1", "+2", "+3"]),
        (["monday", "tuesday"], "1 step", ["+1", "+2", "+3"]),
    ],
)  # fmt: skip
def test_times_go_on(times: list[str], step: str, ahead: list[str]) -> None:
    assert step_between(times) == step
    assert continue_times(times, 3) == ahead


def test_no_times_are_counted() -> None:
    assert continue_times(None, 2) == ["+1", "+2"]


def test_weekdays_go_on_with_weekdays() -> None:
    times = days(date(2024, 1, 1), [0, 1, 2, 4, 7, 8, 9, 10])  # a Monday first; one Thursday was a holiday
    assert step_between(times) == "1 weekday"
    assert continue_times(times, 3) == ["2024-01-12", "2024-01-15", "2024-01-16"]
    with_sunday = days(date(2024, 1, 1), [0, 1, 2, 3, 4, 5, 6, 7])
    assert continue_times(with_sunday[:6], 2) == ["2024-01-07", "2024-01-08"]


@settings(max_examples=60, deadline=None)
@given(
    first=st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    weekdays=st.booleans(),
    known=st.integers(8, 40),
    ahead=st.integers(1, 30),
)
def test_what_goes_on_is_what_would_have_come(first: date, weekdays: bool, known: int, ahead: int) -> None:
    all_days = (first + timedelta(days=step) for step in range(200))
    labels = [day.isoformat() for day in all_days if not weekdays or day.weekday() < 5]
    assert continue_times(labels[:known], ahead) == labels[known : known + ahead]


def test_labels_as_dates() -> None:
    found = dates_of(["31.01.2024 10:30", "01.02.2024 10:30"])
    assert found is not None
    assert [moment.isoformat() for moment in found] == ["2024-01-31T10:30:00", "2024-02-01T10:30:00"]
    assert dates_of(["2024-01-01", "+1"]) is None
    assert dates_of(["1", "2"]) is None


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [
        ("2024-01-31", "2024-02-01", True),
        ("2024-02-01", "2024-02-01", False),
        ("2024-02-01", "2024-01-31", False),
        ("9", "10", True),
        ("2024-10-27T02:30+02:00", "2024-10-27T02:00+01:00", True),
        ("2024-01-31", "01.02.2024", False),
        ("soon", "later", False),
    ],
)
def test_which_label_is_later(first: str, second: str, later: bool) -> None:
    assert is_later(first, second) is later
