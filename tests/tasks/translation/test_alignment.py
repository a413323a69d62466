"""Alignments by a trained translator: batches, readings, leaving words out, attribution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import mirada
from mirada.data.batching import collate_pairs
from mirada.errors import DataError, InputError, UsageError
from mirada.inspection.alignment import Alignment, Reading
from mirada.inspection.attribution import of_source
from mirada.metrics.alignment import AlignmentCounts, Gold
from mirada.tasks.translation import alignment
from mirada.tasks.translation.alignment import Aligner, Side
from mirada.tasks.translation.explaining import GoldLike
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.ranking import Ranked, Ranking, steadiest
from tests import toy

WORDS = {**toy.NOUNS, **toy.ADJECTIVES, **toy.VERBS, "el": "the"}


def gold(pair: tuple[str, str]) -> Gold:
    """Every word with its one translation, in order; articles are possible ones: they need no source."""
    source, target = (text.split() for text in pair)
    links, used = set(), set[int]()
    for place, word in enumerate(source):
        there = next(t for t, other in enumerate(target) if other == WORDS.get(word, word) and t not in used)
        used.add(there)
        links.add((place, there))
    return Gold(frozenset((s, t) for s, t in links if source[s] != "el"), frozenset(links))


def line(truth: Gold) -> str:
    """A gold alignment in Pharaoh's format."""
    return " ".join(f"{s}{'-' if (s, t) in truth.sure else '?'}{t}" for s, t in sorted(truth.possible))


PAIRS = toy.pairs(60, seed=5)
GOLD = [gold(pair) for pair in PAIRS]


def aer(found: list[Alignment]) -> float:
    counts = AlignmentCounts()
    for each, truth in zip(found, GOLD, strict=True):
        counts.add(each.links, truth)
    return counts.aer


@pytest.fixture(scope="module")
def aligner(trained: TranslationModel) -> Aligner:
    return Aligner(trained)


def test_a_trained_model_aligns_words_with_their_translations(trained: TranslationModel) -> None:
    found = trained.align(PAIRS, gold=GOLD)
    assert aer(found) < 25
    assert aer(trained.align(PAIRS, by="leave-out")) < 35
    one = trained.align(("el gato ve el tren", "the cat sees the train"))[0]
    assert (one.source, one.target) == (("el", "gato", "ve", "el", "tren"), ("the", "cat", "sees", "the", "train"))
    assert one.weights.shape == (5, 5)
    assert one.reading is not None


def test_gold_chooses_what_is_not_surely_worse_than_the_lowest_aer(aligner: Aligner) -> None:
    ranking = aligner.rank(PAIRS, GOLD)
    assert ranking.pairs == len(PAIRS)
    values = [row.value for row in ranking.rows]
    assert values == sorted(values)
    assert ranking.chosen in ranking.rows[:2]  # one head alone is a little better on this sample
    assert ranking.chosen.reading.head is None
    for row in ranking.rows[:2]:
        assert aer(list(aligner.align(PAIRS, row.reading))) == pytest.approx(row.value, abs=0.5)
    (line,) = (line for line in ranking.as_text().splitlines() if "← chosen" in line)
    assert f"{ranking.chosen.value:9.2f}" in line


def ranked(*rows: tuple[float, Reading]) -> list[Ranked]:
    return [Ranked(reading, value) for value, reading in rows]


LONE, LAYER, ALL = Reading(1, 3), Reading(1, None), Reading(None, None)


def test_a_choice_that_is_not_the_first_says_why() -> None:
    rows = tuple(ranked((19.3, LONE), (19.8, ALL)))
    for chosen in rows:
        _, *lines = Ranking(rows, "AER", 200, chosen).as_text().splitlines()
        assert ["no worse as far as the sample can tell" in line for line in lines] == [False, chosen is rows[1]]


@pytest.mark.parametrize(
    ("agreement", "words", "chosen"),
    [
        ([(100.0, LONE), (75.0, LAYER), (25.0, ALL)], 4, ALL),  # all of four words, by luck
        ([(100.0, LONE), (75.0, LAYER), (25.0, ALL)], 400, LONE),
        ([(100.0, LONE), (99.5, ALL)], 60, ALL),  # the plain standard error is 0
        ([(60.0, LONE), (58.5, LAYER), (57.0, ALL)], 600, LAYER),  # standard error 2.0
        ([(60.0, LONE), (58.5, LAYER), (57.0, ALL)], 60_000, LONE),
    ],
)
def test_a_lone_head_is_chosen_only_where_the_sample_shows_that_it_is_better(
    agreement: list[tuple[float, Reading]], words: int, chosen: Reading
) -> None:
    rows = ranked(*agreement)
    assert steadiest(rows, rows[0].value / 100, words).reading == chosen
    errors = ranked(*((100 - value, reading) for value, reading in agreement))
    assert steadiest(errors, 1 - errors[0].value / 100, words).reading == chosen


