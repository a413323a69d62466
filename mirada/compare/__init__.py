"""Train several models on the same data, tokens and budget, and compare them in one report."""

from mirada.compare.results import Comparison, ModelResult
from mirada.compare.runner import compare

__all__ = ["Comparison", "ModelResult", "compare"]
