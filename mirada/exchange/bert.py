"""Read and write BERT: pre-trained, with all of its heads or some, or fine-tuned for classification or tagging."""

from __future__ import annotations

from functools import partial

import torch

from mirada.config import Values
from mirada.contracts import PAD, Sizes
from mirada.data.tokenizer import Tokenizer
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import (
    Checkpoint,
    ExportedModel,
    ImportedModel,
    encoder_config,
    label_config,
    not_exportable,
)
from mirada.exchange.mapping import Row, WeightMap, check_vocabulary_size, layer_rows, load_weights, store_weights
from mirada.exchange.tokenizer_files import tokenizer_files
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.tasks.classification.data import ClassificationPreprocessor
from mirada.tasks.masked_lm.data import MaskedLMPreprocessor
from mirada.tasks.model import Model
from mirada.tasks.tagging.tags import TaggingPreprocessor
from mirada.tasks.task import Preprocessor

LAYER = {
    "attention.self.query": "self_.query",
    "attention.self.key": "self_.key",
    "attention.self.value": "self_.value",
    "attention.output.dense": "self_.output",
    "attention.output.LayerNorm": "add_self.norm",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "output.LayerNorm": "add_feed_forward.norm",
}
ROWS = [
    Row("embeddings.word_embeddings.weight", "embedding.weight", vocabulary=True),
    Row("embeddings.position_embeddings.weight", "positions.table"),
    Row("embeddings.token_type_embeddings.weight", "segments.weight"),
    Row("embeddings.LayerNorm", "norm"),
    *layer_rows("encoder.layer", "encoder.layers", LAYER),
]
POOLER = [Row("pooler.dense", "pooler")]
MASKED = [
    Row("cls.predictions.transform.dense", "masked.dense"),
    Row("cls.predictions.transform.LayerNorm", "masked.norm"),
    Row("cls.predictions.bias", "masked.output.bias", vocabulary=True),
]
FOLLOWS = [Row("cls.seq_relationship", "follows")]
CLASSES = [Row("classifier", "output")]
TASKS = {"BertForSequenceClassification": "classification", "BertForTokenClassification": "tagging"}
"""Tasks by the architecture of a checkpoint that has a classifier."""
MAX_LENGTH = 8192
"""The most tokens of a masked-LM example."""


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read a BERT. Heads that the checkpoint does not have are there too, untrained, and are noted."""
    config, prefix = checkpoint.config, checkpoint.prefix("bert.")
    task = _task(checkpoint)
    config.require(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    config.require(type_vocab_size=2, tie_word_embeddings=True)
    embedding = f"{prefix}embeddings.word_embeddings.weight"
    check_vocabulary_size(checkpoint, embedding)
    tokens = vocabulary.bert(checkpoint.folder, config)
    length = config.integer("max_position_embeddings")
    settings = config.build(BertConfig, config.encoder() | {"max_length": length})
    labels = [] if task == "masked_lm" else checkpoint.labels()
    preprocessor, data, report = _task_parts(task, tokens.tokenizer, labels, length)
    heads, untrained, notes = _heads(checkpoint, task, prefix)
    weights = WeightMap(
        [*(row.below(prefix) for row in ROWS), *heads],
        tied={
            "cls.predictions.decoder.weight": embedding,
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        ignored=[f"{prefix}embeddings.position_ids"],
        order=tokens.order,
        untrained=[f"{name}*" for name in untrained],
    )
    kind = BertForPretraining if task == "masked_lm" else Bert
    sizes = Sizes(tokens.size, len(labels) or tokens.size)
    return ImportedModel(
        "bert",
        task,
        settings.model_dump(),
        load_weights(partial(kind, settings, sizes), checkpoint, weights),
        preprocessor,
        data,
        report,
        tuple(notes),
        tuple(dict.fromkeys(name.split(".")[0] for name in untrained)),
    )


def _task_parts(task: str, words: Tokenizer, labels: list[str], length: int) -> tuple[Preprocessor, Values, Values]:
    """The preprocessor of a task, its section `data`, and its data report."""
    report: Values = {"vocabulary": words.size}
    if task == "masked_lm":
        return MaskedLMPreprocessor(words), {"length": min(length - 1, MAX_LENGTH)}, report
    counts, most = dict.fromkeys(labels, 0), length - 2  # without the first and the last token
    if task == "tagging":
        return TaggingPreprocessor(words, labels), {"max_tokens": most, "tags": "labels"}, {**report, "tags": counts}
    return ClassificationPreprocessor(words, labels), {"max_tokens": most}, {**report, "classes": counts}


def _heads(checkpoint: Checkpoint, task: str, prefix: str) -> tuple[list[Row], list[str], list[str]]:
    """The rows of the heads that a checkpoint has; the parameters of those that it does not have, and notes on them."""
    optional = {"pooler": [row.below(prefix) for row in POOLER]}
    if task == "masked_lm":
        optional |= {"masked-LM head": MASKED, "next-sentence head": FOLLOWS}
    rows = [] if task == "masked_lm" else [*CLASSES]
    untrained, notes = list[str](), list[str]()
    for part, more in optional.items():
        if any(name.startswith(more[0].theirs) for name in checkpoint.names):
            rows += more
            continue
        untrained += [row.ours for row in more]
        if task != "tagging":  # which does not pool
            notes.append(f"the checkpoint has no {part}, so it is untrained")
    return rows, untrained, notes


def _task(checkpoint: Checkpoint) -> str:
    """The task by the checkpoint's head; a text classifier must have a pooler and at least two classes."""
    config, weights = checkpoint.config, checkpoint.weights
    named = config.values.get("architectures")
    architecture = named[0] if isinstance(named, list) and len(named) == 1 and isinstance(named[0], str) else ""
    if "classifier.weight" not in checkpoint.names:
        if architecture in TASKS:
            raise DataError(f"{weights}: has no classifier.weight, which {architecture} requires")
        return "masked_lm"
    if architecture not in TASKS:
        known = " or ".join(TASKS)
        raise DataError(f"{config.path}: architectures={named!r} should be {known} for a model with a classifier")
    if (kind := config.values.get("problem_type")) not in (None, "single_label_classification"):
        raise DataError(f"{config.path}: problem_type={kind!r} is not supported, only single_label_classification")
    if checkpoint.shape("classifier.weight")[:1] < (2,):
        raise DataError(f"{weights}: classifier.weight has one row; regression is not supported")
    if TASKS[architecture] == "classification" and not any("pooler.dense" in name for name in checkpoint.names):
        raise DataError(f"{weights}: has no pooler.dense.weight, which {architecture} requires")
    return TASKS[architecture]


