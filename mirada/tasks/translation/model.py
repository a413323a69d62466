"""The translation model: translates texts, documents and gettext catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

import torch
from torch import nn

from mirada import config as configuration
from mirada.config import Values
from mirada.contracts import GenerativeNetwork, Validation
from mirada.data import language
from mirada.data.batching import collate_pairs, similar
from mirada.data.foreign import foreign
from mirada.data.po import Catalog
from mirada.data.sources import DataConfig, Paths, data_settings
from mirada.decoding import DecodeConfig
from mirada.documents import Document, Options, read_document
from mirada.engines import ctranslate2
from mirada.engines.torch import TorchEngine
from mirada.errors import UsageError
from mirada.inspection.attention import CrossAttention
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.translation import TranslationScores, bleu, bleu_tokenizer, chrf, evaluate
from mirada.tasks.model import DecodeOptions, GenerativeModel, check_choice, check_text, check_texts
from mirada.tasks.translation import document_translation as documents
from mirada.tasks.translation.catalogs import Filling, check_language, fill, lines_of
from mirada.tasks.translation.data import Examples, TranslationPreprocessor, read_examples
from mirada.tasks.translation.glossary import Glossary, GlossaryLike, open_glossary
from mirada.tasks.translation.memory import (
    THRESHOLD,
    MemoryLike,
    Recall,
    TranslationMemory,
    check_threshold,
    open_memory,
)
from mirada.tasks.translation.pieces import Find
from mirada.tasks.translation.translator import Translation, Translator, with_notes
from mirada.training.losses import TargetTokenLoss

Progress = Callable[[int], None]
"""Called with the number of texts that are done."""

LOSS_CELLS = 4000
"""Tokens in a batch of dev pairs whose loss is computed."""


class TranslationModel(GenerativeModel):
    """A trained translator, opened from its bundle."""

    example = 'mirada translate {path} "…"'
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
        engine = TorchEngine(self.network, device)
        self.translator = Translator(engine, preprocessor, limit, config.get("data", {}).get("source_language"))

    def use_engine(self, engine: str = "auto", quantize: str | None = None, precision: str = "float32") -> None:
        """Choose what computes translations: `torch` in a precision, `ctranslate2` with quantized weights, or `auto`.

        `auto` is CTranslate2 if it is installed and can run the model on the CPU, unless a precision is given.
        """
        check_choice("engine", engine, ("auto", "torch", "ctranslate2"))
        check_choice("precision", precision, ("float32", "bfloat16"))
        check_choice("quantize", quantize or "float32", ctranslate2.QUANTIZATIONS)
        if engine == "torch":
            cannot: str | None = "it needs the engine ctranslate2"
        elif precision != "float32":
            cannot = f"--precision {precision} needs the engine torch"
        else:
            cannot = ctranslate2.unsupported(self.network, self.device)
        for option, asked in (("--engine ctranslate2", engine == "ctranslate2"), (f"--quantize {quantize}", quantize)):
            if asked and cannot:
                raise UsageError(f"{option}: {cannot}")
        self.translator.engine = slow = TorchEngine(self.network, self.device, precision=precision)
        if not cannot:
            checksum, threads = str(self.card["files"]["model.safetensors"]), torch.get_num_threads()
            fast = ctranslate2.open_converted(checksum, self.network, quantize or "float32", threads)
            self.translator.engine = ctranslate2.CTranslate2Engine(fast, slow)

    def ids(self, text: str) -> list[int]:
        return self.source_tokenizer.encode([text])[0]

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        prefix: str = ...,
        glossary: GlossaryLike | None = ...,
        memory: MemoryLike | None = ...,
        memory_threshold: float = ...,
        progress: Progress = ...,
        **decode: Unpack[DecodeOptions],
    ) -> Translation: ...
    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        prefix: str = ...,
        glossary: GlossaryLike | None = ...,
        memory: MemoryLike | None = ...,
        memory_threshold: float = ...,
        progress: Progress = ...,
        **decode: Unpack[DecodeOptions],
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        prefix: str = "",
        glossary: GlossaryLike | None = None,
        memory: MemoryLike | None = None,
        memory_threshold: float = THRESHOLD,
        progress: Progress = lambda done: None,
        **decode: Unpack[DecodeOptions],
    ) -> Translation | list[Translation]:
        """Translate a text, or many, in order. `decode`: see `DecodeOptions` (beam=5, n_best=3, sample=True, …).

        Each sentence of a text is translated by itself, unless `split=False`. Every translation begins with `prefix`;
        white space at its end is ignored. `glossary` (a file, a dictionary or a `Glossary`) has terms with the
        translations they must have. What `memory` (a file of sentence pairs or a `TranslationMemory`) has is used as it
        is; what is like it by `memory_threshold` per cent is in `Translation.memory`. `Translation.problem`, `complete`
        and `notes` say what went wrong.
        """
        config, prefix = self.decode_config(**decode), check_text(prefix, "the prefix")
        terms = None if glossary is None else self._terms(open_glossary(glossary), config)
        recall = None if memory is None else self._recall(self.open_memory(memory), memory_threshold)
        given = [texts] if isinstance(texts, str) else check_texts(texts)
        found = self.translator.translate(given, config, prefix, progress, terms, recall)
        return found[0] if isinstance(texts, str) else found

    def open_memory(self, memory: MemoryLike) -> TranslationMemory:
        """The translation memory of a file, in the languages of the model."""
        return open_memory(memory, self.card["languages"]["source"], self.card["languages"]["target"])

    @staticmethod
    def _recall(memory: TranslationMemory, threshold: float) -> Recall:
        """What finds the best match of each sentence in a memory."""
        least = check_threshold(threshold)
        return lambda sentences: memory.find(sentences, least)

    def _terms(self, glossary: Glossary, config: DecodeConfig) -> Find:
        """What finds the terms of a glossary in a sentence."""
        if config.sample:
            raise UsageError("--glossary: terms are searched for, and --sample draws at random; leave out one")
        glossary.check(self.target_tokenizer, self.translator.longest)
        return lambda sentence: glossary.find(sentence, self.card["languages"]["source"])

    def evaluate(
        self,
        pairs: str | Path | Iterable[tuple[str, Sequence[str]]] = (),
        *,
        source: str | Path | None = None,
        target: Paths = (),
        source_language: str | None = None,
        target_language: str | None = None,
        columns: Sequence[str] = (),
        **decode: Unpack[DecodeOptions],
    ) -> TranslationScores:
        """Translate the sources of a test set (a file, or pairs of a source and its references) and score the result.

        The test set may also be a `source` file and its `target` files. Its languages default to the model's.
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

    def score(self, dev: Examples, **decode: Unpack[DecodeOptions]) -> TranslationScores:
        """Score translations of examples; a source that is refused counts as an empty translation, and is noted."""
        sources, references = [source for source, _ in dev], [given for _, given in dev]
        found = self.translate(sources, progress=self._report(len(sources)), **decode)
        outputs = [translation.text for translation in found]
        return with_notes(evaluate(sources, outputs, references, self._bleu_tokenizer(references)), found)

    def validate(self, dev: Examples, size: int) -> Validation:
        """Greedy translations of a sample of the dev set: chrF++, BLEU, and the loss of the references."""
        sources, references = zip(*self.sample(dev, size), strict=True)
        # An untrained model babbles up to the length limit, so the limit is low here.
        config = DecodeConfig(beam=1, max_ratio=1.2, recover=False)
        outputs = [t.text for t in self.translator.translate(sources, config, progress=self._report(len(sources)))]
        shown = min(range(len(sources)), key=lambda i: abs(len(sources[i].split()) - 8))
        example = (sources[shown], outputs[shown], references[shown][0])
        figures = {"BLEU": bleu(outputs, references, self._bleu_tokenizer(references))}
        figures["loss"] = self._loss(sources, [given[0] for given in references])
        return Validation(chrf(outputs, references), "chrF++", figures=figures, example=example)

    @torch.inference_mode()
    def _loss(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """The mean −log p of a token of the references; NaN if all are too long for the model."""
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

    def _report(self, total: int) -> Callable[[int], None]:
        return lambda done: self.progress(done, total)

    def fill(
        self,
        catalog: str | Path,
        *,
        keep_damaged: bool = False,
        force: bool = False,
        **decode: Unpack[DecodeOptions],
    ) -> Filling:
        """Translate the untranslated entries of a gettext catalog (.po), marked fuzzy; the rest stays byte for byte.

        `keep_damaged` keeps translations that lost placeholders, `force` fills a catalog in another language.
        """
        found = Catalog(catalog)
        doubts = check_language(found, self.card["languages"]["source"], self.card["languages"]["target"], force)
        lines = lines_of(found)
        translated = self.translate(lines, **self.fill_options(**decode))
        filling = fill(found, dict(zip(lines, translated, strict=True)), keep_damaged)
        return replace(filling, doubts=tuple(doubts))

    def translate_document(
        self,
        path: str | Path,
        out: str | Path | None = None,
        *,
        columns: str | Sequence[str] = (),
        **decode: Unpack[DecodeOptions],
    ) -> documents.DocumentTranslation:
        """Translate a text, Markdown, HTML, SRT, VTT, PO, TMX, CSV, TSV, JSONL, DOCX or ODT file, only its text.

        The result is written to `out`, which must be new, if that is given. `columns` says which columns or fields of a
        table to translate: `"text"` in place, `("text", "translation")` into another one.
        """
        if out is not None:
            documents.check_new(Path(out))
        if foreign(path) == "po":
            result = documents.of_catalog(self.fill(path, **decode))
        else:
            document = self.open_document(path, [columns] if isinstance(columns, str) else columns)
            texts, options = documents.texts_of(document), self.fill_options(**decode)
            found = documents.translate_texts(texts, lambda some: self.translate(some, **options), document.markup)
            result = documents.assemble(document, dict(zip(texts, found, strict=True)))
        if out is not None:
            documents.write_document(Path(out), result.content)
        return result

    def open_document(self, path: str | Path, columns: Sequence[str] = ()) -> Document:
        """Read a document in the model's source language."""
        languages = self.card["languages"]
        return read_document(path, Options(tuple(columns), languages["source"], languages["target"]))

    def fill_options(self, **decode: Unpack[DecodeOptions]) -> DecodeOptions:
        """Decoding options for catalogs and documents: several translations to choose from."""
        wanted = decode.get("n_best") or 5
        return {**decode, "n_best": min(wanted, self.decode_config(**decode).beam)}

    def attend(self, text: str, **decode: Unpack[DecodeOptions]) -> CrossAttention:
        """Translate one sentence and return the attention weights of every layer and head for each token."""
        ids, hypothesis = self.translator.attend(check_text(text), self.decode_config(**decode))
        if hypothesis.attention is None:
            raise UsageError(f"{self.path}: {self.card['model']} has no attention")
        return CrossAttention(
            source=[*self.source_tokenizer.pieces(ids), "</s>"],
            target=[*self.target_tokenizer.pieces(hypothesis.tokens), "</s>"],
            text=self.target_tokenizer.decode([hypothesis.tokens])[0],
            weights=hypothesis.attention.permute(1, 2, 0, 3).cpu().numpy(),  # [T, L, H, S] -> [L, H, T, S]
            sentence=text,
        )

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word embeddings of one side, source or target."""
        if side not in ("source", "target"):
            raise UsageError(f"--side {side}: there are source and target")
        table: nn.Embedding = getattr(self.network, f"{side}_embedding")
        return Embeddings(getattr(self, f"{side}_tokenizer"), table.weight.detach().cpu(), self.path)


Languages = tuple[str | None, str | None]
"""Source and target."""


def _doubts(examples: Examples, own: Languages, said: Languages) -> list[str]:
    """Warnings for the sides of a test set that are declared, or look like, another language than the model's."""
    sides = (
        ("its sources are", "from", [source for source, _ in examples]),
        ("its references are", "into", [references[0] for _, references in examples]),
    )
    return [
        f"the test set does not fit the model: {what} in {other}, and it translates {way} {tag}"
        for (what, way, texts), tag, asked in zip(sides, own, said, strict=True)
        if (other := language.not_the_same(tag, asked) or language.other_than(tag, texts))
    ]
