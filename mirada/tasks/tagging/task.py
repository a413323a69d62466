"""The task as training, bundles and the command line see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mirada.bundle import need
from mirada.contracts import EOS, PAD, Loss, Rows, SequenceBatch
from mirada.data.batching import Groups
from mirada.data.quality import Notify
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import ConfigError
from mirada.tasks.sequences import start_from_vectors
from mirada.tasks.tagging.data import PreparedTags, Report, prepare
from mirada.tasks.tagging.data import dump as dump_examples
from mirada.tasks.tagging.data import load as load_examples
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import Examples, TaggedConfig, Tags
from mirada.tasks.task import DataSummary, Task
from mirada.training.losses import LabelLoss, SquaredErrorLoss


@dataclass
class TaggedBatches(Groups[SequenceBatch]):
    """Sentences of similar length. `truth` is the marks [B, T], or numbers [B, T] with NaN where there is none.

    A network that hears its own output (Jordan) hears it of every piece, so it must learn to say something at each: the
    tag of the word. What it hears in training, `before`, is the tag of the word that the last piece belongs to.
    """

    data: PreparedTags
    hears: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self._target = np.zeros_like(self._source)  # marks are no tokens

    @property
    def fingerprint(self) -> str:
        return self.data.report.fingerprint

    @property
    def tokens(self) -> int:
        return len(self.corpus.source.ids) + len(self.corpus)

    def load(self, rows: Rows) -> SequenceBatch:
        marks = self.corpus.target.padded(rows, None, 0, 0)  # [B, T]
        truth, before = self._truth(rows, marks), None
        if self.hears:
            steps = np.arange(marks.shape[1])
            begun = np.maximum.accumulate(np.where(marks > 0, steps, 0), axis=1)  # [B, T] where a piece's word begins
            said = np.take_along_axis(truth, begun, axis=1)  # [B, T]
            before = self._heard(torch.from_numpy(said))
            inside = steps < self._source[rows][:, None] - 1  # EOS
            truth = np.where(inside, said, truth)
        return SequenceBatch(
            inputs=torch.from_numpy(self.corpus.source.padded(rows, None, EOS, PAD)),
            lengths=torch.from_numpy(self._source[rows].astype(np.int64)),
            truth=torch.from_numpy(truth),
            before=before,
            rows=torch.from_numpy(rows),
        )

    def _truth(self, rows: Rows, marks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
        if self.data.numbers is None:
            return marks
        row, step = np.nonzero(marks)
        y = self.data.numbers[self.corpus.source.offsets[rows][row] + step]  # [N]
        truth = np.full(marks.shape, np.nan, dtype=np.float32)
        truth[row, step] = (y - self.data.preprocessor.mean) / self.data.preprocessor.deviation
        return truth

    def _heard(self, said: Tensor) -> Tensor:
        """o_0 … o_{T−1} [B, T, O]: zeros, so that W o_0 = 0, then what was true of the piece before: a one among zeros,
        or a number on the network's scale."""
        last = torch.cat([torch.zeros_like(said[:, :1]), said[:, :-1]], 1)[..., None]  # [B, T, 1]
        if last.is_floating_point():
            return last
        return torch.zeros(*said.shape, 1 + len(self.data.preprocessor.labels)).scatter_(2, last, 1.0)[..., 1:]


@dataclass(frozen=True)
class Sentences:
    """Tagged sentences, ready to train on."""

    data: PreparedTags
    hears: bool
    """Whether the network hears its own output."""

    @property
    def preprocessor(self) -> Tags:
        return self.data.preprocessor

    @property
    def dev(self) -> Examples:
        return self.data.dev

    def batches(self, tokens: int, seed: int) -> TaggedBatches:
        return TaggedBatches(self.data.corpus, tokens, seed, self.data, self.hears)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def summary(self) -> DataSummary:
        report, preprocessor = self.data.report, self.data.preprocessor
        held = f", {report.dev:,} dev" + (" (held out)" if report.held_out else "")
        shown = ", ".join(f"{tag} {count:,}" for tag, count in list(report.tags.items())[:8])
        more = f", … {len(preprocessor.labels)} tags" if len(preprocessor.labels) > 8 else ""
        about = (
            f"numbers, {preprocessor.mean:.4g} ± {preprocessor.deviation:.4g}" if preprocessor.numeric else shown + more
        )
        doubtful = {"sentences that occur with other tags too": report.contradictions} if report.contradictions else {}
        return DataSummary(
            f"{report.training:,} training sentences, {report.words:,} words ({about}){held}, "
            f"{report.vocabulary:,} {preprocessor.tokenizer.unit}",
            report.notes,
            report.excluded,
            doubtful,
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


class TaggingTask(Task):
    """A label, or a number, for every word of a sentence."""

    name = "tagging"
    verb = "tag"
    model = TaggingModel
    default_model = "lstm"
    sections = {"data": TaggedConfig, "tokenizer": TokenizerConfig}
    defaults = {
        "tokenizer": {"unit": "subwords"},
        "train": {"label_smoothing": 0.0, "validate_sentences": 1000, "max_batch_tokens": 2000},
    }
    used = ("data",)

    def check(self, built: Mapping[str, Any]) -> None:
        longest, room = built["data"].max_tokens, built["model"].max_length
        if longest + 2 > room:  # a first and a last token
            raise ConfigError(
                f"data.max_tokens={longest}: the model takes {room - 2}: --set model.max_length={longest + 2}"
            )

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        data = card["data"]
        left_out = sum(data["excluded"].values())
        shown = ", ".join(f"{tag} {count:,}" for tag, count in data["tags"].items())
        scale = "numbers, {:.4g} ± {:.4g}".format(*data["scale"]) if data["scale"] else ""
        return [
            ("tags", scale or shown),
            ("data", f"{data['training']:,} sentences, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} sentences" + (", held out of the data" if data["held_out"] else "")),
            ("vocabulary", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Any = None) -> Sentences:
        known = (
            preprocessor if preprocessor is None or isinstance(preprocessor, Tags) else preprocessor.tokenizer
        )  # of a base that does something else
        data = prepare(built["data"], built["tokenizer"], folder, notify, known)
        return Sentences(data, hears=built["model"].name == "jordan")

    def fit(self, network: nn.Module, prepared: Sentences, built: Mapping[str, Any]) -> list[str]:
        return start_from_vectors(network, prepared.preprocessor.tokenizer, built["data"].vectors)

    def open(self, files: Mapping[str, bytes], where: Path) -> Tags:
        need(files, where, "tokenizer.json", "tags.json", "words.u64")
        return Tags.read(where)

    def read_dev(self, text: str) -> Examples:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        labels, numbers = LabelLoss(smoothing), SquaredErrorLoss()
        return lambda model, batch: (numbers if batch.truth.is_floating_point() else labels)(model, batch)

    report = Report


TASK = TaggingTask()
