"""Published tokenizers, with their words numbered as in every vocabulary of Mirada's: PAD, BOS, EOS, then the others.

    WordPiece        tokenizer.json, or vocab.txt                                         BERT
    byte-level BPE   tokenizer.json, or vocab.json + merges.txt, or encoder.json + vocab.bpe     GPT-2
    Unigram          tokenizer.json, or vocab.json + source.spm + target.spm              Marian

How text is cut does not change, only the numbers do; the rows of the weights move along (`Renumbered.order`).
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
from mirada.data.tokenizer import MASK, SPECIALS, UNKNOWN, Tokenizer
from mirada.errors import DataError
from mirada.exchange.checkpoint import Settings, read_json
from mirada.exchange.mapping import NEW
from mirada.exchange.sentences import Pieces

Parts = dict[str, Any]
"""A tokenizer in the JSON of Hugging Face's `tokenizers`."""

PAD_NAME, BOS_NAME, EOS_NAME = SPECIALS
BERT_NAMES = {"[PAD]": PAD_NAME, "[CLS]": BOS_NAME, "[SEP]": EOS_NAME, "[UNK]": UNKNOWN, "[MASK]": MASK}
PLAIN = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Of a tokenizer without a kind of its own: `transformers` takes tokenizer.json as it is."""
UNLIKELY = -1000.0
"""The score of a word that Unigram should not find in a text: a special one, or one of the other language."""


@dataclass(frozen=True)
class Renumbered:
    """A tokenizer with Mirada's numbers, and where the words' rows have gone."""

    tokenizer: Tokenizer
    order: Tensor  # [V] which of the checkpoint's words each of ours is, or NEW
    doubles: range = range(0)
    """Words that the checkpoint has no row for, only <unk>'s: read like that, and never to be said."""

    @property
    def size(self) -> int:
        return len(self.order)


def words_of(parts: Parts) -> dict[str, int]:
    """Every word of a tokenizer, with its number."""
    vocabulary = parts["model"]["vocab"]
    numbered = vocabulary if isinstance(vocabulary, dict) else {word: id for id, (word, _) in enumerate(vocabulary)}
    return {**numbered, **{token["content"]: token["id"] for token in parts["added_tokens"]}}


def _fits(words: Mapping[str, int], size: int, where: Path) -> None:
    """Refuse words that share a number, or have one that config.json has no room for."""
    largest = max(words.values(), default=0)
    if len(set(words.values())) < len(words) or largest >= size:
        raise DataError(
            f"{where}: has {len(words):,} words, the largest number is {largest:,}; config.json has "
            f"vocab_size={size:,}, so they do not belong together"
        )


def renumber(
    parts: Parts, specials: Mapping[str, int], size: int, where: Path, doubles: int = 0, kept: Sequence[int] = ()
) -> Renumbered:
    """Words under new numbers: first the special ones, by Mirada's names and their old numbers (NEW is none), then the
    others as they were. Rows without a word, as some published tables have at their end, keep a place without use.

    The `doubles` last words, numbered from `size` on, have no row but <unk>'s. `kept` are special ones that are words
    of a text too: those have their row twice.
    """
    words = words_of(parts)
    _fits(words, size + doubles, where)
    names = {id: word for word, id in words.items()}
    taken = {*specials.values()} - {*kept}
    order = [*specials.values(), *(id for id in range(size + doubles) if id not in taken)]
    new = list(specials)
    for id in order[len(specials) :]:
        word = names.get(id, "")
        new.append(word if word and word not in specials else f"<unused {id}>")
    numbered = {word: id for id, word in enumerate(new)}
    if len(numbered) < len(new):
        raise DataError(f"{where}: names a word <unused …>, which Mirada uses for rows without a word")
    added = [_added(word, numbered[word], special=True) for word in specials]
    added += [
        {**token, "id": numbered[token["content"]]}
        for token in parts["added_tokens"]
        if not token["special"] and token["content"] in numbered
    ]
    model = {**parts["model"], "unk_token": UNKNOWN if UNKNOWN in specials else None, "vocab": numbered}
    model |= {"dropout": None} if "dropout" in model else {}  # of BPE: for training; what is read must not be chance
    if model["type"] == "Unigram":
        scores = {id: score for id, (_, score) in enumerate(parts["model"]["vocab"])}
        model = {**parts["model"], "unk_id": numbered[UNKNOWN]}
        model["vocab"] = [
            [word, UNLIKELY if word in specials else scores.get(id, UNLIKELY)]
            for word, id in zip(new, order, strict=True)
        ]
    whole = {**parts, "model": model, "added_tokens": sorted(added, key=lambda token: int(token["id"]))}
    whole |= {"truncation": None, "padding": None, "post_processor": None}
    rows = torch.tensor([id if id < size else specials[UNKNOWN] for id in order])
    last = range(len(order) - doubles, len(order))
    return Renumbered(Tokenizer(_backend(json.dumps(whole), where)), rows, last)


