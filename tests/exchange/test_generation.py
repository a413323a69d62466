"""Imported models generate, translate and fill gaps exactly like `transformers`, token by token."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers
from torch import Tensor

from mirada.contracts import BOS, SequenceBatch
from mirada.data.batching import collate
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig, decode
from mirada.exchange import import_checkpoint, vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.loading import load
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.language_model.preprocessor import TextCodec, lines_of
from mirada.tasks.translation.model import TranslationModel
from tests.command import run
from tests.exchange.checkpoints import END, byte_pairs, save_bert, save_gpt2, save_marian

any_text = settings(derandomize=True, max_examples=150, deadline=None, database=None)

CONTEXT = 96
PROMPTS = [
    "The book is",
    "  The baby",
    " ",
    "See you!\n\nLucas is  ",
    "\n\n\n  in the books\r\n\t2024\n",
    "El bebé está llorando 👶🏽 漢字 — é̀ naïve",
    "It's He'll \n \n x",
    f"a {END} b</s>",
]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any, LanguageModel, Tensor]:
    """A checkpoint: its folder, model and tokenizer of `transformers`, its bundle, and its number of each word of ours.

    The weights are scaled so that choices are clear, and some texts end.
    """
    from transformers import GPT2Tokenizer

    folder = tmp_path_factory.mktemp("gpt2")
    theirs = save_gpt2(folder / "published", n_positions=CONTEXT)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.mul_(1.6)
        theirs.transformer.wte.weight[theirs.config.eos_token_id] *= 3
    theirs.save_pretrained(folder / "published")
    words = GPT2Tokenizer.from_pretrained(folder / "published")
    import_checkpoint(folder / "published", folder / "bundle")
    model: LanguageModel = load(folder / "bundle", device="cpu", engine="torch")
    model.network.double()
    order = vocabulary.gpt2(folder / "published", CheckpointConfig(folder / "published" / "config.json")).order
    return folder, theirs.double().eval(), words, model, order


def theirs_from(theirs: Any, ids: list[int], **choices: Any) -> list[int]:
    """What `transformers` writes behind ids, up to the end."""
    given = torch.tensor([ids])
    choices = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": theirs.config.eos_token_id, **choices}
    found = theirs.generate(given, attention_mask=torch.ones_like(given), **choices)[0, len(ids) :].tolist()
    end = theirs.config.eos_token_id
    return found[: found.index(end)] if end in found else found


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_is_what_the_published_model_sees(prompt: str, gpt2: Any) -> None:
    _, _, words, model, order = gpt2
    expected = words(prompt, split_special_tokens=True)["input_ids"]
    assert order[model.preprocessor.codec.before(prompt)].tolist() == expected
    assert model.preprocessor.codec.text_of(model.preprocessor.codec.read(prompt)) == prompt


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("beam", [1, 3])
def test_gpt2_generates_the_same(beam: int, penalty: float, gpt2: Any) -> None:
    _, theirs, words, model, order = gpt2
    ended, different = set(), set()
    for prompt, size in [(prompt, size) for prompt in PROMPTS for size in (1, 2, 4, 20)]:
        ids = words(prompt, split_special_tokens=True)["input_ids"]
        choices = {} if beam == 1 else {"num_beams": beam, "length_penalty": penalty}
        expected = theirs_from(theirs, ids, max_new_tokens=size, **choices)
        found = model.generate(prompt, tokens=size, beam=beam, length_penalty=penalty)
        assert order[list(found.tokens)].tolist() == expected, (prompt, size)
        assert "".join(model.stream(prompt, tokens=size, beam=beam, length_penalty=penalty)) == found.text
        ended.add(found.ended)
        different.add(found.tokens)
    assert ended == {True, False}
    assert len(different) > 12


def test_without_a_prompt_it_begins_where_texts_begin(gpt2: Any) -> None:
    _, theirs, _, model, order = gpt2
    assert model.preprocessor.codec.before("") == [BOS]
    found = model.generate("", tokens=20, beam=3)
    assert order[list(found.tokens)].tolist() == theirs_from(theirs, [theirs.config.bos_token_id], num_beams=3)


# --- beyond the context ---


def test_within_the_context_the_cache_changes_nothing(gpt2: Any) -> None:
    _, _, _, model, _ = gpt2
    steps = 0
    for prompt in PROMPTS:
        written = model.preprocessor.codec.read(prompt)
        room = CONTEXT - len(written)
        assert not model.remarks(prompt, room)
        for chosen in model.generate(prompt, tokens=room, beam=1).tokens:
            with torch.inference_mode():
                h = model.network.encode(SequenceBatch(torch.tensor([written]), torch.tensor([len(written)])))
                assert chosen == int(model.network.output(h[0, -1]).argmax())
            written.append(chosen)
            steps += 1
    assert steps > CONTEXT


def test_a_prompt_longer_than_the_context_is_read_from_its_end(gpt2: Any) -> None:
    folder, theirs, words, model, order = gpt2
    prompt = "\n".join(PROMPTS * 3)
    ids = words(prompt, split_special_tokens=True)["input_ids"]
    assert len(ids) > CONTEXT
    (first,) = model.generate(prompt, tokens=1, beam=1).tokens
    expected = theirs(input_ids=torch.tensor([ids[-CONTEXT:]])).logits[0, -1].argmax()
    assert order[first] == expected
    done = run("generate", folder / "bundle", prompt, "--tokens", 3, "--threads", 1)
    assert done.returncode == 0
    assert done.stderr == f"mirada: the prompt has {len(ids)} tokens; the model sees the last {CONTEXT}\n"
    assert done.stdout.startswith(prompt)


def test_generation_beyond_the_context_continues_and_is_reported(gpt2: Any) -> None:
    folder, _, _, model, _ = gpt2
    written = [model.generate(prompt, tokens=3 * CONTEXT, seed=1).tokens for prompt in PROMPTS]
    assert max(map(len, written)) > CONTEXT
    done = run("generate", folder / "bundle", "The book is", "--tokens", 2 * CONTEXT, "--beam", 1, "--threads", 1)
    assert (
        done.stderr
        == f"mirada: the model sees {CONTEXT} tokens at most; a longer text is continued from its last ones\n"
    )
    assert run("generate", folder / "bundle", "The book is", "--tokens", 9, "--threads", 1).stderr == ""


# --- a published tokenizer ---


@any_text
@given(
    st.lists(st.sampled_from([" ", "  ", "\n", "\t", "\r\n", "\x1c", "\u2003", "a", "the", "'s", "é", "👶", "12", "."]))
)
def test_parts_are_spelt_as_the_whole_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    codec = published()
    parts = list(codec.parts(lines_of(text)))
    assert "".join(parts) == text
    assert [id for row in codec.encode(parts) for id in row] == codec.read(text)
    assert codec.text_of(codec.read(text)) == text


def test_a_long_text_is_cut_into_small_parts() -> None:
    paragraphs = "The baby is on the table.\n\n" * 500
    assert max(map(len, published().parts(lines_of(paragraphs)))) < 60


@cache
def published() -> TextCodec:
    words, pairs = byte_pairs()
    backend = tokenizers.Tokenizer(models.BPE(words, pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return TextCodec(Tokenizer(backend))


def test_only_a_published_spelling_takes_a_text_whole() -> None:
    assert published().whole
    for lowercase in (False, True):
        assert not TextCodec(Tokenizer.learn(lines_of("el gato ve\n" * 9), 300, "subwords", lowercase)).whole


# --- translating ---

SENTENCES = ["el bebé", "llora", "el el bebé llora e", "e", "bebé bebé", "llora el llora el", "l e b", ""]
LIMIT = 120


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, TranslationModel, Tensor]:
    """The model of `transformers`, the bundle, and its number of each word of ours; some translations end."""
    folder = tmp_path_factory.mktemp("marian")
    theirs = save_marian(folder / "published", max_position_embeddings=LIMIT + 40)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "embed_positions" not in name:
                parameter.mul_(2.5)
        theirs.final_logits_bias[0, theirs.config.eos_token_id] += 1.5
    theirs.save_pretrained(folder / "published")
    import_checkpoint(folder / "published", folder / "bundle")
    model: TranslationModel = load(folder / "bundle", device="cpu", engine="torch")
    model.network.double()
    order = vocabulary.marian(folder / "published", CheckpointConfig(folder / "published" / "config.json"))[0].order
    return theirs.double().eval(), model, order


@pytest.mark.parametrize(("beam", "penalty"), [(1, 1.0), (4, 0.0), (4, 1.0)])
def test_marian_matches_transformers(beam: int, penalty: float, marian: Any) -> None:
    """Greedy, and by beam search: `early_stopping=False` there is when ours stops too, and both count EOS.

    Only what the limit cuts is not the same: `transformers` lets it end for nothing (`forced_eos_token_id`), here it
    pays for its end as every other does.
    """
    theirs, model, order = marian
    end, lengths = theirs.config.eos_token_id, set()
    choices = {"num_beams": beam, "bad_words_ids": [[theirs.config.pad_token_id]], "do_sample": False}
    choices |= {"length_penalty": penalty, "early_stopping": False} if beam > 1 else {}
    batch = collate(model.source_tokenizer.encode(SENTENCES))
    expected = theirs.generate(
        order[batch.source], attention_mask=batch.source_mask.long(), max_new_tokens=LIMIT, **choices
    )
    config = DecodeConfig(beam=beam, length_penalty=penalty)
    found = decode(model.network, batch, config, [LIMIT] * len(SENTENCES))
    for sentence, (best,), row in zip(SENTENCES, found, expected[:, 1:].tolist(), strict=True):
        size = row.index(end)
        if size == LIMIT - 1:
            continue
        assert order[best.tokens].tolist() == row[:size], sentence
        translated = model.translate(sentence, beam=beam, length_penalty=penalty, max_ratio=LIMIT, recover=False)
        assert not sentence or translated.text == model.target_tokenizer.decode([best.tokens])[0]
        lengths.add(size)
    assert len(lengths) >= 3


# --- filling gaps ---


@pytest.mark.parametrize("kind", ["BertForPreTraining", "BertForMaskedLM"])
def test_a_bert_fills_a_gap_with_the_same_words(kind: str, tmp_path: Path) -> None:
    from transformers import BertTokenizer

    theirs = save_bert(tmp_path / "published", kind).eval()
    words = BertTokenizer.from_pretrained(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    for text in ("The [MASK] is crying.", "[MASK]", "the book, [MASK] tables!", "baby [MASK]'t [MASK] 日 2024"):
        ids = torch.tensor([words(text)["input_ids"]])
        output = theirs(input_ids=ids)
        logits = output.logits if kind == "BertForMaskedLM" else output.prediction_logits
        chances = logits[ids == words.mask_token_id].softmax(-1)  # [gaps, V]
        chances[:, words.all_special_ids] = 0  # which nobody can write
        for found, row in zip(model.fill(text, 6), chances, strict=True):
            top = row.topk(6)
            assert [word for word, _ in found] == words.convert_ids_to_tokens(top.indices.tolist())
            assert [p for _, p in found] == pytest.approx(top.values.tolist(), abs=1e-6)
