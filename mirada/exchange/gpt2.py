"""Read GPT-2: matrices stored as [in, out], query, key and value concatenated, output tied to the embedding."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from mirada.contracts import BOS, PAD, Sizes
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import ACTIVATIONS, Checkpoint, ImportedModel
from mirada.exchange.mapping import NEVER, NEW, Row, WeightMap, check_vocabulary_size, load_weights
from mirada.models.gpt import GPT, GPTConfig
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, Spelling

LAYER = "decoder.layers.{}"
ROWS = [
    Row("wte.weight", "embedding.weight", vocabulary=True),
    Row("wpe.weight", "positions.table"),
    Row("h.{}.ln_1", f"{LAYER}.add_self.norm"),
    Row("h.{}.attn.c_attn", f"{LAYER}.self_.query {LAYER}.self_.key {LAYER}.self_.value", transposed=True),
    Row("h.{}.attn.c_proj", f"{LAYER}.self_.output", transposed=True),
    Row("h.{}.ln_2", f"{LAYER}.add_feed_forward.norm"),
    Row("h.{}.mlp.c_fc", f"{LAYER}.feed_forward.inner", transposed=True),
    Row("h.{}.mlp.c_proj", f"{LAYER}.feed_forward.outer", transposed=True),
    Row("ln_f", "decoder.final_norm"),
]


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read a GPT-2. PAD and BOS have rows of their own here; the output's bias keeps them from being generated."""
    config, prefix = checkpoint.config, checkpoint.prefix("transformer.")
    config.require(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    config.require(add_cross_attention=False, tie_word_embeddings=True)
    check_vocabulary_size(checkpoint, f"{prefix}wte.weight")
    tokens = vocabulary.gpt2(checkpoint.folder, config)
    values = {
        "width": config.integer("n_embd"),
        "heads": config.integer("n_head"),
        "layers": config.integer("n_layer"),
        "feed_forward": config.integer("n_inner", 4 * config.integer("n_embd")),
        "max_length": config.integer("n_positions", 1024),
        "activation": config.choice("activation_function", ACTIVATIONS, "gelu_new"),
        "eps": config.number("layer_norm_epsilon", 1e-5),
        "output_bias": True,
    }
    settings = config.build(GPTConfig, values)
    weights = WeightMap(
        [row.below(prefix) for row in ROWS],
        tied={"lm_head.weight": f"{prefix}wte.weight"},
        ignored=[f"{prefix}h.*.attn.bias", f"{prefix}h.*.attn.masked_bias"],
        order=tokens.order,
        untrained=["output.bias"],
    )
    network = load_weights(partial(GPT, settings, Sizes(tokens.size, tokens.size, causal=True)), checkpoint, weights)
    with torch.no_grad():
        network.output.bias.zero_()
        network.output.bias[[BOS, PAD] if tokens.order[PAD] == NEW else [BOS]] = NEVER
    words = tokens.tokenizer
    preprocessor = LanguageModelPreprocessor(Spelling(words), np.zeros(words.size, np.int64))
    report = {"unit": words.unit, "vocabulary": words.size}
    return ImportedModel("gpt2", "language_model", settings.model_dump(), network, preprocessor, report=report)
