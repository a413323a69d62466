"""What all trained models share: the base classes, decoding options, and padding."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

import torch
from torch import Tensor, nn

from mirada import config as configuration
from mirada.config import Values
from mirada.contracts import BOS, PAD, SequenceBatch, Validation
from mirada.data.text import shown_path
from mirada.data.tokenizer import Tokenizer
from mirada.data.vectors import initialize, read_vectors, wanted_words
from mirada.decoding import DecodeConfig
from mirada.errors import UsageError
from mirada.inspection.attention import WEIGHTS, Attention, attention_of
from mirada.inspection.embeddings import Embeddings
from mirada.inspection.gradients import Fading, fading_of
from mirada.inspection.snapshots import Snapshot
from mirada.inspection.trace import Pass, Trace
from mirada.inspection.words import Tokens, ended
from mirada.metrics.score import Evaluation
from mirada.models.bert import Bert
from mirada.parts import check_switches
from mirada.predictions import Prediction, html_table, ranked

if TYPE_CHECKING:
    from mirada.explorer.page import Page

Example = TypeVar("Example")

CELLS = 16_384
"""The most tokens of an inference batch, including padding."""


@dataclass(frozen=True)
class Neighbours(Prediction):
    """The words whose embeddings are nearest to a word's."""

    word: str
    pieces: tuple[str, ...]
    """The tokens of the word; their average is used if they are several."""
    neighbours: tuple[tuple[str, float], ...] = field(repr=False)
    """The nearest words with their cosine similarity."""

    def values(self) -> dict[str, Any]:
        near = ranked(self.neighbours, "word", "cosine")
        return {"word": self.word, "pieces": list(self.pieces), "neighbours": near}

    def __str__(self) -> str:
        average = f" (average of {len(self.pieces)} subwords)" if len(self.pieces) > 1 else ""
        return f"{self.word}{average}: " + ", ".join(f"{word} {cosine:.2f}" for word, cosine in self.neighbours)


