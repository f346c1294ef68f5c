"""Lines that calibrate the scores of a language pair, and the fixed points that define the lines.

Sources: Licht et al. 2022, §4 and §5.2. Equations 1 and 2 are blank in the public text; the formulas here reproduce all
28 rows of its Table 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from app.stats.plain_values import number_or_none
from app.stats.ratings import Floats

Method = Literal["raw", "cs", "ht", "cs_ht"]
METHODS: tuple[Method, ...] = get_args(Method)
NARROW = 0.5
"""If the fixed points are closer than this, their errors dominate the line."""


@dataclass(frozen=True, slots=True)
class CalibrationFixedPoints:
    """Fixed points of a language pair or a rater; None if unknown.

    consensus, anchors: C and c, the agreed score of the calibration pairs and the score that raters gave to the same
    pairs. target, human: H and h, the intended score of human references and the score that raters gave to them.
    sign: 1 if a higher score is better, −1 if a lower score is better.
    """

    consensus: float | None = None
    anchors: float | None = None
    target: float | None = None
    human: float | None = None
    sign: int = 1

    @property
    def distance(self) -> float | None:
        """Distance of the two fixed points, h − c, positive if human references scored better."""
        if self.human is None or self.anchors is None:
            return None
        return (self.human - self.anchors) * self.sign


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    """x′ = slope·x + intercept."""

    slope: float
    intercept: float

    def apply(self, score: float) -> float:
        """Return the calibrated score, without clipping."""
        return self.slope * score + self.intercept


def explain_unavailable_method(method: Method, points: CalibrationFixedPoints) -> str | None:
    """Explain why a method cannot be applied; None if it can.

    >>> explain_unavailable_method("cs", CalibrationFixedPoints(human=4.6, target=4.7))
    'no rater judged a pair of the calibration set'
    """
    if method in {"cs", "cs_ht"} and points.anchors is None:
        return "no rater judged a pair of the calibration set"
    if method in {"ht", "cs_ht"} and points.human is None:
        return "no human reference was judged in this direction"
    if method in {"ht", "cs_ht"} and points.target is None:
        return "no target for human references"
    if method == "cs_ht" and points.distance is not None and points.distance <= 0:
        return (
            "human references scored no better than the calibration set, so the two fixed points do not define a line"
        )
    return None


def make_calibration_line(method: Method, points: CalibrationFixedPoints) -> CalibrationLine:
    """Return the calibration line of a method.

    `raw`: x. `cs`: x + C − c. `ht`: x + H − h. `cs_ht`: the line through (c, C) and (h, H).

    Raises ValueError with the reason if a fixed point is missing or, for `cs_ht`, h is no better than c.

    >>> georgian = CalibrationFixedPoints(consensus=2.97, anchors=2.99, target=4.687, human=4.607)
    >>> round(make_calibration_line("cs_ht", georgian).apply(1.04), 2)
    0.9

    Source: Licht et al. 2022, §5.2, as reconstructed.
    """
    why = explain_unavailable_method(method, points)
    if why is not None:
        raise ValueError(why)
    slope, intercept = compute_slopes_and_intercepts(method, *convert_fixed_points_to_arrays(points), sign=points.sign)
    return CalibrationLine(float(slope[0]), float(intercept[0]))


def compute_slopes_and_intercepts(
    method: Method, consensus: Floats, anchors: Floats, target: Floats, human: Floats, sign: int = 1
) -> tuple[Floats, Floats]:
    """Slopes and intercepts of many lines; NaN if a fixed point is missing or, for `cs_ht`, h is no better than c."""
    ones = np.ones(np.broadcast(consensus, anchors, target, human).shape)
    if method == "raw":
        return ones, ones * 0.0
    if method == "cs":
        return ones, ones * (consensus - anchors)
    if method == "ht":
        return ones, ones * (target - human)
    width = human - anchors
    apart = np.isfinite(width) & (width * sign > 0)
    slope = np.divide(ones * (target - consensus), width, out=ones * np.nan, where=apart)
    return slope, np.asarray(target - slope * human, dtype=np.float64)


def convert_fixed_points_to_arrays(points: CalibrationFixedPoints) -> tuple[Floats, Floats, Floats, Floats]:
    """Return C, c, H and h as arrays of size 1, NaN if missing, for `compute_slopes_and_intercepts`."""
    values = (points.consensus, points.anchors, points.target, points.human)
    c, a, t, h = (np.array([np.nan if v is None else v]) for v in values)
    return c, a, t, h


def make_calibration_fixed_points(
    consensus: float, anchors: float, target: float, human: float, sign: int = 1
) -> CalibrationFixedPoints:
    """Make fixed points from numbers; NaN means missing."""
    return CalibrationFixedPoints(
        number_or_none(consensus), number_or_none(anchors), number_or_none(target), number_or_none(human), sign
    )
