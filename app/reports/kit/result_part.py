"""Base classes for the parts of a report's result."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenResultModel(BaseModel):
    """A frozen part of a result, because results do not change once they are computed."""

    model_config = ConfigDict(frozen=True)


class FrozenFiniteResultModel(FrozenResultModel):
    """A frozen part of a result without NaN and infinity, which JSON cannot represent."""

    model_config = ConfigDict(allow_inf_nan=False)
