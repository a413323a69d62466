"""The translation model: translates texts, documents and gettext catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean as mean
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
from mirada.inspection.embeddings import Embeddings
from mirada.inspection.snapshots import Snapshot
from mirada.metrics.translation import BothWays, TranslationScores, bleu, bleu_tokenizer, chrf, evaluate
from mirada.tasks.inputs import check_choice, check_text, check_texts
from mirada.tasks.model import DecodeOptions, GenerativeModel
from mirada.tasks.translation import document_translation as documents
from mirada.tasks.translation.catalogs import Filling, check_language, fill, lines_of
from mirada.tasks.translation.data import Examples, read_examples
from mirada.tasks.translation.direction import Directions, turned
from mirada.tasks.translation.explaining import Explaining
from mirada.tasks.translation.glossary import Glossary, GlossaryLike, open_glossary
from mirada.tasks.translation.looking import Looking
from mirada.tasks.translation.memory import (
    THRESHOLD,
    MemoryLike,
    Recall,
    TranslationMemory,
    check_threshold,
    open_memory,
)
from mirada.tasks.translation.pieces import Direction, Find
from mirada.tasks.translation.prediction import Translation, with_notes
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.snapshot import snapshot_of
from mirada.tasks.translation.translator import Translator
from mirada.training.losses import TargetTokenLoss

Progress = Callable[[int], None]
"""Called with the number of texts that are done."""

LOSS_CELLS = 4000
"""Tokens in a batch of dev pairs whose loss is computed."""

Languages = tuple[str | None, str | None]
"""Source and target."""


class TranslationModel(Explaining, Looking, GenerativeModel):
    """A trained translator, opened from its bundle."""

    example = 'mirada translate {path} "…"'
    network: GenerativeNetwork
    preprocessor: TranslationPreprocessor

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
        self.directions = Directions(preprocessor.source, card.get("languages") or _languages(config), path)
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

    @classmethod
    def ensemble(cls, path: Path, members: Sequence[Any]) -> TranslationModel:
        """Translators with the same tokenizer as one, which averages their probabilities."""
        from mirada.tasks.translation.ensemble import TranslationEnsemble

        for member in members:
            if not isinstance(member, TranslationModel):
                raise UsageError(f"{path}: {member.path} is a model for {member.card['task']}, not for translation")
        return TranslationEnsemble(path, members)

    def ids(self, text: str) -> list[int]:
        return self.source_tokenizer.encode([text])[0]

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        to: str | None = ...,
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
        to: str | None = ...,
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
        to: str | None = None,
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
        and `notes` say what went wrong. A model of two directions translates into the language `to`; without it the
        language of the texts decides, and the notes say so.
        """
        config, prefix = self.decode_config(**decode), check_text(prefix, "the prefix")
        given = [texts] if isinstance(texts, str) else check_texts(texts)
        to, notes = self._direction(to, given)
        terms = None if glossary is None else self._terms(open_glossary(glossary), config, to)
        recall = None if memory is None else self._recall(self.open_memory(memory, to), memory_threshold)
        found = self.translator.translate(given, config, prefix, progress, terms, recall, self._direction_to(to))
        if notes:
            found = [replace(translation, notes=(*notes, *translation.notes)) for translation in found]
        return found[0] if isinstance(texts, str) else found

    def _direction(self, to: str | None, texts: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
        """The given direction, or else the one that suits the texts, with a note that it was guessed."""
        if to is not None or not self.directions.both or not any(map(str.strip, texts)):
            return self.directions.find(to), ()
        to, note = self.directions.guess(texts)
        return to, (note,)

    def _direction_to(self, to: str | None) -> Direction:
        """The tag and the source language of a direction."""
        return Direction(list(self.directions.tag(to)), *self.directions.pair(to))

    def open_memory(self, memory: MemoryLike, to: str | None = None) -> TranslationMemory:
        """The translation memory of a file, in the languages of a direction."""
        return open_memory(memory, *self.directions.pair(self.directions.find(to)))

    @staticmethod
    def _recall(memory: TranslationMemory, threshold: float) -> Recall:
        """What finds the best match of each sentence in a memory."""
        least = check_threshold(threshold)
        return lambda sentences: memory.find(sentences, least)

    def _terms(self, glossary: Glossary, config: DecodeConfig, to: str | None) -> Find:
        """What finds the terms of a glossary in a sentence."""
        if config.sample:
            raise UsageError("--glossary: cannot be combined with --sample; leave out one of them")
        glossary.check(self.target_tokenizer, self.translator.longest)
        source = self.directions.pair(to)[0]
        return lambda sentence: glossary.find(sentence, source)

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

        The test set may also be a `source` file and its `target` files. Its languages default to the model's. A model
        of two directions is scored in both.
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
        if not self.directions.both:
            return self._score(dev, None, **decode)
        ways = {self.directions.arrow(to): self._score(dev, to, **decode) for to in self.directions.ways}
        return BothWays.of(ways)

    def _score(self, dev: Examples, to: str | None, **decode: Unpack[DecodeOptions]) -> TranslationScores:
        """The scores of one direction."""
        examples = turned(dev, to, self.directions)
        sources, references = [source for source, _ in examples], [given for _, given in examples]
        found = self.translate(sources, to=to, progress=self._report(len(sources)), **decode)
        outputs = [translation.text for translation in found]
        return with_notes(evaluate(sources, outputs, references, self._bleu_tokenizer(references, to)), found)

    def validate(self, dev: Examples, size: int) -> Validation:
        """Greedy translations of a sample of the dev set: chrF++, BLEU, and the loss of the references.

        Two directions share the sample, and their figures are averaged.
        """
        ways = self.directions.ways
        found = [self._validate(turned(dev, to, self.directions), max(1, size // len(ways)), to) for to in ways]
        figures = {name: mean(one.figures[name] for one in found) for name in found[0].figures}
        return replace(found[0], score=mean(one.score for one in found), figures=figures)

    def _validate(self, dev: Examples, size: int, to: str | None) -> Validation:
        sources, references = zip(*self.sample(dev, size), strict=True)
        # An untrained model babbles up to the length limit, so the limit is low here.
        config, direction = DecodeConfig(beam=1, max_ratio=1.2, recover=False), self._direction_to(to)
        done = self.translator.translate(sources, config, progress=self._report(len(sources)), direction=direction)
        outputs = [translation.text for translation in done]
        shown = min(range(len(sources)), key=lambda i: abs(len(sources[i].split()) - 8))
        example = (sources[shown], outputs[shown], references[shown][0])
        figures = {"BLEU": bleu(outputs, references, self._bleu_tokenizer(references, to))}
        figures["loss"] = self._loss(sources, [given[0] for given in references], direction.tag)
        return Validation(chrf(outputs, references), "chrF++", figures=figures, example=example)

    @torch.inference_mode()
    def _loss(self, sources: Sequence[str], targets: Sequence[str], tag: Sequence[int] = ()) -> float:
        """The mean −log p of a token of the references; NaN if all are too long for the model."""
        encoded = [[*tag, *source] for source in self.source_tokenizer.encode(sources)]
        ids = zip(encoded, self.target_tokenizer.encode(targets), strict=True)
        pairs = [pair for pair in ids if max(map(len, pair)) < self.config["model"]["max_length"]]
        measure, total, count = TargetTokenLoss(), 0.0, 0
        for numbers in similar([len(source) + len(target) for source, target in pairs], LOSS_CELLS):
            chosen = [pairs[number] for number in numbers]
            loss = measure(self.network, collate_pairs(*zip(*chosen, strict=True)).to(self.device))
            total, count = total + float(loss.total), count + loss.count
        return total / count if count else float("nan")

    def snapshot(self, dev: Examples) -> Snapshot | None:
        return snapshot_of(self.network, self.preprocessor, dev, self.directions, self.config["model"]["max_length"])

    def _bleu_tokenizer(self, references: Sequence[Sequence[str]], to: str | None = None) -> str:
        return bleu_tokenizer(to or self.config.get("data", {}).get("target_language"), references)

    def _report(self, total: int) -> Callable[[int], None]:
        return lambda done: self.progress(done, total)

    def fill(
        self,
        catalog: str | Path,
        *,
        keep_damaged: bool = False,
        force: bool = False,
        to: str | None = None,
        **decode: Unpack[DecodeOptions],
    ) -> Filling:
        """Translate the untranslated entries of a gettext catalog (.po), marked fuzzy; the rest stays byte for byte.

        `keep_damaged` keeps translations that lost placeholders, `force` fills a catalog in another language. A model
        of two directions has to be told which language is `to` be filled in.
        """
        found = Catalog(catalog)
        source, target = self.languages(to)
        doubts = check_language(found, source, target, force)
        lines = lines_of(found)
        translated = self.translate(lines, to=to, **self.fill_options(**decode))
        filling = fill(found, dict(zip(lines, translated, strict=True)), keep_damaged)
        return replace(filling, doubts=tuple(doubts))

    def translate_document(
        self,
        path: str | Path,
        out: str | Path | None = None,
        *,
        columns: str | Sequence[str] = (),
        to: str | None = None,
        **decode: Unpack[DecodeOptions],
    ) -> documents.DocumentTranslation:
        """Translate a text, Markdown, HTML, SRT, VTT, PO, TMX, CSV, TSV, JSONL, DOCX or ODT file, only its text.

        The result is written to `out`, which must be new, if that is given. `columns` says which columns or fields of a
        table to translate: `"text"` in place, `("text", "translation")` into another one.
        """
        if out is not None:
            documents.check_new(Path(out))
        if foreign(path) == "po":
            result = documents.of_catalog(self.fill(path, to=to, **decode))
        else:
            document = self.open_document(path, [columns] if isinstance(columns, str) else columns, to)
            texts, options = documents.texts_of(document), self.fill_options(**decode)
            found = documents.translate_texts(
                texts, lambda some: self.translate(some, to=to, **options), document.markup
            )
            result = documents.assemble(document, dict(zip(texts, found, strict=True)))
        if out is not None:
            documents.write_document(Path(out), result.content)
        return result

    def open_document(self, path: str | Path, columns: Sequence[str] = (), to: str | None = None) -> Document:
        """Read a document in the source language of a direction."""
        return read_document(path, Options(tuple(columns), *self.languages(to)))

    def languages(self, to: str | None = None) -> Languages:
        """Source and target language of a direction, which has to be named if there are two."""
        if to is None and self.directions.both:
            known = " or ".join(f"--to {code}" for code in self.directions.codes)
            raise UsageError(f"{self.path}: translates both ways; choose the direction: {known}")
        return self.directions.pair(self.directions.find(to))

    def fill_options(self, **decode: Unpack[DecodeOptions]) -> DecodeOptions:
        """Decoding options for catalogs and documents: several translations to choose from."""
        wanted = decode.get("n_best") or 5
        return {**decode, "n_best": min(wanted, self.decode_config(**decode).beam)}

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word embeddings of one side, source or target."""
        if side not in ("source", "target"):
            raise UsageError(f"--side {side}: there are source and target")
        table: nn.Embedding = getattr(self.network, f"{side}_embedding")
        return Embeddings(getattr(self, f"{side}_tokenizer"), table.weight.detach().cpu(), self.path)


def _languages(config: Values) -> dict[str, str | None]:
    """The languages of a model that has no card yet."""
    return {side: config.get("data", {}).get(f"{side}_language") for side in ("source", "target")}


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