@pytest.mark.parametrize("truth", [None, GOLD[:3], [Gold()] * 3])
def test_few_pairs_choose_the_mean_of_all_heads(aligner: Aligner, truth: list[Gold] | None) -> None:
    """Of each three pairs: one of both heads is always ahead of the other on some of them."""
    for start in range(0, 30, 3):
        some = None if truth is None else [Gold()] * 3 if not truth[0].possible else GOLD[start : start + 3]
        assert aligner.rank(PAIRS[start : start + 3], some).chosen.reading.head is None
    ranking = aligner.rank(PAIRS[:3], truth).as_dict()
    assert ranking["measure"] == ("agreement" if truth is None else "AER")
    assert ranking["pairs"] == 3
    assert len(ranking["readings"]) == 6
    assert ranking["chosen"] in ranking["readings"]
    assert ranking["chosen"]["head"] == "mean"


def test_without_gold_the_choice_is_nearly_as_good(aligner: Aligner) -> None:
    blind = aligner.rank(PAIRS)
    assert blind.measure == "agreement"
    by_gold = {row.reading: row.value for row in aligner.rank(PAIRS, GOLD).rows}
    assert by_gold[blind.chosen.reading] <= min(by_gold.values()) + 10


def test_the_batch_does_not_change_an_alignment(aligner: Aligner, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(0, 1)
    together = list(aligner.align(PAIRS, reading))
    monkeypatch.setattr(alignment, "CELLS", 1)
    alone = list(aligner.align(PAIRS, reading))
    monkeypatch.setattr(alignment, "CHUNK", 7)
    chunked = list(aligner.align(PAIRS, reading))
    for one, two, three in zip(together, alone, chunked, strict=True):
        assert one.links == two.links == three.links
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)


def test_a_reading_is_the_mean_that_it_says(aligner: Aligner) -> None:
    sides = [aligner.read(PAIRS[0])]
    ((_, every),) = aligner.weights(sides)
    for fed_in in (False, True):
        for reading in (Reading(0, 1, fed_in), Reading(0, None, fed_in), Reading(None, None, fed_in)):
            ((_, one),) = aligner.weights(sides, reading)
            for ours, theirs in zip(one.read(Reading(0, 0, fed_in)), every.read(reading), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-6)
    words, null = every.read(Reading())
    np.testing.assert_allclose(words.sum(1) + null, 1, atol=1e-5)


def test_leaving_out_equals_a_plain_loop(aligner: Aligner, trained: TranslationModel) -> None:
    source, target = "el gato rojo ve el tren", "the red cat sees the train"
    ids = trained.target_tokenizer.encode([target])[0]

    def log_p(text: str) -> torch.Tensor:
        with torch.inference_mode():
            logits = trained.network(collate_pairs([trained.ids(text)], [ids]))
        return logits[0, : len(ids)].log_softmax(-1)[range(len(ids)), ids]

    tokens = trained.target_tokenizer.tokens(target)
    place = 0
    groups: list[list[int]] = []
    for number, token in enumerate(tokens):  # a token with a space before it begins a word
        groups.append([number]) if number == 0 or target[token.start] == " " else groups[-1].append(number)
        place = token.end
    assert place == len(target)
    (found,) = aligner.leave_out([aligner.read((source, target))])
    words = source.split()
    for left_out in range(len(words)):
        drop = log_p(source) - log_p(" ".join(words[:left_out] + words[left_out + 1 :]))
        expected = [float(drop[group].sum()) for group in groups]
        np.testing.assert_allclose(found[:, left_out], expected, atol=1e-4)


