"""The captioning model: describes images in text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
import torch

from mirada.contracts import BOS, EOS, Captions, Validation
from mirada.data.corpus import batched
from mirada.data.images.batches import Images
from mirada.data.images.pixels import Pixels
from mirada.data.images.preprocessing import ImageInput, ImageLoader, LoadedImage
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import Engine, GenerationSettings
from mirada.engines.torch import TorchEngine
from mirada.errors import InputError
from mirada.inspection.trace import Image, Pass, patch_tokens
from mirada.inspection.words import Tokens, decoded_tokens, ended, read_tokens
from mirada.metrics.captioning import CaptionScores, evaluate_captions, exact
from mirada.metrics.translation import chrf
from mirada.models.transformer import Captioner
from mirada.predictions import ImagePrediction
from mirada.tasks.captioning.data import CaptionPreprocessor, read_captions
from mirada.tasks.inputs import check_filled
from mirada.tasks.model import DecodeOptions, GeneratedText, GenerativeModel

CELLS = 8192
"""Patches × beam that are processed at the same time."""

MORE = 10
"""Tokens that a caption may have beyond the longest in the training set."""


@dataclass(frozen=True)
class Caption(ImagePrediction, GeneratedText):
    """The caption of an image."""

    key = "caption"

    def values(self) -> dict[str, Any]:
        return {**ImagePrediction.values(self), **GeneratedText.values(self)}

    __str__ = GeneratedText.__str__


class CaptionModel(GenerativeModel):
    """A trained captioning model, opened from its bundle."""

    example = "mirada caption {path} image.png"
    network: Captioner
    preprocessor: CaptionPreprocessor

    @property
    def image_loader(self) -> ImageLoader:
        return ImageLoader(self.preprocessor.format, self.path)

    @cached_property
    def engine(self) -> Engine:
        return TorchEngine(self.network, self.device, self._collate)

    def _collate(self, images: Sequence[Pixels], prefixes: Sequence[Sequence[int]]) -> Captions:
        target = torch.tensor([[BOS, *prefix] for prefix in prefixes])
        return Captions(self.preprocessor.format.tensor(np.stack(images)), target)

    @overload
    def caption(  # type: ignore[overload-overlap]
        self, images: ImageInput, **decode: Unpack[DecodeOptions]
    ) -> Caption: ...
    @overload
    def caption(self, images: Sequence[ImageInput], **decode: Unpack[DecodeOptions]) -> list[Caption]: ...

    def caption(
        self, images: ImageInput | Sequence[ImageInput], **decode: Unpack[DecodeOptions]
    ) -> Caption | list[Caption]:
        """Caption an image (a file or an array), or many, in order. `decode`: see `DecodeOptions`."""
        if isinstance(images, (str, Path, np.ndarray)):
            return self.caption([images], **decode)[0]
        return self._captions(self.image_loader.read(images), self.decode_config(**decode))

    def caption_files(self, paths: Iterable[str], **decode: Unpack[DecodeOptions]) -> Iterator[ImagePrediction]:
        """Caption files one by one; an .npz has a caption for every row, an unreadable image a `problem`."""
        config = self.decode_config(**decode)
        return self.image_loader.predict(paths, lambda images: self._captions(images, config))

    def _captions(self, images: Sequence[LoadedImage], config: DecodeConfig) -> list[Caption]:
        found = []
        for best, image in zip(self._best((image.pixels for image in images), config), images, strict=True):
            texts = self.preprocessor.tokenizer.decode([hypothesis.tokens for hypothesis in best])
            pairs = tuple((text, hypothesis.score) for text, hypothesis in zip(texts, best, strict=True))
            complete = best[0].complete
            cut = () if complete else (f"the caption was cut off at {self.limit:,} tokens, the most that it may have",)
            found.append(Caption(*pairs[0], pairs, complete, notes=(*image.notes, *cut), image=image.place))
        return found

    def _best(self, images: Iterable[Pixels], config: DecodeConfig) -> Iterator[list[Hypothesis]]:
        """The n best captions of each image."""
        rows, columns = self.network.config.grid(self.preprocessor.format.shape)
        for chunk in batched(images, max(1, CELLS // (rows * columns * config.width))):
            settings = GenerationSettings(config, [self.limit] * len(chunk))
            yield from self.engine.generate(chunk, [[]] * len(chunk), settings)

    @property
    def limit(self) -> int:
        """The most tokens that a caption may have."""
        return min(self.network.config.max_length, self.preprocessor.longest + MORE)

    def _texts(self, pixels: Iterable[Pixels], config: DecodeConfig) -> tuple[list[str], int]:
        """A caption of each image, and how many of them were cut off at the length limit."""
        found = [best[0] for best in self._best(pixels, config)]
        texts = self.preprocessor.tokenizer.decode([caption.tokens for caption in found])
        return texts, sum(not caption.complete for caption in found)

    def evaluate(
        self, table: str | Path, *, columns: Sequence[str] = (), **decode: Unpack[DecodeOptions]
    ) -> CaptionScores:
        """Caption the images of a test set (a table like those that `train` reads) and score the captions."""
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
        return dev.sample(size)

    def validate(self, dev: Images[list[str]], size: int) -> Validation:
        """Greedy captions of a sample of the dev set: chrF++, and the share that match exactly."""
        chosen = self.sample(dev, size)
        texts, _ = self._texts(chosen.pixels, DecodeConfig(beam=1))
        right = 100 * exact(texts, chosen.labels) / len(texts)
        example = (chosen.places[0], texts[0], chosen.labels[0][0])
        return Validation(chrf(texts, chosen.labels), "chrF++", figures={"exact match": right}, example=example)

    def passes(  # type: ignore[override]
        self, image: ImageInput, /, target: str | None = None, **decode: Unpack[DecodeOptions]
    ) -> list[Pass]:
        """The passes for one image: on each of its n best captions, or on the caption that is given."""
        (seen,), config = self.image_loader.read([image]), self.decode_config(**decode)
        tokenizer = self.preprocessor.tokenizer
        if target is None:
            (best,) = self._best([seen.pixels], config)
            found = [(decoded_tokens(tokenizer, each.tokens), each.score) for each in best]
            return [self._pass(seen, tokens, tokens.text, score) for tokens, score in found]
        (ids,) = tokenizer.encode([check_filled(target)])
        if len(ids) >= (most := self.network.config.max_length):
            raise InputError(f"the target has {len(ids):,} tokens; the model takes {most - 1:,}; shorten it")
        return [self._pass(seen, read_tokens(tokenizer, target, ids), target, None)]

    def _pass(self, seen: LoadedImage, tokens: Tokens, text: str, score: float | None) -> Pass:
        network, grid = self.network, (1, *self.network.config.grid(self.preprocessor.format.shape))
        batch = self._collate([seen.pixels], [[*tokens.ids, EOS]]).to(self.device)
        target = ended(tokens)
        rows = {"source": patch_tokens(grid), "target": target, "input": target.shifted()}
        outputs, shown = ("target", "vocabulary"), Image(seen.pixels, grid)
        return Pass(
            network, lambda: network(batch), seen.place, rows, outputs, self.facts, text, score, seen.notes, shown
        )
