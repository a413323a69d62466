"""GPT-2 as published: matrices stored as [in, out], queries, keys and values in one, the output tied to the words."""

from __future__ import annotations

from functools import partial

import torch

from mirada.contracts import BOS, PAD, Sizes
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import Checkpoint
from mirada.exchange.imported import ACTIVATIONS, Imported, build_settings, prefix_of
from mirada.exchange.mapping import NEVER, NEW, Row, Table, check_words, fill
from mirada.models.gpt import GPT, GPTConfig

LAYER = "decoder.layers.{}"
ROWS = [
    Row("wte.weight", "embedding.weight", words=True),
    Row("wpe.weight", "positions.table"),
    Row("h.{}.ln_1", f"{LAYER}.add_self.norm"),
    Row("h.{}.attn.c_attn", f"{LAYER}.self_.query {LAYER}.self_.key {LAYER}.self_.value", turned=True),
    Row("h.{}.attn.c_proj", f"{LAYER}.self_.output", turned=True),
    Row("h.{}.ln_2", f"{LAYER}.add_feed_forward.norm"),
    Row("h.{}.mlp.c_fc", f"{LAYER}.feed_forward.inner", turned=True),
    Row("h.{}.mlp.c_proj", f"{LAYER}.feed_forward.outer", turned=True),
    Row("ln_f", "decoder.final_norm"),
]


def read(source: Checkpoint) -> Imported:
    """A GPT-2. PAD and BOS have rows of their own here, which it must never say: the output's bias sees to that."""
    s, prefix = source.settings, prefix_of(source, "transformer.")
    s.only(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    s.only(add_cross_attention=False, tie_word_embeddings=True)
    check_words(source, f"{prefix}wte.weight")
    words = vocabulary.gpt2(source.folder, s)
    values = {
        "width": s.integer("n_embd"),
        "heads": s.integer("n_head"),
        "layers": s.integer("n_layer"),
        "feed_forward": s.integer("n_inner", 4 * s.integer("n_embd")),
        "max_length": s.integer("n_positions", 1024),
        "activation": s.choice("activation_function", ACTIVATIONS, "gelu_new"),
        "eps": s.number("layer_norm_epsilon", 1e-5),
        "output_bias": True,
    }
    settings = build_settings(source, GPTConfig, values)
    table = Table(
        [row.below(prefix) for row in ROWS],
        ties={"lm_head.weight": f"{prefix}wte.weight"},
        harmless=[f"{prefix}h.*.attn.bias", f"{prefix}h.*.attn.masked_bias"],
        order=words.order,
        untrained=["output.bias"],
    )
    network = fill(partial(GPT, settings, Sizes(words.size, words.size, causal=True)), source, table)
    with torch.no_grad():
        network.output.bias.zero_()
        network.output.bias[[BOS, PAD] if words.order[PAD] == NEW else [BOS]] = NEVER
    return Imported("gpt2", "language_model", settings.model_dump(), network, words.tokenizer)