def test_attribution_stands_beside_attention(aligner: Aligner, trained: TranslationModel) -> None:
    found = trained.attribute("el gato ve el tren")
    assert found.target == ("the", "cat", "sees", "the", "train")
    assert found.attention.shape == found.measures["leave-out"].shape == found.measures["gradient"].shape == (5, 5)
    assert [found.source[place] for place in found.measures["leave-out"].argmax(1)][1:3] == ["gato", "ve"]
    given = trained.attribute("el gato ve el tren", "the dog has the train", methods=["leave-out"], layer=0, head=1)
    assert list(given.measures) == ["leave-out"]
    assert given.reading == "layer 0, head 1, token being chosen"
    assert given.measures["leave-out"][1, 1] < 0  # without "gato" it is likelier a dog
    sides = aligner.read(("el gato ve el tren", "the cat sees the train"))
    tokens = of_source(trained.network, collate_pairs([sides.source.ids], [sides.target.ids]))
    whole = trained.attribute("el gato ve el tren", "the cat sees the train", methods="gradient").measures["gradient"]
    assert whole.sum() == pytest.approx(float(tokens[:-1, :-1].sum()), abs=1e-4)


def test_what_is_masked_is_found_in_the_text_itself(trained: TranslationModel) -> None:
    """Markers stand for spans of several characters: tokens are placed in the original text."""
    from mirada.data.masking import shared_spans

    source, target = "Call 12:30 now", "Ligue às 12:30 já"
    ours, _ = shared_spans(source, target)
    assert [source[slice(*span[:2])] for span, _ in ours] == ["12:30"]
    side = Side.of(source, trained.source_tokenizer, "spaces", ours)
    assert len(side.read) == len(source) - 4
    inside = [span for span in side.tokens if span[0] < 10 and span[1] > 5]
    assert min(start for start, _ in inside) in (4, 5)
    assert max(end for _, end in inside) == 10
    assert side.without(1) == "Call now"
    assert side.without(0) == side.read.split(" ", 1)[1]


def test_pairs_that_cannot_be_aligned_have_a_problem_and_an_empty_line(trained: TranslationModel) -> None:
    limit = trained.config["model"]["max_length"]
    pairs = [
        ("el gato", "the cat"),
        ("el " * limit, "the cat"),
        ("el gato", "the " * limit),
        ("el gato", " "),
        ("\udcff", "a"),
    ]
    found = trained.align(pairs, layer="mean", head="mean", row="chosen")
    assert [each.as_text() == "" for each in found] == [False, True, True, True, True]
    assert found[1].problem == f"its source has {limit} tokens, and the model takes {limit - 1}"
    assert str(found[2].problem).startswith("its target has")
    assert found[3].problem == "its target has no words"
    assert found[4].problem == "has bytes that are not UTF-8"
    with pytest.raises(InputError, match="one sentence at a time: the text"):
        trained.attribute("el " * limit, "the cat")
    assert trained.align([]) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"layer": 1}, "--layer 1: .* has one layer, 0"),
        ({"head": 2}, "--head 2: .* has heads 0 to 1, and their mean"),
        ({"head": "first"}, "--head first: "),
        ({"layer": "mean", "head": 1}, r"--head 1: is a head of one layer; give --layer as well \(--layer 0\)"),
        ({"row": "next"}, "--row next: there are chosen, fed-in"),
        ({"by": "magic"}, "--by magic: there are attention, leave-out"),
        ({"by": "leave-out", "head": 1}, "--head 1: applies only to attention"),
        ({"links": "all"}, "--links all: there are target, both, either, grow"),
        ({"threshold": 1.5}, "--threshold 1.5: must be a weight above 0 and at most 1"),
        ({"threshold": "a"}, "--threshold a: must be a weight above 0 and at most 1"),
        ({"threshold": True}, "--threshold True: must be a weight"),
        ({"threshold": 0.2, "links": "both"}, "--links both: --threshold 0.2 replaces it; leave out one"),
        ({"threshold": 0.2, "by": "leave-out"}, "--threshold 0.2: is an attention weight, and leave-out measures loss"),
        ({"word_breaks": "letters"}, "--word-breaks letters: there are spaces, punctuation"),
        ({"to": "pt"}, "--to pt: .* translates into en"),
        ({"gold": ["0-0", "0-0"]}, "2 gold alignments for 1 pair: there must be one for each"),
        ({"gold": 5}, "gold must be an alignment for each pair, .* not 5"),
        ({"gold": b"0-0"}, "gold must be an alignment for each pair, .* not b'0-0'"),
        ({"gold": [(0, 0)]}, r"gold alignment 1: \(0, 0\) is not an alignment; write '0-0 1-2'"),
        ({"gold": [["0-0"]]}, r"gold alignment 1: \['0-0'\] is not an alignment; write '0-0 1-2'"),
    ],
)
def test_wrong_options_are_refused(trained: TranslationModel, options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        trained.align([("el gato", "the cat")], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("pairs", ["el gato", [("a", "b", "c")], [("a", 1)], 3])
def test_what_are_no_pairs(trained: TranslationModel, pairs: object) -> None:
    with pytest.raises(UsageError):
        trained.align(pairs)  # type: ignore[arg-type]


def test_gold_in_three_forms(trained: TranslationModel) -> None:
    pairs, truth = PAIRS[:20], [Gold(one.sure, one.sure) for one in GOLD[:20]]
    lines = [" ".join(f"{s}-{t}" for s, t in one.sure) for one in truth]
    found = [trained.align(pairs, gold=form) for form in (truth, lines, [one.sure for one in truth])]
    assert found[0] == found[1] == found[2]
    with pytest.raises(DataError, match="gold alignment 2: 'x' is not a link"):
        trained.align(pairs[:3], gold=["0-0", "x", "0-0"])
    assert trained.align(pairs[0], gold=lines[0]) == trained.align(pairs[:1], gold=lines[:1])
    assert trained.align(pairs[0], gold=truth[0]) == trained.align(pairs[:1], gold=lines[:1])
    with pytest.raises(UsageError, match="1 gold alignment for 3 pairs"):
        trained.align(pairs[:3], gold="0-0")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["0-0", "0-0 1-7"], "gold alignment 2: the link 1-7 names word 7 of the target, where the last is word 2; "),
        ([[(0, 0)], [(-1, 0)]], "gold alignment 2: the link -1-0 names word -1 of the source, where the last is word"),
        (["0-0", Gold(frozenset({(0, 9)}))], "gold alignment 2: the link 0-9 names word 9 of the target"),
        (["", ""], "gold: has no links to compare with"),
    ],
)
def test_gold_must_be_between_words_of_its_pair(trained: TranslationModel, wrong: list[GoldLike], says: str) -> None:
    pairs = [("el gato", "the cat"), ("el gato ve.", "the cat sees.")]
    with pytest.raises(DataError, match=says):
        trained.align(pairs, gold=wrong)
    assert len(trained.align(pairs, gold=["", "3-3"], word_breaks="punctuation")) == 2
    with pytest.raises(DataError, match=r"the last is word 2; .* word_breaks='punctuation'$"):
        trained.align(pairs, gold=["", "3-3"])


