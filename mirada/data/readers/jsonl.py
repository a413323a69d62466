"""JSON lines: an object a line, or an array of source, target and any further references."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirada.data.readers.names import are_names, is_number, named_columns, nearest
from mirada.data.readers.pair import SYNTHETIC, TRANSLATION, Format, Wanted, references, synthetic_mark
from mirada.data.records import Record
from mirada.data.text import StrPath, lines, shown_path, shown_text
from mirada.errors import DataError, UsageError

JSONL_PROBE = 100
"""Non-blank lines that are looked at to find out the keys."""

_ARRAY_WAY_OUT = "write one entry per line with `jq -c '.[]'`"


@dataclass(frozen=True, slots=True)
class _Twice:
    """The last of the values that an object has for one key."""

    value: Any


_BLANK = object()
"""What a line without anything on it holds."""


class JsonLines:
    """The pairs of a file with a JSON value on each line; a target that is a list holds further references."""

    def __init__(self, path: StrPath, wanted: Wanted):
        self.path = str(path)
        self._name, self._lenient = shown_path(path), wanted.lenient
        self._kind: type = dict
        self._take: Callable[[Any], Sequence[Any]] = list
        self._header = 0  # its line
        self._keys: tuple[str, ...] = ()
        self.about, self.note = "JSON lines", ""
        if len(wanted.columns) == 1:
            raise UsageError(f"--columns {wanted.columns[0]}: names one key; give that of the source and of the target")
        line, first = next(self._filled(), (0, _BLANK))
        if isinstance(first, dict):
            self._take_keys(wanted)
        elif isinstance(first, list) and not (first and isinstance(first[0], (dict, list))):
            self._take_places(line, first, wanted)
        elif isinstance(first, list):
            raise DataError(f"{self._name}, line {line}: a JSON array of all entries; {_ARRAY_WAY_OUT}")
        elif first is not _BLANK:
            raise DataError(
                f"{self._name}, line {line}: neither an object nor an array, but {shown_text(str(first))}; "
                'JSON lines are like {"source": "Hola", "target": "Hello"}'
            )

    def __iter__(self) -> Iterator[Record]:
        for line, value in self._values():
            if line == self._header:
                continue
            if value is _BLANK:
                yield Record(("", ""), self.path, line)
            elif not isinstance(value, self._kind):
                problem = "not_array" if self._kind is list else "not_object"
                yield Record(("", ""), self.path, line, problem)
            else:
                yield _pair(self._take(value), self.path, line, self._lenient, self._marks(line, value))

    def _marks(self, line: int, value: Any) -> tuple[str, ...]:
        """Which side of an object a model made, by the key that says so."""
        made = value.get(SYNTHETIC) if isinstance(value, dict) else None
        return synthetic_mark("" if made is None else str(made), self._keys, f"{self._name}, line {line}")

    def _take_places(self, line: int, first: Sequence[Any], wanted: Wanted) -> None:
        """Takes the places asked for of each array, or all of them in their order."""
        self._kind = list
        if wanted.header or (wanted.header is None and _are_names(first, wanted)):
            self._header = line
            self.note = f"line {line} is read as a header, not as a pair; if it is a pair: --set data.header=false"
        self.about = "JSON lines, arrays of {} and {}".format(*wanted.fields)
        if not wanted.columns:
            return
        for column in wanted.columns:
            if not is_number(column) or int(column) < 1:
                raise DataError(
                    f"{self._name}: has arrays, so there is no {shown_text(column)}; choose by number: --columns 1,2"
                )
        places = [int(column) - 1 for column in wanted.columns]
        self._take = lambda array: [array[place] if place < len(array) else None for place in places]
        self.about = f"JSON lines, places {', '.join(wanted.columns[:-1])} and {wanted.columns[-1]} of arrays"

    def _take_keys(self, wanted: Wanted) -> None:
        """Takes the keys asked for of each object, or those whose names say that they are source and target."""
        names: dict[str, None] = {}
        missing = set(wanted.columns)
        for _, value in itertools.islice(self._filled(), JSONL_PROBE):
            if isinstance(value, dict):
                names.update(dict.fromkeys(_names(value)))
                missing -= {key for key in missing if key in names or _get(value, key) is not None}
        for key in wanted.columns:
            if key in missing:
                raise DataError(
                    f"{self._name}: has no key {shown_text(key)}{nearest(key, names)}; it has {_listed(names)}"
                )
        self._keys = keys = wanted.columns or self._known_keys(list(names), wanted)
        self._take = lambda object_: [_get(object_, key) for key in keys]
        shown = [shown_text(key) for key in keys]
        self.about = f"JSON lines, keys {', '.join(shown[:-1])} and {shown[-1]}"

    def _known_keys(self, names: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
        """The keys of source and target if their names say so, also inside of an object called "translation"."""
        for prefix in ("", "translation."):
            group = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
            found = named_columns(group, wanted)
            if found:
                return tuple(prefix + group[place] for place in found)
        languages = " or name the languages with --from es --to en" * (wanted.fields == TRANSLATION)
        raise UsageError(
            f"{self._name}: has no keys whose names say which are {' and '.join(wanted.fields)}; it has "
            f"{_listed(names)}; choose them with --columns {','.join(wanted.fields)}{languages}"
        )

    def _filled(self) -> Iterator[tuple[int, Any]]:
        return ((line, value) for line, value in self._values() if value is not _BLANK)

    def _values(self) -> Iterator[tuple[int, Any]]:
        """The value of each line."""
        first = True
        for number, line in enumerate(lines(self.path, lenient=self._lenient), 1):
            value = _BLANK
            if line.strip():
                try:
                    value = _DECODER.decode(line)
                except json.JSONDecodeError as fault:
                    raise self._fault(number, line, fault, first) from None
                except RecursionError:
                    raise DataError(f"{self._name}, line {number}: values are nested too deeply") from None
                first = False
            yield number, value

    def _fault(self, number: int, line: str, fault: json.JSONDecodeError, first: bool) -> DataError:
        place = f"{self._name}, line {number}"
        if first and line.lstrip().startswith("["):
            return DataError(f"{place}: a JSON array over several lines; {_ARRAY_WAY_OUT}")
        if first and line.lstrip().startswith("{") and fault.pos >= len(line.rstrip()):
            return DataError(
                f"{place}: a JSON object over several lines; write one per line with `jq -c .`, "
                "or if the entries are in an array inside it, with `jq -c '.[][]'`"
            )
        return DataError(
            f"{place}, column {fault.pos + 1}: not JSON: {fault.msg}: {shown_text(line[fault.pos :], 30)}; "
            "correct or delete the line"
        )


# --- values ---------------------------------------------------------------------------------------------------------


def _object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which keys that were given twice are marked."""
    found = dict(items)
    if len(found) < len(items):
        counts = Counter(key for key, _ in items)
        found = {key: _Twice(value) if counts[key] > 1 else value for key, value in found.items()}
    return found


