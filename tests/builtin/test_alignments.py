"""The word alignments are exact: what means the same is aligned, and nothing else is."""

import re
from collections import Counter, defaultdict
from itertools import permutations

import pytest

from mirada.builtin import LANGUAGES, lexicon, notes, training, words

DIRECTIONS = list(permutations(LANGUAGES, 2))


def unambiguous(source: str, target: str) -> dict[str, str]:
    """The nouns that have one translation, and are no forms of other words."""
    found: dict[str, set[str]] = defaultdict(set)
    for noun in lexicon.NAMED.values():
        for number in ("singular", "plural"):
            texts = getattr(noun.forms[source], number), getattr(noun.forms[target], number)
            for gender in (0, 1):
                found[texts[0][gender]].add(texts[1][gender])
    for language in (source, target):
        for verb in (*lexicon.INTRANSITIVE, *lexicon.TRANSITIVE, *lexicon.GIVING):
            for wording in verb.wordings[language]:
                forms = [text for persons in wording.forms.values() for text in persons]
                for text in (*forms, *wording.after.split()):
                    found[text] |= {text, ""}
    return {text: min(others) for text, others in found.items() if len(others) == 1}


@pytest.mark.parametrize("pair", DIRECTIONS, ids="-".join)
def test_nouns_are_aligned_with_their_translations_and_no_other_nouns(pair: tuple[str, str]) -> None:
    nouns = unambiguous(*pair)
    translations = set(nouns.values())
    checked = 0
    for example in training(*pair, 800, seed=2):
        source, target = words(example.source), words(example.targets[0])
        plain = [word.removesuffix("'s") for word in target]
        often = Counter(source), Counter(plain)
        for position, word in enumerate(source):
            other = nouns.get(word.removesuffix("'s"))
            if other is None or often[0][word] != 1 or often[1][other] != 1:
                continue
            found = {plain[t] for s, t in example.alignment if s == position}
            assert other in found, example
            if "'" not in word and not any("'" in target[t] for s, t in example.alignment if s == position):
                assert not (found - {other}) & translations, example
            checked += 1
    assert checked > 400


@pytest.mark.parametrize("pair", [("es", "en"), ("es", "pt"), ("en", "pt")], ids="-".join)
def test_the_other_direction_has_the_same_alignment(pair: tuple[str, str]) -> None:
    for one, other in zip(notes(*pair), notes(*pair[::-1]), strict=True):
        assert (one.source, one.targets[0]) == (other.targets[0], other.source)
        assert set(one.alignment) == {(s, t) for t, s in other.alignment}


@pytest.mark.parametrize(
    ("pair", "pattern", "aligned"),
    [
        (("es", "en"), r"^Hace \w+ \w+ que (no )?trabaj", ("Hace", "for")),
        (("es", "en"), r"^Me duele", ("duele", "have")),
        (("es", "pt"), r"^Me gusta ", ("gusta", "gosto")),
        (("en", "es"), r"^You will have breakfast", ("will", "desayunarás")),
        (("pt", "en"), r"está com fome", ("fome", "hungry")),
        (("en", "pt"), r"\bmiss (him|her|them)\b", ("miss", "falta")),
    ],
)
def test_what_is_said_another_way_is_aligned(pair: tuple[str, str], pattern: str, aligned: tuple[str, str]) -> None:
    for example in training(*pair, 8000, seed=8):
        source, target = words(example.source), words(example.targets[0])
        if re.search(pattern, example.source) and aligned[1] in target:
            assert (source.index(aligned[0]), target.index(aligned[1])) in example.alignment
            return
    pytest.fail(f"no sentence like {pattern}")
