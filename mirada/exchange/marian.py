"""Read and write translators: encoder–decoder Transformers with one shared embedding.

    Marian      post-norm, sinusoidal positions     read (OPUS-MT) and written
    Pegasus     pre-norm, sinusoidal positions      written
    Blenderbot  pre-norm, learned positions         written

Their sinusoidal positions have all sines before all cosines. Where ours alternate, the width is permuted: a Transformer
computes the same whatever the order of its width is, as long as all weights have the same.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mirada.config import Values
from mirada.contracts import BOS, EOS, PAD, Sizes
from mirada.data.sources import DataConfig
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import (
    ACTIVATIONS,
    EXPORTED_ACTIVATIONS,
    Checkpoint,
    CheckpointConfig,
    ExportedModel,
    ImportedModel,
    not_exportable,
)
from mirada.exchange.mapping import (
    NEVER,
    Row,
    WeightMap,
    check_vocabulary_size,
    layer_rows,
    load_weights,
    store_weights,
)
from mirada.exchange.tokenizer_files import tokenizer_files
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.blocks import FeedForward, MultiHead
from mirada.nn.positions import AddedPositions, Sinusoidal
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import TranslationPreprocessor

ENCODER_LAYER = {
    "self_attn.q_proj": "self_.query",
    "self_attn.k_proj": "self_.key",
    "self_attn.v_proj": "self_.value",
    "self_attn.out_proj": "self_.output",
    "self_attn_layer_norm": "add_self.norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "add_feed_forward.norm",
}
DECODER_LAYER = ENCODER_LAYER | {
    "encoder_attn.q_proj": "cross.query",
    "encoder_attn.k_proj": "cross.key",
    "encoder_attn.v_proj": "cross.value",
    "encoder_attn.out_proj": "cross.output",
    "encoder_attn_layer_norm": "add_cross.norm",
}
EMBEDDING = "model.shared.weight"
BIAS = Row("final_logits_bias", "output.bias", vocabulary=True, reshaped=True)
ROWS = [
    Row(EMBEDDING, "source_embedding.weight", vocabulary=True),
    *layer_rows("model.encoder.layers", "encoder.layers", ENCODER_LAYER),
    *layer_rows("model.decoder.layers", "decoder.layers", DECODER_LAYER),
]
COPIES = ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"]
POSITIONS = ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"]
FINAL_NORMS = [
    Row("model.encoder.layer_norm", "encoder.final_norm"),
    Row("model.decoder.layer_norm", "decoder.final_norm"),
]
SIZES = {
    "d_model": "width",
    "encoder_attention_heads": "heads",
    "decoder_attention_heads": "heads",
    "encoder_layers": "encoder_layers",
    "decoder_layers": "decoder_layers",
    "encoder_ffn_dim": "feed_forward",
    "decoder_ffn_dim": "feed_forward",
}
"""Sizes in config.json, and our settings."""
CLASSES = {
    "marian": "MarianMTModel",
    "pegasus": "PegasusForConditionalGeneration",
    "blenderbot": "BlenderbotForConditionalGeneration",
}
"""Classes of `transformers` by their `model_type`."""


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read a translator. Its decoder starts with PAD, so BOS is a copy of PAD here.

    BOS is never generated, nor are the pieces that only SentencePiece has, whose rows are copies of <unk>.
    """
    config = checkpoint.config
    config.require(scale_embedding=True, normalize_before=False, normalize_embedding=False, add_final_layer_norm=False)
    config.require(static_position_embeddings=True, share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    config.require(decoder_attention_heads=config.integer("encoder_attention_heads"))
    config.require(decoder_ffn_dim=config.integer("encoder_ffn_dim"))
    check_vocabulary_size(checkpoint, EMBEDDING)
    source, target = vocabulary.marian(checkpoint.folder, config)
    values = {
        **{ours: config.integer(theirs) for theirs, ours in SIZES.items()},
        "activation": config.choice("activation_function", ACTIVATIONS, "gelu"),
        "norm": "post",
        "positions": "halves",
        "tie": "all",
        "output_bias": True,
        "max_length": config.integer("max_position_embeddings") - 1,  # one position is for BOS
    }
    settings = config.build(TransformerConfig, values)
    biased = BIAS.theirs in checkpoint.names  # otherwise it is 0
    weights = WeightMap(
        [*ROWS, BIAS] if biased else ROWS,
        tied=dict.fromkeys(COPIES, EMBEDDING),
        ignored=POSITIONS,
        order=source.order,
        untrained=[] if biased else [BIAS.ours],
    )
    network = load_weights(lambda: Transformer(settings, Sizes(source.size, target.size)), checkpoint, weights)
    positions = Sinusoidal(settings.max_length + 1, settings.width, halves=True).table
    for name in POSITIONS:
        if name in checkpoint.names and not torch.allclose(checkpoint.tensor(name), positions, atol=1e-4):
            raise DataError(f"{checkpoint.weights}: {name} should be sinusoidal, as Marian's positions are")
    with torch.no_grad():
        network.output.bias[[BOS, *source.unknown]] = NEVER
    names = CheckpointConfig(checkpoint.folder / "tokenizer_config.json", optional=True).values
    languages = [names[key] if isinstance(names.get(key), str) else None for key in ("source_lang", "target_lang")]
    longest = min(DataConfig.model_fields["max_tokens"].default, settings.max_length - 1)
    return ImportedModel(
        "marian",
        "translation",
        settings.model_dump(),
        network,
        TranslationPreprocessor(source.tokenizer, target.tokenizer),
        {"source_language": languages[0], "target_language": languages[1], "max_tokens": longest},
        {"vocabulary": source.size},
    )


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(model: TranslationModel) -> ExportedModel:
    """Write a translator as the class of `transformers` that computes the same."""
    network = model.network
    if not isinstance(network, Transformer):
        raise not_exportable(model.path, f"transformers has no class for {model.card['model']}")
    c, kind = network.config, _model_type(model)
    network = in_halves(network) if c.positions == "sinusoidal" else network
    rows = [*ROWS, *FINAL_NORMS] if c.norm == "pre" else ROWS
    rows = [*rows, BIAS] if c.output_bias else rows
    tensors = store_weights(network, WeightMap(rows, untrained=["positions.table"]))
    if c.output_bias:
        tensors[BIAS.theirs] = tensors[BIAS.theirs].view(1, -1)
    places = network.positions.table if isinstance(network.positions, AddedPositions) else torch.zeros(1)
    for name in POSITIONS:
        tensors[name] = places.detach().cpu().expand(c.max_length + 1, c.width).clone()
    ids: Values = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    ids["forced_eos_token_id"] = None
    repeats = {"encoder_no_repeat_ngram_size": 0} if kind == "blenderbot" else {}
    config = {
        "model_type": kind,
        "vocab_size": network.source_embedding.num_embeddings,
        **{theirs: getattr(c, ours) for theirs, ours in SIZES.items()},
        "max_position_embeddings": c.max_length + 1,  # one position is for BOS
        "activation_function": EXPORTED_ACTIVATIONS[c.activation],
        "dropout": c.dropout or 0.0,
        "scale_embedding": True,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
        **ids,
        **repeats,
    }
    decode = model.decode_config()
    generation = {
        "num_beams": decode.beam,
        **({"length_penalty": decode.length_penalty, "early_stopping": False} if decode.beam > 1 else {}),
        "max_length": c.max_length,
        "suppress_tokens": [PAD, BOS],
        **ids,
        **repeats,
    }
    preprocessor: TranslationPreprocessor = model.preprocessor
    tokenizer = vocabulary.merged(preprocessor.source, preprocessor.target)
    languages = {f"{side}_lang": tag for side, tag in model.card["languages"].items() if tag}
    files = tokenizer_files(tokenizer, c.max_length, more=languages, frame="$A </s>", pair="$A </s> $B </s>")
    return ExportedModel(CLASSES[kind], config, tensors, {**files, "generation_config.json": generation})


def _model_type(model: TranslationModel) -> str:
    """The `model_type` of a class that computes what a model does."""
    network = model.network
    assert isinstance(network, Transformer)
    c = network.config
    if c.positions == "rotary":
        raise not_exportable(model.path, "no class for translation has rotary positions (model.positions=rotary)")
    if c.tie != "all":
        raise not_exportable(
            model.path,
            f"source, target and output share one embedding there, and this model's do not (model.tie={c.tie})",
        )
    fixed = c.positions in ("sinusoidal", "halves")
    if c.norm == "post" and not fixed:
        raise not_exportable(
            model.path, f"no post-norm class has model.positions={c.positions}; only sinusoidal ones can be exported"
        )
    return "marian" if c.norm == "post" else "pegasus" if fixed else "blenderbot"


def in_halves(network: Transformer) -> Transformer:
    """The same model with another order of its width: all sines of its positions before all cosines."""
    changed, width = copy.deepcopy(network), network.config.width
    order = [*range(0, width, 2), *range(1, width, 2)]

    def permute(rows: Sequence[Any], columns: Sequence[Any] = ()) -> None:
        for module in rows:
            module.weight.data, module.bias.data = module.weight.data[order], module.bias.data[order]
        for module in columns:
            module.weight.data = module.weight.data[:, order]

    for module in changed.modules():
        if isinstance(module, nn.Embedding):
            permute((), (module,))
        elif isinstance(module, nn.LayerNorm):
            permute((module,))
        elif isinstance(module, MultiHead):  # the heads' own width keeps its order
            permute((module.output,), (module.query, module.key, module.value))
            module.packed = module.packed_bias = None  # they have the old order
        elif isinstance(module, FeedForward):
            permute((module.outer,), (module.inner,))
    changed.positions = Sinusoidal(network.config.max_length + 1, width, halves=True)
    return changed
