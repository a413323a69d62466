"""Read and write GPT-2: matrices stored as [in, out], query, key and value concatenated, output tied to the input."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from mirada.config import Values
from mirada.contracts import BOS, EOS, PAD, Sizes
from mirada.exchange import vocabulary
from mirada.exchange.checkpoint import (
    ACTIVATIONS,
    EXPORTED_ACTIVATIONS,
    Checkpoint,
    ExportedModel,
    ImportedModel,
    not_exportable,
)
from mirada.exchange.mapping import NEVER, NEW, Row, WeightMap, check_vocabulary_size, load_weights, store_weights
from mirada.exchange.tokenizer_files import tokenizer_files
from mirada.models.gpt import GPT, GPTConfig
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, TextCodec

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
SIZES = {"n_embd": "width", "n_head": "heads", "n_layer": "layers"}
"""Sizes in config.json, and our settings."""
END = "<|endoftext|>"
SMALLEST_GAIN = 1e-3
"""Below that, the gains of the last normalisation cannot be divided by without losing precision."""


def read(checkpoint: Checkpoint) -> ImportedModel:
    """Read a GPT-2. PAD and BOS have rows of their own here; the output's bias keeps them from being generated."""
    config, prefix = checkpoint.config, checkpoint.prefix("transformer.")
    config.require(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    config.require(add_cross_attention=False, tie_word_embeddings=True)
    check_vocabulary_size(checkpoint, f"{prefix}wte.weight")
    tokens = vocabulary.gpt2(checkpoint.folder, config)
    values = {
        **{ours: config.integer(theirs) for theirs, ours in SIZES.items()},
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
    preprocessor = LanguageModelPreprocessor(TextCodec(words), np.zeros(words.size, np.int64))
    report = {"unit": words.unit, "vocabulary": words.size}
    return ImportedModel("gpt2", "language_model", settings.model_dump(), network, preprocessor, report=report)


def write(model: LanguageModel) -> ExportedModel:
    """Write a language model; PAD and BOS are left out where they are mere copies, as in an imported model."""
    network = model.network
    assert isinstance(network, GPT)
    c, codec = network.config, model.preprocessor.codec
    if c.norm == "post":
        raise not_exportable(
            model.path, "GPT-2 normalises before each sublayer, and this model after it (model.norm=post)"
        )
    if c.positions == "rotary":
        raise not_exportable(model.path, "GPT-2 has no rotary positions (model.positions=rotary)")
    begin, kept = _kept(network)
    weights = WeightMap(
        [row.below("transformer.") for row in ROWS], order=torch.tensor(kept), untrained=["output.bias"]
    )
    tensors = store_weights(network, weights)
    biased = c.output_bias and bool(network.output.bias[kept].any())
    if biased:
        _fold_bias(tensors, network.output.bias[kept].detach(), model)
    if c.positions == "none":
        tensors["transformer.wpe.weight"] = torch.zeros(c.max_length, c.width)
    ids: Values = {"bos_token_id": kept.index(begin), "eos_token_id": kept.index(EOS)}
    ids |= {"pad_token_id": kept.index(PAD)} if PAD in kept else {}
    config = {
        "model_type": "gpt2",
        "vocab_size": len(kept),
        **{theirs: getattr(c, ours) for theirs, ours in SIZES.items()},
        "n_inner": c.feed_forward or 4 * c.width,
        "n_positions": c.max_length,
        "activation_function": EXPORTED_ACTIVATIONS[c.activation],
        "layer_norm_epsilon": c.eps,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop"), c.dropout or 0.0),
        "attn_pdrop": 0.0,
        "tie_word_embeddings": not biased,
        **ids,
    }
    never = [kept.index(id) for id in (PAD, BOS) if id in kept]
    decode = model.decode_config()
    generation = {**ids, **({"suppress_tokens": never} if never else {}), "do_sample": decode.sample}
    if decode.sample:
        generation |= {"temperature": decode.temperature, "top_k": decode.top_k, "top_p": decode.top_p}
    dropped = [id for id in (PAD, BOS) if id not in kept]
    options: Values = {"names": {"</s>": END}, "markers": True} if codec.whole else {"opening": codec.opening}
    lines = not codec.whole and codec.tokenizer.unit == "subwords"
    files = tokenizer_files(codec.tokenizer, c.max_length, dropped=dropped, lines=lines, **options)
    files["generation_config.json"] = generation
    joined = f"a line of {codec.tokenizer.unit} ends with </s> in Mirada; there, texts of several lines are read as one"
    return ExportedModel("GPT2LMHeadModel", config, tensors, files, (joined,) if codec.sequences else ())


def _kept(network: GPT) -> tuple[int, list[int]]:
    """The token that texts begin with, and all tokens that an export needs.

    An imported model has rows of its own for PAD (zeros) and BOS (a copy), which its output bias suppresses.
    """
    table, kept, begin = network.embedding.weight, list(range(network.embedding.num_embeddings)), BOS
    if network.output.bias is None:
        return begin, kept
    if network.output.bias[PAD] < NEVER / 2 and not table[PAD].any():
        kept.remove(PAD)
    same = [id for id in (table == table[BOS]).all(1).nonzero().flatten().tolist() if id in kept and id != BOS]
    if network.output.bias[BOS] < NEVER / 2 and same:
        kept.remove(BOS)
        begin = EOS if EOS in same else same[0]
    return begin, kept


def _fold_bias(tensors: dict[str, Tensor], bias: Tensor, model: LanguageModel) -> None:
    """Put an output bias, which GPT-2 lacks, into an output matrix W of its own: W (h + d) = E h + b.

    The last normalisation gives h = g ⊙ z + β, where the elements of z sum to 0. So u = 1/g has the same product with
    all vectors, uᵀ(h + d) = Σ (β + d) / g, which d = t g makes D, the width: W = E + (b − E d) uᵀ / D.
    """
    table, gain, shift = (tensors[f"transformer.{name}"] for name in ("wte.weight", "ln_f.weight", "ln_f.bias"))
    if gain.abs().min() < SMALLEST_GAIN:
        raise not_exportable(model.path, "GPT-2 has no output bias, and the trained one cannot be put into its weights")
    d = (1 - (shift / gain).mean()) * gain
    tensors["transformer.ln_f.bias"] = shift + d
    tensors["lm_head.weight"] = table + torch.outer(bias - table @ d, 1 / gain) / len(gain)
