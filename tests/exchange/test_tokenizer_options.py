"""Options in a published tokenizer's files are honoured: compared with `transformers`, option by option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from mirada.contracts import BOS, EOS, PAD
from mirada.data.tokenizer_learning import UNK
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.mapping import NEW
from mirada.exchange.vocabulary import RenumberedTokenizer
from tests.exchange.checkpoints import SOURCE, TARGET, WORDS, marian_words, sentence_pieces
from tests.exchange.test_vocabulary import BYTES, END_ID, GPT2, MARIAN_CONFIG, MERGE_LINES, reference_bpe, written

MORE = [*WORDS, "The", "Baby", "é", "##é", "É", "日本", "本", "E"]
BERT = {"vocab_size": len(MORE), "model_type": "bert"}
TEXTS = [
    "The BABY is crying, e é É ÉÉ e\u0301!",
    "日本 日日本 a日b",
    "Baby\tbooks\u00a0on\u200bthe\x00table\n\nIT'S 2024 ÉÑ",
    "",
    "[MASK] [CLS] the",
    "b" + "ab" * 40,
    "a" + "b" * 120,
]


def cut(side: RenumberedTokenizer, text: str) -> list[int]:
    """The checkpoint's numbers of a text's words."""
    found: list[int] = side.order[side.tokenizer.encode([text])[0]].tolist()
    return found


def word_pieces(longest: int = 100, **choices: Any) -> tokenizers.Tokenizer:
    words = {word: id for id, word in enumerate(MORE)}
    backend = tokenizers.Tokenizer(models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=longest))
    backend.normalizer = normalizers.BertNormalizer(**choices)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return backend


# --- WordPiece ---


OPTIONS: list[dict[str, Any]] = [
    {"do_lower_case": False},
    {"do_lower_case": True},
    {"do_lower_case": True, "strip_accents": False},
    {"do_lower_case": False, "strip_accents": True},
    {"do_lower_case": False, "strip_accents": None},
    {"tokenize_chinese_chars": False},
    {"do_lower_case": False, "tokenizer_class": "BertTokenizer"},
    {},
]
AS_IT_IS = {"do_lower_case": False, "tokenizer_class": "PreTrainedTokenizerFast"}  # there is nothing of vocab.txt


@pytest.mark.parametrize(
    ("published", "options"),
    [(name, options) for name in ("tokenizer.json", "vocab.txt") for options in OPTIONS]
    + [("tokenizer.json", AS_IT_IS)],
)
def test_letters_are_treated_as_by_transformers(tmp_path: Path, published: str, options: dict[str, Any]) -> None:
    from transformers import AutoTokenizer

    content = word_pieces().to_str() if published == "tokenizer.json" else "\n".join(MORE) + "\n"
    files = {published: content, "tokenizer_config.json": options}
    found = vocabulary.bert(tmp_path, written(tmp_path, files, **BERT))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        if "[" not in text:  # what is spelt like a special word is one for them, and text here
            assert cut(found, text) == theirs(text, add_special_tokens=False)["input_ids"], text


@pytest.mark.parametrize(
    "choices", [{"lowercase": False}, {"strip_accents": False}, {"handle_chinese_chars": False}, {"clean_text": False}]
)
def test_tokenizer_json_decides_what_the_options_do_not_say(tmp_path: Path, choices: dict[str, bool]) -> None:
    backend = word_pieces(**choices)
    found = vocabulary.bert(tmp_path, written(tmp_path, {"tokenizer.json": backend.to_str()}, **BERT))
    backend.encode_special_tokens = True
    for text in TEXTS:
        assert cut(found, text) == backend.encode(text, add_special_tokens=False).ids, text
    assert any(cut(found, text) != word_pieces().encode(text, add_special_tokens=False).ids for text in TEXTS)


@pytest.mark.parametrize(("longest", "known"), [(5, False), (6, True), (100, True)])
def test_a_word_that_is_too_long_is_unknown(tmp_path: Path, longest: int, known: bool) -> None:
    files = {"tokenizer.json": word_pieces(longest).to_str()}
    found = vocabulary.bert(tmp_path, written(tmp_path, files, **BERT))
    assert found.tokenizer.encode(["tables"])[0] == found.tokenizer.encode(["table tables"])[0][1:]
    assert (UNK not in found.tokenizer.encode(["tables"])[0]) == known


@pytest.mark.parametrize(
    "options", [{"do_lower_case": None}, {"do_lower_case": 1}, {"strip_accents": "yes"}, {"tokenize_chinese_chars": []}]
)
def test_options_are_true_or_false(tmp_path: Path, options: dict[str, Any]) -> None:
    files = {"vocab.txt": "\n".join(MORE) + "\n", "tokenizer_config.json": options}
    with pytest.raises(DataError, match=rf"tokenizer_config\.json: {next(iter(options))} should be true or false"):
        vocabulary.bert(tmp_path, written(tmp_path, files, **BERT))


# --- byte-level BPE ---


@pytest.mark.parametrize("published", ["tokenizer.json", "vocab.json"])
@pytest.mark.parametrize("spaced", [True, False])
def test_a_space_in_front_is_added_where_the_options_say_so(tmp_path: Path, published: str, spaced: bool) -> None:
    from transformers import AutoTokenizer

    backend = reference_bpe()
    content = {"tokenizer.json": backend.to_str()}
    if published == "vocab.json":
        content = {"vocab.json": json.dumps(BYTES), "merges.txt": MERGE_LINES}
    files = {**content, "tokenizer_config.json": {"add_prefix_space": spaced}}
    found = vocabulary.gpt2(tmp_path, written(tmp_path, files, **GPT2, model_type="gpt2"))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in ("the baby", " the baby", "The book's 2024\n é"):
        assert cut(found, text) == theirs(text)["input_ids"]
    assert (cut(found, "the baby") == backend.encode(" the baby").ids) == spaced


def test_tokenizer_json_may_add_a_space_itself(tmp_path: Path) -> None:
    backend = reference_bpe()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    found = vocabulary.gpt2(tmp_path, written(tmp_path, {"tokenizer.json": backend.to_str()}, **GPT2))
    assert cut(found, "the baby") == reference_bpe().encode(" the baby").ids


def test_nothing_is_left_to_chance(tmp_path: Path) -> None:
    backend = reference_bpe()
    parts = json.loads(backend.to_str())
    parts["model"]["dropout"] = 0.9
    found = vocabulary.gpt2(tmp_path, written(tmp_path, {"tokenizer.json": json.dumps(parts)}, **GPT2))
    for _ in range(5):
        assert cut(found, "the baby is crying") == backend.encode("the baby is crying").ids


BYTE_FILES = {"vocab.json": BYTES, "merges.txt": MERGE_LINES}


@pytest.mark.parametrize("pad", [0, BYTES["!"], BYTES["Ġthe"]])
def test_a_word_of_texts_is_not_taken_for_padding(tmp_path: Path, pad: int) -> None:
    found = vocabulary.gpt2(tmp_path, written(tmp_path, BYTE_FILES, **GPT2, pad_token_id=pad))
    assert found.order[PAD] == NEW
    for text in ("Hi! the baby", "!", " the", "".join(map(chr, range(32, 300)))):
        assert cut(found, text) == reference_bpe().encode(text).ids
        assert found.tokenizer.decode(found.tokenizer.encode([text])) == [text]


def test_a_special_word_that_is_merged_too_is_padding(tmp_path: Path) -> None:
    backend = reference_bpe()
    backend.add_special_tokens(["!"])
    files = {"tokenizer.json": backend.to_str()}
    assert vocabulary.gpt2(tmp_path, written(tmp_path, files, **GPT2, pad_token_id=BYTES["!"])).order[PAD] == BYTES["!"]


def test_a_word_of_texts_may_begin_them(tmp_path: Path) -> None:
    config = {**GPT2, "bos_token_id": BYTES["!"]}
    found = vocabulary.gpt2(tmp_path, written(tmp_path, BYTE_FILES, **config))
    assert found.order[[BOS, EOS]].tolist() == [BYTES["!"], END_ID]
    assert cut(found, "Hi!") == reference_bpe().encode("Hi!").ids
    assert BOS not in found.tokenizer.encode(["Hi!"])[0]


def test_a_word_of_texts_does_not_end_them(tmp_path: Path) -> None:
    config = {**GPT2, "eos_token_id": BYTES["!"]}
    with pytest.raises(DataError, match=r"config\.json: eos_token_id=\d+ is '!'"):
        vocabulary.gpt2(tmp_path, written(tmp_path, BYTE_FILES, **config))


# --- Unigram ---


def test_a_piece_that_has_no_row_is_cut_out_and_unknown(tmp_path: Path) -> None:
    """SentencePiece cuts first, and vocab.json is asked then: ▁bebé is <unk>, not ▁be bé."""
    more = {**SOURCE, "▁bebé": -3.5, "ll": -1.0, "q": -6.0}
    spm = {"source.spm": sentence_pieces(more), "target.spm": sentence_pieces({**TARGET, "▁baby": -1.0, "w": -5.0})}
    words = marian_words()
    source, target = vocabulary.marian(tmp_path, written(tmp_path, {**spm, "vocab.json": words}, **MARIAN_CONFIG))
    names = {id: name for name, id in words.items()}

    def shown(side: RenumberedTokenizer, text: str) -> list[str]:
        return [names[id] for id in cut(side, text)]

    assert shown(source, "el bebé llora") == ["▁el", "<unk>", "▁llora"]
    assert shown(source, "q el") == ["▁", "<unk>", "▁el"]
    assert shown(source, "el bebéb") == ["▁el", "<unk>", "b"]
    assert shown(source, "ww") == ["▁", "<unk>"]  # the other side's piece is no piece of this one
    assert shown(target, "the baby") == ["▁the", "<unk>"]
    assert source.order.tolist() == target.order.tolist()
    assert source.unknown == target.unknown == range(source.size - 5, source.size)
    assert source.order[-5:].tolist() == [words["<unk>"]] * 5
    (ids,) = source.tokenizer.encode(["el bebé"])
    assert source.tokenizer.decode([ids]) == ["el bebé"]  # and for a person it stays what it was
