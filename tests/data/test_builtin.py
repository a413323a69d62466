"""The built-in corpus: a language with an exact alignment, split so that nothing of the test is ever trained on."""

import hashlib
import os
import subprocess
import sys
from itertools import permutations

import pytest

from mirada.data import builtin
from mirada.data.builtin import LANGUAGES, Example, notes, training, words
from mirada.errors import UsageError

DIRECTIONS = list(permutations(LANGUAGES, 2))


def digest(examples: list[Example]) -> str:
    return hashlib.sha256(repr(examples).encode()).hexdigest()


@pytest.fixture(scope="module", params=DIRECTIONS, ids="-".join)
def direction(request: pytest.FixtureRequest) -> tuple[str, str]:
    pair: tuple[str, str] = request.param
    return pair


def test_notes_sentences_are_exact() -> None:
    found = {example.source: example.targets for example in notes("es", "en")}
    assert found["El bebé está llorando."] == ("The baby is crying.",)
    assert found["Él trabaja con los dos."][0] == "He works with both."


def test_words_keep_contractions_whole() -> None:
    assert words("¿Dónde está?") == ["¿", "Dónde", "está", "?"]
    assert words("It didn't rain.") == ["It", "didn't", "rain", "."]


def test_training_gives_distinct_sentences(direction: tuple[str, str]) -> None:
    sources = [example.source for example in training(*direction, 3000)]
    assert len(set(sources)) == 3000


def test_same_seed_same_sentences_and_other_seed_others(direction: tuple[str, str]) -> None:
    first = list(training(*direction, 200, seed=3))
    assert first == list(training(*direction, 200, seed=3))
    assert first[:100] == list(training(*direction, 100, seed=3))
    assert first != list(training(*direction, 200, seed=4))


def test_no_sentence_is_in_both_parts() -> None:
    trained: set[str] = set()
    tested: set[str] = set()
    for seed in (0, 1):
        for pair in DIRECTIONS:
            for example in training(*pair, 4000, seed=seed):
                trained |= {example.source, *example.targets}
            for example in builtin.test(*pair, 300, seed=seed):
                tested |= {example.source, *example.targets}
    noted = {text for pair in DIRECTIONS for e in notes(*pair) for text in (e.source, *e.targets)}
    assert not trained & tested
    assert not noted & (trained | tested)


def test_alignments_point_at_words_and_cover_the_content(direction: tuple[str, str]) -> None:
    small = {"the", "a", "an", ",", "el", "la", "los", "las", "un", "una"}
    for example in training(*direction, 1500, seed=5):
        source, target = words(example.source), words(example.targets[0])
        assert all(0 <= s < len(source) and 0 <= t < len(target) for s, t in example.alignment)
        assert len(set(example.alignment)) == len(example.alignment)
        for side, text in ((0, source), (1, target)):
            aligned = {pair[side] for pair in example.alignment}
            loose = {word.lower() for position, word in enumerate(text) if position not in aligned}
            assert loose <= small, (example, loose)


def test_lengths(direction: tuple[str, str]) -> None:
    lengths = [len(words(example.source)) for example in training(*direction, 5000)]
    assert min(lengths) >= 2
    assert max(lengths) <= 62


def test_output_is_the_same_in_a_process_with_another_hash_seed() -> None:
    program = (
        "import hashlib\nfrom mirada.data import builtin\n"
        "found = [*builtin.training('es', 'en', 500, seed=9), *builtin.test('en', 'es', 50, seed=9)]\n"
        "print(hashlib.sha256(repr(found).encode()).hexdigest())"
    )
    here = digest([*training("es", "en", 500, seed=9), *builtin.test("en", "es", 50, seed=9)])
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert there.stdout.strip() == here


@pytest.mark.parametrize(
    ("source", "target", "pairs"),
    [("es", "xx", 1), ("xx", "en", 1), ("es", "es", 1), ("es", "en", 10**12), ("es", "en", -1)],
)
def test_impossible_requests_say_so_at_once(source: str, target: str, pairs: int) -> None:
    with pytest.raises(UsageError) as error:
        training(source, target, pairs)
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError):
        builtin.test(source, target, pairs)