def _added(word: str, id: int, special: bool) -> Parts:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": id, "content": word, **flags, "special": special}


def _backend(text: str, where: Path) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"{where}: is not a tokenizer ({str(error)[:120]})") from None


def _published(folder: Path, *kinds: str) -> tuple[Parts, Path] | None:
    """tokenizer.json, if there is one; it must be of one of these kinds."""
    path = folder / "tokenizer.json"
    if not path.exists():
        return None
    parts: Parts = json.loads(_backend(json.dumps(read_json(path)), path).to_str())
    if parts["model"]["type"] not in kinds:
        raise DataError(f"{path}: is {parts['model']['type']}, where {' or '.join(kinds)} should be")
    return parts, path


def _options(folder: Path, **kinds: tuple[bool | None, ...]) -> Parts:
    """Of tokenizer_config.json: what it says of these settings, each with the values that it may have."""
    path = folder / "tokenizer_config.json"
    told = read_json(path) if path.exists() else {}
    found = {key: told[key] for key in kinds if key in told}
    for key, value in found.items():
        if not any(value is kind for kind in kinds[key]):
            raise DataError(f"{path}: {key} should be true or false, not {value!r}")
    plain = (folder / "tokenizer.json").exists() and told.get("tokenizer_class") in PLAIN
    return {} if plain else found


def _numbered(path: Path) -> dict[str, int]:
    """A vocabulary in JSON: a number for each word."""
    words = read_json(path)
    if not all(isinstance(id, int) and not isinstance(id, bool) and id >= 0 for id in words.values()):
        raise DataError(f"{path}: should have a number for each word")
    return words


# ── WordPiece ─────────────────────────────────────────────────────────────────────────────────────────────────────


YES_NO = (True, False)
NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
"""In tokenizer_config.json, and in the tokenizer itself."""


def bert(folder: Path, settings: Settings) -> Renumbered:
    """[PAD], [CLS], [SEP], [UNK], [MASK], then the rest."""
    parts, path = _published(folder, "WordPiece") or _word_pieces(folder)
    cutter = parts["normalizer"] or {}
    if cutter.get("type") == "BertNormalizer":  # where the two files differ, tokenizer_config.json is right
        told = _options(folder, do_lower_case=YES_NO, strip_accents=(*YES_NO, None), tokenize_chinese_chars=YES_NO)
        parts["normalizer"] = cutter | {NORMALIZER[key]: value for key, value in told.items()}
    words = words_of(parts)
    if missing := [name for name in BERT_NAMES if name not in words]:
        raise DataError(f"{path}: has no {missing[0]}, which every vocabulary of a BERT has")
    specials = {ours: words[theirs] for theirs, ours in BERT_NAMES.items()}
    return renumber(parts, specials, settings.integer("vocab_size"), path)


def _word_pieces(folder: Path) -> tuple[Parts, Path]:
    path = folder / "vocab.txt"
    if not path.exists():
        raise DataError(f"{folder}: has no tokenizer: neither tokenizer.json nor vocab.txt")
    words = {word: id for id, word in enumerate(lines(path))}
    backend = tokenizers.Tokenizer(models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return json.loads(backend.to_str()), path


# ── byte-level BPE ────────────────────────────────────────────────────────────────────────────────────────────────

BPE_FILES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def gpt2(folder: Path, settings: Settings) -> Renumbered:
    """PAD (new, unless there is one), the words that begin and end a text, then the rest.

    A word of texts is none of them, or it would be lost: config.json may name any (pad_token_id=0 is "!").
    """
    parts, path = _published(folder, "BPE") or _byte_pairs(folder)
    cutter = parts["pre_tokenizer"] or {}
    if "ByteLevel" not in json.dumps(cutter):
        raise DataError(f"{path}: does not cut text into bytes (ByteLevel), as the tokenizer of a GPT-2 does")
    if cutter["type"] == "ByteLevel":
        parts["pre_tokenizer"] = cutter | _options(folder, add_prefix_space=YES_NO)
    end = settings.integer("eos_token_id", 50256)
    begin = settings.integer("bos_token_id", end)
    pad = settings.integer("pad_token_id", end)
    size = settings.integer("vocab_size")
    for key, id in (("eos_token_id", end), ("bos_token_id", begin), ("pad_token_id", pad)):
        _in(settings, key, id, size)
    _fits(words_of(parts), size, path)
    spelt = _spelt(parts)
    if end in spelt:
        raise DataError(
            f"{settings.path}: eos_token_id={end} is {spelt[end]!r}, a word of texts, so nothing could end them; "
            "name the tokenizer's own end there"
        )
    specials = {PAD_NAME: NEW if pad in (begin, end) or pad in spelt else pad, BOS_NAME: begin, EOS_NAME: end}
    return renumber(parts, specials, size, path, kept=[begin] if begin in spelt else [])


def _in(settings: Settings, key: str, id: int, size: int) -> None:
    if id >= size:
        raise DataError(f"{settings.path}: {key}={id} is no word of vocab_size={size}")


def _spelt(parts: Parts) -> dict[int, str]:
    """The words that byte pairs make of a text: single bytes, and what two of them are merged to."""
    merged = {"".join(pair) if isinstance(pair, list) else pair.replace(" ", "") for pair in parts["model"]["merges"]}
    special = {token["content"] for token in parts["added_tokens"] if token["special"]}
    found = {*pre_tokenizers.ByteLevel.alphabet(), *merged} - special
    return {id: word for word, id in parts["model"]["vocab"].items() if word in found}


def _byte_pairs(folder: Path) -> tuple[Parts, Path]:
    for vocabulary, merges in BPE_FILES:
        if (folder / vocabulary).exists():
            words = _numbered(folder / vocabulary)
            pairs = list(_merges(folder / merges))
            break
    else:
        raise DataError(f"{folder}: has no tokenizer: neither tokenizer.json nor vocab.json and merges.txt")
    try:
        backend = tokenizers.Tokenizer(models.BPE(words, pairs))
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"{folder / merges}: does not fit {vocabulary} ({error})") from None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return json.loads(backend.to_str()), folder / vocabulary


