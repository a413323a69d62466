"""What a task is: all that training, bundles and the command line know of it.

    Task          its settings, its data path, its loss, the model class that its bundles open as
    Preparation   how its data is read, checked, split and encoded (`mirada/data/preparation.py`)
    Preprocessor  what a model needs besides its weights: tokenizers, labels, a scale
    Model         a trained model with the task's verbs: translate, classify, … (`mirada/tasks/model.py`)

One loop trains all of them, one function writes all bundles and one opens them; a task is what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from torch import nn

from mirada import models
from mirada.bundle import need
from mirada.config import Section, Values
from mirada.contracts import Sizes
from mirada.data.preparation import Preparation, prepare
from mirada.data.preparation import Prepared as Prepared
from mirada.data.quality import Notify
from mirada.data.report import Report
from mirada.errors import ConfigError
from mirada.tasks.model import Model as Model
from mirada.tasks.model import evenly as evenly


class Preprocessor(Protocol):
    """What using a model needs besides its weights.

    Its class also has `required`, the names of the files that no bundle lacks, and `read(files, folder)`.
    """

    @property
    def sizes(self) -> Sizes:
        """What the network is built for."""
        ...

    def files(self) -> dict[str, bytes]:
        """Itself as files of a bundle."""
        ...


class Task:
    """A task: its settings, data preparation, loss and model class."""

    name: ClassVar[str]
    verb: ClassVar[str]
    """What its models are used with: `mirada translate`."""
    model: ClassVar[type[Model]]
    default_model: ClassVar[str]
    sections: ClassVar[dict[str, type[Section]]]
    """Its part of the configuration: `data`, and what else it needs besides `model` and `train`."""
    used: ClassVar[tuple[str, ...]] = ()
    """The sections that a trained model still needs."""
    preparation: ClassVar[type[Preparation[Any]]]
    """How its data is read, checked, split and encoded."""
    loss: ClassVar[Any]
    """Made with the label smoothing: the training loss of a network on a batch (`training/losses.py`)."""
    defaults: ClassVar[Values] = {}
    """Defaults of its own, where they differ from those of the sections."""
    steps_in_budget: ClassVar[int] = 1000
    """The fewest steps in a short budget in minutes: batches are as small as that needs."""
    presets: ClassVar[tuple[str, ...]] = ()
    """The presets that `--preset auto` chooses among by the budget in minutes, from small to large."""
    inherited: ClassVar[tuple[str, ...]] = ()
    """Settings of the data section that a run takes from its base, and must agree with."""

    length: ClassVar[tuple[str, int] | None] = None
    """The setting of the data section that limits an example's length, and how many steps the model adds to it."""

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        """Fill in what a section leaves open and another one decides; of a bundle, only the sections in `used`."""
        return built

    def check(self, built: Mapping[str, Any]) -> None:
        """Refuse sections that do not fit each other: examples that are longer than the model takes."""
        if self.length:
            name, added = self.length
            size, room = getattr(built["data"], name), built["model"].max_length
            if size + added > room:
                enough = f"--set model.max_length={size + added}"
                raise ConfigError(f"data.{name}={size}: the model takes {room - added}; lower it, or {enough}")

    def about(self, values: Values) -> dict[str, Any]:
        """What it adds to the cards of its bundles."""
        return {}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Lines of `mirada info`, as name and text, from a bundle's card."""
        return self.preparation.describe(card["data"])

    @property
    def report(self) -> type[Report]:
        """What its bundles' cards say of the data."""
        return self.preparation.report_type

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Any = None) -> Prepared:
        """Read, check, split and encode the data into `folder`, with the preprocessor of a base if there is one.

        What an earlier call finished is only opened.
        """
        return prepare(self.preparation(built, preprocessor), folder, notify)

    def open(self, files: Mapping[str, bytes], where: Path) -> Any:
        """The preprocessor of a bundle."""
        kind = self.preparation.preprocessor_type
        need(files, where, *kind.required)
        return kind.read(files, where)

    def read_dev(self, text: str) -> Any:
        """The dev set that `Prepared.dev_file` wrote."""
        return self.preparation.load(text)

    def network(self, settings: Section, preprocessor: Preprocessor) -> nn.Module:
        """The network that a model section describes, with random weights."""
        name: str = settings.name  # type: ignore[attr-defined]
        network: nn.Module = models.find(name, self.name).build(settings, preprocessor.sizes)
        return network

    def keeps_output(self, base: Any, preprocessor: Any) -> bool:
        """Whether a base of the same task has the same outputs; otherwise only what is below its output is kept."""
        return bool(getattr(base, "labels", None) == getattr(preprocessor, "labels", None))

    def fit(self, network: nn.Module, prepared: Any, built: Mapping[str, Any]) -> list[str]:
        """Fit a new network to the training data before it is trained, if it needs that; returns messages."""
        return []
