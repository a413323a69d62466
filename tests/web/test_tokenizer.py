"""The page cuts text as Python does: the same ids, places, pieces and texts, of whatever a user may type."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from mirada.data.tokenizer import Tokenizer
from tests import toy
from tests.web.browser import Site

COUNT = 5000
WORDS = [
    "el",
    "gato",
    "perro",
    "árbol",
    "niño",
    "rojo",
    "The",
    "cat's",
    "don't",
    "state-of-the-art",
    "STRASSE",
    "Σίσυφος",
]
BITS = [
    *"abczñÑéüßİıΣςάǅﬁ", *"0123456789½²٣", *".,;:!?¿¡«»“”'’-‐‑_()[]{}<>/\\|@#€%&*+=~^`´",
    "e\u0301", "n\u0303", "a\u0323\u0302", "a\u0302\u0323", "u\u0308\u0301", "\u0301", "\u0345\u0334", "ạ\u0308",
    "\u0f40\u0f73", "\u0f81",
    "か\u3099", "q\u0303", "\u0915\u093f", "\u0928\u094d\u0924\u0947", "\u0e01\u0e33", "\u1100\u1161\u11a8", "각",
    "\u0344", "😀", "👩\u200d👩\u200d👧", "👍🏽", "🇵🇹", "☃\ufe0f", "x\u200cy", "\u200d",
    " ", "  ", "\t", "\n", "\r\n", "\xa0", "\u2009", "\u202f", "\u3000", "\u2028", "\x85", "\x0b", "\x1c", "\x1f",
    "\u1680", "\x00", "\x07", "\x1b", "\x7f", "\x90", "\xad", "\u200b", "\u2060", "\ufeff", "\u180e", "\u200e",
    "\u200f", "\u202a", "你好", "世界", "東京", "שלום", "مرحبا", "لَا", "привет", "ёж", "𝒳", "𐍈", "\U0010ffff", "\ufffd",
    "\ue000", "</s>", "<s>", "<pad>", "<unk>", "<mask>", "<synthetic>", "<to:es>", "▁", "Ġ", "Ċ", "##x", "'s",
    "'ll", " 's",
]  # fmt: skip
EVER = [
    "",
    " ",
    "\n",
    "\u200b",
    " \u200b ",
    "</s>",
    "<mask>",
    " <mask> ",
    "a</s>b",
    "́",
    "\ufeff\ufeff",
    "12 345",
    "a  b\tc ",
]
LEARNED: dict[str, dict[str, Any]] = {
    "subwords": {"unit": "subwords", "normalized": True},
    "subwords-lower": {"unit": "subwords", "normalized": True, "lowercase": True, "mask": True, "tags": ["<to:es>"]},
    "subwords-as-given": {"unit": "subwords"},
    "words": {"unit": "words", "normalized": True, "lowercase": True, "mask": True},
    "words-cased": {"unit": "words", "tags": ["<synthetic>", "<to:es>"]},
    "characters": {"unit": "characters", "normalized": True, "tags": ["<to:es>"]},
    "characters-as-given": {"unit": "characters", "lowercase": True},
    "symbols": {"unit": "symbols", "normalized": True, "tags": ["<to:es>"]},
    "symbols-as-given": {"unit": "symbols", "mask": True},
}
PROGRAM = """async ([file, address]) => {
    const {Tokenizer} = await import("/engine/tokenizer.js");
    const tokenizer = new Tokenizer(file);
    const texts = await (await fetch(address)).json();
    return JSON.stringify(texts.map((text) => {
        const tokens = tokenizer.tokens(text);
        const ids = tokenizer.encode(text);
        return [ids, tokens.map(({id, text, start, end}) => [id, text, start, end]), tokenizer.pieces(ids),
                tokenizer.spelt(ids), tokenizer.decode([1, ...ids, 2])];
    }));
}"""


def _texts(count: int) -> Iterator[str]:
    chance = random.Random(7)
    yield from EVER
    for _ in range(count - len(EVER)):
        parts = []
        for _ in range(chance.randrange(1, 12)):
            if chance.random() < 0.5:
                parts.append(f" {chance.choice(WORDS)}")
            elif chance.random() < 0.95:
                parts.append(chance.choice(BITS))
            else:
                parts.append(chr(chance.choice([chance.randrange(0x20, 0x500), chance.randrange(0x1E00, 0xD7FF)])))
        yield "".join(parts)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(_texts(COUNT))


def _tokenizer(settings: dict[str, Any]) -> Tokenizer:
    learned = [text for pair in toy.pairs(200) for text in pair]
    learned += [" ".join(WORDS), "😀 你好 2024 café", *list(_texts(400))[len(EVER) :]]
    return Tokenizer.learn(learned, 700, **settings)


def _in_units(text: str, place: int) -> int:
    """A place in a text as JavaScript counts it."""
    return len(text[:place].encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", LEARNED)
def test_text_is_cut_as_in_python(name: str, texts: list[str], page: Page, site: Site) -> None:
    tokenizer = _tokenizer(LEARNED[name])
    address = site.give("texts.json", json.dumps(texts))
    found = json.loads(page.evaluate(PROGRAM, [json.loads(tokenizer.to_json()), address]))
    assert len(found) == COUNT
    all_ids = tokenizer.encode(texts)
    decoded = tokenizer.decode([[1, *ids, 2] for ids in all_ids])
    wrong = []
    for text, ids, said, (its_ids, its_tokens, its_pieces, its_spelling, its_text) in zip(
        texts, all_ids, decoded, found, strict=True
    ):
        tokens = [
            [token.id, token.text, _in_units(text, token.start), _in_units(text, token.end)]
            for token in tokenizer.tokens(text)
        ]
        expected = [ids, tokens, tokenizer.pieces(ids), tokenizer.spelt(ids), said]
        if expected != [its_ids, its_tokens, its_pieces, its_spelling, its_text]:
            wrong.append((text, expected, [its_ids, its_tokens, its_pieces, its_spelling, its_text]))
    assert not wrong, (len(wrong), wrong[:3])


def test_published_pieces_are_refused_by_name(page: Page) -> None:
    file: dict[str, Any] = {"model": {"type": "WordPiece", "vocab": {}}, "pre_tokenizer": None, "added_tokens": []}
    program = """async (file) => {
        const {Tokenizer} = await import("/engine/tokenizer.js");
        try { new Tokenizer(file); return null; } catch (error) { return error.message; }
    }"""
    assert "published tokenizer (WordPiece)" in page.evaluate(program, file)
