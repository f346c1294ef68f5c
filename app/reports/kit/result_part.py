"""Base classes for the parts of a report's result."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ResultPart(BaseModel):
    """Frozen: a result is not changed after it was computed."""

    model_config = ConfigDict(frozen=True)


class FiniteResultPart(ResultPart):
    """Frozen, and without NaN and infinity, which JSON does not have."""

    model_config = ConfigDict(allow_inf_nan=False)
