"""Read published tokenizers, with token ids in Mirada's order: PAD, BOS, EOS, then the others.

    WordPiece        tokenizer.json, or vocab.txt                                         BERT
    byte-level BPE   tokenizer.json, or vocab.json + merges.txt, or encoder.json + vocab.bpe     GPT-2
    Unigram          tokenizer.json, or vocab.json + source.spm + target.spm              Marian

Tokenization does not change, only the ids do; the rows of the embedding are reordered in the same way
(`RenumberedTokenizer.order`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from mirada.data.text import lines
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import MASK, SPECIALS, UNKNOWN
from mirada.errors import DataError
from mirada.exchange.checkpoint import CheckpointConfig, read_json
from mirada.exchange.mapping import NEW
from mirada.exchange.sentencepiece import SentencePieceModel

Parts = dict[str, Any]
"""A tokenizer as the JSON of Hugging Face's `tokenizers`."""

PAD_NAME, BOS_NAME, EOS_NAME = SPECIALS
BERT_NAMES = {"[PAD]": PAD_NAME, "[CLS]": BOS_NAME, "[SEP]": EOS_NAME, "[UNK]": UNKNOWN, "[MASK]": MASK}
PLAIN = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Tokenizer classes for which `transformers` ignores the options of tokenizer_config.json."""
UNLIKELY = -1000.0
"""The score of tokens that Unigram should not find in a text: special ones, and those of the other language."""
NEVER_READ = -100_000.0
"""The score of tokens that are only decoded: in a text, single letters are preferred to them."""


@dataclass(frozen=True)
class RenumberedTokenizer:
    """A tokenizer with Mirada's token ids."""

    tokenizer: Tokenizer
    order: Tensor  # [V] the checkpoint's id of each of our tokens, or NEW
    unknown: range = range(0)
    """Tokens without a row in the checkpoint: they are read as <unk> and never generated."""

    @property
    def size(self) -> int:
        return len(self.order)


def token_ids(parts: Parts) -> dict[str, int]:
    """The id of every token of a tokenizer."""
    vocabulary = parts["model"]["vocab"]
    ids = vocabulary if isinstance(vocabulary, dict) else {token: id for id, (token, _) in enumerate(vocabulary)}
    return {**ids, **{token["content"]: token["id"] for token in parts["added_tokens"]}}


def _check_ids(ids: Mapping[str, int], size: int, where: Path) -> None:
    """Refuse ids that several tokens share, or that are not below the vocabulary size."""
    largest = max(ids.values(), default=0)
    if len(set(ids.values())) < len(ids) or largest >= size:
        raise DataError(
            f"{where}: has {len(ids):,} tokens, the largest id is {largest:,}; config.json has "
            f"vocab_size={size:,}, so they do not belong together"
        )