def write(model: Model) -> ExportedModel:
    """Write a masked language model, a text classifier or a tagger."""
    network, task = model.network, model.card["task"]
    assert isinstance(network, Bert)
    c = network.config
    if c.norm == "pre":
        raise not_exportable(
            model.path, "BERT normalises after each sublayer, and this model before it (model.norm=pre)"
        )
    if c.positions == "rotary":
        raise not_exportable(model.path, "BERT has no rotary positions (model.positions=rotary)")
    if task == "tagging" and model.preprocessor.numeric:
        raise not_exportable(model.path, "no class predicts a number for every token, as this tagger does")
    untrained = model.card.get("imported", {}).get("untrained", ())
    heads = {"pooler": [row.below("bert.") for row in POOLER], "masked": MASKED, "follows": FOLLOWS}
    if task == "masked_lm":
        masked, follows = (head not in untrained for head in ("masked", "follows"))
        architecture = ("BertForPreTraining" if follows else "BertForMaskedLM") if masked else "BertModel"
    else:
        architecture = next(name for name, of in TASKS.items() if of == task)
        heads = {"pooler": heads["pooler"]} if task == "classification" else {}
    rows = [row.below("bert.") for row in ROWS] + (CLASSES if task != "masked_lm" else [])
    rows += [row for head, own in heads.items() if head not in untrained for row in own]
    tensors = store_weights(network, WeightMap(rows, untrained=["pooler.*", *(f"{head}.*" for head in untrained)]))
    if c.positions == "none":
        tensors["bert.embeddings.position_embeddings.weight"] = torch.zeros(c.max_length, c.width)
    config = {
        "model_type": "bert",
        "vocab_size": network.embedding.num_embeddings,
        **encoder_config(c),
        "max_position_embeddings": c.max_length,
        "type_vocab_size": 2,
        "position_embedding_type": "absolute",
        "pad_token_id": PAD,
        **(label_config(model.preprocessor.labels) if task != "masked_lm" else {}),
    }
    names = {ours: theirs for theirs, ours in vocabulary.BERT_NAMES.items()}
    frame, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    words, gaps = model.preprocessor.tokenizer, task == "masked_lm"
    files = tokenizer_files(words, c.max_length, markers=gaps, frame=frame, pair=pair, names=names)
    apart = "what follows [MASK] without a space is read as a new word there"
    return ExportedModel(architecture, config, tensors, files, (apart,) if gaps and words.unit == "subwords" else ())
