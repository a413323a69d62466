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
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from mirada.config import Section
from mirada.contracts import EOS
from mirada.data.checks import has_invalid_bytes
from mirada.data.corpus import batched
from mirada.data.normalize import aligned, normalize
from mirada.data.text import shown_text
from mirada.data.tokenizer_file import WORDS, read_tokenizer
from mirada.errors import BundleError, InputError
from mirada.parsing import shown

SPECIALS = ["<pad>", "<s>", "</s>"]
"""In the order of their ids: `contracts.PAD`, `BOS`, `EOS`."""

UNK = 3
"""The id of what is not in the vocabulary; subwords need none."""

UNKNOWN = "<unk>"
MASK = "<mask>"

PROBE = "\tPor 1,5 €: «ñandú»… 你好 \U0001f600\n"
"""A text that every tokenizer has to take."""

SMALLEST, LARGEST = 300, 32_000
MAX_WORDS, MAX_UNITS = 30_000, 65_536
"""Words that are learned unless told otherwise; units in any vocabulary."""

LONGEST_TEXT = 5_000_000
"""Characters without a place to cut them: the library needs some 200 bytes for each, and aborts without them."""
AT_A_TIME = 1_000_000
"""Characters, of many texts or of a long one, that are cut into units at a time."""

MAX_KNOWN, MAX_WORD = 200_000, 64
"""Words whose subwords are remembered, and characters of such a word, at most."""
WORDS_AT_A_TIME = 1000
"""Words that are encoded as one text."""
SPACE = "Ġ"
"""A space, as byte-level subwords write it."""

Unit = Literal["subwords", "words", "characters", "symbols"]
Kind = Literal["subwords", "words", "characters", "symbols", "pieces"]
"""What can be learned, and what can be read."""


class TokenizerConfig(Section):
    """How text is cut into units."""

    unit: Unit = "subwords"
    """What a token is: subwords, words, characters, or symbols (what stands between white space)."""
    vocabulary: int | None = Field(None, ge=1, le=MAX_UNITS)
    """How many units to learn. Unless given: subwords by the size of the corpus, words 30,000 at most, characters and
    symbols all that occur."""
    words_seen: int | None = Field(None, ge=1)
    """Running words that training will see, where a budget in minutes limits them: then the vocabulary that is chosen
    suits so many."""
    lowercase: bool | None = None
    """Make all letters small; unless given, words are lower-cased and nothing else is."""
    normalize: bool = True
    """Read texts in Unicode's composed form (NFC), with plain spaces and without invisible characters, in training and
    use; language modelling takes them as they are. A fine-tuned model does as its base."""
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

    def learn(self, texts: Iterable[str], words: int, mask: bool = False) -> Tokenizer:
        """A tokenizer learned from texts of so many running words."""
        return Tokenizer.learn(texts, self.most(words), self.unit, self.lowercased, mask, self.normalize)

    def most(self, words: int) -> int:
        """How many units to learn from a corpus of so many running words."""
        if self.vocabulary is not None:
            return self.vocabulary
        words = min(words, self.words_seen or words)
        return (
            suggest_vocabulary(words) if self.unit == "subwords" else MAX_WORDS if self.unit == "words" else MAX_UNITS
        )

    @property
    def lowercased(self) -> bool:
        return self.unit == "words" if self.lowercase is None else self.lowercase


class Token(NamedTuple):
    """A unit of text, and the characters [start, end) of the text that it stands for."""

    id: int
    text: str
    start: int
    end: int


