"""The built-in corpus: a language with exact alignments, split so that nothing of the test is ever trained on."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise, permutations

import pytest
import sacrebleu

from mirada.data import builtin
from mirada.data.builtin import LANGUAGES, Example, lexicon, notes, training, words
from mirada.data.builtin.speech import every, preferred
from mirada.errors import UsageError

DIRECTIONS = list(permutations(LANGUAGES, 2))

# Words that a language may add without a counterpart in the other.
FUNCTION_WORDS = {
    "es": {"a", "al", "el", "la", "los", "las", "un", "una", "le", "les", "me", "te", "nos", "de", "que", "se", ","},
    "en": {"the", "a", "an", "to", "that", "which", ","},
    "pt": {"o", "a", "os", "as", "um", "uma", "de", "que", ","},
}


@dataclass
class Drawn:
    """What one direction of the corpus gives."""

    pair: tuple[str, str]
    trained: list[Example]
    tested: list[Example]


@pytest.fixture(scope="module", params=DIRECTIONS, ids="-".join)
def drawn(request: pytest.FixtureRequest) -> Drawn:
    pair: tuple[str, str] = request.param
    return Drawn(pair, list(training(*pair, 2500)), builtin.test(*pair, 300))


@pytest.fixture(scope="module")
def said() -> dict[str, list[str]]:
    """Some thousand sentences of each language, in preferred and other wordings."""
    pairs = {"es": ("es", "en"), "en": ("en", "pt"), "pt": ("pt", "es")}
    found: dict[str, list[str]] = {}
    for language, pair in pairs.items():
        examples = list(training(*pair, 2500, seed=11))
        found[language] = [example.source for example in examples]
        found.setdefault(pair[1], []).extend(example.targets[0] for example in examples)
    return found


# The lecture notes


@pytest.mark.parametrize(
    ("pair", "source", "target"),
    [
        (("es", "en"), "El bebé está llorando.", "The baby is crying."),
        (("es", "en"), "Él trabaja con los dos.", "He works with both."),
        (("en", "pt"), "The book is on the table.", "O livro está em cima da mesa."),
        (("en", "pt"), "See you!", "Nos vemos!"),
        (("en", "pt"), "Lucas is visiting Chile in January.", "Lucas irá visitar o Chile em Janeiro."),
        (
            ("en", "es"),
            "The animal didn't cross the street because it was too tired.",
            "El animal no cruzó la calle porque estaba demasiado cansado.",
        ),
        (
            ("en", "es"),
            "The animal didn't cross the street because it was too wide.",
            "El animal no cruzó la calle porque era demasiado ancha.",
        ),
    ],
)
def test_notes_sentences_are_exact(pair: tuple[str, str], source: str, target: str) -> None:
    found = {example.source: example.targets for example in notes(*pair)}
    assert found[source][0] == target


def test_notes_know_both_translations() -> None:
    found = {example.source: example.targets for example in notes("en", "pt")}
    assert "Em Janeiro, Lucas irá visitar o Chile." in found["Lucas is visiting Chile in January."]


def test_it_is_aligned_with_the_tired_animal() -> None:
    """ "it" has no word of its own in Spanish: the verb that agrees with the animal says it."""
    example = next(e for e in notes("en", "es") if "tired" in e.source)
    source, target = words(example.source), words(example.targets[0])
    assert (source.index("it"), target.index("estaba")) in example.alignment
    assert (source.index("tired"), target.index("cansado")) in example.alignment


# The split


def test_no_sentence_is_in_both_parts() -> None:
    trained: set[str] = set()
    tested: set[str] = set()
    for seed, pair in enumerate(DIRECTIONS):
        for example in training(*pair, 2000, seed=seed):
            trained |= {example.source, *example.targets}
        for example in builtin.test(*pair, 100, seed=seed + 1):
            tested |= {example.source, *example.targets}
    noted = {text for pair in DIRECTIONS for e in notes(*pair) for text in (e.source, *e.targets)}
    assert not trained & tested
    assert not noted & (trained | tested)


def test_words_that_share_a_form_share_their_mark() -> None:
    """Otherwise two meanings with one text could be put into different parts."""
    marks: dict[tuple[str, str], set[int]] = defaultdict(set)
    for noun in lexicon.NAMED.values():
        for language, forms in noun.forms.items():
            for text in forms.singular:
                marks[language, text].add(noun.mark)
    shared = {key: found for key, found in marks.items() if len(found) > 1}
    assert not shared


def test_half_of_the_test_has_pairs_of_words_that_training_keeps_apart() -> None:
    from random import Random

    from mirada.data.builtin.compose import Composer
    from mirada.data.builtin.split import dependencies, is_held_out, part

    composer = Composer(Random(1))
    parts: Counter[str] = Counter()
    for _ in range(2000):
        root = composer.meaning().root
        parts[part(root)] += 1
        apart = any(other and is_held_out(one, other) for one, other in dependencies(root))
        assert apart == (part(root) == "held")
    assert parts["train"] > 1000
    assert min(parts["held"], parts["test"]) > 50


# Sentences


def test_training_gives_distinct_sentences(drawn: Drawn) -> None:
    assert len({example.source for example in drawn.trained}) == len(drawn.trained) == 2500


def test_same_seed_same_sentences_and_other_seed_others(drawn: Drawn) -> None:
    assert drawn.trained[:100] == list(training(*drawn.pair, 100))
    assert drawn.trained[:100] != list(training(*drawn.pair, 100, seed=4))


def test_output_is_the_same_in_every_process_and_on_every_machine() -> None:
    """Compare with a digest of another time and place; it changes only when the language itself does."""
    program = (
        "import hashlib\nfrom mirada.data import builtin\n"
        "found = [*builtin.training('es', 'en', 500, seed=9), *builtin.test('en', 'pt', 50, seed=9)]\n"
        "print(hashlib.sha256(repr(found).encode()).hexdigest()[:16])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "f8b68567a0e615ce"


def test_lengths(drawn: Drawn) -> None:
    lengths = [len(words(example.source)) for example in drawn.trained]
    assert min(lengths) >= 2
    assert 20 < max(lengths) <= 60


def test_words_keep_contractions_whole() -> None:
    assert words("¿Dónde está?") == ["¿", "Dónde", "está", "?"]
    assert words("It didn't rain at Ana's party.") == ["It", "didn't", "rain", "at", "Ana's", "party", "."]
    assert words("Ele vai lê-lo.") == ["Ele", "vai", "lê-lo", "."]


def test_alignments_point_at_words_and_cover_the_content(drawn: Drawn) -> None:
    for example in drawn.trained:
        source, target = words(example.source), words(example.targets[0])
        assert all(0 <= s < len(source) and 0 <= t < len(target) for s, t in example.alignment)
        assert len(set(example.alignment)) == len(example.alignment)
        for side, text in ((0, source), (1, target)):
            aligned = {pair[side] for pair in example.alignment}
            loose = {word.lower() for position, word in enumerate(text) if position not in aligned}
            assert loose <= FUNCTION_WORDS[drawn.pair[side]], (example, loose)


def test_test_examples_list_every_translation(drawn: Drawn) -> None:
    assert all(len(set(example.targets)) == len(example.targets) for example in drawn.tested)
    assert sum(len(example.targets) > 1 for example in drawn.tested) > 100


def test_english_leaves_gender_and_address_open() -> None:
    examples = builtin.test("en", "es", 600)
    tired = re.compile(r"porque est(ás|abas) (\w+ )?\w+ado\.$")
    you = next(e for e in examples if e.source.startswith("You") and tired.search(e.targets[0]))
    assert {"ado.", "ada.", "dos.", "das."} <= {text[-4:] for text in you.targets}
    assert any("sted " in text for text in you.targets)


# Grammar


def test_contractions_are_made(said: dict[str, list[str]]) -> None:
    wrong = {
        "es": r"\b([Aa] el|[Dd]e el|[Cc]on (mí|ti)|y (i|hi))\b",
        "pt": r"\b([Dd]e|[Ee]m|[Pp]or) (o|a|os|as|el[ea]s?|este|esta|aquel[ea]s?)\b|\b(a (o|os|as)|com nós)\b",
        "en": r"\b[Aa] [aeio]|\b[Aa]n [^aeiouh]",
    }
    for language, pattern in wrong.items():
        found = [text for text in said[language] if re.search(pattern, text)]
        assert not found, found[:3]


def test_articles_agree_with_their_nouns(said: dict[str, list[str]]) -> None:
    articles = {"es": ("el", "la", "los", "las"), "pt": ("o", "a", "os", "as")}
    verbs = (*lexicon.INTRANSITIVE, *lexicon.TRANSITIVE)
    for language, (masculine, feminine, *plurals) in articles.items():
        right: dict[str, set[str]] = defaultdict(set)
        for noun in lexicon.NAMED.values():
            forms = noun.forms[language]
            for number, texts in ((masculine, feminine), forms.singular), (tuple(plurals), forms.plural):
                for gender, text in zip("mf", texts, strict=True):
                    if forms.gender in ("", gender) and not noun.proper:
                        right[text] |= {number["mf".index(gender)]} | ({masculine} if forms.el else set())
        for verb in verbs:  # "o prova" may be "tastes it", too
            for forms_of in verb.wordings[language]:
                for persons in forms_of.forms.values():
                    for text in persons:
                        right.pop(text, None)
        adjacent = Counter(
            (first.lower(), second) for text in said[language] for first, second in pairwise(words(text))
        )
        checked = 0
        for (article, noun_text), count in adjacent.items():
            if article in articles[language] and noun_text in right:
                assert article in right[noun_text], (article, noun_text)
                checked += count
        assert checked > 500


def test_questions_and_exclamations_open_in_spanish_only(said: dict[str, list[str]]) -> None:
    assert all(text.startswith("¿") == text.endswith("?") for text in said["es"])
    assert all(text.startswith("¡") == text.endswith("!") for text in said["es"])
    assert not any(set("¿¡") & set(text) for text in said["en"] + said["pt"])


def test_every_sentence_is_written_properly(said: dict[str, list[str]]) -> None:
    for texts in said.values():
        for text in texts:
            assert re.fullmatch(r"[¿¡]?[A-ZÁÉÍÓÚÂÊÔÀÇ].*[.?!]", text), text
            assert "  " not in text
            assert not re.search(r" [,.?!]|[¿¡] ", text), text


def test_the_structures_are_there(said: dict[str, list[str]]) -> None:
    for pattern in (
        r"didn't|don't", r"\bis \w+ing\b", r"\bwas \w+ing\b", r"\bwill\b", r"'s\b", r"\bthat\b", r"\bwho\b", r"\band\b",
        r"\bbecause\b", r"\bthirty\b", r"\bJanuary\b", r"\b(him|her|them|it)\b", r"^(Do|Does|Did)\b", r"^Where\b",
        r"\bthan\b", r"\bThere (is|are)\b", r"\bwants? to\b", r"\bwhile\b", r"\bso\b", r"!$",
    ):  # fmt: skip
        assert any(re.search(pattern, text) for text in said["en"]), pattern
    drop = r"^(Trabajo|Trabajas|Trabajamos|Estoy|Estás|Tengo|Tienes|Voy|No)\b"
    assert any(re.search(drop, text) for text in said["es"])


def test_there_are_hundreds_of_lemmas() -> None:
    tables = (
        lexicon.INTRANSITIVE, lexicon.IDIOMS, lexicon.WEATHER, lexicon.TRANSITIVE, lexicon.MOTION, lexicon.GIVING,
        lexicon.CLAUSAL, lexicon.CONTROL,
    )  # fmt: skip
    nouns = {noun.name for noun in lexicon.NAMED.values()}
    verbs = {verb.name for table in tables for verb in table}
    kinds = (lexicon.QUALITIES, lexicon.STATES, lexicon.FRONT)
    adjectives = {adjective.name for kind in kinds for found in kind.values() for adjective in found}
    assert len(nouns) + len(verbs) + len(adjectives) >= 600


# Baselines: neither looking up nor translating word by word is enough


def bleu(hypotheses: list[str], examples: list[Example]) -> float:
    score: float = sacrebleu.corpus_bleu(hypotheses, [[example.targets[0] for example in examples]]).score
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
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in drawn.trained:
        source, target = words(example.source.lower()), words(example.targets[0].lower())
        for s, t in example.alignment:
            counts[source[s]][target[t]] += 1
    best = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    joined = [" ".join(best.get(word, word) for word in words(example.source.lower())) for example in drawn.tested]
    written = [re.sub(r" ([,.?!])", r"\1", text).capitalize() for text in joined]
    assert bleu(written, drawn.tested) < 40


# Requests


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


def test_a_choice_gives_its_first_wording_first() -> None:
    from mirada.data.builtin.speech import Choice, Item

    items: list[Item] = [("a", ()), Choice([("b", ())], [("c", ())]), Choice([("d", ())], [])]
    assert [[word for word, _ in wording] for wording in every(items, 8)] == [
        ["a", "b", "d"],
        ["a", "b"],
        ["a", "c", "d"],
        ["a", "c"],
    ]
    assert [word for word, _ in preferred(items)] == ["a", "b", "d"]
