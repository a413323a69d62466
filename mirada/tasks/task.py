"""What a task is, and what every trained model has: all that training, bundles and the command line know of a task.

    Task          its settings, its data path, its loss, and the model class that its bundles open as
    Preparation   how its data is read, checked, split and encoded (`mirada.data.preparation`)
    Preprocessor  all that using a model needs besides its weights: tokenizers, labels, a scale
    Model         a trained model with the task's verbs: translate, classify, …

One loop trains all of them, one function writes all bundles and one opens them; a task is what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import torch
from torch import nn

from mirada import config as configuration
from mirada import models
from mirada.config import Section, Values
from mirada.contracts import Loss, Sizes, Validation
from mirada.data.preparation import Preparation, prepare
from mirada.data.preparation import Prepared as Prepared
from mirada.data.quality import Notify
from mirada.data.report import Report
from mirada.decoding import DecodeConfig
from mirada.errors import UsageError
from mirada.inspection.gradients import Fading, fading_of
from mirada.metrics.score import Evaluation

Example = TypeVar("Example")


class Preprocessor(Protocol):
    """All that using a model needs besides its weights."""

    @property
    def sizes(self) -> Sizes:
        """What the network is built for."""
        ...

    def files(self) -> dict[str, bytes]:
        """Itself as files of a bundle; `Task.open` reads them."""
        ...


class Model:
    """A trained model, opened from its bundle."""

    def __init__(
        self,
        path: Path,
        card: dict[str, Any],
        config: Values,
        network: nn.Module,
        preprocessor: Any,
        device: torch.device,
    ):
        self.path, self.card, self.config = path, card, config
        self.network, self.preprocessor, self.device = network.eval().to(device), preprocessor, device
        self.progress: Callable[[int, int], None] = lambda done, total: None
        """Called from time to time while many examples are worked on; what it raises ends the work."""

    def ids(self, text: str) -> list[int]:
        """A text as the network gets it."""
        tokenizer = getattr(self.preprocessor, "tokenizer", None)
        if tokenizer is None:
            raise UsageError(f"{self.path}: a model for {self.card['task']} does not read text")
        found: list[int] = tokenizer.encode([text])[0]
        return found

    def gradients(self, text: str) -> Fading:
        """Of a recurrent model: how the gradient of its last state fades on the way back through a text."""
        return fading_of(f"{self.path.name} ({self.card['model']})", self.network, self.ids(text))

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def try_it(self) -> str:
        """A command to try it with."""
        raise NotImplementedError

    def sample(self, dev: Any, size: int) -> Any:
        """At most `size` examples of a dev set, evenly spaced; all of it where examples cannot be left out."""
        return evenly(dev, size)

    def validate(self, dev: Any, size: int) -> Validation:
        """A quick score on a sample of the dev set, while training."""
        raise NotImplementedError

    def score(self, dev: Any) -> Evaluation:
        """All scores on examples like `Prepared.dev`."""
        raise NotImplementedError


def evenly(examples: list[Example], size: int) -> list[Example]:
    """At most `size` of the examples, evenly spaced."""
    if len(examples) <= size:
        return examples
    return [examples[number * len(examples) // size] for number in range(size)]


SAMPLING = ("temperature", "top_k", "top_p", "seed")
"""Settings of `decode` that have no say in a search."""


class GenerativeModel(Model):
    """A trained model that writes text, token by token."""

    def decode_config(self, **changes: Any) -> DecodeConfig:
        """The bundle's way of decoding, with changes (None changes nothing)."""
        given = {key: value for key, value in changes.items() if value is not None}
        built = configuration.build({"decode": DecodeConfig}, {"decode": {**self.config.get("decode", {}), **given}})
        config: DecodeConfig = built["decode"]
        for name in SAMPLING:
            default = DecodeConfig.model_fields[name].default
            if not config.sample and given.get(name, default) != default:
                raise UsageError(f"{name}={given[name]}: is for sampling; add sample=True (--sample), or leave it out")
        return config


class Task:
    """A shape that a sequence problem can have."""

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
        """Of a card: what is worth reading, as name and text."""
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

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        """What is made small."""
        raise NotImplementedError