def renumber(
    parts: Parts, specials: Mapping[str, int], size: int, where: Path, unknown: int = 0, in_text: Sequence[int] = ()
) -> RenumberedTokenizer:
    """Give a tokenizer new ids: first the special tokens, by Mirada's names and their old ids (or NEW), then the others
    in their old order. Rows without a token, as some published embeddings have at their end, keep an unused token.

    The `unknown` last tokens, with ids from `size` on, have no row and use that of <unk>. Special tokens with the ids
    `in_text` are ordinary tokens too: they have two rows.
    """
    old_ids = token_ids(parts)
    _check_ids(old_ids, size + unknown, where)
    names = {id: token for token, id in old_ids.items()}
    taken = {*specials.values()} - {*in_text}
    order = [*specials.values(), *(id for id in range(size + unknown) if id not in taken)]
    tokens = list(specials)
    for id in order[len(specials) :]:
        token = names.get(id, "")
        tokens.append(token if token and token not in specials else f"<unused {id}>")
    ids = {token: id for id, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        raise DataError(f"{where}: has a token <unused …>, a name that Mirada uses for rows without a token")
    added = [_special(token, ids[token]) for token in specials]
    added += [
        {**token, "id": ids[token["content"]]}
        for token in parts["added_tokens"]
        if not token["special"] and token["content"] in ids
    ]
    model = {**parts["model"], "unk_token": UNKNOWN if UNKNOWN in specials else None, "vocab": ids}
    model |= {"dropout": None} if "dropout" in model else {}  # BPE dropout is for training only
    if model["type"] == "Unigram":
        scores = {id: score for id, (_, score) in enumerate(parts["model"]["vocab"])}
        model = {**parts["model"], "unk_id": ids[UNKNOWN]}
        model["vocab"] = [
            [token, UNLIKELY if token in specials else scores.get(id, UNLIKELY)]
            for token, id in zip(tokens, order, strict=True)
        ]
    whole = {**parts, "model": model, "added_tokens": sorted(added, key=lambda token: int(token["id"]))}
    whole |= {"truncation": None, "padding": None, "post_processor": None}
    rows = torch.tensor([id if id < size else specials[UNKNOWN] for id in order])
    last = range(len(order) - unknown, len(order))
    return RenumberedTokenizer(Tokenizer(_backend(json.dumps(whole), where)), rows, last)


def _special(token: str, id: int) -> Parts:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": token, **flags, "special": True}


def _backend(text: str, where: Path) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"{where}: is not a tokenizer ({str(error)[:120]})") from None


def _tokenizer_json(folder: Path, *kinds: str) -> tuple[Parts, Path] | None:
    """Read tokenizer.json, if it exists; its model must be of one of these kinds."""
    path = folder / "tokenizer.json"
    if not path.exists():
        return None
    parts: Parts = json.loads(_backend(json.dumps(read_json(path)), path).to_str())
    if parts["model"]["type"] not in kinds:
        raise DataError(f"{path}: is {parts['model']['type']}, but should be {' or '.join(kinds)}")
    return parts, path


def _options(folder: Path, **choices: tuple[bool | None, ...]) -> Parts:
    """Read these options of tokenizer_config.json, each with its allowed values."""
    path = folder / "tokenizer_config.json"
    values = read_json(path) if path.exists() else {}
    found = {key: values[key] for key in choices if key in values}
    for key, value in found.items():
        if not any(value is choice for choice in choices[key]):
            raise DataError(f"{path}: {key} should be true or false, not {value!r}")
    plain = (folder / "tokenizer.json").exists() and values.get("tokenizer_class") in PLAIN
    return {} if plain else found


def _vocab_json(path: Path) -> dict[str, int]:
    """Read a JSON vocabulary: an id for each token."""
    ids = read_json(path)
    if not all(isinstance(id, int) and not isinstance(id, bool) and id >= 0 for id in ids.values()):
        raise DataError(f"{path}: should have an id for each token")
    return ids


def _special_ids(config: CheckpointConfig, size: int, **defaults: int | None) -> list[int]:
    """The ids of special tokens in config.json; each must be below the vocabulary size."""
    ids = {key: config.integer(key, default) for key, default in defaults.items()}
    for key, id in ids.items():
        if id >= size:
            raise DataError(f"{config.path}: {key}={id} is not below vocab_size={size}")
    return list(ids.values())


# ── WordPiece ─────────────────────────────────────────────────────────────────────────────────────────────────────


YES_NO = (True, False)
NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
"""Options of tokenizer_config.json, and their names in the tokenizer itself."""


def bert(folder: Path, config: CheckpointConfig) -> RenumberedTokenizer:
    """BERT's tokenizer: [PAD], [CLS], [SEP], [UNK], [MASK], then the other tokens."""
    parts, path = _tokenizer_json(folder, "WordPiece") or _word_pieces(folder)
    normalizer = parts["normalizer"] or {}
    if normalizer.get("type") == "BertNormalizer":  # if the two files disagree, tokenizer_config.json takes precedence
        options = _options(folder, do_lower_case=YES_NO, strip_accents=(*YES_NO, None), tokenize_chinese_chars=YES_NO)
        parts["normalizer"] = normalizer | {NORMALIZER[key]: value for key, value in options.items()}
    ids = token_ids(parts)
    if missing := [name for name in BERT_NAMES if name not in ids]:
        raise DataError(f"{path}: has no {missing[0]}, which the vocabulary of a BERT must have")
    specials = {ours: ids[theirs] for theirs, ours in BERT_NAMES.items()}
    return renumber(parts, specials, config.integer("vocab_size"), path)


