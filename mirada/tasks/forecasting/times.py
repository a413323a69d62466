"""Parse, order and extrapolate the time labels of tables."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np

from mirada.data.text import shown_text
from mirada.errors import DataError

_LOOK_BACK = 1000  # the last labels say what the usual step is
_TICK = timedelta(microseconds=1)
_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_ZONE = re.compile(r"(?<=\d)(?:Z|[+-]\d\d:?\d\d)$")
_TIMES = "times are read as 2024-05-31, 2024/05/31, 31.05.2024 (then perhaps 14:30:00), 2024-05, 2024, or whole numbers"


def _ticks(moment: datetime) -> int:
    return (moment - datetime.min) // _TICK


def _moment(ticks: int) -> datetime:
    return datetime.min + ticks * _TICK


@dataclass(frozen=True)
class Format:
    """How labels write times: a date as strptime has it, or whole numbers."""

    pattern: str  # nothing: whole numbers
    zoned: bool = False

    def local(self, label: str) -> int | None:
        """The time on the label, in microseconds (or the number itself); None if it is written otherwise."""
        if not self.pattern:
            return int(label) if re.fullmatch(r"-?\d{1,15}", label, re.ASCII) else None
        zone = _ZONE.search(label) if self.zoned else None
        if self.zoned and not zone:
            return None
        try:
            moment = datetime.strptime(label[: zone.start()] if zone else label, self.pattern)
        except ValueError:
            return None
        # a four-digit number that is far from any year is just a number
        return None if self.pattern == "%Y" and not 1500 <= moment.year <= 2200 else _ticks(moment)

    def order(self, label: str) -> int | None:
        """The same moment everywhere on Earth: the local time less the zone's offset."""
        local = self.local(label)
        if local is None or not self.zoned or label.endswith("Z"):
            return local
        sign, *digits = _ZONE.findall(label)[0].replace(":", "")
        hours, minutes = int("".join(digits[:2])), int("".join(digits[2:]))
        return local - int(f"{sign}1") * (hours * _UNITS["hour"] + minutes * _UNITS["minute"])

    def write(self, local: int, last: str, padded: bool) -> str:
        """A label like the last one."""
        if not self.pattern:
            return str(local)
        text = _moment(local).strftime(self.pattern)
        if not padded:  # 5.1.2024
            date = re.match(r"[^ T]*", text)
            text = re.sub(r"\b0", "", text[: date.end()]) + text[date.end() :] if date else text
        return text + (_ZONE.findall(last)[0] if self.zoned else "")


