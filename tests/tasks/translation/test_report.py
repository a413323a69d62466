"""The longest paths between words, against a search in the graph of who sees whom."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from mirada.tasks.translation.report import path_lengths

Node = tuple[str, int]


def graph(model: dict[str, Any], n: int) -> list[tuple[Node, Node]]:
    """Which position hears from which in one step: n source words, n target words."""
    everywhere = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1)]
    if model["name"] == "transformer":
        looks = [(("source", i), ("source", j)) for i, j in everywhere]
        return [*looks, *((("source", i), ("target", j)) for i, j in everywhere)]
    steps: list[tuple[Node, Node]] = [(("source", i), ("source", i + 1)) for i in range(1, n)]
    steps += [(("source", n), ("state", 0)), *((("state", j), ("state", j + 1)) for j in range(n))]
    if model["bidirectional"]:
        steps += [(("backward", i + 1), ("backward", i)) for i in range(1, n)] + [(("backward", 1), ("state", 0))]
    if model["attention"] != "none":
        steps += [(("source", i), ("target", j)) for i, j in everywhere]
    return steps


def distances(steps: list[tuple[Node, Node]], word: int) -> dict[Node, int]:
    """From a source word, which begins in both directions, to everywhere."""
    found: dict[Node, int] = {("source", word): 0, ("backward", word): 0}
    queue = deque(found)
    while queue:
        node = queue.popleft()
        for before, after in steps:
            if before == node and after not in found:
                found[after] = found[node] + 1
                queue.append(after)
    return found


@pytest.mark.parametrize(
    "model",
    [
        {"name": "seq2seq-lstm", "attention": "none", "bidirectional": False},
        {"name": "seq2seq-lstm", "attention": "none", "bidirectional": True},
        {"name": "seq2seq-gru", "attention": "dot", "bidirectional": True},
        {"name": "transformer"},
    ],
)
def test_path_lengths_are_those_of_the_graph(model: dict[str, Any]) -> None:
    across, within = path_lengths(model).values()
    for n in (8, 16):
        steps, words = graph(model, n), range(1, n + 1)
        far = {i: distances(steps, i) for i in words}
        # The state after a word is where it comes out, with or without a look at the source.
        assert across.steps[n] == max(
            min(far[i].get(("target", j), 999), far[i].get(("state", j), 999)) for i in words for j in words
        )
        assert within.steps[n] == max(far[i]["source", j] for i in words for j in words if i < j)
        readable = across.formula.replace("⌊", "(").replace("⌋", ")").replace("−", "-").replace("/", "//")
        assert eval(readable.replace("2n", "2*n"), {"n": n}) == across.steps[n]


def test_an_unknown_architecture_has_no_paths() -> None:
    assert path_lengths({"name": "something-new"}) == {}
