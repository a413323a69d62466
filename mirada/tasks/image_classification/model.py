"""The image classification model: assigns a label to an image or a video."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from mirada.contracts import SequenceBatch, Validation
from mirada.data.corpus import batched
from mirada.data.images.batches import Images
from mirada.data.images.pixels import BadImage, Pixels
from mirada.data.images.preprocessing import ImageInput, ImageLoader, LoadedImage
from mirada.data.images.sources import open_images
from mirada.errors import DataError
from mirada.inspection.trace import Image, Pass, patch_tokens
from mirada.inspection.words import Tokens
from mirada.metrics.classification import LabelScores, evaluate_labels
from mirada.models.vit import ViT
from mirada.predictions import ImagePrediction
from mirada.tasks.classification.model import Classification, Classifier
from mirada.tasks.image_classification.data import ImagePreprocessor
from mirada.tasks.model import CELLS, validation


@dataclass(frozen=True)
class ImageClassification(ImagePrediction, Classification):
    """The label of an image, and its probability."""

    def values(self) -> dict[str, Any]:
        return {**ImagePrediction.values(self), **Classification.values(self)}

    __str__ = Classification.__str__


@dataclass(frozen=True)
class ImageScores(LabelScores):
    """The scores of a classification of images."""

    unit = "images"


class ImageClassificationModel(Classifier):
    """A trained classifier of images or videos, opened from its bundle."""

    network: ViT
    preprocessor: ImagePreprocessor

    @property
    def try_it(self) -> str:
        return f"mirada classify {self.path} {'videos.npz' if self.preprocessor.format.shape[1] > 1 else 'image.png'}"

    @property
    def image_loader(self) -> ImageLoader:
        return ImageLoader(self.preprocessor.format, self.path)

    @overload
    def classify(self, images: ImageInput) -> ImageClassification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, images: Sequence[ImageInput]) -> list[ImageClassification]: ...

    def classify(self, images: ImageInput | Sequence[ImageInput]) -> ImageClassification | list[ImageClassification]:
        """Classify an image (a file or an array), or many, in order."""
        if isinstance(images, (str, Path, np.ndarray)):
            return self.classify([images])[0]
        return self._labelled(self.image_loader.read(images))

    def classify_files(self, paths: Iterable[str]) -> Iterator[ImagePrediction]:
        """Classify files one by one; an .npz has a prediction for every row, an unreadable image a `problem`."""
        return self.image_loader.predict(paths, self._labelled)

    def _labelled(self, images: Sequence[LoadedImage]) -> list[ImageClassification]:
        found = []
        rows = self.probabilities(image.pixels for image in images).tolist()
        for row, image in zip(rows, images, strict=True):
            ranked = self.ranked(row)
            found.append(ImageClassification(*ranked[0], dict(ranked), notes=image.notes, image=image.place))
        return found

    def passes(self, image: ImageInput, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The pass that classifies an image."""
        self._reads_only(target, options)
        (seen,) = self.image_loader.read([image])
        shape, network = self.preprocessor.format.shape, self.network
        frames, patch = network.config.frames_for(shape[1]), network.config.patch_for(*shape[2:])
        grid = (shape[1] // frames, shape[2] // patch, shape[3] // patch)
        inputs = self.preprocessor.format.tensor(seen.pixels[None])
        batch = SequenceBatch(inputs, torch.full((1,), network.config.patches(shape))).to(self.device)
        rows = {"source": patch_tokens(grid).framed(before=[("class", 0)]), "label": Tokens(tuple(self.labels))}
        shown = Image(seen.pixels, grid, first=1)
        return [
            Pass(
                network,
                lambda: network.output(network.pool(batch)),
                seen.place,
                rows,
                ("label",),
                self.facts,
                notes=seen.notes,
                image=shown,
            )
        ]

    @torch.inference_mode()
    def probabilities(self, images: Iterable[Pixels]) -> Tensor:
        """The probability of every label for every image [N, K]; images [F, H, W, C] as the network takes them."""
        patches = self.network.config.patches(self.preprocessor.format.shape)
        found = [torch.empty(0, len(self.labels))]
        for chunk in batched(images, max(1, CELLS // patches)):
            inputs = self.preprocessor.format.tensor(np.stack(chunk))
            batch = SequenceBatch(inputs, torch.full((len(chunk),), patches)).to(self.device)
            found.append(self.network.output(self.network.pool(batch)).softmax(-1).cpu())
        return torch.cat(found)

    def evaluate(self, images: str | Path, **other: Any) -> LabelScores:
        """Classify the images of a test set (a folder with a folder for every class, or an .npz) and score that."""
        source = open_images(str(images), "test", self.preprocessor.format.scale)
        truth = self.numbers(source.labels, source.place)

        def whole() -> Iterator[Pixels]:
            for index, found in enumerate(source):
                if isinstance(found, BadImage):
                    raise DataError(f"{found}; a test set has to be whole: correct it or remove it")
                yield self.image_loader.fit(found[0], source.place(index)).pixels

        return self._scores(truth, self.probabilities(whole()))

    def score(self, dev: Images[str]) -> LabelScores:
        return self._scores(self.numbers(dev.labels, dev.places.__getitem__), self.probabilities(dev.pixels))

    def _scores(self, truth: Sequence[int], probabilities: Tensor) -> LabelScores:
        return evaluate_labels(truth, probabilities.argmax(-1).tolist(), self.labels, ImageScores)

    def sample(self, dev: Images[str], size: int) -> Images[str]:
        return dev.sample(size)

    def validate(self, dev: Images[str], size: int) -> Validation:
        """Accuracy and mean loss on a sample of the dev set."""
        chosen = self.sample(dev, size)
        truth = self.numbers(chosen.labels, chosen.places.__getitem__)
        place, label = chosen.places[0], chosen.labels[0]
        return validation(self.probabilities(chosen.pixels), truth, lambda given: (place, self.labels[given], label))
