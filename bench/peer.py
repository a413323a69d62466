"""The peer of the speed benchmarks: Hugging Face's Marian model of the same sizes, and batches for both."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch

from mirada import builtin
from mirada.contracts import PAD, Sizes
from mirada.data.batching import Batches
from mirada.data.corpus import write_corpus
from mirada.data.tokenizer import Tokenizer
from mirada.device import keep_memory, select_device
from mirada.models.transformer import Transformer, TransformerConfig

VOCABULARY = 8000
SIZES = TransformerConfig(encoder_layers=3, decoder_layers=3, dropout=0.1)


def marian(config: TransformerConfig = SIZES, vocabulary: int = VOCABULARY) -> Any:
    """An untrained MarianMTModel with the sizes of `config`."""
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=vocabulary,
            d_model=config.width,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.feed_forward,
            decoder_ffn_dim=config.feed_forward,
            activation_function="relu",
            dropout=config.dropout or 0.0,
            pad_token_id=PAD,
            eos_token_id=2,
            decoder_start_token_id=1,
            bos_token_id=1,
            forced_eos_token_id=None,
            scale_embedding=True,
            max_position_embeddings=512,
        )
    )


def ours(config: TransformerConfig = SIZES, vocabulary: int = VOCABULARY) -> Transformer:
    return Transformer(config, Sizes(vocabulary, vocabulary))


def batches(pairs: int = 20_000, tokens: int = 4000) -> tuple[Batches, Tokenizer]:
    """Batches of the built-in corpus."""
    select_device(threads=torch.get_num_threads())
    keep_memory()
    rows = [(example.source, example.targets[0], None) for example in builtin.training("es", "en", pairs)]
    tokenizer = Tokenizer.learn((text for row in rows for text in row[:2]), 2000)
    folder = Path(tempfile.mkdtemp(prefix="mirada-bench-"))
    corpus = write_corpus(
        folder, rows, tokenizer.encode, tokenizer.encode, vocabulary=2000, longest=100, too_long=lambda i, n: None
    )
    return Batches(corpus, tokens, seed=0), tokenizer