class Model:
    """A trained model, opened from its bundle."""

    example: ClassVar[str]
    """A command to try such a model with, in which {path} is the bundle."""

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
        self._network, self.preprocessor, self.device = network.eval().to(device), preprocessor, device
        self.progress: Callable[[int, int], None] = lambda done, total: None
        """Called now and then while many examples are processed, with how many are done; an exception ends the work."""

    @property
    def network(self) -> Any:
        """The trained network; one that lacks a part that is switched off (`mirada.without`) refuses to be used."""
        check_switches(self._network)
        return self._network

    def __repr__(self) -> str:
        model = self.card.get("model", type(self.network).__name__)
        return f"<{type(self).__name__} {str(self.path)!r}: {model}, {self.parameters:,} parameters>"

    def _repr_html_(self) -> str:
        scores = {score["name"]: score["value"] for score in (self.card.get("scores") or {}).get("scores", ())}
        about = {"task": self.card["task"], "model": self.card["model"], "parameters": f"{self.parameters:,}"}
        return html_table({**about, "bundle": self.path, **scores, "try": self.try_it})

    @classmethod
    def ensemble(cls, path: Path, members: Sequence[Any]) -> Model:
        """Several models as one; only translators can be joined."""
        first = members[0]
        raise UsageError(f"{path}: ensembles are for translators; {first.path} is a model for {first.card['task']}")

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, as the network reads it."""
        tokenizer = getattr(self.preprocessor, "tokenizer", None)
        if tokenizer is None:
            raise UsageError(f"{self.path}: a model for {self.card['task']} does not read text")
        found: list[int] = tokenizer.encode([text])[0]
        return found

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word embeddings; `side` (source or target) matters to translators only."""
        table, tokenizer = getattr(self.network, "embedding", None), getattr(self.preprocessor, "tokenizer", None)
        if not isinstance(table, nn.Embedding) or tokenizer is None:
            raise UsageError(f"{self.path}: its model has no word embeddings")
        return Embeddings(tokenizer, table.weight.detach().cpu(), self.path)

    def neighbours(self, word: str, count: int = 10, *, side: str = "source", fragments: bool = False) -> Neighbours:
        """The words whose embeddings are nearest to a word's; `fragments` lists beginnings of words, too."""
        embeddings = self.embeddings(side)
        near, pieces = embeddings.neighbours(word, count, fragments), embeddings.pieces(word)
        notes: tuple[str, ...] = ()
        if len(pieces) > 1:
            read = " + ".join(pieces)
            notes = (f"the model has no embedding of {word!r}, it reads {read}; their average is used",)
        return Neighbours(word, tuple(pieces), tuple(near), notes=notes)

    def gradients(self, text: str) -> Fading:
        """How the gradient of a recurrent model's last state fades on the way back through a text."""
        return fading_of(f"{self.path.name} ({self.card['model']})", self.network, self.ids(text))

    def trace(
        self, text: Any, /, target: str | None = None, *, paths: str | Sequence[str] = (), **options: Any
    ) -> Trace:
        """Record every tensor of one forward pass, or those whose paths match a pattern (`"decoder.*.cross.weights"`).

        What a model generates for the text is replayed on the tokens it chose; `target` replays a given text instead.
        `options` are those of the model's verb: beam, to, …
        """
        patterns = (paths,) if isinstance(paths, str) else tuple(paths)
        found = self.passes(text, target, **options)[0].record(*patterns)
        for pattern in patterns:
            if not fnmatch.filter(found, pattern):
                raise UsageError(f"path {pattern!s:.80}: the trace has no such tensor; `mirada trace` lists them all")
        return found

    def attend(self, text: Any, /, target: str | None = None, **options: Any) -> Attention:
        """What each token of a text looks at, in every layer and head: of what the model generates, or of `target`.

        `options` are those of the model's verb; `n_best=3` gives that of each of three hypotheses
        (`Attention.hypotheses`).
        """
        passes = self.passes(text, target, **options)
        found = [attention_of(one.record(*WEIGHTS), one.image) for one in passes]
        if not found[0].parts:
            raise UsageError(
                f"{self.path}: {self.card['model']} has no attention; `mirada trace` shows what it computes"
            )
        return replace(found[0], others=tuple(found[1:]))

    def passes(self, text: Any, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The forward passes that `trace` and `attend` record; of a model that generates, one for each hypothesis."""
        raise UsageError(f"{self.path}: a model for {self.card['task']} cannot be traced")

    def explore(
        self,
        out: str | Path,
        *,
        beside: Model | None = None,
        sentence: str | None = None,
        traces: Sequence[str] = (),
        precision: str | None = None,
    ) -> Page:
        """Write one HTML file in which the model runs, alone or `beside` another one, without a network.

        It shows a `sentence` at first, otherwise one of the dev set. `traces` are sentences to record instead of the
        weights, for a model that is too large. `precision` is float32 or float16.
        """
        from mirada.explorer.page import write_page  # not before: it reads the program of the page

        others = [] if beside is None else [beside]
        return write_page([self, *others], out, sentence=sentence, traces=traces, precision=precision)

    @property
    def facts(self) -> dict[str, Any]:
        """What the model is, for a trace."""
        facts = {"name": shown_path(self.path.name), "task": self.card["task"], "architecture": self.card["model"]}
        return {**facts, "parameters": self.parameters, "sizes": self.config.get("model", {})}

    def _reads_only(self, target: str | None, options: dict[str, Any]) -> None:
        """Refuse what is for models that generate."""
        for name, value in {"target": target, **options}.items():
            if value is not None and (name, value) != ("n_best", 1):
                raise UsageError(
                    f"{name}={value!s:.40}: {self.path} is a model for {self.card['task']}, which has no such option"
                )

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(parameter.numel() for parameter in self._network.parameters())

    @property
    def try_it(self) -> str:
        """A command to try the model with."""
        return self.example.format(path=self.path)

    def use_engine(self, engine: str = "auto", quantize: str | None = None, precision: str = "float32") -> None:
        """Choose what computes; only translators have a choice."""
        for name, given, usual in (("engine", engine, "auto"), ("precision", precision, "float32")):
            if given not in (usual, "torch"):
                raise UsageError(
                    f"--{name} {given}: is for translators; {self.path} is a model for {self.card['task']}"
                )
        if quantize is not None:
            raise UsageError(
                f"--quantize {quantize}: is for translators; {self.path} is a model for {self.card['task']}"
            )

    def sample(self, dev: Any, size: int) -> Any:
        """At most `size` examples of a dev set, evenly spaced; all of it where examples cannot be left out."""
        return evenly(dev, size)

    def validate(self, dev: Any, size: int) -> Validation:
        """A quick score on a sample of the dev set, while training."""
        raise NotImplementedError

    def snapshot(self, dev: Any) -> Snapshot | None:
        """The attention in an example of the dev set, always the same one, which a run records as it trains."""
        return None

    def score(self, dev: Any) -> Evaluation:
        """Compute all scores on examples like `Prepared.dev`."""
        raise NotImplementedError


class DecodeOptions(TypedDict, total=False):
    """Keyword options of the verbs that generate text. Left out or None: as the bundle's `decode` section says."""

    beam: int | None
    """Hypotheses kept at each step of beam search; 1 is greedy. Default 5."""
    n_best: int | None
    """How many hypotheses to return (`alternatives`). Default 1."""
    length_penalty: float | None
    """α in score = log p / length^α: 0 favours short texts, 1 ranks by the average per token. Default 1."""
    max_ratio: float | None
    """A translation may have this many times the tokens of its source, plus 20. Default 3."""
    sample: bool | None
    """Sample from the probabilities instead of using beam search."""
    temperature: float | None
    """When sampling: below 1 the likely tokens get likelier, above 1 less so. Default 1."""
    top_k: int | None
    """When sampling: choose among the k likeliest tokens; 0 is all of them."""
    top_p: float | None
    """When sampling: choose among the likeliest tokens that together have this probability."""
    seed: int | None
    """When sampling: the same text and seed give the same sample. Default 0."""
    split: bool | None
    """Translate each sentence of a text by itself. Default: if the model was trained on single sentences."""
    spelling: bool | None
    """Read misspelt words of the source as those they are meant for. Default true."""
    words: bool | None
    """Measure the probability of each word of a translation (`words`)."""
    recover: bool | None
    """Search again where a translation loops or lost something. Default true."""


SAMPLING = ("temperature", "top_k", "top_p", "seed")
"""Options that only affect sampling."""


@dataclass(frozen=True)
class GeneratedText(Prediction):
    """A text that a model generated."""

    key: ClassVar[str]
    """What JSON calls the text."""
    text: str
    score: float = 0.0
    """The average log probability of its tokens (with the length penalty of `decode`)."""
    alternatives: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    """The n best texts with their scores, this one first."""
    complete: bool = True
    """False if it was cut off at the length limit."""

    def values(self) -> dict[str, Any]:
        found = {self.key: self.text, "score": round(self.score, 6), "complete": self.complete}
        return {**found, "alternatives": ranked(self.alternatives, "text", "score")}

    def as_text(self, number: int = 1) -> str:
        """The text on one line, so that the n-th line out is the n-th line in; or the n best, a line each."""
        if len(self.alternatives) > 1:
            return "\n".join(f"{number}\t{score:.4f}\t{one_line(text)}" for text, score in self.alternatives)
        return one_line(self.text)

    def __str__(self) -> str:
        return self.text


def one_line(text: str) -> str:
    """A text without line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


class GenerativeModel(Model):
    """A trained model that generates text, token by token."""

    def decode_config(self, **changes: Any) -> DecodeConfig:
        """The bundle's decoding settings with changes; None changes nothing."""
        given = {key: value for key, value in changes.items() if value is not None}
        built = configuration.build({"decode": DecodeConfig}, {"decode": {**self.config.get("decode", {}), **given}})
        config: DecodeConfig = built["decode"]
        for name in SAMPLING:
            default = DecodeConfig.model_fields[name].default
            if not config.sample and given.get(name, default) != default:
                raise UsageError(f"{name}={given[name]}: is for sampling; add sample=True (--sample), or leave it out")
        return config


def evenly(examples: list[Example], size: int) -> list[Example]:
    """At most `size` of the examples, evenly spaced."""
    if len(examples) <= size:
        return examples
    return [examples[number * len(examples) // size] for number in range(size)]


def framed_tokens(network: nn.Module, tokens: Tokens) -> Tokens:
    """The tokens of a text as an encoder reads them: </s> after them, and for BERT <s> before them."""
    return ended(tokens.framed(before=[("<s>", BOS)] if isinstance(network, Bert) else []))


def pad(sequences: Sequence[Sequence[int]]) -> SequenceBatch:
    """Collate token ids into a padded batch."""
    lengths = [len(ids) for ids in sequences]
    longest = max(lengths, default=0)
    inputs = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in sequences], dtype=torch.long)
    return SequenceBatch(inputs.reshape(len(lengths), longest), torch.tensor(lengths, dtype=torch.long))


def validation(
    probabilities: Tensor, truth: Sequence[int], example: Callable[[int], tuple[str, str, str]]
) -> Validation:
    """Accuracy and mean loss of probabilities [N, K] and labels [N]; `example` shows the first prediction."""
    expected, predicted = torch.tensor(truth), probabilities.argmax(-1)
    loss = -probabilities.gather(1, expected[:, None]).clamp_min(1e-30).log().mean().item()
    accuracy = 100 * (predicted == expected).float().mean().item()
    return Validation(accuracy, "accuracy", figures={"loss": loss}, example=example(int(predicted[0])))


def start_from_vectors(network: nn.Module, tokenizer: Tokenizer, path: str | None) -> list[str]:
    """Initialize a network's embeddings from a word2vec or GloVe file, if one is given; returns messages."""
    if path is None:
        return []
    table = getattr(network, "embedding", None)
    if not isinstance(table, nn.Embedding):
        raise UsageError(f"data.vectors={path}: the model has no word embeddings to initialize")
    vectors = read_vectors(path, wanted_words(tokenizer))
    found = initialize(table.weight.data, tokenizer, vectors)
    return [f"word vectors from {path}: found for {found:,} of {tokenizer.size:,} tokens"]