def _merges(path: Path) -> Iterable[tuple[str, str]]:
    """The pairs to merge, the first ones first; a line that begins with #version is none."""
    for number, line in enumerate(lines(path), 1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        pair = line.split(" ")
        if len(pair) != 2:
            raise DataError(f"{path} line {number}: should be two parts of a word, not {line[:40]!r}")
        yield pair[0], pair[1]


# ── Unigram ───────────────────────────────────────────────────────────────────────────────────────────────────────


def marian(folder: Path, settings: Settings) -> tuple[Renumbered, Renumbered]:
    """For source and target: PAD, the word that the decoder begins with (PAD too), </s>, <unk>, then the rest."""
    size = settings.integer("vocab_size")
    pad = settings.integer("pad_token_id")
    end = settings.integer("eos_token_id")
    begin = settings.integer("decoder_start_token_id", pad)
    for key, id in (("pad_token_id", pad), ("eos_token_id", end), ("decoder_start_token_id", begin)):
        _in(settings, key, id, size)
    published = _published(folder, "Unigram")
    if published:
        parts, path = published
        unknown = int(parts["model"]["unk_id"] or 0)
        both = renumber(parts, {PAD_NAME: pad, BOS_NAME: begin, EOS_NAME: end, UNKNOWN: unknown}, size, path)
        return both, both
    path = folder / "vocab.json"
    words = _numbered(path)
    if UNKNOWN not in words:
        raise DataError(f"{path}: has no {UNKNOWN}")
    _fits(words, size, path)
    specials = {PAD_NAME: pad, BOS_NAME: begin, EOS_NAME: end, UNKNOWN: words[UNKNOWN]}
    sides = [Pieces(folder / "source.spm"), Pieces(folder / "target.spm")]
    more = [piece for piece in dict.fromkeys(chain(*(side.scores for side in sides))) if piece not in words]
    numbered = {**words, **{piece: id for id, piece in enumerate(more, size)}}
    source, target = (
        renumber(_unigram(numbered, size, side, spell_all), specials, size, path, doubles=len(more))
        for side, spell_all in zip(sides, (False, True), strict=True)
    )
    return source, target


def _unigram(words: Mapping[str, int], size: int, pieces: Pieces, spell_all: bool) -> Parts:
    """The words of vocab.json, with the scores that one side's SentencePiece model has for them.

    A piece that only SentencePiece has is cut out of a text all the same, and is <unk> then: its number is `size` or
    above. The other side's words are not looked for in a text of this one, its letters only where there is nothing
    else; but what is written may need any (`spell_all`).
    """
    table: list[tuple[str, float]] = [(f"<unused {id}>", UNLIKELY) for id in range(max(words.values()) + 1)]
    for word, id in words.items():
        if word in pieces.scores:
            table[id] = word, pieces.scores[word]
        elif id < size and (spell_all or len(word) == 1 or word == UNKNOWN or word.startswith(">>")):
            table[id] = word, UNLIKELY
    backend = tokenizers.Tokenizer(models.Unigram(table, unk_id=words[UNKNOWN]))
    if pieces.normalizers:
        backend.normalizer = normalizers.Sequence(pieces.normalizers)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=pieces.prepend, split=pieces.within_words)
    backend.decoder = decoders.Metaspace(prepend_scheme=pieces.prepend)
    # >>fra<<: which language to translate into, said before the text.
    languages = [word for word in words if word.startswith(">>") and word.endswith("<<")]
    backend.add_tokens([tokenizers.AddedToken(word, normalized=False, rstrip=True) for word in languages])
    parts: Parts = json.loads(backend.to_str())
    return parts
