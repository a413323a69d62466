"""Fills the gaps of a gettext catalog by translation. Each line of a message is translated by itself, spaces kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mirada.data.po import Catalog
from mirada.data.verbatim import found
from mirada.tasks.translator import Translation


@dataclass(frozen=True)
class Filling:
    """A catalog with its gaps filled, and what a person should look at."""

    content: bytes
    filled: int
    """Entries that had no translation and now have one, marked fuzzy."""
    problems: tuple[tuple[int, str], ...]
    """Line of an entry, and why it was left empty or needs care."""


def fill(catalog: Catalog, translate: Callable[[list[str]], Sequence[Translation]]) -> Filling:
    """Translate what is untranslated. Of the n best translations, the first that keeps all placeholders is taken."""
    messages = [text for gap in catalog.gaps for text in (gap.text, gap.plural)]
    lines = list(dict.fromkeys(line.strip() for text in messages for line in text.split("\n") if line.strip()))
    outcome = dict(zip(lines, translate(lines), strict=True))
    problems: list[tuple[int, str]] = []
    singulars, plurals, filled = [], [], 0
    for gap in catalog.gaps:
        texts = []
        for message in (gap.text, gap.plural):
            parts = [_line(line, outcome) for line in message.split("\n")]
            faults = [fault for _, fault in parts if fault]
            problems += [(gap.line, fault) for fault in faults]
            left_empty = any(outcome[line.strip()].problem for line in message.split("\n") if line.strip())
            texts.append("" if left_empty else "\n".join(text for text, _ in parts))
        singulars.append(texts[0])
        plurals.append(texts[1])
        filled += bool(texts[0].strip() and (texts[1].strip() or not gap.plural))
    return Filling(catalog.filled(singulars, plurals), filled, tuple(problems))


def _line(line: str, outcome: dict[str, Translation]) -> tuple[str, str]:
    """A line's translation between the spaces of the original, and what is wrong with it, if anything."""
    inner = line.strip()
    if not inner:
        return line, ""
    translation = outcome[inner]
    if translation.problem:
        return "", f"{translation.problem}; it is left untranslated"
    wanted = Counter(found(inner)["placeholder"])
    options = [text for text, _ in translation.alternatives] or [translation.text]
    best = next((text for text in options if Counter(found(text)["placeholder"]) == wanted), None)
    lost = [] if best is not None else [f"its placeholders were not kept: {', '.join(wanted) or options[0]}"]
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return before + (options[0] if best is None else best) + after, "; ".join([*lost, *translation.notes])
