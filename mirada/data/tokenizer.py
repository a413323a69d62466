"""Units of text, with Hugging Face `tokenizers`: subwords, words, characters, or symbols between white space.

    subwords     byte-level BPE learned from the corpus     any text survives a round trip
    words        runs of letters and digits, and marks      what is rare is <unk>; lower-cased unless told otherwise
    characters   Unicode code points, white space too       a text of known characters survives a round trip
    symbols      whatever stands between white space        a melody's notes, a game's moves
    pieces       WordPiece or Unigram as published          not learned here: they come with an imported model

Subwords end in bytes; digits stand alone, so that a number is copied digit by digit. A tokenizer that normalizes reads
every text, when it is learned and when it is used, in the form that `normalize` gives it. Offsets are those of the text
as it was given, so that tokens map back to words. All are kept in the library's JSON, which tells the unit, and by a
first normalizer NFC that texts are normalized.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers

from mirada.config import Section
from mirada.contracts import EOS
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.normalize import aligned, normalize
from mirada.data.tokenizer_file import read_tokenizer
from mirada.data.tokenizer_learning import (
    LARGEST,
    LONGEST_TEXT,
    MASK,
    MAX_KNOWN,
    MAX_UNITS,
    MAX_WORD,
    MAX_WORDS,
    SMALLEST,
    SPACE,
    SPECIALS,
    TAG,
    UNK,
    UNKNOWN,
    WORDS_AT_A_TIME,
    Kind,
    Unit,
    bounded,
    bytes_of,
    learn_subwords,
    learn_units,
    not_unicode,
    parts_of,
    too_long,
    whole_characters,
    words_of,
)
from mirada.errors import BundleError
from mirada.parsing import shown

PROBE = "\tPor 1,5 €: «ñandú»… 你好 \U0001f600\n"
"""A text that every tokenizer must be able to encode."""


class TokenizerConfig(Section):
    """How text is cut into units."""

    unit: Unit = "subwords"
    """What a token is: subwords, words, characters, or symbols (separated by white space)."""
    vocabulary: int | None = Field(None, ge=1, le=MAX_UNITS)
    """Vocabulary size. Default: subwords depend on the size of the corpus, words are limited to 30,000, characters and
    symbols include all that occur."""
    words_seen: int | None = Field(None, ge=1)
    """Running words that training will see, if a budget in minutes limits them; the default vocabulary size depends on
    it."""
    lowercase: bool | None = None
    """Lower-case the text. Default: only if tokens are words."""
    normalize: bool = True
    """Normalize texts in training and inference: Unicode NFC, plain spaces, no invisible characters. Off in language
    modelling; a fine-tuned model keeps the setting of its base."""
    joint: bool = True
    """One vocabulary for both languages (needed for tied embeddings), or one each."""

    @model_validator(mode="after")
    def _enough_subwords(self) -> TokenizerConfig:
        if self.unit == "subwords" and self.vocabulary is not None and self.vocabulary < SMALLEST:
            raise ValueError(
                f"vocabulary={self.vocabulary} is too small for unit=subwords, which begin with the 256 bytes: "
                f"--set tokenizer.vocabulary={SMALLEST}, or another unit"
            )
        return self

    def learn(
        self,
        texts: Iterable[str],
        words: int,
        mask: bool = False,
        markers: str = "",
        tags: Sequence[str] = (),
        languages: int = 1,
    ) -> Tokenizer:
        """Learn a tokenizer from texts with `words` running words, in one language or more."""
        sizes = self.most(words, languages), self.unit, self.lowercased, mask, self.normalize
        return Tokenizer.learn(texts, *sizes, markers, tags)

    def most(self, words: int, languages: int = 1) -> int:
        """The number of units to learn from a corpus with `words` running words."""
        if self.vocabulary is not None:
            return self.vocabulary
        if self.unit == "subwords":
            return suggest_vocabulary(min(words, self.words_seen or words), languages)
        return MAX_WORDS if self.unit == "words" else MAX_UNITS

    @property
    def lowercased(self) -> bool:
        return self.unit == "words" if self.lowercase is None else self.lowercase


class Token(NamedTuple):
    """A unit of text, and the characters [start, end) of the text that it stands for."""

    id: int
    text: str
    start: int
    end: int


def suggest_vocabulary(words: int, languages: int = 1) -> int:
    """The size of a vocabulary that suits a corpus: 5 √words subwords for each of its languages.

    It is a multiple of 16, since processors multiply matrices of such widths faster.
    """
    return max(SMALLEST, min(LARGEST, round(5 * languages * math.sqrt(words) / 16) * 16))


class Tokenizer:
    """Text to ids and back. Markers such as </s> inside a user's text are text like any other."""

    def __init__(self, backend: tokenizers.Tokenizer):
        self._backend = backend
        self._backend.encode_special_tokens = True
        self.unit: Kind = _unit_of(backend)
        self.normalizes = _normalizes(backend, self.unit)
        spells = _spells_words(backend, self.unit)
        self._words: dict[str, bytes] | None = {} if spells else None
        """The ids of words that were encoded before, as an array's bytes, where words are encoded by themselves."""
        self._spaced = {id for piece, id in backend.get_vocab().items() if piece.startswith(SPACE)} if spells else set()
        """The ids that begin a word."""
        self.mask: int | None = backend.token_to_id(MASK)
        """The id that stands for a hidden word, if there is one."""
        added = backend.get_added_tokens_decoder().items()
        self.tags: dict[str, int] = {tag.content: id for id, tag in added if tag.special and TAG.fullmatch(tag.content)}
        """The ids of tags, which are put before the ids of a text, and which no text has."""
        self._markers = frozenset({*self.tags.values(), *([] if self.mask is None else [self.mask])})

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        vocabulary: int,
        unit: Unit = "subwords",
        lowercase: bool = False,
        mask: bool = False,
        normalized: bool = False,
        markers: str = "",
        tags: Sequence[str] = (),
    ) -> Tokenizer:
        """Learn from texts: `vocabulary` subwords with the special ones, or that many other units beside those.

        With `mask`, one of the special ones stands for a hidden word; `tags` are others. With `normalized`, texts are
        normalized, here and whenever it is used. Each character of `markers` is one of the subwords.
        """
        more = [*([MASK] if mask else []), *tags]
        first = [normalizers.NFC()] if normalized else []
        steps = [*first, normalizers.Lowercase()] if lowercase else first
        given = map(normalize, texts) if normalized else texts
        if unit == "subwords":
            parts = (part for text in given for part in parts_of(text, unit, normalized))
            return cls(learn_subwords(parts, vocabulary, steps, more, markers))
        return cls(learn_units(given, vocabulary, unit, steps, more))

    @classmethod
    def load(cls, path: Path, content: bytes | None = None) -> Tokenizer:
        """The tokenizer of a file; `content` is what is in it, if that has been read already."""
        text = read_tokenizer(path, content)
        try:
            backend = tokenizers.Tokenizer.from_str(text)
            backend.encode(PROBE, add_special_tokens=False)
            backend.decode([0, 1, 2], skip_special_tokens=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises bare Exception, and when it panics a bare BaseException
            raise BundleError(f"{path}: is not a tokenizer ({shown(str(error))})") from None
        if [backend.token_to_id(special) for special in SPECIALS] != [0, 1, 2]:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's (its first ids are not {', '.join(SPECIALS)})")
        try:
            tokenizer = cls(backend)
        except ValueError as error:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's ({error})") from None
        if tokenizer.unknown is not None and backend.token_to_id(UNKNOWN) != UNK:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's (the id of {UNKNOWN} is not {UNK})")
        return tokenizer

    def to_json(self) -> str:
        return str(self._backend.to_str(pretty=True))

    @property
    def size(self) -> int:
        return int(self._backend.get_vocab_size())

    def vocabulary(self) -> dict[str, int]:
        """The id of every token, special ones included."""
        found: dict[str, int] = self._backend.get_vocab()
        return found

    @property
    def unknown(self) -> int | None:
        """The id of whatever is not in the vocabulary; subwords can spell everything and have none."""
        return None if self.unit == "subwords" else UNK

    def units(self, character: str) -> list[int]:
        """The ids of a character that is a subword of its own, without and with a space before it; else none."""
        spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
        ids = [self._backend.token_to_id(spell(text)[0][0]) for text in (character, f" {character}")]
        found = [id for id in ids if id is not None]
        return found if len(found) == len(ids) else []

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without BOS or EOS; several cores work on it."""
        given = list(map(normalize, texts)) if self.normalizes else texts
        return self._encode_whole(given) if self._words is None else self._encode_words(given, self._words)

    def _encode_words(self, texts: Sequence[str], known: dict[str, bytes]) -> list[list[int]]:
        """The ids of each text, from those of its words: a text has few words that no other has."""
        split = str.split if self.normalizes else words_of  # normalized texts have single spaces between words
        rows = [split(text) or [text] for text in texts]
        new = set(chain.from_iterable(rows)).difference(known)
        plain = [word for word in new if len(word) <= MAX_WORD and words_of(word) and not has_invalid_bytes(word)]
        known.update(zip(plain, self._encode_plain(plain), strict=True))
        odd = list(new.difference(known))
        known.update((word, array("I", ids).tobytes()) for word, ids in zip(odd, self._encode_whole(odd), strict=True))
        found = [array("I", b"".join(map(known.__getitem__, row))).tolist() for row in rows]
        for word in odd:
            del known[word]
        if len(known) > MAX_KNOWN:
            known.clear()
        return found

    def _encode_plain(self, words: list[str]) -> Iterator[bytes]:
        """The ids of each word. Many are encoded as one text, in which only the first id of a word has a space."""
        groups = list(batched(words, WORDS_AT_A_TIME))
        for some, found in zip(groups, self._ids([" ".join(some) for some in groups]), strict=True):
            ids = array("I", found)
            ends = [place for place, id in enumerate(ids) if id in self._spaced][1:]
            if len(ends) + 1 != len(some):  # with tokens that were added by hand
                yield from (array("I", word).tobytes() for word in self._encode_whole(some))
            else:
                yield from (ids[begin:end].tobytes() for begin, end in zip([0, *ends], [*ends, None], strict=True))

    def _encode_whole(self, texts: Sequence[str]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in texts]
        parts = ((row, part) for row, text in enumerate(texts) for part in parts_of(text, self.unit, self.normalizes))
        for some in bounded(parts):
            for (row, _), ids in zip(some, self._ids([part for _, part in some]), strict=True):
                found[row] += ids
        return found

    def _ids(self, texts: list[str]) -> list[list[int]]:
        try:
            encodings = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:  # all that the library says of a lone surrogate
            raise not_unicode(next(filter(has_invalid_bytes, texts))) from None
        return [self._without_markers(encoding.ids) for encoding in encodings]

    def _without_markers(self, ids: list[int]) -> list[int]:
        """Replace special ids by <unk>: a user's symbol that is spelt </s> or <mask> is not special.

        Subwords never have them, since they spell it out.
        """
        if self.unit == "subwords" or (min(ids, default=UNK) >= UNK and self._markers.isdisjoint(ids)):
            return ids
        return [UNK if id < UNK or id in self._markers else id for id in ids]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, without the special ones; what was unknown is shown as �."""
        if self._bytes is not None:
            get = self._bytes.__getitem__
            return [b"".join(map(get, ids)).decode("utf-8", "replace").removeprefix(" ") for ids in sentences]
        if self.unit == "subwords":
            return list(self._backend.decode_batch([list(ids) for ids in sentences], skip_special_tokens=True))
        if self.unit == "pieces":
            rows = [[id for id in ids if id > EOS] for ids in sentences]
            return [text.replace(UNKNOWN, "�") for text in self._backend.decode_batch(rows, skip_special_tokens=False)]
        joint, tags = "" if self.unit == "characters" else " ", {*self.tags.values()}
        return [joint.join(self.pieces([id for id in ids if id > EOS and id not in tags])) for ids in sentences]

    @cached_property
    def _bytes(self) -> defaultdict[int, bytes] | None:
        """The bytes of each id, none for special ones; None unless decoding is joining them and dropping one space.

        That is so for subwords learned here.
        """
        first, *others = _steps(self._backend.decoder, "decoders")
        strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        if self._words is None or first.get("type") != "ByteLevel" or others != [strip]:
            return None
        added = self._backend.get_added_tokens_decoder()
        found = {id: b"" if id in added else bytes_of(piece) for piece, id in self.vocabulary().items()}
        if None in found.values() or not all(token.special for token in added.values()):
            return None
        return defaultdict(bytes, {id: piece for id, piece in found.items() if piece is not None})

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each unit as text; half a character and what was unknown are shown as �."""
        if self.unit != "subwords":
            names = ["�" if id == UNK else self._backend.id_to_token(id) or "" for id in ids]
            return [name.replace("▁", " ") for name in names] if self.unit == "pieces" else names
        decoder = decoders.ByteLevel()
        return [decoder.decode([self._backend.id_to_token(id) or ""]) for id in ids]

    def spelt(self, ids: Sequence[int]) -> list[str]:
        """Each unit as text, but a character that several units make up stands whole at the first of them."""
        found = self.pieces(ids)
        for broken, places in groupby(range(len(found)), lambda place: "�" in found[place]):
            run = list(places)
            if broken and len(run) > 1 and self.unit == "subwords":
                parts = [bytes_of(self._backend.id_to_token(ids[place]) or "") or b"" for place in run]
                found[run[0] : run[-1] + 1] = whole_characters(parts)
        return found

    def tokens(self, text: str) -> list[Token]:
        """The units of a text with the characters they stand for."""
        if len(text) > LONGEST_TEXT:
            raise too_long(text)
        if has_invalid_bytes(text):
            raise not_unicode(text)
        given, spans = aligned(text) if self.normalizes else (text, None)
        encoding = self._backend.encode(given, add_special_tokens=False)
        rows = zip(self._without_markers(encoding.ids), encoding.offsets, strict=True)
        if spans is None:
            return [Token(id, text[start:end], start, end) for id, (start, end) in rows]
        found = list[Token]()
        for id, (start, end) in rows:
            first = spans[start][0] if start < len(spans) else len(text)
            last = spans[end - 1][1] if end > start else first
            found.append(Token(id, text[first:last], first, last))
        return found


def _unit_of(backend: tokenizers.Tokenizer) -> Kind:
    """The unit of a tokenizer, inferred from its parts, so that one file holds everything."""
    cutter = backend.pre_tokenizer
    if isinstance(backend.model, models.BPE):
        return "characters" if cutter is None and not json.loads(backend.to_str())["model"]["merges"] else "subwords"
    if isinstance(backend.model, models.WordLevel) and isinstance(cutter, pre_tokenizers.Split):
        return "words"
    if isinstance(backend.model, models.WordLevel) and isinstance(cutter, pre_tokenizers.WhitespaceSplit):
        return "symbols"
    if isinstance(backend.model, models.WordPiece | models.Unigram):
        return "pieces"
    raise ValueError("it cuts text neither into subwords nor into words, characters or symbols")


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    """The settings of a normalizer or pre-tokenizer, step by step."""
    state = json.loads(part.__getstate__()) if part else {}
    return state.get(key) or [state]


def _normalizes(backend: tokenizers.Tokenizer, unit: Kind) -> bool:
    """Whether texts are normalized: one that was learned here says so by a first NFC; published ones do their own."""
    kinds = [step.get("type") for step in _steps(backend.normalizer, "normalizers")]
    return unit != "pieces" and kinds[0] == "NFC" and (unit != "subwords" or kinds[-1] == "Prepend")


def _spells_words(backend: tokenizers.Tokenizer, unit: Kind) -> bool:
    """Whether every word between single spaces has the same subwords in all texts: so it is with those learned here."""
    cutters = [step.get("type") for step in _steps(backend.pre_tokenizer, "pretokenizers")]
    prepends = _steps(backend.normalizer, "normalizers")[-1] == {"type": "Prepend", "prepend": " "}
    return (
        unit == "subwords"
        and prepends
        and cutters == ["Digits", "ByteLevel"]
        and backend.token_to_id(SPACE) is not None
    )
