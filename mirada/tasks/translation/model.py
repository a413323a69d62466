"""Translation, many to many: sentences in one language to sentences in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import torch
from torch import nn

from mirada import config as configuration
from mirada.config import Values
from mirada.contracts import GenerativeNetwork, Validation
from mirada.data import language
from mirada.data.batching import collate_pairs, similar
from mirada.data.po import Catalog
from mirada.data.sources import DataConfig, Paths, data_settings
from mirada.decoding import DecodeConfig
from mirada.errors import UsageError
from mirada.inspection.attention import CrossAttention
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.translation import TranslationScores, bleu, bleu_tokenizer, chrf, evaluate
from mirada.tasks.task import GenerativeModel
from mirada.tasks.translation.catalogs import Filling, check_language, fill, lines_of
from mirada.tasks.translation.data import Examples, read_examples
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.translator import Translation, Translator, with_notes
from mirada.training.losses import TargetTokenLoss

LOSS_CELLS = 4000
"""Tokens in a batch of dev pairs whose loss is computed."""


class TranslationModel(GenerativeModel):
    """A trained translator, opened from its bundle."""

    network: GenerativeNetwork

    def __init__(
        self,
        path: Path,
        card: dict[str, Any],
        config: Values,
        network: nn.Module,
        preprocessor: TranslationPreprocessor,
        device: torch.device,
    ):
        super().__init__(path, card, config, network, preprocessor, device)
        limit = int(config["model"]["max_length"])
        self.source_tokenizer, self.target_tokenizer = preprocessor.source, preprocessor.target
        self._translator = Translator(self.network, preprocessor.source, preprocessor.target, limit, device)

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

        Each sentence of a text is translated by itself, unless `split=False`. `prefix` is how every translation has to
        begin; white space at its end is left out. `Translation.problem`, `complete` and `notes` say what went wrong.
        """
        config = self.decode_config(**decode)
        if isinstance(texts, str):
            return self._translator.translate([texts], config, prefix)[0]
        return self._translator.translate(texts, config, prefix, progress)

    def evaluate(
        self,
        pairs: str | Path | Iterable[tuple[str, Sequence[str]]] = (),
        *,
        source: str | Path | None = None,
        target: Paths = (),
        source_language: str | None = None,
        target_language: str | None = None,
        columns: Sequence[str] = (),
        **decode: Any,
    ) -> TranslationScores:
        """Translate the sources of a test set (a file, or pairs of source and references) and score the result.

        The test set may also come as a `source` file and its `target` files. Its languages are the model's
        unless given.
        """
        if isinstance(pairs, (str, Path)) or source or target:
            files = pairs if isinstance(pairs, (str, Path)) else ()
            own = self.card["languages"]["source"], self.card["languages"]["target"]
            tags = source_language or own[0], target_language or own[1]
            settings = data_settings(files, source, target, (), *tags, columns, absolute=False)
            built = configuration.build({"data": DataConfig}, {"data": settings})
            test = built["data"].open()
            rows, passed = read_examples(test)
            scores = self.score(rows, **decode)
            return replace(scores, notes=(*scores.notes, *test.notes, *passed, *_doubts(rows, own, tags)))
        rows = [(source, tuple([refs] if isinstance(refs, str) else refs)) for source, refs in pairs]
        return self.score(rows, **decode)

    def score(self, dev: Examples, **decode: Any) -> TranslationScores:
        """All scores on examples. What the model cannot take counts as an empty translation, and is named."""
        sources, references = [source for source, _ in dev], [given for _, given in dev]
        found = self.translate(sources, progress=self._tell(len(sources)), **decode)
        outputs = [translation.text for translation in found]
        return with_notes(evaluate(sources, outputs, references, self._bleu_tokenizer(references)), found)

    def validate(self, dev: Examples, size: int) -> Validation:
        """Greedy translations of a sample of the dev set: chrF++, which tells translations into any language and of any
        length apart, BLEU, and the loss of the true translations."""
        sources, references = zip(*self.sample(dev, size), strict=True)
        # A model that knows nothing yet babbles to the limit, so here that is near.
        config = DecodeConfig(beam=1, max_ratio=1.2)
        outputs = [t.text for t in self._translator.translate(sources, config, progress=self._tell(len(sources)))]
        shown = min(range(len(sources)), key=lambda i: abs(len(sources[i].split()) - 8))
        example = (sources[shown], outputs[shown], references[shown][0])
        figures = {"BLEU": bleu(outputs, references, self._bleu_tokenizer(references))}
        figures["loss"] = self._loss(sources, [given[0] for given in references])
        return Validation(chrf(outputs, references), "chrF++", figures=figures, example=example)

    @torch.inference_mode()
    def _loss(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """The mean −log p of a token of the true translations; NaN if all are too long for the model."""
        ids = zip(self.source_tokenizer.encode(sources), self.target_tokenizer.encode(targets), strict=True)
        pairs = [pair for pair in ids if max(map(len, pair)) < self.config["model"]["max_length"]]
        measure, total, count = TargetTokenLoss(), 0.0, 0
        for numbers in similar([len(source) + len(target) for source, target in pairs], LOSS_CELLS):
            chosen = [pairs[number] for number in numbers]
            loss = measure(self.network, collate_pairs(*zip(*chosen, strict=True)).to(self.device))
            total, count = total + float(loss.total), count + loss.count
        return total / count if count else float("nan")

    def _bleu_tokenizer(self, references: Sequence[Sequence[str]]) -> str:
        return bleu_tokenizer(self.config.get("data", {}).get("target_language"), references)

    def _tell(self, total: int) -> Callable[[int], None]:
        return lambda done: self.progress(done, total)

    def fill(self, catalog: str | Path, *, keep_damaged: bool = False, force: bool = False, **decode: Any) -> Filling:
        """Translate what is untranslated in a gettext catalog (.po), marked fuzzy; the rest stays byte for byte.

        `keep_damaged` fills in translations that lost placeholders, `force` fills a catalog in another language.
        """
        found = Catalog(catalog)
        doubts = check_language(found, self.card["languages"]["source"], self.card["languages"]["target"], force)
        lines = lines_of(found)
        translated = self.translate(lines, **self.fill_options(**decode))
        filling = fill(found, dict(zip(lines, translated, strict=True)), keep_damaged)
        return replace(filling, doubts=tuple(doubts))

    def fill_options(self, **decode: Any) -> dict[str, Any]:
        """How catalogs are decoded: with several translations to choose from."""
        options = {"n_best": 5, **{key: value for key, value in decode.items() if value is not None}}
        return {**options, "n_best": min(options["n_best"], self.decode_config(**decode).beam)}

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
            sentence=text,
        )

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors of one side: `neighbours` of a word, and a map of words."""
        if side not in ("source", "target"):
            raise UsageError(f"--side {side}: there are source and target")
        table: nn.Embedding = getattr(self.network, f"{side}_embedding")
        return Embeddings(getattr(self, f"{side}_tokenizer"), table.weight.detach().cpu(), self.path)


Languages = tuple[str | None, str | None]
"""Source and target."""


def _doubts(examples: Examples, own: Languages, said: Languages) -> list[str]:
    """A line on each side of a test set that is said to be, or looks like, another language than the model's."""
    sides = (
        ("its sources are", "from", [source for source, _ in examples]),
        ("its references are", "into", [references[0] for _, references in examples]),
    )
    return [
        f"the test set does not fit the model: {what} in {other}, and it translates {way} {tag}"
        for (what, way, texts), tag, asked in zip(sides, own, said, strict=True)
        if (other := language.not_the_same(tag, asked) or language.other_than(tag, texts))
    ]