def suggest_vocabulary(words: int) -> int:
    """A vocabulary that suits a corpus of so many running words (both languages): it grows with its square root.

    It is a multiple of 16, since processors multiply matrices of such widths faster.
    """
    return max(SMALLEST, min(LARGEST, round(5 * math.sqrt(words) / 16) * 16))


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

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        vocabulary: int,
        unit: Unit = "subwords",
        lowercase: bool = False,
        mask: bool = False,
        normalized: bool = False,
    ) -> Tokenizer:
        """Learn from texts: `vocabulary` subwords with the special ones, or that many other units beside those.

        With `mask`, one of the special ones stands for a hidden word. With `normalized`, texts are normalized, here and
        whenever it is used.
        """
        more = [MASK] if mask else []
        first = [normalizers.NFC()] if normalized else []
        steps = [*first, normalizers.Lowercase()] if lowercase else first
        given = map(normalize, texts) if normalized else texts
        if unit == "subwords":
            parts = (part for text in given for part in _parts(text, unit, normalized))
            return cls(_learn_subwords(parts, vocabulary, steps, more))
        return cls(_learn_units(given, vocabulary, unit, steps, more))

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

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without BOS or EOS; several cores work on it."""
        given = list(map(normalize, texts)) if self.normalizes else texts
        return self._encode_whole(given) if self._words is None else self._encode_words(given, self._words)

    def _encode_words(self, texts: Sequence[str], known: dict[str, bytes]) -> list[list[int]]:
        """The ids of each text, from those of its words: a text has few words that no other has."""
        split = str.split if self.normalizes else _words_of  # normalized texts have single spaces between words
        rows = [split(text) or [text] for text in texts]
        new = set(chain.from_iterable(rows)).difference(known)
        plain = [word for word in new if len(word) <= MAX_WORD and _words_of(word) and not has_invalid_bytes(word)]
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
        parts = ((row, part) for row, text in enumerate(texts) for part in _parts(text, self.unit, self.normalizes))
        for some in _bounded(parts):
            for (row, _), ids in zip(some, self._ids([part for _, part in some]), strict=True):
                found[row] += ids
        return found

    def _ids(self, texts: list[str]) -> list[list[int]]:
        try:
            encodings = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:  # all that the library says of a lone surrogate
            raise _not_unicode(next(filter(has_invalid_bytes, texts))) from None
        return [self._without_markers(encoding.ids) for encoding in encodings]

    def _without_markers(self, ids: list[int]) -> list[int]:
        """A symbol of the user's that is spelt like a special token, </s> or <mask>, is an unknown one and no special
        one; subwords spell it out."""
        if self.unit == "subwords" or (min(ids, default=UNK) >= UNK and self.mask not in ids):
            return ids
        return [UNK if id < UNK or id == self.mask else id for id in ids]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, without the special ones; what was unknown is shown as �."""
        if self.unit == "subwords":
            return list(self._backend.decode_batch([list(ids) for ids in sentences], skip_special_tokens=True))
        if self.unit == "pieces":
            rows = [[id for id in ids if id > EOS] for ids in sentences]
            return [text.replace(UNKNOWN, "�") for text in self._backend.decode_batch(rows, skip_special_tokens=False)]
        joint = "" if self.unit == "characters" else " "
        return [joint.join(self.pieces([id for id in ids if id > EOS])) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each unit as text; half a character and what was unknown are shown as �."""
        if self.unit != "subwords":
            names = ["�" if id == UNK else self._backend.id_to_token(id) or "" for id in ids]
            return [name.replace("▁", " ") for name in names] if self.unit == "pieces" else names
        decoder = decoders.ByteLevel()
        return [decoder.decode([self._backend.id_to_token(id) or ""]) for id in ids]

    def tokens(self, text: str) -> list[Token]:
        """The units of a text with the characters they stand for."""
        if len(text) > LONGEST_TEXT:
            raise _too_long(text)
        if has_invalid_bytes(text):
            raise _not_unicode(text)
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


# ── learning ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _learn_subwords(texts: Iterable[str], vocabulary: int, steps: list[Any], more: list[str]) -> tokenizers.Tokenizer:
    """The byte pairs that occur most often in the texts, merged until there are `vocabulary` units."""
    backend = tokenizers.Tokenizer(models.BPE())
    prepend = normalizers.Prepend(" ")  # the first word of a text is like any other: " word"
    backend.normalizer = normalizers.Sequence([*steps, prepend]) if steps else prepend
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIALS, *more],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Cutting every text takes ten times as long as the merging, so each word is cut once and its pieces are repeated.
    counter = tokenizers.Tokenizer(models.BPE())
    counter.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    counter.train_from_iterator(_repeated_pieces(texts, backend), trainer)
    backend.model = counter.model
    backend.add_special_tokens([*SPECIALS, *more])
    return backend


def _repeated_pieces(texts: Iterable[str], backend: tokenizers.Tokenizer) -> Iterator[str]:
    """The pieces that the tokenizer cuts all texts into, each as often as it occurs, with spaces between them."""

    def cut(text: str) -> list[str]:
        return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]

    def flush() -> Iterator[str]:
        for words in batched(counts, WORDS_AT_A_TIME):
            owners, count = iter(words), 0
            for piece in cut(" ".join(words)):
                count = counts[next(owners)] if piece.startswith(SPACE) else count
                for left in range(count, 0, -256):
                    yield f"{piece} " * min(left, 256)
        counts.clear()

    counts: Counter[str] = Counter()
    for text in texts:
        words = _words_of(text)
        if words and max(map(len, words)) <= MAX_WORD:
            counts.update(words)
        else:
            yield " ".join(cut(text))
        if len(counts) > MAX_KNOWN:
            yield from flush()
    yield from flush()


def _learn_units(
    texts: Iterable[str], vocabulary: int, unit: Unit, steps: list[Any], more: list[str]
) -> tokenizers.Tokenizer:
    """The units that occur most often, the most frequent first; of equally frequent ones the first by code point."""
    backend = tokenizers.Tokenizer(models.WordLevel({UNKNOWN: 0}, UNKNOWN))
    if steps:
        backend.normalizer = normalizers.Sequence(steps) if len(steps) > 1 else steps[0]
    if unit == "words":
        backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(WORDS), "removed", invert=True)
    elif unit == "symbols":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    specials = [*SPECIALS, UNKNOWN, *more]
    found = _characters(texts, backend) if unit == "characters" else _words(texts, backend, vocabulary + len(specials))
    units = [word for word in found if word not in specials][:vocabulary]
    numbered = {word: id for id, word in enumerate([*specials, *units])}
    if unit == "characters":  # BPE begins with characters, and ends with them when nothing is merged
        backend.model = models.BPE(numbered, [], unk_token=UNKNOWN, fuse_unk=False)
        backend.decoder = decoders.Fuse()
    else:
        backend.model = models.WordLevel(numbered, UNKNOWN)
    backend.add_special_tokens(specials)
    return backend


def _words(texts: Iterable[str], backend: tokenizers.Tokenizer, most: int) -> list[str]:
    """What the tokenizer cuts the texts into, the most frequent first."""
    # The trainer would mix up a special token with a symbol in the texts that is spelt like it; so it gets none.
    trainer = trainers.WordLevelTrainer(vocab_size=most, min_frequency=0, special_tokens=[], show_progress=False)
    backend.train_from_iterator((part for text in texts for part in _parts(text, "words", False)), trainer)
    learned = backend.get_vocab(with_added_tokens=False)
    return sorted(learned, key=learned.__getitem__)


def _characters(texts: Iterable[str], backend: tokenizers.Tokenizer) -> list[str]:
    """The characters of the texts, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(backend.normalizer.normalize_str(text) if backend.normalizer else text)
    return sorted(counts, key=lambda character: (-counts[character], character))


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


# ── encoding ──────────────────────────────────────────────────────────────────────────────────────────────────────

# The library keeps some 200 bytes for each unit of a text it works on, so a long text is cut into parts: characters
# anywhere, the others only before plain white space, where no unit can be cut in two.
_WORDS = re.compile(rf".{{1,{AT_A_TIME // 2}}}[^ ]*", re.DOTALL)
_BETWEEN = re.compile(r".{1,4096}[^ \t\r\n]*", re.DOTALL)
_PARTS: dict[Kind, re.Pattern[str]] = {
    "words": _BETWEEN,
    "characters": re.compile(r".{1,4096}", re.DOTALL),
    "symbols": _BETWEEN,
}


def _words_of(text: str) -> list[str]:
    """The words of a text that has no white space but single spaces between them; none of any other text."""
    words = text.split(" ")
    return words if words == text.split() else []


def _too_long(text: str) -> InputError:
    return InputError(
        f"the text {shown_text(text, 30)} has {len(text):,} characters and no place to cut it; {LONGEST_TEXT:,} are "
        "read at a time: break it into lines"
    )


def _not_unicode(text: str) -> InputError:
    return InputError(
        f"the text {shown_text(text)} has bytes that are not UTF-8 (lone surrogates): decode it with the encoding that "
        "it was written in"
    )


def _parts(text: str, unit: Kind, normalized: bool) -> list[str]:
    """A text in parts that have the units of the whole, none of them longer than the library can hold."""
    if unit in _PARTS:
        parts = _PARTS[unit].findall(text)
    elif normalized and len(text) > AT_A_TIME:  # subwords: every word begins with its space, also the first
        parts = [part.strip(" ") for part in _WORDS.findall(text)]
    else:
        parts = [text]
    for part in parts:
        if len(part) > LONGEST_TEXT:
            raise _too_long(part)
    return parts


def _bounded(parts: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The parts of texts in order, as many at a time as have AT_A_TIME characters together."""
    some, size = list[tuple[int, str]](), 0
    for row, part in parts:
        if some and size + len(part) > AT_A_TIME:
            yield some
            some, size = [], 0
        some.append((row, part))
        size += len(part)
    if some:
        yield some