# Numbers are not texts whatever their value, and some have more digits than Python takes.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=len, parse_float=len)


def _are_names(array: Sequence[Any], wanted: Wanted) -> bool:
    """Whether an array names the columns of those below it."""
    return len(array) > 1 and all(isinstance(cell, str) for cell in array) and are_names(array[:2], wanted)


def _names(object_: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an object, and with dots those of the objects inside of it."""
    for key, value in object_.items():
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def _get(object_: Mapping[str, Any], key: str) -> Any:
    """The value for a key, or for a path of keys with dots between; None if there is none."""
    while key not in object_:
        first, _, key = key.partition(".")
        inner = object_.get(first)
        if isinstance(inner, _Twice):
            return inner
        if not key or not isinstance(inner, dict):
            return None
        object_ = inner
    return object_[key]


def _pair(values: Sequence[Any], path: str, line: int, lenient: bool | None, marks: tuple[str, ...]) -> Record:
    """The pair of a source and its targets, of which each may be a list of several."""
    problems: list[str] = []
    source, *targets = [*values, None, None][: max(2, len(values))]
    flat = [text for target in targets for text in (target if isinstance(target, list) and target else [target])]
    texts = [_text(value, problems, lenient) for value in (source, *flat)]
    return Record((texts[0], *references(texts[1:])), path, line, problems[0] if problems else "", marks)


def _text(value: Any, problems: list[str], lenient: bool | None) -> str:
    """The text that a value is, as far as it is one."""
    if isinstance(value, _Twice):
        problems.append("repeated_key")
        value = value.value
    if value is None or value == []:
        return ""
    if not isinstance(value, str):
        problems.append("not_text")
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write and UTF-8 cannot
        if lenient:
            return value
        problems.append("invalid_unicode")
        return value.encode(errors="replace").decode()
    return value


def _listed(names: Collection[str]) -> str:
    return ", ".join(shown_text(name, 30) for name in itertools.islice(names, 20)) + (", …" if len(names) > 20 else "")


FORMATS = {"jsonl": Format(JsonLines, (".jsonl", ".ndjson", ".json"), (b"{",))}
