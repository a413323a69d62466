"""Alignment scores: against a plain reference, and what a gold file may say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.errors import DataError
from mirada.metrics.alignment import AlignmentCounts, Gold, evaluate_links, parse_links, pharaoh, read_gold

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)
CORPUS = st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=6)


def reference(corpus: list[tuple[frozenset[tuple[int, int]], ...]]) -> tuple[float, float, float]:
    """AER, precision and recall of (found, sure, possible), link by link."""
    found_possible = found_sure = found = sure = 0
    for links, certain, more in corpus:
        possible = certain | more
        for link in links:
            found += 1
            if link in possible:
                found_possible += 1
            if link in certain:
                found_sure += 1
        for _ in certain:
            sure += 1
    aer = 1 - (found_sure + found_possible) / (found + sure) if found + sure else 0.0
    precision = found_possible / found if found else 0.0
    recall = found_sure / sure if sure else 0.0
    return 100 * aer, 100 * precision, 100 * recall


@given(CORPUS)
def test_scores_are_those_of_a_plain_reference(corpus: list[tuple[frozenset[tuple[int, int]], ...]]) -> None:
    gold = [Gold(certain, certain | more) for _, certain, more in corpus]
    found = evaluate_links([links for links, _, _ in corpus], gold)
    expected = reference(corpus)
    assert [found.score(name) for name in ("AER", "precision", "recall")] == pytest.approx(expected)
    assert found.size == len(corpus)


@given(CORPUS)
def test_gold_has_no_errors_against_itself(corpus: list[tuple[frozenset[tuple[int, int]], ...]]) -> None:
    gold = [Gold(certain, certain | more) for _, certain, more in corpus]
    assert evaluate_links([one.sure for one in gold], gold).score("AER") == 0.0
    assert evaluate_links([one.possible for one in gold], gold).score("AER") == 0.0  # possible ones do no harm


@given(LINKS, LINKS)
def test_with_sure_links_alone_either_side_may_be_gold(
    one: frozenset[tuple[int, int]], other: frozenset[tuple[int, int]]
) -> None:
    there, back = AlignmentCounts(), AlignmentCounts()
    there.add(one, Gold(other, other))
    back.add(other, Gold(one, one))
    assert there.aer == pytest.approx(back.aer)


@given(LINKS)
def test_links_survive_their_text(links: frozenset[tuple[int, int]]) -> None:
    assert parse_links(pharaoh(links), "here").sure == links


def test_possible_links_have_two_spellings() -> None:
    gold = parse_links("0-0  2?1 1p10\t3-2", "here")
    assert gold.sure == {(0, 0), (3, 2)}
    assert gold.possible == {(0, 0), (3, 2), (2, 1), (1, 10)}


@pytest.mark.parametrize("wrong", ["0-", "-1-0", "0–0", "0-0,1-1", "a-b", "0-0-0", "٣-0", "1" * 9 + "-0", "0 - 0"])
def test_what_is_no_link_is_named_with_its_line(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "gold.align"
    path.write_text(f"0-0\n1-1 {wrong}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"gold\.align, line 2: '.+' is not a link; write 0-0"):
        list(read_gold(path))


def test_a_gold_file_may_be_packed_and_have_lines_without_links(tmp_path: Path) -> None:
    path = tmp_path / "gold.align.gz"
    path.write_bytes(gzip.compress(b"0-0\n\n1?2\n"))
    assert list(read_gold(path)) == [parse_links(text, "") for text in ("0-0", "", "1?2")]


@pytest.mark.parametrize("content", ["", "\n\n", " \n"])
def test_a_gold_file_without_links_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "gold.align"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"gold\.align: has no links to compare with; write them as 0-0 1-2"):
        list(read_gold(path))


def test_signatures_name_the_counts() -> None:
    gold = [parse_links("0-0 1-1 2?2 3-3", "here")]
    aer, precision, recall = evaluate_links([frozenset({(0, 0), (1, 1), (2, 2), (0, 1)})], gold).scores
    assert aer.signature == "found:4|sure:3|possible:4|found and sure:2|found and possible:3"
    assert (precision.signature, recall.signature) == ("found and possible:3|found:4", "found and sure:2|sure:3")
    assert aer.value == pytest.approx(100 * (1 - 5 / 7))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0-0 3-0", "the link 3-0 names word 3 of the source, where the last is word 2"),
        ("0?2", "the link 0-2 names word 2 of the target, where the last is word 1"),
    ],
)
def test_links_beyond_the_sentence_are_refused(line: str, says: str) -> None:
    gold = parse_links(line, "here")
    with pytest.raises(DataError, match=f"here: {says}; try this"):
        gold.check(3, 2, "here", "; try this")
    gold.check(4, 3, "here")
    with pytest.raises(DataError, match="names word -1 of the source"):
        Gold(frozenset({(-1, 0)})).check(3, 3, "here")
