"""Neither looking up the nearest training sentence nor translating word by word is enough."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import permutations

import pytest
import sacrebleu

from mirada import builtin
from mirada.builtin import LANGUAGES, Example, training, words

DIRECTIONS = list(permutations(LANGUAGES, 2))


@dataclass
class Drawn:
    """What one direction of the corpus gives."""

    trained: list[Example]
    tested: list[Example]


@pytest.fixture(scope="module", params=DIRECTIONS, ids="-".join)
def drawn(request: pytest.FixtureRequest) -> Drawn:
    pair: tuple[str, str] = request.param
    return Drawn(list(training(*pair, 2500)), builtin.test(*pair, 300))


def bleu(hypotheses: list[str], examples: list[Example]) -> float:
    """BLEU with every listed translation as a reference."""
    most = max(len(example.targets) for example in examples)
    references = [[dict(enumerate(example.targets)).get(n) for example in examples] for n in range(most)]
    score: float = sacrebleu.corpus_bleu(hypotheses, references).score  # type: ignore[arg-type]  # None: no such one
    return score


def test_nearest_training_sentence_scores_low(drawn: Drawn) -> None:
    trained, tested = drawn.trained, drawn.tested[:100] + drawn.tested[-100:]
    bags = [frozenset(words(example.source.lower())) for example in trained]
    where: dict[str, list[int]] = defaultdict(list)
    for position, bag in enumerate(bags):
        for word in bag:
            where[word].append(position)
    nearest = []
    for example in tested:
        bag = frozenset(words(example.source.lower()))
        common = Counter(position for word in bag for position in where[word])
        best = max(common, key=lambda position: (2 * common[position] / (len(bag) + len(bags[position])), -position))
        nearest.append(trained[best].targets[0])
    assert bleu(nearest, tested) < 30


def test_word_for_word_translation_scores_low(drawn: Drawn) -> None:
    """Each word becomes the one it is aligned with most often, in its place; the first word is written small."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in drawn.trained:
        source, target = small(example.source), small(example.targets[0])
        for s, t in example.alignment:
            counts[source[s]][target[t]] += 1
    best = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    joined = [" ".join(best.get(word, word) for word in small(example.source)) for example in drawn.tested]
    written = [re.sub(r" ([,.?!])", r"\1", text[0].upper() + text[1:]) for text in joined]
    assert bleu(written, drawn.tested) < 40


def small(text: str) -> list[str]:
    first, *rest = words(text)
    return [first.lower(), *rest]
