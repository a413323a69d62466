"""Several models on the same data, tokens and budget, and one report on what came of it."""

from mirada.compare.lineup import compare
from mirada.compare.results import Comparison, Entrant

__all__ = ["Comparison", "Entrant", "compare"]
