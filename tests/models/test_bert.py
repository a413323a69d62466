"""BERT equals Hugging Face's, with every output it has; batches, padding and segments are theirs too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from mirada.bundle import put_weights, weights_of
from mirada.contracts import BOS, EOS, PAD, SequenceBatch, Sizes
from mirada.errors import InputError
from mirada.exchange.bert import FOLLOWS, MASKED, POOLER, ROWS
from mirada.exchange.mapping import Row
from mirada.models.bert import PRESETS, Bert, BertConfig, BertForPretraining
from mirada.parts import recording
from tests.block_parts import LONG
from tests.published import copied, shaken
from tests.tensors import close

VOCABULARY, CONTEXT = 40, 90
INNER = [row.below("bert.") for row in ROWS]
POOL = [row.below("bert.") for row in POOLER]


def config(**choices: Any) -> BertConfig:
    values = {"width": 12, "heads": 3, "layers": 3, "feed_forward": 20, "max_length": CONTEXT, "dropout": 0.0}
    return BertConfig.model_validate({**values, **choices})


def theirs_config(**choices: Any) -> Any:
    from transformers import BertConfig as Theirs

    return Theirs(
        vocab_size=VOCABULARY,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=CONTEXT,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=PAD,
        **choices,
    )


def texts(lengths: list[int], pairs: bool = True, seed: int = 0) -> SequenceBatch:
    """Random texts that end with EOS, half of each in the second segment."""
    random = torch.Generator().manual_seed(seed)
    inputs = torch.randint(3, VOCABULARY, (len(lengths), max(lengths)), generator=random)
    segments = torch.zeros_like(inputs)
    for row, length in enumerate(lengths):
        inputs[row, length - 1 :] = PAD
        inputs[row, length - 1] = EOS
        segments[row, length // 2 : length] = 1
    return SequenceBatch(inputs, torch.tensor(lengths), segments=segments if pairs else None)


def as_theirs(batch: SequenceBatch) -> dict[str, Tensor]:
    """The same as arguments of a model of theirs: with [CLS] in front."""
    first = torch.zeros(batch.size, 1, dtype=torch.long)
    segments = torch.zeros_like(batch.inputs) if batch.segments is None else batch.segments
    return {
        "input_ids": torch.cat([first + BOS, batch.inputs], 1),
        "attention_mask": torch.cat([first + 1, batch.mask.long()], 1),
        "token_type_ids": torch.cat([first, segments], 1),
    }


def real(batch: SequenceBatch) -> Tensor:
    return torch.cat([torch.ones_like(batch.mask[:, :1]), batch.mask], 1)  # [B, 1+T]


BATCHES = [texts([7, 3, 5, 1]), texts([LONG, 2, CONTEXT - 1]), texts([6, 4], pairs=False)]


@pytest.mark.parametrize("batch", BATCHES)
def test_bert_equals_transformers(batch: SequenceBatch) -> None:
    from transformers import BertModel

    theirs, ours = shaken(BertModel(theirs_config())), Bert(config(), Sizes(VOCABULARY, 0))
    assert copied(ours, theirs, ROWS + POOLER) == len(list(ours.parameters()))
    expected = theirs(**as_theirs(batch))
    states = ours.states(batch)
    close(states[real(batch)], expected.last_hidden_state[real(batch)], 1e-8)
    close(ours.encode(batch), states[:, 1:])
    close(ours.pool(batch), expected.pooler_output, 1e-8)
    assert expected.pooler_output.std() > 0.1


@pytest.mark.parametrize("batch", BATCHES)
def test_the_outputs_of_pre_training_equal_transformers(batch: SequenceBatch) -> None:
    from transformers import BertForMaskedLM, BertForNextSentencePrediction, BertForPreTraining

    theirs = shaken(BertForPreTraining(theirs_config()))
    ours = BertForPretraining(config(), Sizes(VOCABULARY, VOCABULARY))
    assert copied(ours, theirs, INNER + POOL + MASKED + FOLLOWS) == len(list(ours.parameters()))
    states, gaps, given = ours.states(batch), real(batch), as_theirs(batch)
    expected = theirs(**given)
    close(ours.masked(states[gaps]), expected.prediction_logits[gaps], 1e-8)
    close(ours.follows(ours.pooled(states)), expected.seq_relationship_logits, 1e-8)
    assert ours.output is ours.masked

    words = shaken(BertForMaskedLM(theirs_config()), seed=8)
    copied(ours, words, INNER + MASKED)
    close(ours.masked(ours.states(batch)[gaps]), words(**given).logits[gaps], 1e-8)
    following = shaken(BertForNextSentencePrediction(theirs_config()), seed=9)
    copied(ours, following, INNER + POOL + FOLLOWS)
    close(ours.follows(ours.pool(batch)), following(**given).logits, 1e-8)


def test_classifier_and_tagger_equal_transformers() -> None:
    from transformers import BertForSequenceClassification, BertForTokenClassification

    batch, head = BATCHES[0], [Row("classifier", "output")]
    ours = Bert(config(), Sizes(VOCABULARY, 5))
    theirs = shaken(BertForSequenceClassification(theirs_config(num_labels=5)))
    assert copied(ours, theirs, INNER + POOL + head) == len(list(ours.parameters()))
    close(ours.output(ours.pool(batch)), theirs(**as_theirs(batch)).logits, 1e-8)

    tagger = shaken(BertForTokenClassification(theirs_config(num_labels=5)))
    copied(ours, tagger, INNER + head)
    close(ours.output(ours.encode(batch))[batch.mask], tagger(**as_theirs(batch)).logits[:, 1:][batch.mask], 1e-8)


@pytest.mark.parametrize(("theirs", "ours"), [("gelu", "gelu"), ("gelu_new", "gelu_tanh"), ("relu", "relu")])
def test_activation_and_eps_are_taken_over(theirs: str, ours: str) -> None:
    from transformers import BertModel

    their_model = shaken(BertModel(theirs_config(hidden_act=theirs, layer_norm_eps=1e-3)))
    model = Bert(config(activation=ours, eps=1e-3), Sizes(VOCABULARY, 0))
    copied(model, their_model, ROWS + POOLER)
    close(model.pool(BATCHES[0]), their_model(**as_theirs(BATCHES[0])).pooler_output, 1e-8)


# --- reading ---


def build(outputs: int = 5, **choices: Any) -> Bert:
    torch.manual_seed(2)
    model = Bert(config(**choices), Sizes(VOCABULARY, outputs)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_padded_batch_equals_its_texts_one_by_one(norm: str) -> None:
    model, batch = build(norm=norm), texts([LONG, 2, 9])
    together, pooled = model.states(batch), model.pool(batch)
    for row, length in enumerate(batch.lengths.tolist()):
        assert batch.segments is not None
        one = slice(row, row + 1)
        alone = SequenceBatch(batch.inputs[one, :length], batch.lengths[one], segments=batch.segments[one, :length])
        close(together[row, : length + 1], model.states(alone)[0])
        close(pooled[row], model.pool(alone)[0])


def test_every_token_sees_both_sides() -> None:
    model, batch = build(), texts([6], pairs=False)
    for place in range(5):
        inputs = batch.inputs.clone()
        inputs[0, place] = 3 + (inputs[0, place] - 2) % (VOCABULARY - 3)
        changed = (model.states(SequenceBatch(inputs, batch.lengths)) - model.states(batch)).abs().amax(-1)
        assert (changed > 1e-9).all()


def test_segments_count() -> None:
    model, batch = build(), texts([6, 4])
    assert (model.pool(batch) - model.pool(SequenceBatch(batch.inputs, batch.lengths))).abs().max() > 1e-6


def test_an_empty_text_is_its_first_token_alone() -> None:
    model = build()
    nothing = SequenceBatch(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]))
    assert model.states(nothing).shape == (2, 1, 12)
    beside = SequenceBatch(texts([3, 3]).inputs, torch.tensor([3, 0]))
    close(model.pool(beside)[1], model.pool(nothing)[0])


def test_a_text_that_is_too_long_is_refused() -> None:
    model = build(max_length=8)
    assert model.states(texts([7])).shape[1] == 8
    with pytest.raises(InputError, match=r"has 9 tokens.*model\.max_length=8"):
        model.states(texts([8]))


def test_a_recorder_sees_every_attention() -> None:
    with recording("encoder.*.self.weights") as recorder:
        build().encode(texts([5, 3]))
    assert {name: tuple(weights.shape) for name, weights in recorder.tensors.items()} == {
        f"encoder.{layer}.self.weights": (2, 3, 6, 6) for layer in range(3)
    }


# --- what it is made of ---


def test_it_starts_as_published() -> None:
    torch.manual_seed(1)
    model = BertForPretraining(config(width=64, heads=4), Sizes(500, 500))
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.15), name
        else:
            assert (parameter == ("norm" in name and name.endswith("weight"))).all(), name
    assert not model.embedding.weight[PAD].any()
    assert model.masked.output.weight is model.embedding.weight


def test_what_is_pre_trained_goes_by_the_names_of_a_plain_bert() -> None:
    pretrained = weights_of(BertForPretraining(config(), Sizes(VOCABULARY, VOCABULARY)))
    plain = weights_of(Bert(config(), Sizes(VOCABULARY, 3)))
    assert plain.keys() - pretrained.keys() == {"output.weight", "output.bias"}
    assert {name.split(".")[0] for name in pretrained.keys() - plain.keys()} == {"masked", "follows"}
    again = BertForPretraining(config(), Sizes(VOCABULARY, VOCABULARY))
    put_weights(again, pretrained, "here")
    assert all(torch.equal(tensor, pretrained[name]) for name, tensor in weights_of(again).items())


def test_without_outputs_there_is_none() -> None:
    assert isinstance(Bert(config(), Sizes(VOCABULARY, 0)).output, nn.Identity)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_valid_configuration(preset: str) -> None:
    BertConfig.model_validate(PRESETS[preset]["model"])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValidationError, match=r"model\.width=10 .* model\.heads=4"):
        BertConfig(width=10, heads=4)
