"""What a language model needs besides its weights: text to ids and back, and how often each unit occurred."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mirada.contracts import BOS, EOS, Sizes
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import UNK
from mirada.errors import BundleError
from mirada.parsing import load_json

Count = Annotated[int, Field(ge=0, lt=2**63)]
Lines = list[str]
"""A text as its lines, each with its line end; the last may have none."""

# Up to the last white space before a word: of several spaces a published unit may hold all but the last, never more.
_BEFORE_A_WORD = re.compile(r".+(?=[ \n]\S)", re.DOTALL)


class TextCodec:
    """Text to ids and ids back to text, with nothing added or lost in between.

    Our subwords put a space before all they are given and take one away from the front of what they decode. So text
    is encoded line by line and decoded line by line: no space appears, and a word that begins a line is the same unit
    as elsewhere. A line end is only ever the last character of a unit, so that lines can be told apart again.
    Published subwords (GPT-2's) do not do that, and a unit may hold line ends and spaces: they take a text whole.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self.sequences = tokenizer.unit in ("words", "symbols")
        """Whether each line is a sequence of units, with EOS after it."""
        spelt = tokenizer.pieces(tokenizer.encode([" a"])[0])
        self.whole = tokenizer.unit == "subwords" and "".join(spelt) == " a"
        """Whether a text is taken whole, and ends with EOS where the model says so."""
        pieces = tokenizer.pieces(range(tokenizer.size))
        self.line_ends = {EOS} if self.sequences else {id for id, piece in enumerate(pieces) if piece.endswith("\n")}

    @property
    def opening(self) -> list[int]:
        """The ids that a text is read after: BOS and a line end, after which the model has seen many lines begin."""
        if self.whole:
            return [BOS]
        end = self.encode(["\n"])[0]
        return [BOS] if UNK in end and self.tokenizer.unknown is not None else [BOS, *end]

    def before(self, prompt: str) -> list[int]:
        """The ids before a continuation: the opening and the prompt; for published models the prompt alone, if any."""
        return self.read(prompt) if self.whole and prompt else [*self.opening, *self.read(prompt)]

    def parts(self, text: Iterable[str]) -> Iterator[str]:
        """A text's lines as texts that can be encoded one by one: the lines, or all of it cut where no unit can be."""
        if not self.whole:
            yield from text
            return
        rest = ""
        for line in text:
            rest += line
            if line.strip() and (cut := _BEFORE_A_WORD.match(rest)):  # a blank line brings no word
                yield rest[: cut.end()]
                rest = rest[cut.end() :]
        yield rest

    def encode(self, given: Sequence[str]) -> list[list[int]]:
        """The ids of each of a text's `parts`."""
        ids = self.tokenizer.encode(given)
        if not self.sequences:
            return ids
        return [[*row, EOS] if line.endswith("\n") else row for row, line in zip(ids, given, strict=True)]

    def read(self, text: str) -> list[int]:
        """The ids of a text."""
        return [id for row in self.encode(list(self.parts(lines_of(text)))) for id in row]

    def text_of(self, ids: Sequence[int]) -> str:
        """The text of ids; a round trip is exact but for what is unknown, and for the white space between words."""
        if self.whole or self.tokenizer.unit == "characters":
            return self.tokenizer.decode([ids])[0]
        rows: list[list[int]] = [[]]
        for id in ids:
            rows[-1].append(id)
            if id in self.line_ends:
                rows.append([])
        return ("\n" if self.sequences else "").join(self.tokenizer.decode(rows))

    def unknown(self, text: str) -> list[str]:
        """The units of a text that the vocabulary does not have, each once."""
        if self.tokenizer.unknown is None:
            return []
        return list(dict.fromkeys(token.text for token in self.tokenizer.tokens(text) if token.id == UNK))


class StreamDecoder:
    """Decodes ids as they come, holding back half a character until it is whole; in all, it writes `text_of`."""

    def __init__(self, codec: TextCodec, before: Sequence[int] = ()):
        """`before` are the ids that stand before the first one."""
        self.codec = codec
        self._anchor = list(before[-1:])
        self._waiting: list[int] = []

    def write(self, id: int) -> str:
        """The text that is complete with one more id."""
        self._waiting.append(id)
        text = self._text()
        if text.endswith("�") and self.codec.tokenizer.unit == "subwords":
            return ""
        self._anchor, self._waiting = [id], []
        return text

    def end(self) -> str:
        """The rest of the text, even half a character."""
        text, self._waiting = self._text(), []
        return text

    def _text(self) -> str:
        # The unit before is decoded along: what the tokenizer does to the front of a text happens to it alone.
        whole, before = self.codec.text_of([*self._anchor, *self._waiting]), self.codec.text_of(self._anchor)
        return whole[len(before) :]


def lines_of(text: str) -> Lines:
    """A text as its lines, each with its line end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@dataclass(frozen=True)
class LanguageModelPreprocessor:
    """The units of text of a language model, and how often each occurred in training."""

    required = ("tokenizer.json", "counts.json")
    codec: TextCodec
    counts: npt.NDArray[np.int64]

    @property
    def tokenizer(self) -> Tokenizer:
        return self.codec.tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.tokenizer.size, self.tokenizer.size, causal=True)

    def files(self) -> dict[str, bytes]:
        counts = json.dumps(self.counts.tolist())
        return {"tokenizer.json": self.tokenizer.to_json().encode("utf-8"), "counts.json": counts.encode("utf-8")}

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> LanguageModelPreprocessor:
        tokenizer = Tokenizer.load(where / "tokenizer.json", files["tokenizer.json"])
        path = where / "counts.json"
        counts = np.array(load_json(files["counts.json"], list[Count], path, BundleError), dtype=np.int64)
        if len(counts) != tokenizer.size:
            raise BundleError(f"{path}: has {len(counts):,} counts for {tokenizer.size:,} units of the vocabulary")
        return cls(TextCodec(tokenizer), counts)
