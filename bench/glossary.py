"""Glossary terms in translations: how many are placed, and the effect on BLEU.

    python -m bench glossary en-pt test.tsv [--terms 200] [--sentences 1000] [--engine torch]

The terms are taken from the test set: words that occur in one of its sentences only, whose translation in the reference
the model's attention finds (each is the other's best). They occur in the reference, so BLEU may improve. "made up"
replaces each by an invented word, in the glossary and in the reference: names and terms that no model knows.

    free       no glossary
    appended   the term added to the end of the free translation, if it is missing
    prefix     the term forced at the beginning of the translation, if it is missing in the free one
    replaced   the term in place of the word that attends to it, and nothing else
    glossary   what `mirada translate --glossary` does
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import mirada
from mirada.data.batching import similar
from mirada.data.sources import DataConfig
from mirada.device import keep_memory
from mirada.inspection.alignment import overlap
from mirada.metrics.translation import bleu, bleu_tokenizer
from mirada.tasks.translation import terminology
from mirada.tasks.translation.data import read_examples
from mirada.tasks.translation.glossary import Required, missing
from mirada.tasks.translation.model import TranslationModel

LETTERS = 4
"""In the words of a term, at least."""
SYLLABLES = ("ra", "ti", "lo", "ve", "sun", "mar", "do", "pi", "zel")


class Term(NamedTuple):
    sentence: int
    source: str
    target: str

    def lacking(self, translation: str) -> bool:
        return bool(missing(translation, [Required(self.source, 0, 0, (self.target,))]))


def aligned(model: TranslationModel, sources: Sequence[str], references: Sequence[str]) -> list[Term]:
    """Pairs of words that attend to each other most, of words that one sentence has."""
    translator, engine = model.translator, model.translator.engine
    ids, given = translator.source.encode(sources), translator.target.encode(references)
    lengths = [len(one) + len(other) for one, other in zip(ids, given, strict=True)]
    count = Counter(word for text in sources for word in {part.lower() for part in re.findall(r"\w+", text)})
    found = []
    for numbers in similar(lengths, 4000):
        looked = engine.attention([ids[n] for n in numbers], [given[n] for n in numbers])
        for number, attention in zip(numbers, looked or (), strict=looked is not None):
            source, target = sources[number], references[number]
            one, other = terminology._spans(source), terminology._spans(target)
            if not one or not other:
                continue
            tokens = [(token.start, token.end) for token in translator.target.tokens(target)]
            rows = overlap(other, tokens)
            columns = overlap(one, [(token.start, token.end) for token in translator.source.tokens(source)])
            weights = attention[: len(tokens), : columns.shape[1]]
            table = (rows / rows.sum(1, keepdims=True)) @ weights @ columns.T
            for row, (start, end) in enumerate(other):
                column = int(table[row].argmax())
                first, last = one[column]
                word = source[first:last]
                mutual = int(table[:, column].argmax()) == row and count[word.lower()] == 1
                if mutual and min(end - start, last - first) >= LETTERS:
                    found.append(Term(number, word, target[start:end]))
    return found


def chosen(terms: Sequence[Term], count: int) -> list[Term]:
    """At most one term a sentence, at random."""
    chance = random.Random(1)
    by_sentence = {term.sentence: term for term in chance.sample(sorted(terms), len(terms))}
    return chance.sample(sorted(by_sentence.values()), min(count, len(by_sentence)))


def made_up(terms: Sequence[Term], references: list[str]) -> tuple[list[Term], list[str]]:
    """Invented targets, and references that have them."""
    chance = random.Random(2)
    changed, texts = [], list(references)
    for term in terms:
        word = "".join(chance.choices(SYLLABLES, k=3))
        texts[term.sentence] = texts[term.sentence].replace(
            term.target, word.capitalize() if term.target[0].isupper() else word
        )
        changed.append(term._replace(target=word))
    return changed, texts


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench glossary")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("file", type=Path, help="pairs, as `mirada evaluate` takes them")
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args(arguments)
    keep_memory()
    model = mirada.load(options.bundle, TranslationModel, engine=options.engine)
    examples = read_examples(DataConfig.model_validate({"files": [str(options.file)]}).open())[0][: options.sentences]
    sources, references = [source for source, _ in examples], [given[0] for _, given in examples]
    began = time.process_time()
    free = [found.text for found in model.translate(sources, split=False)]
    print(f"{len(sources):,} sentences in {time.process_time() - began:.1f} CPU s without a glossary")
    terms = chosen(aligned(model, sources, references), options.terms)
    lacking = sum(term.lacking(free[term.sentence]) for term in terms)
    print(f"{len(terms)} terms, of which the free translation lacks {lacking}")
    kind = bleu_tokenizer(model.card["languages"]["target"], [[text] for text in references])
    for name, given, texts in (("real", terms, references), ("made up", *made_up(terms, references))):
        glossary = {term.source: term.target for term in given}
        of = {term.sentence: term for term in given}
        lost = [number for number, term in of.items() if term.lacking(free[number])]
        begun = model.translate  # one by one, since each has a prefix of its own
        prefixed = {n: begun(sources[n], split=False, prefix=of[n].target.capitalize()).text for n in lost}
        began = time.process_time()
        ours = [found.text for found in model.translate(sources, split=False, glossary=glossary)]
        seconds = time.process_time() - began
        with patch.object(terminology, "MOST_LOST", -100.0):  # nothing is searched for
            replaced = [found.text for found in model.translate(sources, split=False, glossary=glossary)]
        systems = {
            "free": free,
            "appended": [f"{text} {of[n].target}" if n in lost else text for n, text in enumerate(free)],
            "prefix": [prefixed.get(n, text) for n, text in enumerate(free)],
            "replaced": replaced,
            "glossary": ours,
        }
        print(f"{name} terms; with the glossary {seconds:.1f} CPU s")
        print(f"{'':10} placed   BLEU, {len(of)} sentences   BLEU, all")
        for system, found in systems.items():
            placed = sum(not term.lacking(found[number]) for number, term in of.items()) / len(of)
            some = bleu([found[number] for number in of], [[texts[number]] for number in of], kind)
            print(f"{system:10} {placed:6.1%}   {some:20.2f}   {bleu(found, [[text] for text in texts], kind):9.2f}")
