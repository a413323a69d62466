"""Captioning, one to many: an image to a text that says what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from mirada.contracts import BOS, Captions, Validation
from mirada.data.corpus import batched
from mirada.data.images.batches import Images
from mirada.data.images.pixels import Pixels
from mirada.data.images.preprocessing import READ_AT_ONCE, ImageInput, ImageLoader, Seen
from mirada.decoding import DecodeConfig, Hypothesis, decode
from mirada.errors import MiradaError
from mirada.inspection.image_attention import ImageAttention
from mirada.metrics.captioning import CaptionScores, evaluate_captions, exact
from mirada.metrics.translation import chrf
from mirada.models.transformer import Captioner
from mirada.tasks.captioning.data import (
    read_captions,
)
from mirada.tasks.captioning.preprocessor import CaptionPreprocessor
from mirada.tasks.task import GenerativeModel

CELLS = 8192
"""Patches × beam that are looked at at the same time."""


MORE = 10
"""Tokens that a caption may have beyond the longest that was learned from."""


@dataclass(frozen=True)
class Caption:
    """What a model says of an image."""

    text: str
    score: float
    """The average log probability of its tokens (with the length penalty of `decode`)."""
    alternatives: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """The n best texts with their scores, this one first."""
    notes: tuple[str, ...] = ()
    """What was done to the image first, "resized from 40×30 to 28×28", and whether the caption was cut."""
    complete: bool = True
    """False when it was cut at the length limit before the model ended it."""

    def __str__(self) -> str:
        return self.text


class CaptionModel(GenerativeModel):
    """A model that says what is in an image, opened from its bundle."""

    network: Captioner
    preprocessor: CaptionPreprocessor

    @property
    def try_it(self) -> str:
        return f"mirada caption {self.path} image.png"

    @property
    def image_loader(self) -> ImageLoader:
        return ImageLoader(self.preprocessor.format, self.path)

    @overload
    def caption(self, images: ImageInput, **decode: Any) -> Caption: ...
    @overload
    def caption(self, images: Sequence[ImageInput], **decode: Any) -> list[Caption]: ...

    def caption(self, images: ImageInput | Sequence[ImageInput], **decode: Any) -> Caption | list[Caption]:
        """What is in an image, or in many, in order. `decode` are settings: beam=5, n_best=3, sample=True, …"""
        if isinstance(images, (str, Path, np.ndarray)):
            return self.caption([images], **decode)[0]
        return self._captions(self.image_loader.read(images), self.decode_config(**decode))

    def answer(self, paths: Iterable[str], **decode: Any) -> Iterator[tuple[str, Caption | MiradaError]]:
        """Each file's caption, or what is wrong with it, in order; an .npz has an answer for every row."""
        config = self.decode_config(**decode)
        for chunk in batched(self.image_loader.look(paths), READ_AT_ONCE):
            captions = iter(self._captions([found for _, found in chunk if isinstance(found, Seen)], config))
            for place, found in chunk:
                yield place, next(captions) if isinstance(found, Seen) else found

    def _captions(self, images: Sequence[Seen], config: DecodeConfig) -> list[Caption]:
        found = []
        for best, (_, notes) in zip(self._best((seen.pixels for seen in images), config), images, strict=True):
            texts = self.preprocessor.tokenizer.decode([hypothesis.tokens for hypothesis in best])
            ranked = tuple((text, hypothesis.score) for text, hypothesis in zip(texts, best, strict=True))
            if not best[0].complete:
                notes = (*notes, f"the caption was cut at {self.limit:,} tokens, the most that it may have")
            found.append(Caption(*ranked[0], ranked, notes, best[0].complete))
        return found

    def _best(
        self, images: Iterable[Pixels], config: DecodeConfig, attention: bool = False
    ) -> Iterator[list[Hypothesis]]:
        """Every image's n best captions."""
        rows, columns = self.network.config.grid(self.preprocessor.format.shape)
        for chunk in batched(images, max(1, CELLS // (rows * columns * config.width))):
            source = self.preprocessor.format.tensor(np.stack(chunk))
            batch = Captions(source, torch.full((len(chunk), 1), BOS)).to(self.device)
            yield from decode(self.network, batch, config, [self.limit] * len(chunk), attention=attention)

    @property
    def limit(self) -> int:
        """The most tokens that a caption may have."""
        return min(self.network.config.max_length, self.preprocessor.longest + MORE)

    def _texts(self, pixels: Iterable[Pixels], config: DecodeConfig) -> tuple[list[str], int]:
        """A caption of each image, and how many of them were cut at the length limit."""
        found = [best[0] for best in self._best(pixels, config)]
        return self.preprocessor.tokenizer.decode([caption.tokens for caption in found]), sum(
            not c.complete for c in found
        )

    def evaluate(self, table: str | Path, *, columns: Sequence[str] = (), **decode: Any) -> CaptionScores:
        """Caption the images of a table like those that `train` reads, and score that."""
        places, references = [], []

        def pixels() -> Iterator[Pixels]:
            for place, captions, found in read_captions(str(table), tuple(columns)):
                places.append(place)
                references.append(captions)
                yield self.image_loader.fit(found, place).pixels

        texts, cut = self._texts(pixels(), self.decode_config(**decode))
        return evaluate_captions(places, texts, references, cut)

    def score(self, dev: Images[list[str]]) -> CaptionScores:
        texts, cut = self._texts(dev.pixels, self.decode_config())
        return evaluate_captions(dev.places, texts, dev.labels, cut)

    def sample(self, dev: Images[list[str]], size: int) -> Images[list[str]]:
        return dev[:: max(1, -(-len(dev.places) // size))]

    def validate(self, dev: Images[list[str]], size: int) -> Validation:
        """Greedy captions of a part of the dev set: their chrF++, and how many are right to the word."""
        chosen = self.sample(dev, size)
        texts, _ = self._texts(chosen.pixels, DecodeConfig(beam=1))
        right = 100 * exact(texts, chosen.labels) / len(texts)
        example = (chosen.places[0], texts[0], chosen.labels[0][0])
        return Validation(chrf(texts, chosen.labels), "chrF++", figures={"exact match": right}, example=example)

    def attend(self, image: ImageInput, **decode: Any) -> ImageAttention:
        """Caption one image and return where every head of every layer looked for each token."""
        seen = self.image_loader.read([image])[0]
        (best,) = self._best([seen.pixels], self.decode_config(**decode), attention=True)
        weights = best[0].attention
        assert weights is not None  # a Captioner always attends
        rows, columns = self.network.config.grid(self.preprocessor.format.shape)
        return ImageAttention(
            image=seen.pixels[0],
            tokens=[*self.preprocessor.tokenizer.pieces(best[0].tokens), "</s>"],
            text=self.preprocessor.tokenizer.decode([best[0].tokens])[0],
            weights=weights.permute(1, 2, 0, 3).unflatten(-1, (rows, columns)).cpu().numpy(),  # [L, H, T, …, …]
        )
