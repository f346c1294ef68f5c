"""Checks whether numbers are values of a scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.protocols.base import ScoringOptions
from app.stats.ratings import ScoreScale

LARGEST = 1e6
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
TOLERANCE = 1e-9
MOST_STEPS = 1_000_000
"""Maximum number of steps in a scale; one with more is practically continuous, but reports would count its values."""


def find_value_fault(value: float, scale: ScoreScale) -> str | None:
    """Return why this is not a value of the scale, None if it is.

    >>> find_value_fault(3.5, ScoreScale(1.0, 5.0, 1.0))
    'must be from 1 to 5 in steps of 1'
    """
    steps = 0.0 if scale.step is None else (value - scale.minimum) / scale.step
    if scale.minimum <= value <= scale.maximum and abs(steps) <= MOST_STEPS and abs(steps - round(steps)) <= TOLERANCE:
        return None
    stepwise = f" in steps of {scale.step:g}" if scale.step else ""
    return f"must be from {scale.minimum:g} to {scale.maximum:g}{stepwise}"


def check_declared_scale(scale: ScoreScale, labels: Iterable[str]) -> None:
    """Raise ValueError if a scale that a manager declares has no values, or a label belongs to none of them."""
    if scale.minimum >= scale.maximum:
        raise ValueError("minimum must be less than maximum")
    if scale.step is not None and (scale.maximum - scale.minimum) / scale.step > MOST_STEPS:
        raise ValueError(f"there must be at most {MOST_STEPS:,} steps; without a step, any value is one")
    if find_value_fault(scale.maximum, scale):
        raise ValueError("from minimum to maximum must be a whole number of steps")
    for value in labels:
        if find_value_fault(float(value), scale):
            raise ValueError(f"the label of {value[:40]} stands for no value of the scale")


def check_score_on_scale(value: float, scale: ScoreScale, options: ScoringOptions) -> None:
    """Raise Invalid if a score is off its scale; standardised scores have no scale."""
    why = None if options.standardised else find_value_fault(value, scale)
    if why is not None:
        raise Invalid(f"score {why}", places=(Place(("score",), why),))
