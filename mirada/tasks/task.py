"""What a task is: all that training, bundles and the command line know of it.

    Task          its settings, its data path, its loss, the model class that its bundles open as
    Preparation   how its data is read, checked, split and encoded (`mirada/data/preparation.py`)
    Preprocessor  what a model needs besides its weights: tokenizers, labels, a scale
    Model         a trained model with the task's verbs: translate, classify, … (`mirada/tasks/model.py`)

One loop trains all of them, one function writes all bundles and one opens them; a task is what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from torch import nn

from mirada import models
from mirada.config import Section, Values
from mirada.contracts import Loss, Sizes
from mirada.data.preparation import Preparation, prepare
from mirada.data.preparation import Prepared as Prepared
from mirada.data.quality import Notify
from mirada.data.report import Report
from mirada.tasks.model import Model as Model
from mirada.tasks.model import evenly as evenly


class Preprocessor(Protocol):
    """All that using a model needs besides its weights."""

    @property
    def sizes(self) -> Sizes:
        """What the network is built for."""
        ...

    def files(self) -> dict[str, bytes]:
        """Itself as files of a bundle; `Task.open` reads them."""
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
    """Those of them that a trained model still needs."""
    preparation: ClassVar[type[Preparation[Any]]]
    """How its data is read, checked, split and encoded."""
    defaults: ClassVar[Values] = {}
    """Where its settings should differ from those written in the sections."""
    presets: ClassVar[tuple[str, ...]] = ()
    """From small to large: those that `--preset auto` chooses among, by what a budget in minutes allows."""
    inherited: ClassVar[tuple[str, ...]] = ()
    """Of the data section: what a run takes from its base, and must agree with."""

    def complete(self, built: dict[str, Any]) -> dict[str, Any]:
        """Fill in what a section leaves open and another one decides."""
        return built

    def check(self, built: Mapping[str, Any]) -> None:
        """Refuse sections that do not fit each other."""

    def about(self, values: Values) -> dict[str, Any]:
        """What its bundles' cards say besides."""
        return {}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Lines of `mirada info`, as name and text, from a bundle's card."""
        return []

    @property
    def report(self) -> type[Report]:
        """What its bundles' cards say of the data."""
        return self.preparation.report_type

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, preprocessor: Any = None) -> Prepared:
        """Read, check, split and encode the data into `folder`, with the preprocessor of a base if there is one.

        What an earlier call finished is only opened.
        """
        return prepare(self.preparation(built, preprocessor), folder, notify)

    def open(self, files: Mapping[str, bytes], where: Path) -> Preprocessor:
        """The preprocessor of a bundle."""
        raise NotImplementedError

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
        return True

    def fit(self, network: nn.Module, prepared: Any, built: Mapping[str, Any]) -> list[str]:
        """Let a new network see the training data before it is trained, if it has to; what there is to say of it."""
        return []

    def loss(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        """The training loss of a network on a batch."""
        raise NotImplementedError