_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")
_CLOCKS = ("", *(between + clock for between in " T" for clock in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")))
_PATTERNS = (*(date + clock for date in _DATES for clock in _CLOCKS), "%Y-%m", "%Y", "")


def format_of(labels: Sequence[str]) -> Format | None:
    """The one way in which all labels are written."""
    if not labels or not re.match(r"-?\d", labels[0]):
        return None
    patterns = ("%Y", "") if labels[0].lstrip("-").isdecimal() else _PATTERNS  # the others need marks between digits
    formats = (
        Format(pattern, zoned) for pattern in patterns for zoned in (False, True) if ":" in labels[0] or not zoned
    )
    return next((form for form in formats if all(form.local(label) is not None for label in labels)), None)


class Clock:
    """The times of a table as they are read: each later than the one before, or each earlier."""

    def __init__(self, file: str, column: str, form: Format | None):
        self._file, self._column, self._format = file, column, form
        self.labels: list[str] = []
        self.reversed = False
        self._last: tuple[int, int, str] | None = None  # when, line, label
        self._turned = ""  # which row was earlier than the one before it

    def add(self, line: int, label: str) -> None:
        self._format = self._format or format_of([label])
        if self._format == Format("%Y") and self._format.local(label) is None:  # 1900, 1901, … 2201: no years after all
            self._format = Format("")
            self._last = self._last and (int(self._last[2]), *self._last[1:])
        when = self._format.order(label) if self._format else None
        if when is None:
            as_before = f", or not like {shown_text(self.labels[-1])} above it" if self.labels else ""
            what = f"{shown_text(label)} is not a time{as_before}" if label else "no time"
            raise DataError(f"{self._file}, line {line}, column {shown_text(self._column)}: {what}; {_TIMES}")
        if self._last is not None:
            self._compare(when, line, label, *self._last)
        self.labels.append(label)
        self._last = when, line, label

    def _compare(self, when: int, line: int, label: str, before: int, line_before: int, label_before: str) -> None:
        if len(self.labels) == 1 and when < before:
            self.reversed = True
            self._turned = f", but line {line} is earlier than line {line_before}"
        if (when < before) == self.reversed and when != before:
            return
        how = "later" if when > before else "earlier"
        problem = (
            f"is the time of line {line_before} too; only one row may have it"
            if when == before
            else f"is {how} than {shown_text(label_before)} in line {line_before}{self._turned}; sort the rows by time"
        )
        raise DataError(f"{self._file}, line {line}, column {shown_text(self._column)}: {shown_text(label)} {problem}")


def dates_of(labels: Sequence[str]) -> list[datetime] | None:
    """The labels as local dates, for an image's axis; None unless all are dates and written alike."""
    form = format_of(labels)
    return [_moment(form.local(label) or 0) for label in labels] if form and form.pattern else None


def is_later(earlier: str, later: str) -> bool:
    """Whether the second label is later than the first; not if they are written differently."""
    form = format_of([earlier, later])
    first, second = (form.order(label) if form else None for label in (earlier, later))
    return first is not None and second is not None and first < second


class _Step(NamedTuple):
    """The usual way from one label to the next."""

    unit: Literal["step", "microsecond", "weekday", "month"]
    size: int
    day: int = 0  # of the month; 31: its last

    def after(self, last: int, number: int) -> int:
        """The local time `number` steps after the last one."""
        ahead = self.size * number
        if self.unit in ("step", "microsecond"):
            return last + ahead
        if self.unit == "weekday":
            day, clock = divmod(last, _UNITS["day"])  # day 0 was a Monday
            weeks, weekday = divmod(day % 7 + ahead, 5)
            return (day - day % 7 + 7 * weeks + weekday) * _UNITS["day"] + clock
        moment = _moment(last)
        year, month = divmod(12 * moment.year + moment.month - 1 + ahead, 12)
        longest = calendar.monthrange(year, month + 1)[1]
        return _ticks(moment.replace(year=year, month=month + 1, day=min(self.day, longest)))


def _usual_step(form: Format, labels: Sequence[str]) -> _Step | None:
    """The step that at least half of the labels make."""
    times = np.array([form.local(label) for label in labels])
    step = _Step("microsecond" if form.pattern else "step", 0)
    days = times // _UNITS["day"]
    if form.pattern and len(set(times % _UNITS["day"])) == 1:
        moments = [_moment(int(time)) for time in times]
        if day := _day_of_month(moments):
            step, times = _Step("month", 0, day), np.array([12 * moment.year + moment.month for moment in moments])
        elif (days % 7 < 5).all() and (np.diff(days) == 1).any() and (np.diff(days) == 3).any():
            step, times = _Step("weekday", 0), 5 * (days // 7) + days % 7
    size, count = Counter(np.diff(times).tolist()).most_common(1)[0]
    return step._replace(size=size) if size > 0 and 2 * count >= len(labels) - 1 else None


def _day_of_month(moments: Sequence[datetime]) -> int:
    """The day of the month that all moments keep to (31: its last), 0 if there is none."""
    lasts = [calendar.monthrange(moment.year, moment.month)[1] for moment in moments]
    pairs = list(zip(moments, lasts, strict=True))
    day = 31 if all(moment.day == last for moment, last in pairs) else max(moment.day for moment in moments)
    return day if all(moment.day == min(day, last) for moment, last in pairs) else 0


def step_between(times: Sequence[str]) -> str:
    """The usual step from label to label: "1 day", "7 days", "1 month", "1 weekday"; "1 step" where there is none."""
    labels = times[-_LOOK_BACK:]
    form = format_of(labels)
    step = _usual_step(form, labels) if form and len(labels) > 1 else None
    unit: str = step.unit if step else "step"
    size = step.size if step else 1
    larger = {"year": 12} if unit == "month" else _UNITS if unit == "microsecond" else {}
    for name, parts in larger.items():
        if size % parts == 0:
            unit, size = name, size // parts
            break
    return f"{size} {unit}{'' if size == 1 else 's'}"


def continue_times(times: Sequence[str] | None, n: int) -> list[str]:
    """The next n labels, written like the last ones; +1, +2, … where no usual step is to be seen."""
    labels = (times or [])[-_LOOK_BACK:]
    form = format_of(labels)
    step = _usual_step(form, labels) if form and len(labels) > 1 else None
    if form and step:
        last = form.local(labels[-1]) or 0
        padded = not any(re.match(r"(.*\D)?\d(\D|$)", re.split("[T ]", label)[0]) for label in labels)
        try:
            return [form.write(step.after(last, number), labels[-1], padded) for number in range(1, n + 1)]
        except (OverflowError, ValueError):
            pass  # the calendar ends with the year 9999
    return [f"+{number}" for number in range(1, n + 1)]