def test_a_model_of_two_directions_aligns_either_way(both_ways: TranslationModel) -> None:
    for to in (None, "en", "es"):
        (found,) = both_ways.align([("el gato", "the cat")], to=to, layer="mean", head="mean", row="chosen")
        assert found.weights.shape == (2, 2)
        assert found.weights.sum(1) + found.null == pytest.approx(1, abs=1e-4)
        assert found.problem is None
    assert both_ways.attribute("el gato", "the cat", to="en", methods=["gradient"]).measures["gradient"].shape == (2, 2)


def test_an_ensemble_has_no_attention_of_its_own(trained: TranslationModel) -> None:
    with pytest.raises(UsageError, match="use one of them"):
        mirada.load(f"{trained.path}+{trained.path}").align([("el gato", "the cat")])


def test_a_layer_that_is_switched_off_aligns_nothing(toy_tsv: Path, tmp_path: Path) -> None:
    settings = {**toy.TINY, "model": {**toy.TINY["model"], "decoder_layers": 2}}
    two = mirada.train(toy_tsv, TranslationModel, out=tmp_path / "two", steps=1, settings=settings)
    pair = PAIRS[:1]
    with mirada.without("decoder.0"):
        with pytest.raises(UsageError, match=r"without decoder\.0: .* switched off; read that of another layer"):
            two.align(pair, layer=0, head=0, row="chosen")
        (found,) = two.align(pair, layer=1, head=0, row="chosen")
        assert found.weights.sum(1) + found.null == pytest.approx(1, abs=1e-4)
        (chosen,) = two.align(pair, head=0, row="chosen")
        assert chosen.reading is not None
        assert chosen.reading.layer != 0
    with mirada.without("decoder.0", "decoder.1"), pytest.raises(UsageError, match=r"decoder\.0, decoder\.1: "):
        two.align(pair)
