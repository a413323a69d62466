"""Translation, many to many: sentences in one language to sentences in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, overload

import torch
from torch import nn

from mirada.bundle import need
from mirada.config import Values
from mirada.contracts import Loss, Network, Sizes, Validation
from mirada.data.batching import Batches
from mirada.data.checks import CheckConfig
from mirada.data.doctor import KEEPS, Notify
from mirada.data.po import Catalog
from mirada.data.prepare import Examples, Report, dump_examples, load_examples, prepare, read_examples
from mirada.data.prepare import Prepared as PreparedPairs
from mirada.data.readers import Wanted
from mirada.data.sources import DataConfig, open_some
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.errors import ConfigError, UsageError
from mirada.evaluation.translation import TranslationScores, bleu, evaluate
from mirada.inspection.attention import CrossAttention
from mirada.inspection.embeddings import Embeddings
from mirada.tasks.catalogs import Filling, fill
from mirada.tasks.objectives import CrossEntropy
from mirada.tasks.task import Task, Told, Writer
from mirada.tasks.translator import Translation, Translator

FINAL_SENTENCES = 2000
"""Dev sentences that the scores of a finished training are measured on, at most."""

SOURCE, TARGET = "tokenizer.json", "tokenizer.target.json"


@dataclass(frozen=True)
class Tokenizers:
    """What translating needs besides weights: the subwords of both languages, often the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.source.size, self.target.size)

    def files(self) -> dict[str, bytes]:
        files = {SOURCE: self.source.to_json().encode("utf-8")}
        if self.target is not self.source:
            files[TARGET] = self.target.to_json().encode("utf-8")
        return files


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs, ready to train on."""

    data: PreparedPairs

    @property
    def kit(self) -> Tokenizers:
        return Tokenizers(self.data.source_tokenizer, self.data.target_tokenizer)

    @property
    def dev(self) -> Examples:
        return self.data.dev[:FINAL_SENTENCES]

    def batches(self, tokens: int, seed: int) -> Batches:
        return Batches(self.data.corpus, tokens, seed)

    def report(self) -> dict[str, Any]:
        return asdict(self.data.report)

    def told(self) -> Told:
        report: Report = self.data.report
        held = " (held out of the data: no sentence of it is in training)" if report.held_out else ""
        findings = report.diagnosis["findings"]
        return Told(
            f"{report.training:,} training pairs, {report.dev:,} dev{held}, {report.vocabulary:,} subwords",
            report.diagnosis["notes"],
            report.excluded,
            {finding["title"]: finding["count"] for finding in findings if finding["training"] == KEEPS},
            "mirada check",
        )

    def dev_file(self) -> str:
        return dump_examples(self.dev)


class TranslationModel(Writer):
    """A trained translator, opened from its bundle."""

    network: Network

    def __init__(
        self,
        path: Path,
        card: dict[str, Any],
        config: Values,
        network: nn.Module,
        kit: Tokenizers,
        device: torch.device,
    ):
        super().__init__(path, card, config, network, kit, device)
        limit = int(config["model"]["max_length"])
        self.source_tokenizer, self.target_tokenizer = kit.source, kit.target
        self._translator = Translator(self.network, kit.source, kit.target, limit, device)

    @property
    def try_it(self) -> str:
        return f'mirada translate {self.path} "…"'

    def ids(self, text: str) -> list[int]:
        return self.source_tokenizer.encode([text])[0]

    @overload
    def translate(self, texts: str, *, prefix: str = ..., **decode: Any) -> Translation: ...
    @overload
    def translate(self, texts: Sequence[str], *, prefix: str = ..., **decode: Any) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
        **decode: Any,
    ) -> Translation | list[Translation]:
        """Translate a text, or many at once, in order. `decode` are settings: beam=5, n_best=3, sample=True, …

        `prefix` is how every translation has to begin.
        """
        config = self.decode_config(**decode)
        if isinstance(texts, str):
            return self._translator.translate([texts], config, prefix)[0]
        return self._translator.translate(texts, config, prefix, progress)

    def evaluate(
        self,
        pairs: str | Path | Iterable[tuple[str, Sequence[str]]],
        *,
        columns: Sequence[str] = (),
        **decode: Any,
    ) -> TranslationScores:
        """Translate the sources of a test set (a file, or pairs of source and references) and score the result."""
        if isinstance(pairs, (str, Path)):
            languages = self.card["languages"]
            wanted = Wanted(tuple(columns), languages["source"], languages["target"])
            rows, passed = read_examples(open_some([str(pairs)], wanted))
            return replace(self.score(rows, **decode), notes=passed)
        rows = [(source, tuple([refs] if isinstance(refs, str) else refs)) for source, refs in pairs]
        return self.score(rows, **decode)

    def score(self, dev: Examples, **decode: Any) -> TranslationScores:
        sources = [source for source, _ in dev]
        outputs = [translation.text for translation in self.translate(sources, **decode)]
        return evaluate(sources, outputs, [references for _, references in dev])

    def validate(self, dev: Examples, size: int) -> Validation:
        """Greedy translations of a part of the dev set, and their BLEU."""
        sources, references = zip(*dev[:size], strict=True)
        # A model that knows nothing yet babbles to the limit, so here that is near.
        outputs = [t.text for t in self._translator.translate(sources, DecodeConfig(beam=1, max_ratio=1.2))]
        shown = min(range(len(sources)), key=lambda i: abs(len(sources[i].split()) - 8))
        example = (sources[shown], outputs[shown], references[shown][0])
        return Validation(bleu(outputs, references), "BLEU", example=example)

    def fill(self, catalog: str | Path, **decode: Any) -> Filling:
        """Translate what is untranslated in a gettext catalog (.po), marked fuzzy; the rest stays byte for byte."""
        options = {"n_best": 5, **{key: value for key, value in decode.items() if value is not None}}
        options["n_best"] = min(options["n_best"], self.decode_config(**decode).beam)
        return fill(Catalog(catalog), lambda texts: self.translate(texts, **options))

    def attend(self, text: str, **decode: Any) -> CrossAttention:
        """Translate one sentence and return where every head of every layer looked for each token."""
        ids, hypothesis = self._translator.look(text, self.decode_config(**decode))
        if hypothesis.attention is None:
            raise UsageError(f"{self.path}: {self.card['model']} has no attention to look at")
        return CrossAttention(
            source=[*self.source_tokenizer.pieces(ids), "</s>"],
            target=[*self.target_tokenizer.pieces(hypothesis.tokens), "</s>"],
            text=self.target_tokenizer.decode([hypothesis.tokens])[0],
            weights=hypothesis.attention.permute(1, 2, 0, 3).cpu().numpy(),  # [T, L, H, S] -> [L, H, T, S]
        )

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors of one side: `neighbours` of a word, and a map of words."""
        if side not in ("source", "target"):
            raise UsageError(f"--side {side}: there are source and target")
        table: nn.Embedding = getattr(self.network, f"{side}_embedding")
        return Embeddings(getattr(self, f"{side}_tokenizer"), table.weight.detach().cpu())


