"""Tagging: what a model learns of a small language, what it says of texts of all kinds, and how it is measured."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import mirada
from mirada import models
from mirada.contracts import EOS, SequenceBatch, SequenceEncoder
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import ConfigError, DataError, InputError
from mirada.tasks.tagging.data import TaggedBatches
from mirada.tasks.tagging.model import NumberedWord, TaggedWord, TaggingModel, _shortened, words_of
from mirada.tasks.tagging.tags import TaggedConfig
from mirada.tasks.tagging.task import TaggingTask
from mirada.training.losses import LabelLoss, SquaredErrorLoss
from tests.preparing import prepare

Sentence = list[tuple[str, str]]
TINY: dict[str, Any] = {
    "model": {"width": 32, "dropout": 0.0},
    "train": {"batch_tokens": 1000, "lr": 0.02, "warmup": 5, "threads": 1},
}


def language(count: int, seed: int = 0) -> list[Sentence]:
    """A determiner, a noun, a verb, twice. "walk" and "lighthouse" are nouns after a determiner, verbs after a noun."""
    chance = random.Random(seed)
    found: dict[tuple[str, ...], Sentence] = {}
    while len(found) < count:
        sentence: Sentence = []
        for _ in range(2):
            sentence.append((chance.choice(["the", "a", "every"]), "D"))
            sentence.append((chance.choice(["dog", "umbrella", "walk", "lighthouse"]), "N"))
            sentence.append((chance.choice(["sees", "remembers", "walk", "lighthouse"]), "V"))
        sentence.append((chance.choice([".", "!"]), "P"))
        found[tuple(word for word, _ in sentence)] = sentence
    return list(found.values())


def spans(count: int) -> list[Sentence]:
    """Names of one or two words behind "in" or "with"; the same words elsewhere are none."""
    chance = random.Random(1)
    found: dict[tuple[str, ...], Sentence] = {}
    names = ["rio", "grande", "santa", "rosa", "ana"]
    while len(found) < count:
        sentence: Sentence = [(chance.choice(names), "O"), (chance.choice(["is", "was"]), "O")]
        for before, kind in chance.sample([("in", "LOC"), ("with", "PER")], chance.choice([1, 2])):
            first, *more = chance.sample(names, chance.choice([1, 2]))
            sentence += [(before, "O"), (first, f"B-{kind}"), *((word, f"I-{kind}") for word in more)]
        found[tuple(word for word, _ in sentence)] = sentence
    return list(found.values())


def measured(count: int) -> list[Sentence]:
    """Numbers: each word's own, and 40 more behind "very"."""
    chance = random.Random(2)
    own = {"small": 100.5, "middling": 120.5, "large": 150.5, "very": 110.0}
    found: dict[tuple[str, ...], Sentence] = {}
    while len(found) < count:
        words = chance.choices(list(own), k=chance.randint(2, 6))
        behind = [False, *(word == "very" for word in words[:-1])]
        found[tuple(words)] = [(w, f"{own[w] + 40 * very}") for w, very in zip(words, behind, strict=True)]
    return list(found.values())


def write(path: Path, rows: list[Sentence]) -> Path:
    path.write_text("\n".join("".join(f"{word}\t{tag}\n" for word, tag in row) for row in rows), encoding="utf-8")
    return path


def train(file: Path, out: Path, model: str = "elman", steps: int = 60, **options: Any) -> TaggingModel:
    trained = mirada.train(file, out=out, task="tagging", model=model, steps=steps, settings=TINY, **options)
    assert isinstance(trained, TaggingModel)
    return trained


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tagged") / "tagged.conll", language(400))


@pytest.fixture(scope="module")
def tagger(file: Path, tmp_path_factory: pytest.TempPathFactory) -> TaggingModel:
    return train(file, tmp_path_factory.mktemp("elman") / "bundle")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> TaggingModel:
    folder = tmp_path_factory.mktemp("numbers")
    return train(write(folder / "n.conll", measured(300)), folder / "bundle", steps=150)


