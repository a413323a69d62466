"""Captioning, one to many: a picture to a text that says what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from pydantic import BaseModel, Field

from mirada.bundle import need
from mirada.contracts import BOS, Captions, Loss, Sizes, Validation
from mirada.data.corpus import batched
from mirada.data.doctor import Notify
from mirada.data.pictures.batches import Pictures
from mirada.data.pictures.captions import (
    CaptionBatches,
    CaptionsConfig,
    PreparedCaptions,
    Report,
    prepare,
    read_captions,
)
from mirada.data.pictures.format import Format
from mirada.data.pictures.pixels import Pixels
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.decoding import DecodeConfig, Hypothesis, decode
from mirada.errors import BundleError, ConfigError, MiradaError
from mirada.evaluation.captions import CaptionScores, evaluate_captions, exact
from mirada.evaluation.translation import chrf
from mirada.inspection.gaze import Gaze
from mirada.models.transformer import Captioner
from mirada.parsing import load_json
from mirada.tasks.objectives import CrossEntropy
from mirada.tasks.sight import READ_AT_ONCE, Picture, Seen, Sight
from mirada.tasks.task import Task, Told, Writer

CELLS = 8192
"""Patches × beam that are looked at at the same time."""
MORE = 10
"""Tokens that a caption may have beyond the longest that was learned from."""


@dataclass(frozen=True)
class Caption:
    """What a model says of a picture."""

    text: str
    score: float
    """The average log probability of its tokens (with the length penalty of `decode`)."""
    alternatives: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """The n best texts with their scores, this one first."""
    notes: tuple[str, ...] = ()
    """What was done to the picture first, "resized from 40×30 to 28×28", and whether the caption was cut."""
    complete: bool = True
    """False when it was cut at the length limit before the model ended it."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class CaptionKit:
    """What captioning needs besides weights."""

    tokenizer: Tokenizer
    format: Format
    longest: int
    """Tokens in the longest caption that was learned from."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.format.shape[0], self.tokenizer.size, numeric_inputs=True, shape=self.format.shape)

    def files(self) -> dict[str, bytes]:
        return {
            "tokenizer.json": self.tokenizer.to_json().encode("utf-8"),
            "pictures.json": self.format.to_json([]).encode("utf-8"),
            "captions.json": json.dumps({"longest": self.longest}).encode("utf-8"),
        }


@dataclass(frozen=True)
class Album:
    """Pictures with captions, ready to train on."""

    data: PreparedCaptions
    patches: int
    longest: int

    @property
    def kit(self) -> CaptionKit:
        return CaptionKit(self.data.tokenizer, self.data.format, self.longest)

    @property
    def dev(self) -> Pictures[list[str]]:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> CaptionBatches:
        data = self.data
        mark = data.report.fingerprint
        return CaptionBatches(data.corpus, tokens, seed, data.pixels, data.format, self.patches, mark)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def told(self) -> Told:
        report = self.data.report
        held = f", {report.dev:,} dev" + (" (held out: none of them is in training)" if report.held_out else "")
        notes = list(report.notes)
        if len(self.dev.kept) < len(self.dev):
            notes.append(f"the bundle keeps {len(self.dev.kept):,} of the dev pictures, to measure with later")
        return Told(
            f"{report.training:,} captions of {report.pictures:,} pictures, {report.format}{held}, "
            f"{self.patches:,} patches each, {report.vocabulary:,} units",
            notes,
            report.excluded,
        )

    def dev_file(self) -> str:
        return self.dev.kept.dump()


class CaptionModel(Writer):
    """A model that says what is in a picture, opened from its bundle."""

    network: Captioner
    kit: CaptionKit

    @property
    def try_it(self) -> str:
        return f"mirada caption {self.path} picture.png"

    @property
    def sight(self) -> Sight:
        return Sight(self.kit.format, self.path)

    @overload
    def caption(self, pictures: Picture, **decode: Any) -> Caption: ...
    @overload
    def caption(self, pictures: Sequence[Picture], **decode: Any) -> list[Caption]: ...

    def caption(self, pictures: Picture | Sequence[Picture], **decode: Any) -> Caption | list[Caption]:
        """What is in a picture, or in many, in order. `decode` are settings: beam=5, n_best=3, sample=True, …"""
        if isinstance(pictures, (str, Path, np.ndarray)):
            return self.caption([pictures], **decode)[0]
        return self._captions(self.sight.read(pictures), self.decode_config(**decode))

    def answer(self, paths: Iterable[str], **decode: Any) -> Iterator[tuple[str, Caption | MiradaError]]:
        """Each file's caption, or what is wrong with it, in order; an .npz has an answer for every row."""
        config = self.decode_config(**decode)
        for chunk in batched(self.sight.look(paths), READ_AT_ONCE):
            captions = iter(self._captions([found for _, found in chunk if isinstance(found, Seen)], config))
            for place, found in chunk:
                yield place, next(captions) if isinstance(found, Seen) else found

    def _captions(self, pictures: Sequence[Seen], config: DecodeConfig) -> list[Caption]:
        found = []
        for best, (_, notes) in zip(self._best((seen.pixels for seen in pictures), config), pictures, strict=True):
            texts = self.kit.tokenizer.decode([hypothesis.tokens for hypothesis in best])
            ranked = tuple((text, hypothesis.score) for text, hypothesis in zip(texts, best, strict=True))
            if not best[0].complete:
                notes = (*notes, f"the caption was cut at {self.limit:,} tokens, the most that it may have")
            found.append(Caption(*ranked[0], ranked, notes, best[0].complete))
        return found

    def _best(
        self, pictures: Iterable[Pixels], config: DecodeConfig, attention: bool = False
    ) -> Iterator[list[Hypothesis]]:
        """Every picture's n best captions."""
        rows, columns = self.network.config.grid(self.kit.format.shape)
        for chunk in batched(pictures, max(1, CELLS // (rows * columns * config.width))):
            source = self.kit.format.tensor(np.stack(chunk))
            batch = Captions(source, torch.full((len(chunk), 1), BOS)).to(self.device)
            yield from decode(self.network, batch, config, [self.limit] * len(chunk), attention=attention)

    @property
    def limit(self) -> int:
        """The most tokens that a caption may have."""
        return min(self.network.config.max_length, self.kit.longest + MORE)

    def _texts(self, pixels: Iterable[Pixels], config: DecodeConfig) -> tuple[list[str], int]:
        """A caption of each picture, and how many of them were cut at the length limit."""
        found = [best[0] for best in self._best(pixels, config)]
        return self.kit.tokenizer.decode([caption.tokens for caption in found]), sum(not c.complete for c in found)

    def evaluate(self, table: str | Path, *, columns: Sequence[str] = (), **decode: Any) -> CaptionScores:
        """Caption the pictures of a table like those that `train` reads, and score that."""
        places, references = [], []

        def pixels() -> Iterator[Pixels]:
            for place, captions, found in read_captions(str(table), tuple(columns)):
                places.append(place)
                references.append(captions)
                yield self.sight.fit(found, place).pixels

        texts, cut = self._texts(pixels(), self.decode_config(**decode))
        return evaluate_captions(places, texts, references, cut)

    def score(self, dev: Pictures[list[str]]) -> CaptionScores:
        texts, cut = self._texts(dev.pixels, self.decode_config())
        return evaluate_captions(dev.places, texts, dev.labels, cut)

    def sample(self, dev: Pictures[list[str]], size: int) -> Pictures[list[str]]:
        return dev[:: max(1, -(-len(dev.places) // size))]

    def validate(self, dev: Pictures[list[str]], size: int) -> Validation:
        """Greedy captions of a part of the dev set: their chrF++, and how many are right to the word."""
        chosen = self.sample(dev, size)
        texts, _ = self._texts(chosen.pixels, DecodeConfig(beam=1))
        right = 100 * exact(texts, chosen.labels) / len(texts)
        example = (chosen.places[0], texts[0], chosen.labels[0][0])
        return Validation(chrf(texts, chosen.labels), "chrF++", figures={"exact match": right}, example=example)

    def attend(self, picture: Picture, **decode: Any) -> Gaze:
        """Caption one picture and return where every head of every layer looked for each token."""
        seen = self.sight.read([picture])[0]
        (best,) = self._best([seen.pixels], self.decode_config(**decode), attention=True)
        weights = best[0].attention
        assert weights is not None  # a Captioner always attends
        rows, columns = self.network.config.grid(self.kit.format.shape)
        return Gaze(
            picture=seen.pixels[0],
            tokens=[*self.kit.tokenizer.pieces(best[0].tokens), "</s>"],
            text=self.kit.tokenizer.decode([best[0].tokens])[0],
            weights=weights.permute(1, 2, 0, 3).unflatten(-1, (rows, columns)).cpu().numpy(),  # [L, H, T, …, …]
        )


class _Captions(BaseModel):
    """What captions.json says."""

    longest: int = Field(ge=1, le=65_536)


class CaptioningTask(Task):
    """A picture to a text about it."""

    name = "captioning"
    verb = "caption"
    model = CaptionModel
    default_model = "captioner"
    sections = {"data": CaptionsConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    defaults = {"train": {"max_batch_tokens": 4000}}

    def check(self, built: Mapping[str, Any]) -> None:
        data, model = built["data"], built["model"]
        data.check(model.patch_for)
        if data.max_tokens >= model.max_length:
            raise ConfigError(f"data.max_tokens={data.max_tokens} must be below model.max_length={model.max_length}")

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("data", f"{data['training']:,} captions, {left_out:,} left out"),
            ("pictures", f"{data['pictures']:,}, {data['format']}"),
            ("dev", f"{data['dev']:,} pictures" + (", held out of the data" if data["held_out"] else "")),
            ("units", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: CaptionKit | None = None) -> Album:
        model = built["model"]
        learned = (kit.tokenizer, kit.format) if kit else None
        prepared = prepare(built["data"], built["tokenizer"], model.patch_for, folder, notify, learned)
        rows, columns = model.grid(prepared.format.shape)
        longest = int(prepared.corpus.target.lengths.max())
        return Album(prepared, rows * columns, max(longest, kit.longest) if kit else longest)

    def open(self, files: Mapping[str, bytes], where: Path) -> CaptionKit:
        need(files, where, "tokenizer.json", "pictures.json", "captions.json")
        _, format_ = Format.from_json(files["pictures.json"], where / "pictures.json")
        about: _Captions = load_json(files["captions.json"], _Captions, where / "captions.json", BundleError)
        return CaptionKit(Tokenizer.load(where / "tokenizer.json"), format_, about.longest)

    def read_dev(self, text: str) -> Pictures[list[str]]:
        return Pictures.load(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return CrossEntropy(smoothing)

    report = Report