class TranslationTask(Task):
    """Sentences in one language to sentences in another."""

    name = "translation"
    verb = "translate"
    model = TranslationModel
    default_model = "transformer"
    sections = {"data": DataConfig, "check": CheckConfig, "tokenizer": TokenizerConfig, "decode": DecodeConfig}
    used = ("decode",)
    inherited = ("source_language", "target_language")

    def check(self, built: Mapping[str, Any]) -> None:
        if not built["tokenizer"].joint and built["model"].tie == "all":
            raise ConfigError(
                "tokenizer.joint=false gives two vocabularies, so embeddings cannot all be tied: --set model.tie=output"
            )
        if built["data"].max_tokens >= built["model"].max_length:
            raise ConfigError(
                f"data.max_tokens={built['data'].max_tokens} must be below model.max_length={built['model'].max_length}"
            )

    def about(self, values: Values) -> dict[str, Any]:
        data = values["data"]
        return {"languages": {"source": data["source_language"], "target": data["target_language"]}}

    def describe(self, card: Mapping[str, Any]) -> list[tuple[str, str]]:
        languages, data = card["languages"], card["data"]
        left_out = sum(data["excluded"].values())
        return [
            ("languages", f"{languages['source'] or '?'} → {languages['target'] or '?'}"),
            ("data", f"{data['training']:,} pairs, {data['words']:,} words, {left_out:,} left out"),
            ("dev", f"{data['dev']:,} pairs" + (", held out of the data" if data["held_out"] else "")),
            ("subwords", f"{data['vocabulary']:,}"),
        ]

    def prepare(self, built: Mapping[str, Any], folder: Path, notify: Notify, kit: Tokenizers | None = None) -> Pairs:
        learned = (kit.source, kit.target) if kit else None
        return Pairs(prepare(built["data"], built["check"], built["tokenizer"], folder, notify, learned))

    def open(self, files: Mapping[str, bytes], where: Path) -> Tokenizers:
        need(files, where, SOURCE)
        source = Tokenizer.load(where / SOURCE)
        return Tokenizers(source, Tokenizer.load(where / TARGET) if TARGET in files else source)

    def read_dev(self, text: str) -> Examples:
        return load_examples(text)

    def objective(self, smoothing: float) -> Callable[[Any, Any], Loss]:
        return CrossEntropy(smoothing)

    report = Report
