"""Read Marian (OPUS-MT): the post-norm Transformer with one shared embedding and an output bias."""

from __future__ import annotations

import torch

from mirada.contracts import BOS, Sizes
from mirada.data.sources import DataConfig
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import ACTIVATIONS, Checkpoint, CheckpointConfig, ImportedModel
from mirada.exchange.mapping import NEVER, Row, WeightMap, check_vocabulary_size, layer_rows, load_weights
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.positions import Sinusoidal
from mirada.tasks.translation.data import TranslationPreprocessor

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


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read a translator. Its decoder starts with PAD, so BOS is a copy of PAD here.

    BOS is never generated, nor are the pieces that only SentencePiece has, whose rows are copies of <unk>.
    """
    config = checkpoint.config
    config.require(scale_embedding=True, normalize_before=False, normalize_embedding=False, add_final_layer_norm=False)
    config.require(static_position_embeddings=True, share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    heads, inner = config.integer("encoder_attention_heads"), config.integer("encoder_ffn_dim")
    config.require(decoder_attention_heads=heads, decoder_ffn_dim=inner)
    check_vocabulary_size(checkpoint, EMBEDDING)
    source, target = vocabulary.marian(checkpoint.folder, config)
    values = {
        "width": config.integer("d_model"),
        "heads": heads,
        "encoder_layers": config.integer("encoder_layers"),
        "decoder_layers": config.integer("decoder_layers"),
        "feed_forward": inner,
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