def _word_pieces(folder: Path) -> tuple[Parts, Path]:
    path = folder / "vocab.txt"
    if not path.exists():
        raise DataError(f"{folder}: has no tokenizer: neither tokenizer.json nor vocab.txt")
    ids = {token: id for id, token in enumerate(lines(path))}
    backend = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return json.loads(backend.to_str()), path


# ── byte-level BPE ────────────────────────────────────────────────────────────────────────────────────────────────

BPE_FILES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def gpt2(folder: Path, config: CheckpointConfig) -> RenumberedTokenizer:
    """GPT-2's tokenizer: PAD (new, unless there is one), the tokens that begin and end a text, then the others.

    A token that occurs in texts is not used as PAD, whatever config.json says (pad_token_id=0 is "!").
    """
    parts, path = _tokenizer_json(folder, "BPE") or _byte_pairs(folder)
    splitter = parts["pre_tokenizer"] or {}
    if "ByteLevel" not in json.dumps(splitter):
        raise DataError(f"{path}: has no ByteLevel pre-tokenizer, which the tokenizer of a GPT-2 must have")
    if splitter["type"] == "ByteLevel":
        parts["pre_tokenizer"] = splitter | _options(folder, add_prefix_space=YES_NO)
    size, end = config.integer("vocab_size"), config.integer("eos_token_id", 50256)
    end, begin, pad = _special_ids(config, size, eos_token_id=end, bos_token_id=end, pad_token_id=end)
    _check_ids(token_ids(parts), size, path)
    ordinary = _ordinary_tokens(parts)
    if end in ordinary:
        raise DataError(
            f"{config.path}: eos_token_id={end} is {ordinary[end]!r}, which occurs in texts, so it cannot end them; "
            "set it to the tokenizer's end token"
        )
    specials = {PAD_NAME: NEW if pad in (begin, end) or pad in ordinary else pad, BOS_NAME: begin, EOS_NAME: end}
    return renumber(parts, specials, size, path, in_text=[begin] if begin in ordinary else [])


def _ordinary_tokens(parts: Parts) -> dict[int, str]:
    """The tokens that BPE produces from text: single bytes and merged pairs."""
    merged = {"".join(pair) if isinstance(pair, list) else pair.replace(" ", "") for pair in parts["model"]["merges"]}
    special = {token["content"] for token in parts["added_tokens"] if token["special"]}
    found = {*pre_tokenizers.ByteLevel.alphabet(), *merged} - special
    return {id: token for token, id in parts["model"]["vocab"].items() if token in found}


def _byte_pairs(folder: Path) -> tuple[Parts, Path]:
    for vocabulary, merges in BPE_FILES:
        if (folder / vocabulary).exists():
            ids = _vocab_json(folder / vocabulary)
            pairs = list(_merges(folder / merges))
            break
    else:
        raise DataError(f"{folder}: has no tokenizer: neither tokenizer.json nor vocab.json and merges.txt")
    try:
        backend = tokenizers.Tokenizer(models.BPE(ids, pairs))
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"{folder / merges}: does not fit {vocabulary} ({error})") from None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return json.loads(backend.to_str()), folder / vocabulary


