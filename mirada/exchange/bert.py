"""BERT as published: with its outputs for hidden words and the next sentence, with one of them, or with none."""

from __future__ import annotations

from functools import partial

from mirada.contracts import Sizes
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import Checkpoint
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings, prefix_of
from mirada.exchange.mapping import Row, Table, fill
from mirada.models.bert import BertConfig, BertForPretraining

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


def read(source: Checkpoint) -> Imported:
    """A BERT with the outputs it was published with; those it has not are there too, untrained, and are named."""
    s, prefix = source.settings, prefix_of(source, "bert.")
    s.only(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    s.only(type_vocab_size=2, tie_word_embeddings=True)
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
    rows, untrained, notes = [row.below(prefix) for row in ROWS], [], []
    for part, more in (
        ("pooler", [row.below(prefix) for row in POOLER]),
        ("output for hidden words", MASKED),
        ("output for the next sentence", FOLLOWS),
    ):
        if any(name.startswith(more[0].theirs) for name in source.names):
            rows += more
        else:
            untrained += [f"{row.ours}*" for row in more]
            notes.append(f"the checkpoint has no {part}: here it is untrained")
    table = Table(
        rows,
        ties={
            "cls.predictions.decoder.weight": f"{prefix}embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        harmless=[f"{prefix}embeddings.position_ids"],
        order=words.order,
        untrained=untrained,
    )
    network = fill(partial(BertForPretraining, settings, Sizes(words.size, words.size)), source, table)
    return Imported("bert", "masked", settings.model_dump(), network, words.tokenizer, notes=tuple(notes))
