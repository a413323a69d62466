"""The built-in corpus: a language with exact alignments, split so that nothing of the test is ever trained on."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise, permutations
from random import Random

import pytest

from mirada import builtin
from mirada.builtin import LANGUAGES, Example, inflect_pt, lexicon, notes, training, words
from mirada.builtin.compose import Composer
from mirada.builtin.corpus import _apply, _Pair
from mirada.builtin.speech import Choice, Item, Word, every, preferred, text_of, ways
from mirada.errors import UsageError

DIRECTIONS = list(permutations(LANGUAGES, 2))

# Words that a language may add without a counterpart in the other.
FUNCTION_WORDS = {
    "es": {"a", "al", "el", "la", "los", "las", "un", "una", "le", "les", "me", "te", "nos", "de", "que", "se", ","},
    "en": {"the", "a", "an", "to", "that", "which", ","},
    "pt": {"o", "a", "os", "as", "um", "uma", "de", "que", ","},
}


# What the language has, as patterns of Spanish, English and Portuguese.
FEATURES = {
    "gender": (r"\bla \w+ pequeña\b", r"\b(he|she)\b", r"\ba \w+ pequena\b"),
    "number": (r"\blos \w+s \w+os\b", r"\bthose \w+s\b|\bthese \w+s\b", r"\bos \w+s \w+os\b"),
    "adjective order": (
        r"\b(llave|mesa|manzana|mujer) \w+a\b", r"\bthe \w+ (key|table|apple|woman)\b",
        r"\b(chave|mesa|maçã|mulher) \w+a\b",
    ),
    "dropped subjects": (r"^(Trabajas|Tienes|Tengo|Estás|Voy)\b", r"^(You|I)\b", r"^(Tenho|Estou|Estamos|Vou|Quero)\b"),
    "negation": (r"\bno \w", r"n't\b|\bnot\b", r"\bnão \w"),
    "yes-or-no questions": (r"^¿.+\?$", r"^(Do|Does|Did|Is|Are|Will|Can) .+\?$", r"^(Você|Ana|O|A) .+\?$"),
    "question words": (
        r"^¿(Qué|Quién|Dónde|Cuándo|Cómo)\b", r"^(What|Who|Where|When|How)\b",
        r"^(O que|Quem|Onde|Como)\b",
    ),
    "present": (r"\btrabaja[sn]?\b", r"\bworks?\b", r"\btrabalha\b"),
    "progressive": (r"\bestá \w+ndo\b", r"\b(is|are) \w+ing\b", r"\bestá \w+ndo\b"),
    "past": (r"\b(trabajó|compró|fue)\b", r"\b(worked|bought|went)\b", r"\b(trabalhou|comprou|foi)\b"),
    "past progressive": (r"\bestaba \w+ndo\b", r"\bwas \w+ing\b", r"\bestava \w+ndo\b"),
    "future": (r"\b(irá|trabajarás?|comerá)\b", r"\bwill\b", r"\bvai \w+r\b"),
    "how long": (r"^¿?Hace \w+ \w+ que\b", r"\bha(s|ve) been \w+ing .*for\b", r"\bhá \w+ (anos|horas|meses)\b"),
    "possessives": (r"\b(mi|tu|su)s? \w", r"\b(my|your|his|their)\b.*|'s\b", r"\b(meu|sua|nosso)\b.*|\bdel(e|as)\b"),
    "object pronouns": (
        r"\b(lo|la|los|las) \w+(ó|é|aste|a|ará)\b", r"\b(him|her|them)[ .?]",
        r"\bme \w+|\w+-l[oa]s?\b",
    ),
    "recipients": (
        r"\bles? (da|dio|dará|dieron)\b", r"\b(gave|give|gives) (her|him|you|me)\b",
        r"\b(deu|dar) .+ para\b",
    ),
    "relative clauses": (r"\b(el|la) \w+ que (no )?\w", r"\bwho\b|\bthe \w+ that\b", r"\b[oa] \w+ que (não )?\w"),
    "because clauses": (r"\bporque\b", r"\bbecause\b", r"\bporque\b"),
    "that clauses": (
        r"\b(dice|cree|sabe)n? que\b", r"\b(says?|believes?|knows?) that\b",
        r"\b(diz|acredita|sabe) que\b",
    ),
    "coordination of things": (r"\w+ y (el|la|un|una|a)? ?\w+", r"\w+ and \w+", r"\w+ e (o|a|um|uma)? ?\w+"),
    "coordination of clauses": (r", pero\b|, así que\b", r", but\b|, so\b", r", mas\b|, por isso\b"),
    "numbers": (r"\b(dos|tres|treinta)\b", r"\b(two|three|thirty)\b", r"\b(dois|duas|três|trinta)\b"),
    "months": (
        r"\ben (enero|febrero|marzo)\b", r"\bin (January|February|March)\b",
        r"\bem (janeiro|fevereiro|março)\b",
    ),
    "comparison": (r"\bmás \w+ que\b", r"\w+er than\b|\bmore \w+ than\b", r"\bmais \w+ (do )?que\b"),
    "liking the other way round": (r"\b[Aa] \w+ (no )?les? (gusta|encanta)", r"\b(likes?|loves?)\b", r"\bgosta d"),
    "greetings": (r"^¡.+!$", r"!$", r"!$"),
}  # fmt: skip


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


# Sentences


def test_training_gives_distinct_sentences(drawn: Drawn) -> None:
    assert len({example.source for example in drawn.trained}) == len(drawn.trained) == 2500


def test_same_seed_same_sentences_and_other_seed_others(drawn: Drawn) -> None:
    assert drawn.trained[:100] == list(training(*drawn.pair, 100))
    assert drawn.trained[:100] != list(training(*drawn.pair, 100, seed=4))


def test_output_is_the_same_in_every_process_and_on_every_machine() -> None:
    """Compare with a digest of another time and place; it changes only when the language itself does."""
    program = (
        "import hashlib\nfrom mirada import builtin\n"
        "found = [*builtin.training('es', 'en', 500, seed=9), *builtin.test('en', 'pt', 50, seed=9)]\n"
        "print(hashlib.sha256(repr(found).encode()).hexdigest()[:16])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "b4952d36f4859b06"


def test_lengths(drawn: Drawn) -> None:
    lengths = [len(words(text)) for example in drawn.trained for text in (example.source, example.targets[0])]
    assert min(lengths) >= 2
    assert 40 < max(lengths) <= 60


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
    asked = re.compile(r"^You .*[Yy]ou (are|were) (\w+ )*(tired|worried|scared|injured|lost|busy)\b")
    you = next(e for seed in range(9) for e in builtin.test("en", "es", 400, seed) if asked.search(e.source))
    endings = re.findall(r"(?:cansad|preocupad|asustad|herid|perdid|ocupad)(os?|as?)\b", " ".join(you.targets))
    assert set(endings) == {"o", "a", "os", "as"}
    assert any("sted" in text for text in you.targets)


# Grammar


def test_contractions_are_made(said: dict[str, list[str]]) -> None:
    wrong = {
        "es": r"\b([Aa] el|[Dd]e el|[Cc]on (mí|ti)|y (i|hi))\b",
        "pt": r"\b([Dd]e|[Ee]m) (o|a|os|as|el[ea]s?|este|esta|aquel[ea]s?)\b|\b([Pp]or|a) (o|os|as)\b|\bcom nós\b",
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


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_is_there(said: dict[str, list[str]], feature: str) -> None:
    for language, pattern in zip(LANGUAGES, FEATURES[feature], strict=True):
        found = sum(bool(re.search(pattern, text)) for text in said[language])
        assert found >= 5, (language, pattern)


def test_months_are_written_small_but_in_english(said: dict[str, list[str]]) -> None:
    months = [phrase.texts for phrase in lexicon.PHRASES["month"].values()]
    for language in LANGUAGES:
        names = {text.split()[1] for texts in months for text in texts[language]}
        found = {name for name in names for text in said[language] if re.search(rf"\b{name}\b", text)}
        assert len(found) > 6
        assert all(name.islower() == (language != "en") for name in names)


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
    items: list[Item] = [("a", ()), Choice([("b", ())], [("c", ())]), Choice([("d", ())], [])]
    assert [[word for word, _ in wording] for wording in every(items)] == [
        ["a", "b", "d"],
        ["a", "b"],
        ["a", "c", "d"],
        ["a", "c"],
    ]
    assert ways(items) == 4
    assert [word for word, _ in preferred(items)] == ["a", "b", "d"]


def test_no_right_translation_is_missing_from_the_test() -> None:
    """Whatever the target language may say, chosen at random and not listed, is among the references."""
    composer, chance, found = Composer(Random(11)), Random(12), 0
    for meaning in (composer.meaning() for _ in range(400)):
        pair = _Pair(meaning, "en", "pt", chance)
        if pair.can_be_listed():
            listed = pair.example(complete=True).targets
            _apply(chance.choice(pair.readings))
            words_ = [chosen(item, chance) for item in pair.listener.sentence(meaning.root)]
            text = text_of(pair.listener.finish([word for part in words_ for word in part]))
            assert text in listed
            found += len(listed) > 20
    assert found > 10


def chosen(item: Item, chance: Random) -> list[Word]:
    """A wording of a stretch of a sentence."""
    if isinstance(item, tuple):
        return [item]
    return [word for inner in chance.choice(item.options) for word in chosen(inner, chance)]


def test_portuguese_pronouns_after_infinitives() -> None:
    joined = [inflect_pt.with_pronoun(verb, "os") for verb in ("comprar", "ler", "abrir", "construir", "seguir")]
    assert joined == ["comprá-los", "lê-los", "abri-los", "construí-los", "segui-los"]
