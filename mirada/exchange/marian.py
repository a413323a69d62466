"""Marian (OPUS-MT) as published: the Transformer, post-norm, one table of words for all, and a bias for every word."""

from __future__ import annotations

import torch

from mirada.contracts import BOS, Sizes
from mirada.errors import DataError
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import Checkpoint, read_json
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings
from mirada.exchange.mapping import NEVER, Row, Table, check_words, fill
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.positions import Sinusoidal

BOTH = {
    "self_attn.q_proj": "self_.query",
    "self_attn.k_proj": "self_.key",
    "self_attn.v_proj": "self_.value",
    "self_attn.out_proj": "self_.output",
    "self_attn_layer_norm": "add_self.norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "add_feed_forward.norm",
}
DECODER = BOTH | {
    "encoder_attn.q_proj": "cross.query",
    "encoder_attn.k_proj": "cross.key",
    "encoder_attn.v_proj": "cross.value",
    "encoder_attn.out_proj": "cross.output",
    "encoder_attn_layer_norm": "add_cross.norm",
}
BIAS = Row("final_logits_bias", "output.bias", words=True, flat=True)
ROWS = [
    Row("model.shared.weight", "source_embedding.weight", words=True),
    *(Row(f"model.encoder.layers.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in BOTH.items()),
    *(Row(f"model.decoder.layers.{{}}.{theirs}", f"decoder.layers.{{}}.{ours}") for theirs, ours in DECODER.items()),
]
COPIES = ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"]
WAVES = ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"]


def read(source: Checkpoint) -> Imported:
    """A translator. Its decoder begins with PAD, so BOS is a copy of that here, which it never says.

    Nor does it say the pieces that only SentencePiece knows: each is a copy of <unk>, to be read.
    """
    s = source.settings
    s.only(scale_embedding=True, normalize_before=False, normalize_embedding=False, add_final_layer_norm=False)
    s.only(static_position_embeddings=True, share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    heads, inner = s.integer("encoder_attention_heads"), s.integer("encoder_ffn_dim")
    s.only(decoder_attention_heads=heads, decoder_ffn_dim=inner)
    check_words(source, "model.shared.weight")
    from_, to = vocabulary.marian(source.folder, s)
    values = {
        "width": s.integer("d_model"),
        "heads": heads,
        "encoder_layers": s.integer("encoder_layers"),
        "decoder_layers": s.integer("decoder_layers"),
        "feed_forward": inner,
        "activation": s.choice("activation_function", ACTIVATIONS, "gelu"),
        "norm": "post",
        "positions": "halves",
        "tie": "all",
        "output_bias": True,
        "max_length": s.integer("max_position_embeddings") - 1,  # BOS has a place of its own
    }
    settings = build_settings(source, TransformerConfig, values)
    biased = BIAS.theirs in source.names  # without, it is 0
    table = Table(
        [*ROWS, BIAS] if biased else ROWS,
        ties=dict.fromkeys(COPIES, "model.shared.weight"),
        harmless=WAVES,
        order=from_.order,
        untrained=[] if biased else [BIAS.ours],
    )
    network = fill(lambda: Transformer(settings, Sizes(from_.size, to.size)), source, table)
    waves = Sinusoidal(settings.max_length + 1, settings.width, halves=True).table
    for name in WAVES:
        if name in source.names and not torch.allclose(source.tensor(name), waves, atol=1e-4):
            raise DataError(f"{source.where}: {name} should be sines and cosines, as Marian's positions are")
    with torch.no_grad():
        network.output.bias[[BOS, *from_.doubles]] = NEVER
    target = None if to is from_ else to.tokenizer
    languages = _languages(source)
    return Imported(
        "marian", "translation", settings.model_dump(), network, from_.tokenizer, target, languages=languages
    )


def _languages(source: Checkpoint) -> tuple[str | None, str | None]:
    """From and to, if the files say it."""
    path = source.folder / "tokenizer_config.json"
    told = read_json(path) if path.exists() else {}
    from_, to = (told.get(key) if isinstance(told.get(key), str) else None for key in ("source_lang", "target_lang"))
    return from_, to
