"""The captioner: a ViT's encoder before a Transformer's decoder; caches, batches and patches as they should be."""

from __future__ import annotations

from typing import Any

import torch

from mirada.contracts import BOS, EOS, PAD, Captions, Sizes
from mirada.models.transformer import CAPTIONERS, Captioner, CaptionerConfig
from mirada.models.vit import ViT, ViTConfig
from mirada.parts import Switches, recording, switched
from tests.block_parts import shaken
from tests.tensors import close, random

SHAPE = (3, 1, 8, 12)
WORDS = 20
SIZES = Sizes(3, WORDS, numeric_inputs=True, shape=SHAPE)


def build(**choices: Any) -> Captioner:
    small = {"width": 12, "heads": 3, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 20, "patch": 4}
    config = CaptionerConfig.model_validate({**small, "max_length": 10, "dropout": 0.0, **choices})
    return shaken(Captioner(config, SIZES)).eval()


def captions(count: int = 3) -> Captions:
    target = torch.tensor([[BOS, 5, 6, 7, EOS], [BOS, 8, EOS, PAD, PAD], [BOS, 9, 10, EOS, PAD]])[:count]
    return Captions(random(count, *SHAPE), target, patches=6)


def test_the_encoder_is_a_vits() -> None:
    """With the same weights, a ViT's patches and stack, without its class token, give the same vectors."""
    model, batch = build(), captions()
    vit = ViT(ViTConfig(width=12, heads=3, layers=2, feed_forward=20, patch=4, eps=1e-5), SIZES).double().eval()
    state = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(("encoder", "patches"))}
    missing = vit.load_state_dict(state, strict=False).missing_keys
    assert set(missing) == {"class_token", "positions", "output.weight", "output.bias"}
    close(model.encode(batch), vit.encoder(vit.patches(batch.source) + model.places, None))


def test_word_by_word_equals_all_at_once() -> None:
    model, batch = build(), captions(1)
    whole = model(batch)  # [1, 4, V]
    step = model.start(Captions(batch.source, batch.target[:, :1]))
    for place in range(4):
        close(step.logits, whole[:, place])
        step = model.step(batch.target[:, place + 1], step.state)


def test_a_picture_says_the_same_alone_and_among_others() -> None:
    model, batch = build(), captions()
    together = model(batch)
    for row in range(3):
        real = int((batch.target_output[row] != PAD).sum())
        alone = model(Captions(batch.source[row : row + 1], batch.target[row : row + 1, : real + 1]))
        close(alone[0], together[row, :real])
    step = model.start(Captions(batch.source, batch.target[:, :1]))
    chosen = torch.tensor([2, 0, 0])
    swapped = model.step(torch.tensor([4, 4, 4]), step.state.select(chosen)).logits
    close(swapped, model.step(torch.tensor([4, 4, 4]), step.state).logits[chosen])


def test_every_patch_and_its_place_matter() -> None:
    model, batch = build(), captions(1)
    before = model(batch)
    for row, column in ((0, 0), (4, 8)):
        changed = batch.source.clone()
        changed[:, :, :, row : row + 4, column : column + 4] += 1
        assert not torch.allclose(model(Captions(changed, batch.target)), before, atol=1e-4)
    swapped = torch.cat([batch.source[..., 4:], batch.source[..., :4]], -1)
    assert not torch.allclose(model(Captions(swapped, batch.target)), before, atol=1e-4)
    with switched(model, Switches(positions=False)):
        shuffled, plain = model.encode(Captions(swapped, batch.target)), model.encode(batch)
    close(
        shuffled[:, [2, 0, 1, 5, 3, 4]],
        plain,
    )


def test_attention_is_over_all_patches() -> None:
    model, batch = build(), captions()
    step = model.start(Captions(batch.source, batch.target[:, :1]), attention=True)
    assert step.attention is not None
    assert step.attention.shape == (3, 2, 3, 6)
    close(step.attention.sum(-1), torch.ones(3, 2, 3, dtype=torch.float64))
    with recording("decoder.1.cross.weights") as recorder:
        model.hidden(batch)
    close(recorder.tensors["decoder.1.cross.weights"][:, :, 0], step.attention[:, 1])


def test_presets_and_patches() -> None:
    for preset in CAPTIONERS.values():
        CaptionerConfig.model_validate(preset["model"])
    config = CaptionerConfig()
    assert [config.patch_for(side, side) for side in (8, 32, 64, 500)] == [2, 8, 16, 16]
    assert config.grid((3, 1, 32, 64)) == (2, 4)
    tied = build()
    assert tied.output.weight is tied.target_embedding.weight
    assert build(tie="none").output.weight is not build(tie="none").target_embedding.weight