def _merges(path: Path) -> Iterable[tuple[str, str]]:
    """Read the merges in order, without the #version line."""
    for number, line in enumerate(lines(path), 1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        pair = line.split(" ")
        if len(pair) != 2:
            raise DataError(f"{path} line {number}: should be two parts of a token, not {line[:40]!r}")
        yield pair[0], pair[1]


# ── Unigram ───────────────────────────────────────────────────────────────────────────────────────────────────────


def marian(folder: Path, config: CheckpointConfig) -> tuple[RenumberedTokenizer, RenumberedTokenizer]:
    """Marian's source and target tokenizer: PAD, the token that the decoder starts with (PAD too), </s>, <unk>, then
    the others.
    """
    size, pad = config.integer("vocab_size"), config.integer("pad_token_id")
    pad, end, begin = _special_ids(config, size, pad_token_id=pad, eos_token_id=None, decoder_start_token_id=pad)
    specials = {PAD_NAME: pad, BOS_NAME: begin, EOS_NAME: end}
    if published := _tokenizer_json(folder, "Unigram"):
        parts, path = published
        both = renumber(parts, specials | {UNKNOWN: int(parts["model"]["unk_id"] or 0)}, size, path)
        return both, both
    path = folder / "vocab.json"
    ids = _vocab_json(path)
    if UNKNOWN not in ids:
        raise DataError(f"{path}: has no {UNKNOWN}")
    _check_ids(ids, size, path)
    specials |= {UNKNOWN: ids[UNKNOWN]}
    sides = [SentencePieceModel(folder / "source.spm"), SentencePieceModel(folder / "target.spm")]
    more = [piece for piece in dict.fromkeys(chain(*(side.scores for side in sides))) if piece not in ids]
    ids |= {piece: id for id, piece in enumerate(more, size)}
    source, target = (
        renumber(_unigram(ids, size, side, spell_all), specials, size, path, unknown=len(more))
        for side, spell_all in zip(sides, (False, True), strict=True)
    )
    return source, target


def merged(source: Tokenizer, target: Tokenizer) -> Tokenizer:
    """One tokenizer that reads source texts as `source` does and names every token of the target: Marian's have equal
    ids, and each lacks the tokens that only the other language has.
    """
    if source is target:
        return source
    parts, other = (json.loads(one.to_json()) for one in (source, target))
    names = {token for token, _ in parts["model"]["vocab"]}
    parts["model"]["vocab"] = [
        [token, score] if not token.startswith("<unused ") or name in names else [name, NEVER_READ]
        for (token, score), (name, _) in zip(parts["model"]["vocab"], other["model"]["vocab"], strict=True)
    ]
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(parts)))


def _unigram(ids: Mapping[str, int], size: int, pieces: SentencePieceModel, spell_all: bool) -> Parts:
    """A tokenizer with the tokens of vocab.json and the scores of one side's SentencePiece model.

    A piece that only SentencePiece has, with an id from `size` on, is still split off, and becomes <unk>. Tokens of the
    other side are not looked for in a text, and its letters only if nothing else fits; but a generated text may need
    any of them (`spell_all`).
    """
    table: list[tuple[str, float]] = [(f"<unused {id}>", UNLIKELY) for id in range(max(ids.values()) + 1)]
    for token, id in ids.items():
        if token in pieces.scores:
            table[id] = token, pieces.scores[token]
        elif id < size and (spell_all or len(token) == 1 or token == UNKNOWN or token.startswith(">>")):
            table[id] = token, UNLIKELY
    backend = tokenizers.Tokenizer(models.Unigram(table, unk_id=ids[UNKNOWN]))
    if pieces.normalizers:
        backend.normalizer = normalizers.Sequence(pieces.normalizers)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=pieces.prepend, split=pieces.within_words)
    backend.decoder = decoders.Metaspace(prepend_scheme=pieces.prepend)
    # >>fra<<, at the beginning of a text, selects the target language
    languages = [token for token in ids if token.startswith(">>") and token.endswith("<<")]
    backend.add_tokens([tokenizers.AddedToken(token, normalized=False, rstrip=True) for token in languages])
    parts: Parts = json.loads(backend.to_str())
    return parts
