"""Small random checkpoints in Hugging Face's layout, each with a tokenizer."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import models, pre_tokenizers, trainers

TEXTS = [
    "El bebé está llorando. The baby is crying.",
    "He works with both of them, doesn't he? It's 2024.",
    "The book is on the table; the tables are in the books.",
    "Lucas is visiting Chile in January.\n\nSee you!",
] * 3
END = "<|endoftext|>"
SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PARTS = "the baby is cry ##ing book on table ##s . , ! ' doesn t e a ##b b ##a ##y 2024 日"
WORDS = [*SPECIAL, *PARTS.split()]


def random_weights(model: Any, seed: int = 3) -> Any:
    """Everything that is learned random, also biases and norms, and the same whenever it is made."""
    generator = torch.Generator().manual_seed(seed)
    model.eval()
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.is_floating_point() and "embed_positions" not in name:
                begun = torch.zeros_like(tensor) if tensor.ndim > 1 else tensor
                tensor.copy_(begun + 0.2 * torch.randn(tensor.shape, generator=generator))
    return model


# --- GPT-2 ---


def byte_pairs() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A small vocabulary as GPT-2 has one: bytes and merges, <|endoftext|> last."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(backend.to_str())["model"]
    pairs = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"]]
    return {**model["vocab"], END: len(model["vocab"])}, [(left, right) for left, right in pairs]


def save_gpt2(folder: Path, **choices: Any) -> Any:
    """A GPT-2 with vocab.json and merges.txt; the model of `transformers`."""
    from transformers import GPT2Config, GPT2LMHeadModel

    words, pairs = byte_pairs()
    config = {"vocab_size": len(words), "n_positions": 24, "n_embd": 12, "n_layer": 2, "n_head": 3}
    ids = {"bos_token_id": words[END], "eos_token_id": words[END]}
    model = random_weights(GPT2LMHeadModel(GPT2Config(**{**config, **ids, **choices})))
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(words))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in pairs))
    return model


# --- BERT ---


def save_bert(folder: Path, kind: str = "BertForPreTraining", **choices: Any) -> Any:
    """A BERT with vocab.txt."""
    import transformers

    config = transformers.BertConfig(
        **{
            "vocab_size": len(WORDS),
            "hidden_size": 12,
            "num_hidden_layers": 2,
            "num_attention_heads": 3,
            "intermediate_size": 20,
            "max_position_embeddings": 32,
            **choices,
        }
    )
    model = random_weights(getattr(transformers, kind)(config))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return model


# --- Marian ---


def _varint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def _field(number: int, value: int | float | bytes) -> bytes:
    """A field of a protobuf message."""
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def sentence_pieces(scores: dict[str, float], kind: int = 1) -> bytes:
    """A SentencePiece model: <unk>, <s>, </s> and these pieces; `kind` 1 is unigram."""
    special = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]
    pieces = [_field(1, name.encode()) + _field(2, 0.0) + _field(3, of) for name, of in special]
    pieces += [_field(1, piece.encode()) + _field(2, score) for piece, score in scores.items()]
    found = b"".join(_field(1, piece) for piece in pieces)
    found += _field(2, _field(3, kind)) + _field(3, _field(1, b"identity") + _field(3, 1) + _field(4, 1))
    return found


SOURCE = {"▁": -2.0, "▁el": -3.0, "▁be": -4.0, "bé": -4.5, "▁llora": -5.0, "b": -9.0, "é": -9.0, "e": -8.0, "l": -8.5}
TARGET = {"▁": -2.0, "▁the": -3.0, "▁ba": -4.0, "by": -4.5, "▁cries": -5.0, "b": -9.0, "y": -9.0, "e": -8.0}


def marian_words() -> dict[str, int]:
    names = ["</s>", "<unk>", *dict.fromkeys([*SOURCE, *TARGET]), ">>fra<<", "<pad>"]
    return {name: id for id, name in enumerate(names)}


def save_marian(folder: Path, **choices: Any) -> Any:
    """A Marian with vocab.json, source.spm and target.spm."""
    from transformers import MarianConfig, MarianMTModel

    words = marian_words()
    config = MarianConfig(
        **{
            "vocab_size": len(words),
            "d_model": 12,
            "encoder_layers": 2,
            "decoder_layers": 1,
            "encoder_attention_heads": 3,
            "decoder_attention_heads": 3,
            "encoder_ffn_dim": 20,
            "decoder_ffn_dim": 20,
            "max_position_embeddings": 40,
            "activation_function": "swish",
            "scale_embedding": True,
            "pad_token_id": words["<pad>"],
            "eos_token_id": words["</s>"],
            "forced_eos_token_id": words["</s>"],
            "decoder_start_token_id": words["<pad>"],
            **choices,
        }
    )
    model = random_weights(MarianMTModel(config))
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
    (folder / "source.spm").write_bytes(sentence_pieces(SOURCE))
    (folder / "target.spm").write_bytes(sentence_pieces(TARGET))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "es", "target_lang": "en"}))
    return model


# --- ViT ---


def save_vit(folder: Path, **choices: Any) -> Any:
    """A ViT with three classes."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        image_size=8,
        patch_size=4,
        id2label={0: "cat", 1: "dog", 2: "bird"},
        **choices,
    )
    model = random_weights(ViTForImageClassification(config))
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]})
    )
    return model


SAVE: dict[str, Callable[[Path], Any]] = {
    "gpt2": save_gpt2,
    "bert": save_bert,
    "marian": save_marian,
    "vit": save_vit,
}
"""By the `model_type` of config.json."""
