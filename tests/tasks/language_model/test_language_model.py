"""Language models without training: what the objective carries, what is measured, how text is written."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mirada.contracts import BOS, EOS, Batch, SequenceBatch, Sizes, StepwiseEncoder
from mirada.data.stream import StreamBatches, write_stream
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import UNK, Unit
from mirada.decoding import DecodeConfig, decode
from mirada.errors import DataError, InputError, UsageError
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.tasks.language_model.model import LanguageModel, passages, token_bits, windows
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, TextCodec, lines_of
from mirada.tasks.language_model.task import LanguageModelTask
from mirada.training.losses import NextTokenLoss
from mirada.training.run import check_config

V = 12
KINDS = ["lstm", "gru", "elman"]
TEXT = "el año que viene\nno vendrá 漢字\n\n el gato ve\n" * 6


def reader(kind: str = "lstm", vocabulary: int = V, seed: int = 0) -> RecurrentEncoder:
    """A recurrent network with random weights, large enough that its choices are clear."""
    torch.manual_seed(seed)
    config = RecurrentConfig.model_validate({"name": kind, "width": 16, "layers": 2, "dropout": 0.0})
    network = RecurrentEncoder(config, Sizes(vocabulary, vocabulary, causal=True))
    nn.init.normal_(network.embedding.weight, std=1.0)
    return network.eval()


def model(unit: Unit = "characters", text: str = TEXT, kind: str = "lstm", **decode_: Any) -> LanguageModel:
    tokenizer = Tokenizer.learn(lines_of(text), 300, unit)
    config = {"data": {"length": 8, "invalid_bytes": "refuse"}, "decode": {"sample": True, **decode_}}
    preprocessor = LanguageModelPreprocessor(TextCodec(tokenizer), np.ones(tokenizer.size, dtype=np.int64))
    network = reader(kind, tokenizer.size)
    return LanguageModel(Path("writer"), {}, config, network, preprocessor, torch.device("cpu"))


def batches(folder: Path, size: int = 200, rows: int = 4, length: int = 7, shuffled: bool = False) -> StreamBatches:
    chance = np.random.default_rng(3)
    ids = " ".join(map(str, chance.integers(UNK, V, size)))
    stream = write_stream(folder, [ids], lambda texts: [[int(id) for id in text.split()] for text in texts], V)
    return StreamBatches(stream, rows, length, 1, shuffled)


def total(network: StepwiseEncoder, plan: StreamBatches, epoch: int = 0) -> float:
    """The loss of an epoch, batch by batch, in order."""
    objective = NextTokenLoss()
    with torch.no_grad():
        return sum(objective(network, plan.load(rows)).total.item() for rows in plan.epoch(epoch))


# --- the objective ---


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_with_a_carried_state_are_the_whole_text(kind: str, tmp_path: Path) -> None:
    network, plan = reader(kind), batches(tmp_path)
    expected = 0.0
    for row in range(plan.rows):  # each row's part of the stream, in one go
        ids = torch.from_numpy(plan.stream.ids[row * plan.part : (row + 1) * plan.part + 1].astype(np.int64))
        expected += float(token_bits(network, ids, 8).sum()) * math.log(2)
    assert total(network, plan) == pytest.approx(expected, rel=1e-5)
    assert total(network, plan, 1) == pytest.approx(expected, rel=1e-5)  # cut elsewhere


def test_rows_that_do_not_go_on_start_from_zeros(tmp_path: Path) -> None:
    network, plan = reader(), batches(tmp_path)
    first, second, third = (plan.load(rows) for rows in plan.epoch(0)[:3])
    carried, fresh = NextTokenLoss(), NextTokenLoss()
    with torch.no_grad():
        carried(network, first)
        after = carried(network, second).total.item()
        assert after != pytest.approx(fresh(network, second).total.item(), rel=1e-4)
        skipped = carried(network, first).total.item()  # back to where it came from: nothing of it is carried
        assert skipped == pytest.approx(NextTokenLoss()(network, first).total.item())
        carried(network, third)
        assert third.rows is not None
        assert carried.carried["next"].tolist() == (third.rows + third.lengths).tolist()


def test_each_row_for_itself(tmp_path: Path) -> None:
    network, plan = reader(), batches(tmp_path)
    second, third = (plan.load(rows) for rows in plan.epoch(0)[1:3])
    assert second.rows is not None
    assert third.rows is not None
    assert third.truth is not None
    with torch.no_grad():
        begun = NextTokenLoss()
        begun(network, second)
        state = {name: tensor.clone() for name, tensor in begun.carried.items()}
        together = NextTokenLoss()
        together.carried = {**state, "next": state["next"] + torch.tensor([0, 5, 0, 5])}  # rows 1 and 3 ended elsewhere
        mixed = together(network, third).total.item()
        alone = 0.0
        for row in range(4):
            one = NextTokenLoss()
            if row % 2 == 0:
                one.carried = {"next": state["next"][[row]], "h": state["h"][:, [row]], "c": state["c"][:, [row]]}
            part = SequenceBatch(third.inputs[[row]], third.lengths[[row]], third.truth[[row]], rows=third.rows[[row]])
            alone += one(network, part).total.item()
    assert mixed == pytest.approx(alone, rel=1e-5)


def test_gradients_stop_at_the_piece_and_the_state_is_plain(tmp_path: Path) -> None:
    network, plan = reader(), batches(tmp_path)
    objective = NextTokenLoss()
    for rows in plan.epoch(0)[:3]:
        objective(network, plan.load(rows)).total.backward()  # a graph that reached further back would be freed by now
    assert set(objective.carried) == {"h", "c", "next"}
    assert not any(tensor.requires_grad for tensor in objective.carried.values())


def test_a_state_that_is_not_finite_is_not_carried_on(tmp_path: Path) -> None:
    network, plan = reader(), batches(tmp_path)
    objective = NextTokenLoss()
    objective(network, plan.load(plan.epoch(0)[0]))
    objective.carried["c"][:, 1] = torch.nan
    objective.carried["h"][:, 1] = torch.inf
    assert objective(network, plan.load(plan.epoch(0)[1])).total.isfinite()


def test_windows_in_random_order_have_padding_and_carry_nothing(tmp_path: Path) -> None:
    network, plan = reader(), batches(tmp_path, shuffled=True)
    expected = 0.0
    with torch.no_grad():
        for spans in plan.epoch(0):
            for begin, end in spans.tolist():
                ids = torch.from_numpy(plan.stream.ids[begin : end + 1].astype(np.int64))
                expected += float(token_bits(network, ids, 8).sum()) * math.log(2)
    assert total(network, plan) == pytest.approx(expected, rel=1e-4)


def test_a_network_that_cannot_go_on_reads_windows(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = EncoderConfig(width=16, heads=2, layers=1, feed_forward=32, dropout=0.0)
    network = TransformerEncoder(config, Sizes(V, V, causal=True)).eval()
    plan = batches(tmp_path)
    objective = NextTokenLoss()
    for rows in plan.epoch(0)[:2]:
        loss = objective(network, plan.load(rows))
        assert loss.total.isfinite()
    assert objective.carried == {}
    ids = torch.randint(UNK, V, (40,), generator=torch.Generator().manual_seed(1))
    found = token_bits(network, ids, 8)
    with torch.no_grad():
        for place in (0, 5, 7, 8, 11, 12, 38):
            end = next(end for first, end in windows(39, 8) if first <= place < end)
            begin = max(0, end - 8)
            h = network.encode(SequenceBatch(ids[None, begin : place + 1], torch.tensor([place + 1 - begin])))
            expected = -network.output(h[0, -1]).log_softmax(-1)[ids[place + 1]] / math.log(2)
            assert found[place].item() == pytest.approx(expected.item(), abs=1e-4)


@pytest.mark.parametrize(("steps", "length"), [(1, 8), (8, 8), (9, 8), (40, 8), (41, 7), (5, 1), (300, 128)])
def test_windows_ask_about_every_step_once(steps: int, length: int) -> None:
    spans = list(windows(steps, length))
    assert [step for first, end in spans for step in range(first, end)] == list(range(steps))
    for (_, end), (first, _) in pairwise(spans):
        assert end == first
        assert length == 1 or length - (spans[1][1] - spans[1][0]) >= length // 2  # at least half of it is known


# --- measuring ---


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_is_that_of_token_by_token(kind: str) -> None:
    network = reader(kind)
    ids = torch.randint(UNK, V, (50,), generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        step = network.start(Batch(ids[None, :0], ids[None, :1]))
        expected = []
        for id in ids[1:]:
            expected.append(-step.logits[0].log_softmax(-1)[id].item() / math.log(2))
            step = network.step(id[None], step.state)
    assert token_bits(network, ids, 8).tolist() == pytest.approx(expected, abs=1e-4)


def test_scores_are_those_of_the_pieces() -> None:
    writer = model("subwords")
    text = "el gato\nno viene ñ\n"
    scores, pieces = writer.score(text), writer.token_bits(text)
    assert "".join(piece for piece, _ in pieces).startswith(" el gato")
    assert scores.bits == pytest.approx(sum(bits for _, bits in pieces))
    assert scores.score("bits/character") == pytest.approx(scores.bits / len(text))
    assert scores.score("perplexity") == pytest.approx(2 ** (scores.bits / len(pieces)))
    assert writer.score(lines_of(text)) == scores
    with pytest.raises(DataError, match="empty"):
        writer.score("")


def test_words_show_line_ends() -> None:
    assert [piece for piece, _ in model("words").token_bits("el gato\nve zorro\n")] == [
        "el",
        "gato",
        "\n",
        "ve",
        "�",
        "\n",
    ]


def test_validation(tmp_path: Path) -> None:
    writer, dev = model(), lines_of(TEXT)
    seen = writer.validate(dev, 2)  # 100 tokens
    starts = [number * (len(TEXT) - 12) // 7 for number in range(8)]  # eight passages of 12 characters
    expected = [writer.score(TEXT[start : start + 12]).score("bits/character") for start in starts]
    assert seen.value == pytest.approx(sum(expected) / 8)
    assert (seen.measure, seen.lower_is_better) == ("bits/character", True)
    assert seen.figures["loss"] == pytest.approx(seen.value * math.log(2))
    assert seen.example is not None
    assert seen.example[0] == " ".join(TEXT[:60].split())
    assert seen.example[2] == " ".join(TEXT[60:120].split())
    assert writer.validate(["ab"], 5).score < 0


# --- writing ---


@pytest.mark.parametrize("unit", ["characters", "subwords", "words", "symbols"])
@pytest.mark.parametrize("prompt", ["", "el gato", "el gato ", "el gato\n", "\n\nno"])
def test_streamed_text_is_the_text_of_the_decoded_ids(unit: Unit, prompt: str) -> None:
    writer = model(unit)
    codec = writer.preprocessor.codec
    before = [*codec.opening, *codec.read(prompt)]
    for seed in range(2):
        found = writer.generate(prompt, tokens=25, seed=seed)
        assert "".join(writer.stream(prompt, tokens=25, seed=seed)) == found.text
        assert len(found.tokens) == 25 or found.ended
        assert not {BOS, EOS} & set(found.tokens)
        assert found.prompt == prompt
        assert str(found) == prompt + found.text
        whole = writer.preprocessor.codec.text_of([*before[1:], *found.tokens])
        if not (codec.sequences and prompt.endswith(" ")):
            assert whole == writer.preprocessor.codec.text_of(before[1:]) + found.text
        else:
            assert not found.text.startswith(" ")


def test_what_is_decoded_is_what_the_one_loop_finds() -> None:
    writer = model("subwords")
    before = [*writer.preprocessor.codec.opening, *writer.preprocessor.codec.read("el")]
    target = torch.tensor([before])
    config = DecodeConfig(sample=True, seed=5)
    lean(writer, EOS, -100.0)
    (expected,) = decode(writer.network, Batch(target[:, :0], target), config, [31])[0]
    assert list(writer.generate("el", tokens=30, seed=5).tokens) == expected.tokens[len(before) - 1 :]


def test_the_seed_decides() -> None:
    writer = model()
    texts = [str(writer.generate("el", tokens=20, seed=seed)) for seed in (1, 1, 2, 0)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[3] == str(writer.generate("el", tokens=20))


def test_a_search_is_not_a_sample() -> None:
    writer = model()
    greedy = writer.generate("el", tokens=20, beam=1)
    assert greedy == writer.generate("el", tokens=20, beam=1, seed=9)
    ids = [*writer.preprocessor.codec.opening, *writer.preprocessor.codec.read("el")]
    for chosen in greedy.tokens:  # the likeliest each time, <unk> and the special ones left out
        with torch.inference_mode():
            text = torch.tensor([ids])
            logits = writer.network.start(Batch(text[:, :0], text)).logits[0].clone()
            logits[[0, BOS, EOS, UNK]] = -math.inf
        assert chosen == int(logits.argmax())
        ids.append(chosen)
    likeliest = writer.generate("el", tokens=20, beam=8)
    assert "".join(writer.stream("el", tokens=20, beam=8)) == likeliest.text
    assert bits(writer, "el", likeliest.text) <= bits(writer, "el", greedy.text) + 1e-3


def bits(writer: LanguageModel, prompt: str, text: str) -> float:
    return sum(bits for _, bits in writer.token_bits(prompt + text)[len(prompt) :])


def lean(writer: LanguageModel, id: int, by: float) -> None:
    """Make the network say an id more often, or less."""
    output: Any = writer.network.output
    with torch.no_grad():
        output.bias[id] = by


def test_nothing_unknown_is_written() -> None:
    writer = model("words")
    lean(writer, UNK, 100.0)
    found = writer.generate("el gato", tokens=50)
    assert found.tokens
    assert UNK not in found.tokens
    assert writer.unknown("el zorro ve") == ["zorro"]


def test_an_end_that_the_model_says() -> None:
    writer = model("symbols")
    lean(writer, EOS, 100.0)
    found = writer.generate("el", tokens=50)
    assert (found.text, found.tokens, found.ended) == ("", (), True)
    lean(writer, EOS, -100.0)
    found = writer.generate("el", tokens=1)
    assert (len(found.tokens), found.ended) == (1, False)


@pytest.mark.parametrize("unit", ["characters", "subwords"])
@pytest.mark.parametrize("decode_", [{}, {"beam": 1}, {"beam": 40}])
def test_a_text_without_ends_goes_on(unit: Unit, decode_: dict[str, Any]) -> None:
    writer = model(unit)
    lean(writer, EOS, 100.0)
    found = writer.generate("el", tokens=12, **decode_)
    assert (len(found.tokens), found.ended) == (12, False)


def test_wrong_use() -> None:
    writer = model()
    with pytest.raises(UsageError, match="--tokens 0: must be at least 1"):
        writer.generate("el", tokens=0)
    with pytest.raises(UsageError, match="--tokens -1"):
        writer.stream("el", tokens=-1)
    with pytest.raises(UsageError, match="temperature"):
        writer.generate("el", temperature=0)
    for ask in (writer.generate, writer.unknown):
        with pytest.raises(InputError, match="the prompt has bytes that are not UTF-8"):
            ask("a\udcff")
    with pytest.raises(UsageError, match="n_best=3"):
        writer.generate("el", beam=5, n_best=3)


def test_the_task_is_what_it_says() -> None:
    task = LanguageModelTask()
    assert isinstance(task.loss(0.1), NextTokenLoss)
    assert task.read_dev('"a\\n"\n"b"\n') == ["a\n", "b"]


@pytest.mark.parametrize(("model", "length", "carry"), [("gpt", 128, False), ("lstm", 64, True)])
def test_pieces_suit_the_model(model: str, length: int, carry: bool) -> None:
    """A model that sees a context trains on all of its positions; one that remembers goes on where it stopped."""
    chosen = {"name": model, "max_length": 128}
    values = check_config({"task": "language_model", "model": chosen, "data": {"files": ["book.txt"]}})
    assert (values["data"]["length"], values["data"]["carry"]) == (length, carry)


@pytest.mark.parametrize("size", [1, 7, 79, 80, 81, 1000])
def test_validation_reads_passages_from_all_of_the_dev_set(size: int) -> None:
    ids = list(range(size))
    found = passages(ids, 80)
    if size <= 80:
        assert found == [ids]
        return
    assert [len(passage) for passage in found] == [10] * 8
    assert found[0][0] == 0
    assert found[-1][-1] == size - 1
    assert all(passage == ids[passage[0] : passage[0] + 10] for passage in found)
