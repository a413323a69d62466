"""The split: what the test has is never trained on, neither sentences nor held-out combinations."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from random import Random
from zlib import crc32

from mirada import builtin
from mirada.builtin import LANGUAGES, lexicon, notes, training
from mirada.builtin.compose import Composer
from mirada.builtin.meaning import Clause, Greeting, Thing
from mirada.builtin.split import HELD_OUT, combinations, is_held_out, part, setting

DIRECTIONS = list(permutations(LANGUAGES, 2))


@cache
def drawn(seed: int) -> list[Clause | Greeting]:
    composer = Composer(Random(seed))
    return [composer.meaning().root for _ in range(4000)]


def clauses(clause: Clause, role: str = "") -> Iterator[tuple[Clause, str]]:
    """A clause and the clauses in it, each with its role."""
    yield clause, role
    for thing in things(clause):
        if thing.relative:
            yield from clauses(thing.relative, "relative")
    if clause.that:
        yield from clauses(clause.that, "that")
    if clause.link:
        yield from clauses(clause.link.clause, clause.link.phrase.name)


def things(clause: Clause) -> list[Thing]:
    """What a clause itself speaks of."""
    found = [] if clause.gap == "subject" else [clause.subject]
    found += [clause.object, clause.recipient, *(adjunct.thing for adjunct in clause.adjuncts)]
    spoken = [thing for thing in found if thing]
    return spoken + [thing for several in spoken for thing in several.joined]


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


def test_the_parts_have_their_shares() -> None:
    parts = Counter(part(root) for root in drawn(1))
    assert parts["train"] > 2500
    assert min(parts["held"], parts["test"]) > 200


def test_training_has_no_held_out_combination() -> None:
    """Looked for by a walk of our own through the clauses."""
    seen: Counter[str] = Counter()
    empty = set(lexicon.VERBS.values())
    for root in drawn(2):
        if isinstance(root, Greeting) or part(root) != "train":
            continue
        for clause, role in clauses(root):
            verb = clause.verb.mark
            for thing in things(clause):
                if thing.noun and not thing.pronoun and thing is not clause.recipient:
                    assert not is_held_out("words", thing.noun.mark, verb)
                    seen["words"] += 1
                if thing.noun and thing.trait and not thing.pronoun:
                    assert not is_held_out("words", thing.trait.adjective.mark, thing.noun.mark)
            if clause.verb in empty:
                continue
            if role:
                assert not is_held_out("role", verb, crc32(role.encode()))
                seen[role] += 1
            if clause.negative or clause.question:
                assert not is_held_out("setting", verb, crc32(setting(clause).encode()))
                seen["setting"] += 1
    assert {"words", "setting", "relative", "that", "because", "so", "but", "and", "while"} <= set(seen)


def test_plain_statements_of_every_verb_may_be_trained_on() -> None:
    for root in drawn(2):
        if isinstance(root, Clause) and not any(clause.question or clause.negative for clause, _ in clauses(root)):
            assert all(kind != "setting" for kind, *_ in combinations(root))


def test_the_held_part_has_every_kind_of_combination() -> None:
    kinds: Counter[str] = Counter()
    for root in drawn(1):
        found = {kind for kind, *marks in combinations(root) if kind and is_held_out(kind, *marks)}
        assert bool(found) == (part(root) == "held")
        kinds.update(found)
    assert set(kinds) == set(HELD_OUT)
    assert min(kinds.values()) > 30


def test_a_held_out_question_is_asked_in_the_test_only() -> None:
    """As text: "Did you rest?", of the verbs of which such questions are held out."""
    asked = crc32(b"past, not False, question yes, under False")
    held: dict[str, list[bool]] = defaultdict(list)
    for verb in (*lexicon.INTRANSITIVE, *lexicon.TRANSITIVE, *lexicon.GIVING, *lexicon.MOTION, *lexicon.CONTROL):
        held[verb.wordings["en"][0].forms["infinitive"][0]].append(is_held_out("setting", verb.mark, asked))
    verbs = [text for text, found in held.items() if all(found)]
    pattern = re.compile(rf"Did \w+ ({'|'.join(verbs)})\b.*\?")
    trained = [example.source for example in training("en", "es", 4000, seed=5)]
    tested = (example.source for seed in range(5) for example in builtin.test("en", "es", 400, seed))
    assert sum(bool(re.match(r"Did \w+ \w+.*\?", text)) for text in trained) > 50
    assert not any(pattern.match(text) for text in trained)
    assert any(pattern.match(text) for text in tested)


def test_a_part_does_not_depend_on_person_number_or_wording() -> None:
    for root in drawn(2)[:500]:
        if isinstance(root, Clause) and root.subject and root.subject.pronoun:
            before = part(root)
            root.subject.plural, root.subject.female = not root.subject.plural, not root.subject.female
            assert part(root) == before
