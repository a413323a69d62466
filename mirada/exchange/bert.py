"""BERT as published: with its outputs for hidden words and the next sentence, with one of them, or with none; or with
an output for the classes of a text or the tags of its words.
"""

from __future__ import annotations

from functools import partial

from mirada.contracts import Sizes
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import Checkpoint
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings, labels_of, prefix_of
from mirada.exchange.mapping import Row, Table, check_words, fill
from mirada.models.bert import Bert, BertConfig, BertForPretraining

THEIRS, OURS = "encoder.layer.{}", "encoder.layers.{}"
ROWS = [
    Row("embeddings.word_embeddings.weight", "embedding.weight", words=True),
    Row("embeddings.position_embeddings.weight", "positions.table"),
    Row("embeddings.token_type_embeddings.weight", "segments.weight"),
    Row("embeddings.LayerNorm", "norm"),
    Row(f"{THEIRS}.attention.self.query", f"{OURS}.self_.query"),
    Row(f"{THEIRS}.attention.self.key", f"{OURS}.self_.key"),
    Row(f"{THEIRS}.attention.self.value", f"{OURS}.self_.value"),
    Row(f"{THEIRS}.attention.output.dense", f"{OURS}.self_.output"),
    Row(f"{THEIRS}.attention.output.LayerNorm", f"{OURS}.add_self.norm"),
    Row(f"{THEIRS}.intermediate.dense", f"{OURS}.feed_forward.inner"),
    Row(f"{THEIRS}.output.dense", f"{OURS}.feed_forward.outer"),
    Row(f"{THEIRS}.output.LayerNorm", f"{OURS}.add_feed_forward.norm"),
]
POOLER = [Row("pooler.dense", "pooler")]
MASKED = [
    Row("cls.predictions.transform.dense", "masked.dense"),
    Row("cls.predictions.transform.LayerNorm", "masked.norm"),
    Row("cls.predictions.bias", "masked.output.bias", words=True),
]
FOLLOWS = [Row("cls.seq_relationship", "follows")]
CLASSES = [Row("classifier", "output")]
TASKS = {"BertForSequenceClassification": "classification", "BertForTokenClassification": "tagging"}
"""Of a checkpoint with a classifier, by the name of its architecture."""


def read(source: Checkpoint) -> Imported:
    """A BERT with the outputs it was published with; those it has not are there too, untrained, and are named."""
    s, prefix = source.settings, prefix_of(source, "bert.")
    task = _task(source)
    s.only(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    s.only(type_vocab_size=2, tie_word_embeddings=True)
    check_words(source, f"{prefix}embeddings.word_embeddings.weight")
    words = vocabulary.bert(source.folder, s)
    values = {
        "width": s.integer("hidden_size"),
        "heads": s.integer("num_attention_heads"),
        "layers": s.integer("num_hidden_layers"),
        "feed_forward": s.integer("intermediate_size"),
        "max_length": s.integer("max_position_embeddings"),
        "activation": s.choice("hidden_act", ACTIVATIONS, "gelu"),
        "eps": s.number("layer_norm_eps", 1e-12),
    }
    settings = build_settings(source, BertConfig, values)
    pooler = [row.below(prefix) for row in POOLER]
    rows, untrained, notes = [row.below(prefix) for row in ROWS], [], []
    labels: tuple[str, ...] = ()
    kind: type[Bert] = BertForPretraining
    if task == "masked_lm":
        parts = {"pooler": pooler, "output for hidden words": MASKED, "output for the next sentence": FOLLOWS}
    else:
        labels, kind, parts = labels_of(source), Bert, {"pooler": pooler}
        rows += CLASSES
    for part, more in parts.items():
        if any(name.startswith(more[0].theirs) for name in source.names):
            rows += more
            continue
        untrained += [row.ours for row in more]
        if task != "tagging":  # that does not pool
            notes.append(f"the checkpoint has no {part}: here it is untrained")
    table = Table(
        rows,
        ties={
            "cls.predictions.decoder.weight": f"{prefix}embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        harmless=[f"{prefix}embeddings.position_ids"],
        order=words.order,
        untrained=[f"{name}*" for name in untrained],
    )
    network = fill(partial(kind, settings, Sizes(words.size, len(labels) or words.size)), source, table)
    random = tuple(dict.fromkeys(name.split(".")[0] for name in untrained))
    return Imported(
        "bert",
        task,
        settings.model_dump(),
        network,
        words.tokenizer,
        labels=labels,
        notes=tuple(notes),
        untrained=random,
    )


def _task(source: Checkpoint) -> str:
    """What it is for; one with a classifier says of what, and that of a text needs a pooler and several classes."""
    s = source.settings
    named = s.values.get("architectures")
    architecture = named[0] if isinstance(named, list) and len(named) == 1 and isinstance(named[0], str) else ""
    if "classifier.weight" not in source.names:
        if architecture in TASKS:
            raise DataError(f"{source.where}: has no classifier.weight, which a {architecture} has")
        return "masked_lm"
    if architecture not in TASKS:
        known = " or ".join(TASKS)
        raise DataError(f"{s.path}: architectures={named!r} does not say what its classifier is for, as {known} do")
    if (kind := s.values.get("problem_type")) not in (None, "single_label_classification"):
        raise DataError(f"{s.path}: problem_type={kind!r} is not known here, only single_label_classification")
    if source.shape("classifier.weight")[:1] < (2,):
        raise DataError(
            f"{source.where}: classifier.weight has one row: a number and no class, which is not known here"
        )
    if TASKS[architecture] == "classification" and not any("pooler.dense" in name for name in source.names):
        raise DataError(f"{source.where}: has no pooler.dense.weight, which a {architecture} has")
    return TASKS[architecture]