@pytest.fixture(scope="module", params=["labels", "numbers"])
def few(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few sentences."""
    folder = tmp_path_factory.mktemp("few")
    write(folder / "a.conll", language(30) if request.param == "labels" else measured(30))
    return folder


# ── what is learned ───────────────────────────────────────────────────────────────────────────────────────────────


def test_order_matters(tagger: TaggingModel, file: Path, tmp_path: Path) -> None:
    """The tag of an ambiguous word depends on the word before it: who remembers nothing, cannot know it."""
    new = [([w for w, _ in row], [t for _, t in row]) for row in language(300, seed=9)]
    assert tagger.evaluate(new).score("accuracy") > 99.5
    nothing = train(file, tmp_path / "memoryless", "memoryless").evaluate(new).score("accuracy")
    ambiguous = sum(word in ("walk", "lighthouse") for words, _ in new for word in words)
    total = sum(len(words) for words, _ in new)
    sure = 100 * (total - ambiguous) / total
    assert sure < nothing < sure + 100 * 0.65 * ambiguous / total


def test_a_jordan_network_hears_its_own_tags(tmp_path: Path) -> None:
    """What it hears in training are true tags; at use it hears itself, also over words of several pieces."""
    rows, new = (
        [[(word.replace("walk", "walk77").replace("dog", "dog305"), tag) for word, tag in row] for row in part]
        for part in (language(400), language(200, seed=9))
    )
    jordan = train(write(tmp_path / "a.conll", rows), tmp_path / "jordan", "jordan", 150)
    assert min(len(ids) for ids in jordan.preprocessor.tokenizer.encode(["walk77", "dog305"])) > 2
    assert jordan.evaluate([([w for w, _ in row], [t for _, t in row]) for row in new]).score("accuracy") > 99.5


def test_spans(tmp_path: Path) -> None:
    lines: list[Any] = []
    model = train(write(tmp_path / "a.conll", spans(300)), tmp_path / "b", "elman", 120, listen=lines.append)
    last = [event.figures for event in lines if event.kind == "validation"][-1]
    assert last["measure"] == "span-F1"
    assert last["score"] > 95
    assert model.card["scores"]["scores"][0]["name"] == "span-F1"
    assert [word[1] for word in model.tag("rosa is in santa rosa with ana")] == [
        "O", "O", "O", "B-LOC", "I-LOC", "O", "B-PER",
    ]  # fmt: skip


def test_numbers(numbers: TaggingModel) -> None:
    scores = {score["name"]: score["value"] for score in numbers.card["scores"]["scores"]}
    assert scores["RMSE"] < 2
    assert scores["R²"] > 0.98
    found = numbers.tag("small very small")
    assert all(isinstance(word, NumberedWord) for word in found)
    assert [word[0] for word in found] == ["small", "very", "small"]
    assert [word[1] for word in found] == pytest.approx([100.5, 110, 140.5], abs=5)
    look = numbers.validate([(["small", "very", "small"], ["100.5", "110", "140.5"])], 10)
    errors = [float(n) - y for (_, n, *_), y in zip(found, (100.5, 110, 140.5), strict=True)]
    assert look.lower_is_better
    assert look.value == pytest.approx(math.sqrt(sum(e * e for e in errors) / 3), rel=1e-4)
    with pytest.raises(DataError, match="the word 'small' has the tag 'N', but the model gives numbers"):
        numbers.evaluate([(["small"], ["N"])])


@pytest.mark.parametrize(
    "name", [name for name, entry in models.architectures().items() if "tagging" in entry.variants]
)
def test_every_model_tags(name: str, few: Path) -> None:
    config = TaggedConfig(files=(str(few / "a.conll"),))
    task = TaggingTask()
    section = models.find(name, "tagging").config.model_validate({"name": name, "width": 16})
    built = {"data": config, "tokenizer": TokenizerConfig(), "model": section}
    data = task.prepare(built, few / "data", lambda *progress: None)
    network, objective = task.network(section, data.preprocessor), task.loss(0.0)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    batches = data.batches(10_000, 1)
    losses = []
    for _ in range(3):
        loss = objective(network, batches.load(batches.epoch(0)[0]))
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.total.item() / loss.count)
    assert losses[2] < losses[0]
    model = TaggingModel(few, {}, {"data": config.model_dump()}, network, data.preprocessor, torch.device("cpu"))
    words, _ = data.dev[0]
    assert [found[0] for found in model.tag([words])[0]] == words
    assert model.score(data.dev).size == sum(len(words) for words, _ in data.dev)


def test_new_sentences_for_a_trained_model(tagger: TaggingModel, tmp_path: Path) -> None:
    rows = [[(word.replace("dog", "zebra"), tag) for word, tag in row] for row in language(100, seed=5)]
    file = write(tmp_path / "new.conll", rows)
    tuned = mirada.train(file, out=tmp_path / "tuned", base=tagger.path, steps=10)
    assert isinstance(tuned, TaggingModel)
    assert tuned.labels == tagger.labels
    assert tuned.preprocessor.unseen([["zebra", "dog", "cow"]]) == [[False, False, True]]
    change = tuned.card["base"]
    assert change["after"]["new"]["accuracy"] >= change["before"]["new"]["accuracy"]
    assert change["after"]["old"]["accuracy"] > 99


def test_settings_that_do_not_fit(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data.max_tokens=3000: the model takes 1998; .*--set model.max_length=3002"):
        train(file, tmp_path / "b", columns=["1", "2"], config=_yaml(tmp_path, "data: {max_tokens: 3000}"))
    with pytest.raises(ConfigError, match="--model bag: is not for tagging"):
        train(file, tmp_path / "b", "bag")
    assert not (tmp_path / "b").exists()


def test_word_vectors_to_start_from(file: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("".join(f"{word} {'0.5 ' * 31}1\n" for word in ("the", "dog", "zebra")))
    config = _yaml(tmp_path, f"data: {{vectors: {tmp_path / 'vectors.txt'}}}")
    said: list[Any] = []
    train(file, tmp_path / "b", steps=1, config=config, listen=said.append)
    notes = [event.figures["text"] for event in said if event.kind == "note"]
    assert any("2 of" in note and "vectors" in note for note in notes)


def _yaml(folder: Path, text: str) -> Path:
    (folder / "settings.yaml").write_text(text)
    return folder / "settings.yaml"


# ── what it says of texts ─────────────────────────────────────────────────────────────────────────────────────────


def test_alone_or_among_others(tagger: TaggingModel) -> None:
    texts = ["the walk sees.", "", "every dog walk a walk walk a lighthouse remembers!", "   ", "Ünknown wörds —"]
    together = tagger.tag(texts)
    assert [len(words) for words in together] == [4, 0, 10, 0, 3]
    for text, found in zip(texts, together, strict=True):
        alone = tagger.tag(text)
        assert [word[:2] for word in alone] == [word[:2] for word in found]
        assert [word[-1] for word in alone] == pytest.approx([word[-1] for word in found], abs=1e-5)
    assert tagger.tag([]) == []


def test_words_may_be_given(tagger: TaggingModel) -> None:
    found = tagger.tag([["the", "walk", "sees", "."], ["the", "New York", "", "\u00a0"]])
    assert [word for word, *_ in found[0]] == ["the", "walk", "sees", "."]
    assert [word for word, *_ in found[1]] == ["the", "New York", "", "\u00a0"]
    assert found[0] == tagger.tag(["the walk sees ."])[0]
    assert all(isinstance(word, TaggedWord) and 0 < word.probability <= 1 for word in found[0])


def test_a_long_text_is_tagged_in_parts(tagger: TaggingModel) -> None:
    sentence = ["the", "walk", "walk", "a", "lighthouse", "sees", "."]
    expected = ["D", "N", "V", "D", "N", "V", "P"]
    found = tagger.tag([sentence * 100])[0]
    assert [word for word, *_ in found] == sentence * 100
    right = sum(tag == truth for (_, tag, *_), truth in zip(found, expected * 100, strict=True))
    assert right > 680  # where it is cut, the word before is not known
    assert len(tagger.tag("x" * 5000 + " dog")) == 2


def test_what_is_no_text(tagger: TaggingModel) -> None:
    with pytest.raises(InputError, match="text 2 has bytes that are not UTF-8"):
        tagger.tag(["the dog", "the \udcff"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog, it's (really) 5.20 $!", ["The", "dog", ",", "it's", "(", "really", ")", "5.20", "$", "!"]),
        ('"Well..." he said--no?!', ['"', "Well", "...", '"', "he", "said--no", "?", "!"]),
        ("¿Qué? -- :-)", ["¿", "Qué", "?", "--", ":", "-", ")"]),
        ("हिन्दी। naïve", ["हिन्दी", "।", "naïve"]),
        (" \t\u00a0 ", []),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@settings(max_examples=50)
@given(st.text())
def test_no_character_is_lost(text: str) -> None:
    assert "".join(words_of(text)) == "".join(text.split())


@settings(max_examples=50)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), limit=st.integers(1, 12))
def test_parts_are_cut_before_words(sizes: list[int], limit: int) -> None:
    pieces = [[10 * word + piece for piece in range(size)] for word, size in enumerate(sizes)]
    ids = [id for word in pieces for id in word]
    starts = [sum(sizes[:word]) for word in range(len(sizes))]
    parts = list(_shortened(ids, starts, limit))
    assert [part[start] for part, begins in parts for start in begins] == [word[0] for word in pieces]
    assert all(len(part) <= limit for part, _ in parts)
    assert [id for part, _ in parts for id in part] == [id for word in pieces for id in word[:limit]]


# ── how it is measured ────────────────────────────────────────────────────────────────────────────────────────────


def test_scores(tagger: TaggingModel, tmp_path: Path) -> None:
    test = write(tmp_path / "test.conll", [[("the", "D"), ("dog", "N"), ("zebra", "X")]])
    scores = tagger.evaluate(test)
    assert scores.size == 3
    assert scores.score("accuracy") == pytest.approx(200 / 3)  # a tag that it does not know is wrong
    assert scores.score("unknown words") == 0
    turned = write(tmp_path / "turned.conll", [[("D", "the"), ("N", "dog")]])
    assert tagger.evaluate(turned, columns=["2", "1"]).score("accuracy") == 100
    look = tagger.validate([(["the", "dog"], ["D", "N"]), (["a", "walk"], ["D", "N"])], 1)
    assert (look.measure, look.score) == ("accuracy", 100.0)
    assert look.example == ("the dog", "D N", "D N")
    assert look.figures["loss"] == pytest.approx(
        -sum(math.log(float(word[-1])) for word in tagger.tag("the dog")) / 2, rel=1e-4, abs=1e-6
    )


class Fixed(SequenceEncoder):
    """An encoder whose outputs are given."""

    def __init__(self, h: Tensor):
        super().__init__()
        self.h, self.output = nn.Parameter(h), nn.Identity()

    def encode(self, batch: SequenceBatch) -> Tensor:
        return self.h


def test_objectives() -> None:
    torch.manual_seed(1)
    reader, inputs, lengths = Fixed(torch.randn(2, 4, 3)), torch.zeros(2, 4, dtype=torch.long), torch.tensor([4, 2])
    truth = torch.tensor([[1, 0, 3, 0], [2, 0, 0, 0]])
    for smoothing in (0.0, 0.2):
        loss = LabelLoss(smoothing)(reader, SequenceBatch(inputs, lengths, truth))
        expected = F.cross_entropy(
            reader.h.flatten(0, 1), truth.flatten() - 1, ignore_index=-1, reduction="sum", label_smoothing=smoothing
        )
        torch.testing.assert_close(loss.total, expected)
        assert loss.count == 3
    one = Fixed(torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]))
    nan = math.nan
    loss = SquaredErrorLoss()(one, SequenceBatch(inputs[:, :2], lengths, torch.tensor([[3.0, nan], [3.5, nan]])))
    assert (loss.total.item(), loss.count) == (4.25, 2)
    loss.total.backward()
    assert one.h.grad is not None
    assert one.h.grad.flatten().tolist() == [-4.0, 0.0, -1.0, 0.0]


# ── batches ───────────────────────────────────────────────────────────────────────────────────────────────────────


def characters(tmp_path: Path, rows: list[Sentence], hears: bool) -> TaggedBatches:
    config = TaggedConfig(files=(str(write(tmp_path / "a.conll", rows)),), hold_out=0.01)
    data = prepare("tagging", tmp_path / "data", data=config, tokenizer=TokenizerConfig(unit="characters"))
    corpus, numbers = data.store
    return TaggedBatches(corpus, 10_000, 1, numbers, data.preprocessor, hears)


@pytest.mark.parametrize("hears", [False, True])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_batch(tmp_path: Path, hears: bool, numeric: bool) -> None:
    """A word of three letters is three pieces; the first has the truth, for a Jordan network all of them."""
    tags = ("1.5", "4.0") if numeric else ("X", "Y")
    lengths = [(1, 3), (2,), (3, 1, 2), (1, 1), (2, 2, 1), (4,), (1, 2), (3,), (1, 4), (2, 3), (5,), (1, 1, 1)]
    rows = [
        [(letter * size, tags[size % 2]) for size in sizes]
        for letter, sizes in zip("abcdefghijkl", lengths, strict=True)
    ]
    plan = characters(tmp_path, rows, hears)
    preprocessor = plan.tags
    (group,) = plan.epoch(0)
    batch = plan.load(group)
    assert batch.truth is not None
    assert batch.truth.shape == batch.inputs.shape
    assert plan.tokens == int(batch.lengths.sum()) == batch.tokens
    nothing = math.nan if numeric else 0
    texts = {"".join(word for word, _ in row): row for row in rows}
    for ids, length, truth in zip(batch.inputs.tolist(), batch.lengths.tolist(), batch.truth.tolist(), strict=True):
        assert ids[length - 1 :] == [EOS, *[0] * (len(ids) - length)]
        expected: list[float] = []
        for word, tag in texts["".join(preprocessor.tokenizer.pieces(ids[: length - 1]))]:
            true = (
                (float(tag) - preprocessor.mean) / preprocessor.deviation
                if numeric
                else 1 + preprocessor.labels.index(tag)
            )
            expected += [true] * len(word) if hears else [true, *[nothing] * (len(word) - 1)]
        assert truth == pytest.approx([*expected, *[nothing] * (len(ids) - len(expected))], nan_ok=True)
    assert (batch.before is not None) == hears
    if batch.before is not None:
        outputs = 1 if numeric else 2
        assert batch.before.shape == (*batch.inputs.shape, outputs)
        assert not batch.before[:, 0].any()
        heard = batch.before @ torch.arange(1.0, outputs + 1)  # [B, T] the mark, or the number
        inside = batch.mask[:, 1:]
        torch.testing.assert_close(heard[:, 1:][inside], batch.truth[:, :-1][inside].float())
