"""Published tokenizers tokenize as published; only the ids are Mirada's."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers

from mirada.contracts import BOS, EOS, PAD
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import UNK
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.exchange.mapping import NEW
from mirada.exchange.sentencepiece import SentencePieceModel, fields
from mirada.exchange.vocabulary import RenumberedTokenizer
from tests.exchange.checkpoints import END, SOURCE, TARGET, TEXTS, WORDS, byte_pairs, marian_words, sentence_pieces

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(TEXTS)
quick = settings(max_examples=150, deadline=None)


def written(folder: Path, files: dict[str, Any], **config: Any) -> CheckpointConfig:
    folder.mkdir(exist_ok=True)
    for name, content in {**files, "config.json": config}.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return CheckpointConfig(folder / "config.json")


# --- byte-level BPE ---

BYTES, MERGES = byte_pairs()
MERGE_LINES = "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in MERGES)
END_ID = BYTES[END]
GPT2 = {"vocab_size": len(BYTES), "eos_token_id": END_ID, "bos_token_id": END_ID}


def reference_bpe() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE(BYTES, MERGES))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


@pytest.fixture(scope="module")
def bpe(tmp_path_factory: pytest.TempPathFactory) -> RenumberedTokenizer:
    folder = tmp_path_factory.mktemp("bpe")
    return vocabulary.gpt2(folder, written(folder, {"vocab.json": BYTES, "merges.txt": MERGE_LINES}, **GPT2))


@quick
@given(text=any_text)
@example(text="")
@example(text=END)
@example(text=" a\n\n  b's 2024 </s>")
def test_byte_pairs_match_the_reference(bpe: RenumberedTokenizer, text: str) -> None:
    (ids,) = bpe.tokenizer.encode([text])
    assert bpe.order[ids].tolist() == reference_bpe().encode(text).ids
    assert min(ids, default=EOS + 1) > EOS
    assert bpe.tokenizer.decode([[BOS, *ids, EOS, PAD]]) == [text]


def test_the_two_ways_of_naming_the_files_are_one(tmp_path: Path, bpe: RenumberedTokenizer) -> None:
    files = written(tmp_path, {"encoder.json": BYTES, "vocab.bpe": MERGE_LINES}, **GPT2)
    assert vocabulary.gpt2(tmp_path, files).tokenizer.to_json() == bpe.tokenizer.to_json()


def test_tokenizer_json_is_taken_as_it_is(tmp_path: Path) -> None:
    backend = reference_bpe()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.add_special_tokens([END])
    backend.add_tokens(["<new>"])
    files = written(tmp_path, {"tokenizer.json": backend.to_str()}, **{**GPT2, "vocab_size": len(BYTES) + 1})
    found = vocabulary.gpt2(tmp_path, files)
    text = "It's 2024 <new> and the baby"
    assert found.order[found.tokenizer.encode([text])[0]].tolist() == backend.encode(text).ids
    assert found.size == len(BYTES) + 3


def test_a_saved_tokenizer_is_one_of_miradas(tmp_path: Path, bpe: RenumberedTokenizer) -> None:
    (tmp_path / "tokenizer.json").write_text(bpe.tokenizer.to_json(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.size, again.unit, again.unknown) == (len(BYTES) + 2, "subwords", None)
    assert again.encode(TEXTS) == bpe.tokenizer.encode(TEXTS)


def test_rows_without_a_word_keep_their_place(tmp_path: Path) -> None:
    files = {"vocab.json": BYTES, "merges.txt": MERGE_LINES}
    found = vocabulary.gpt2(tmp_path, written(tmp_path, files, **{**GPT2, "vocab_size": len(BYTES) + 5}))
    assert found.size == found.tokenizer.size == len(BYTES) + 5 + 2
    assert found.order[-5:].tolist() == list(range(len(BYTES), len(BYTES) + 5))


def test_a_padding_and_a_beginning_of_their_own_are_used(tmp_path: Path) -> None:
    words = {**BYTES, "<pad>": len(BYTES), "<s>": len(BYTES) + 1, "</s>": len(BYTES) + 2}
    ids = {"pad_token_id": len(BYTES), "bos_token_id": len(BYTES) + 1, "eos_token_id": END_ID}
    files = written(tmp_path, {"vocab.json": words, "merges.txt": MERGE_LINES}, vocab_size=len(words), **ids)
    found = vocabulary.gpt2(tmp_path, files)
    assert found.order[:3].tolist() == [len(BYTES), len(BYTES) + 1, END_ID]
    assert NEW not in found.order
    assert found.size == found.tokenizer.size == len(words)


# --- WordPiece ---

BERT = {"vocab_size": len(WORDS)}


def reference_word_pieces(lowercase: bool = True) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.WordPiece({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return backend


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> RenumberedTokenizer:
    folder = tmp_path_factory.mktemp("pieces")
    return vocabulary.bert(folder, written(folder, {"vocab.txt": "\n".join(WORDS) + "\n"}, **BERT))


@quick
@given(text=any_text)
@example(text="")
@example(text="[MASK] [CLS] </s> <mask>")
@example(text="The BABY'S tables, b́ayaba 日日 😀")
def test_word_pieces_match_the_reference(pieces: RenumberedTokenizer, text: str) -> None:
    (ids,) = pieces.tokenizer.encode([text])
    assert pieces.order[ids].tolist() == reference_word_pieces().encode(text).ids
    assert min(ids, default=UNK) >= UNK


@pytest.mark.parametrize("lowercase", [True, False])
def test_capitals_stay_where_the_files_say_so(tmp_path: Path, lowercase: bool) -> None:
    files = {"vocab.txt": "\n".join(WORDS), "tokenizer_config.json": {"do_lower_case": lowercase}}
    found = vocabulary.bert(tmp_path, written(tmp_path, files, **BERT))
    text = "The baby, the BOOK é"
    assert found.order[found.tokenizer.encode([text])[0]].tolist() == reference_word_pieces(lowercase).encode(text).ids


def test_tokenizer_json_and_vocab_txt_are_one(tmp_path: Path, pieces: RenumberedTokenizer) -> None:
    backend = reference_word_pieces()
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    found = vocabulary.bert(tmp_path, written(tmp_path, {"tokenizer.json": backend.to_str()}, **BERT))
    assert found.order.tolist() == pieces.order.tolist()
    assert found.tokenizer.encode(TEXTS) == pieces.tokenizer.encode(TEXTS)


def test_pieces_are_read_back(pieces: RenumberedTokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(pieces.tokenizer.to_json(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.unit, again.unknown, again.mask, again.size) == ("pieces", UNK, 4, len(WORDS))
    (ids,) = again.encode(["The baby is crying zz!"])
    assert again.pieces(ids) == ["the", "baby", "is", "cry", "##ing", "�", "!"]
    assert again.decode([[BOS, *ids, EOS, PAD], []]) == ["the baby is crying �!", ""]
    assert [token.text for token in again.tokens("A baby crying")] == ["A", "baby", "cry", "ing"]


# --- Unigram ---

MARIAN = marian_words()
PAD_ID = MARIAN["<pad>"]
MARIAN_CONFIG = {"vocab_size": len(MARIAN), "pad_token_id": PAD_ID, "eos_token_id": 0, "decoder_start_token_id": PAD_ID}
SPM = {"source.spm": sentence_pieces(SOURCE), "target.spm": sentence_pieces(TARGET)}


def test_pieces_of_a_sentence_are_the_likeliest(tmp_path: Path) -> None:
    source, target = vocabulary.marian(tmp_path, written(tmp_path, {**SPM, "vocab.json": MARIAN}, **MARIAN_CONFIG))
    assert source.order.tolist() == target.order.tolist()
    names = {id: name for name, id in MARIAN.items()}

    def cut(side: RenumberedTokenizer, text: str) -> list[str]:
        return [names[int(id)] for id in side.order[side.tokenizer.encode([text])[0]]]

    assert cut(source, "el bebé llora") == ["▁el", "▁be", "bé", "▁llora"]
    assert cut(source, "  el   el ") == ["▁el", "▁el"]  # spaces that are too many
    assert cut(source, "be") == ["▁be"]
    assert cut(source, "éb") == ["▁", "é", "b"]
    assert cut(source, "el zz") == ["▁el", "▁", "<unk>"]
    assert cut(source, "by") == ["▁", "b", "y"]  # letters of the other language serve, its longer pieces do not
    assert cut(target, "baby cries") == ["▁ba", "by", "▁cries"]
    assert cut(source, "</s>") == ["▁", "<unk>"]
    assert cut(source, ">>fra<< el") == [">>fra<<", "▁el"]
    assert cut(source, "") == []
    ids = target.tokenizer.encode(["the baby cries"])[0]
    assert target.tokenizer.decode([[BOS, *ids, EOS]]) == ["the baby cries"]
    (spoken,) = source.tokenizer.encode(["el bebé"])
    assert target.tokenizer.decode([spoken]) == ["el bebé"]  # what the model may say, it can write


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"source\.spm: is damaged"),
        (b"not a model at all", r"source\.spm: is damaged"),
        (sentence_pieces(SOURCE)[:40], r"source\.spm: is damaged"),
        (sentence_pieces(SOURCE, kind=2), r"source\.spm: .*unigram"),
    ],
)
def test_a_file_that_is_no_sentencepiece_model_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "source.spm").write_bytes(content)
    with pytest.raises(DataError, match=message):
        SentencePieceModel(tmp_path / "source.spm")


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "source.spm")  # which could block for ever
    with pytest.raises(DataError, match=r"source\.spm: cannot be read"):
        SentencePieceModel(tmp_path / "source.spm")


def test_an_integer_of_a_message_has_64_bits_at_most() -> None:
    assert list(fields(b"\x08" + b"\xff" * 9 + b"\x01")) == [(1, 2**64 - 1)]
    with pytest.raises(ValueError, match="64 bits"):
        list(fields(b"\x08" + b"\xff" * 10 + b"\x01"))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | st.integers(0, 200).map(lambda n: sentence_pieces(SOURCE)[n:]))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.spm"
    path.write_bytes(content)
    with suppress(DataError):  # and nothing else
        SentencePieceModel(path)


# --- what does not fit ---


@pytest.mark.parametrize(
    ("kind", "files", "config", "message"),
    [
        ("gpt2", {}, GPT2, r"tokenizer\.json nor vocab\.json and merges\.txt"),
        ("gpt2", {"vocab.json": BYTES}, GPT2, r"merges\.txt"),
        ("gpt2", {"vocab.json": BYTES, "merges.txt": "a b c\n"}, GPT2, r"merges\.txt line 1: .* two parts .* 'a b c'"),
        ("gpt2", {"vocab.json": BYTES, "merges.txt": "zz qq\n"}, GPT2, r"merges\.txt: does not fit vocab\.json"),
        (
            "gpt2",
            {"vocab.json": {"a": "b"}, "merges.txt": ""},
            GPT2,
            r"vocab\.json: .* id ",
        ),
        ("gpt2", {"vocab.json": "[1]", "merges.txt": ""}, GPT2, r"vocab\.json: .*not '\[1\]'"),
        (
            "gpt2",
            {"vocab.json": BYTES, "merges.txt": MERGE_LINES},
            {**GPT2, "vocab_size": 20, "eos_token_id": 3, "bos_token_id": 3},
            r"vocab\.json: has \d+ .*vocab_size=20",
        ),
        (
            "gpt2",
            {"vocab.json": BYTES, "merges.txt": MERGE_LINES},
            {**GPT2, "eos_token_id": 10**6},
            r"config\.json: eos_token_id=1000000 .*vocab_size=",
        ),
        ("gpt2", {"tokenizer.json": "{}"}, GPT2, r"tokenizer\.json: is not a tokenizer"),
        ("gpt2", {"tokenizer.json": reference_word_pieces().to_str()}, GPT2, "is WordPiece, .*BPE"),
        ("gpt2", {"tokenizer.json": tokenizers.Tokenizer(models.BPE(BYTES, [])).to_str()}, GPT2, "ByteLevel"),
        ("bert", {}, BERT, r"tokenizer\.json nor vocab\.txt"),
        ("bert", {"vocab.txt": "[PAD]\n[UNK]\na\n"}, BERT, r"vocab\.txt: has no \[CLS\]"),
        ("bert", {"vocab.txt": "\n".join(WORDS)}, {"vocab_size": "many"}, r"vocab_size should be a whole number"),
        ("marian", {"vocab.json": MARIAN}, MARIAN_CONFIG, r"source\.spm: cannot be read"),
        ("marian", {"vocab.json": {"a": 0}}, MARIAN_CONFIG, r"vocab\.json: has no <unk>"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, kind: str, files: dict[str, Any], config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        getattr(vocabulary, kind)(tmp_path, written(tmp_path, files, **config))
    assert "\n" not in str(caught.value)
