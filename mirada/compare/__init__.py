"""Several models on the same data, tokens and budget, and one report on what came of it."""

from mirada.compare.results import Comparison, ModelResult
from mirada.compare.runner import compare

__all__ = ["Comparison", "ModelResult", "compare"]
