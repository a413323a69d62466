"""What a model of this task needs besides its weights, as files of a bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel, Field, FiniteFloat

from mirada.contracts import Sizes
from mirada.tasks.forecasting.windows import Frame


@dataclass(frozen=True)
class ForecastingPreprocessor:
    """What forecasting needs besides weights: the columns' names, and how the network sees their numbers."""

    names: tuple[str, ...]
    frame: Frame
    training: int
    """Steps that were learned from."""

    @property
    def sizes(self) -> Sizes:
        C = len(self.names)
        return Sizes(self.frame.width, 2 * C, numeric_inputs=True, numeric_outputs=True, causal=True)

    def files(self) -> dict[str, bytes]:
        about = {"names": self.names, "training": self.training, **self.frame.as_dict()}
        return {"series.json": json.dumps(about, ensure_ascii=False, indent=2).encode("utf-8")}


class _Series(BaseModel):
    """What series.json says: `Frame` as numbers, and which columns it is of."""

    names: tuple[str, ...]
    training: int = Field(ge=0)
    mean: list[FiniteFloat]
    std: list[FiniteFloat]
    miss: list[FiniteFloat]
    period: int | None = Field(ge=2, le=100_000)
