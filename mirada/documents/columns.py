"""Which columns of a table are translated, and where the translations go."""

from __future__ import annotations

from collections.abc import Sequence

from mirada.errors import UsageError


def chosen(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of a source and a target: `text` in place, `text,translation` into another, `a=b,c=d` several of them."""
    if any("=" in column for column in columns):
        split = [column.partition("=") for column in columns]
        pairs = [(source.strip(), target.strip() or source.strip()) for source, _, target in split]
    elif len(columns) <= 2:
        pairs = [(columns[0].strip(), columns[-1].strip())]
    else:
        raise UsageError(
            f"--columns {','.join(columns)}: one column is translated in place, of two the second gets the "
            f"translation; for more say where each goes: {','.join(f'{column}={column}' for column in columns)}"
        )
    targets = [target for _, target in pairs]
    if len({*targets}) < len(targets) or not all(source for source, _ in pairs):
        raise UsageError(f"--columns {','.join(columns)}: names a column twice, or none; correct it")
    return pairs
