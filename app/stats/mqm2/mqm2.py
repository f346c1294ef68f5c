"""MQM 2.0 scores: penalty points per evaluated word, raw and calibrated to a threshold, and a non-linear tolerance.

This is a contract's view of MQM errors: one score for a text and whether it passes, instead of a mean over segments.
Sources: themqm.org, *MQM scoring models*; Lommel et al. 2024 (arXiv 2405.16969).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, fsum, log, log1p
from types import MappingProxyType

from app.domain.errors import Invalid, Place

SEVERITY_MULTIPLIERS: Mapping[str, float] = MappingProxyType(
    {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 25.0}
)
MAXIMUM = 100.0
"""MSV, the score of a text without penalty."""
REFERENCE_WORDS = 1000
"""RWC, the reference number of words for normed penalties."""
CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Errors of one type and severity: their number, and the weight of the type (ETW)."""

    severity: str
    count: int = 1
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PassingThreshold:
    """Threshold of a pass: the score `passing` (PT, below 100) at `points` penalty points (APP) per 1,000 words."""

    passing: float
    points: float

    def __post_init__(self) -> None:
        if not 0 <= self.passing < MAXIMUM or not self.points > 0:
            raise _invalid("threshold", "passing must be from 0 to below 100, and points positive")


@dataclass(frozen=True, slots=True)
class Mqm2Score:
    """Penalties and scores of one text.

    penalty: APT, all penalty points. per_word: PWPT. normed: NPT, per 1,000 words. raw: 100·(1 − PWPT), not calibrated.
    calibrated, passed: None without a threshold. critical: number of critical errors.
    """

    penalty: float
    per_word: float
    normed: float
    raw: float
    calibrated: float | None
    passed: bool | None
    critical: int


def score_mqm2(
    errors: Iterable[ErrorCount],
    words: int,
    *,
    threshold: PassingThreshold | None = None,
    critical_fails: bool = True,
    multipliers: Mapping[str, float] = SEVERITY_MULTIPLIERS,
) -> Mqm2Score:
    """Score the errors found in `words` evaluated words.

    Parameters
    ----------
    words : EWC, positive.
    threshold : if given, the score is calibrated so that a text at the threshold scores `threshold.passing`:
        100 − NPT·(100 − PT)/APP, which may be negative.
    critical_fails : whether any critical error fails the text, regardless of its score.
    multipliers : points of one error by severity, in lower case.

    Raises
    ------
    Invalid : no words, a negative count, an unknown severity.

    >>> found = score_mqm2([ErrorCount("major", 2)], 1000, threshold=PassingThreshold(90, 10))
    >>> found.penalty, found.raw, found.calibrated, found.passed
    (10.0, 99.0, 90.0, True)
    """
    marked = list(errors)
    penalty = fsum(_points(error, multipliers) for error in marked)
    critical = sum(error.count for error in marked if error.severity.lower() == CRITICAL)
    return score_mqm2_from_penalty(penalty, words, critical, threshold=threshold, critical_fails=critical_fails)


def score_mqm2_from_penalty(
    penalty: float,
    words: float,
    critical: int,
    *,
    threshold: PassingThreshold | None = None,
    critical_fails: bool = True,
) -> Mqm2Score:
    """Like `score_mqm2`, from the sum of penalty points (APT). Raises `Invalid` if there are no words.

    >>> score_mqm2_from_penalty(6.5, 250, 0, threshold=PassingThreshold(90, 20)).calibrated
    87.0
    """
    if words <= 0:
        raise _invalid("words", "must be positive")
    normed = penalty / words * REFERENCE_WORDS
    raw = MAXIMUM * (1 - penalty / words)
    if threshold is None:
        return Mqm2Score(penalty, penalty / words, normed, raw, None, None, critical)
    calibrated = MAXIMUM - normed * (MAXIMUM - threshold.passing) / threshold.points
    passed = round(calibrated, 10) >= threshold.passing and not (critical_fails and critical)
    return Mqm2Score(penalty, penalty / words, normed, raw, calibrated, passed, critical)


def _points(error: ErrorCount, multipliers: Mapping[str, float]) -> float:
    severity = error.severity.lower()
    if severity not in multipliers:
        raise _invalid("severity", f"must be one of {', '.join(multipliers)}")
    if error.count < 0 or error.weight < 0:
        raise _invalid("count", "counts and weights must not be negative")
    return error.count * error.weight * multipliers[severity]


@dataclass(frozen=True, slots=True)
class PenaltyTolerance:
    """Penalty points that a text of x words may have: E(x) = a·ln(1 + b·x), so fewer per word in longer texts."""

    a: float
    b: float

    def __call__(self, words: float) -> float:
        return self.a * log1p(self.b * words)

    @classmethod
    def through_points(cls, first: tuple[float, float], second: tuple[float, float]) -> PenaltyTolerance:
        """Fit the curve through two points (words, penalty points).

        Raises `Invalid` unless the second point has more words and more points, but fewer points per word.

        >>> tolerance = PenaltyTolerance.through_points((500, 4), (2000, 9))
        >>> round(tolerance.a, 6), round(tolerance.b, 8), round(tolerance(1000), 3)
        (5.221134, 0.00230279, 6.238)
        """
        (x, e), (y, f) = first, second
        if not (0 < x < y and 0 < e < f and f / e < y / x):
            raise _invalid("anchors", "the second needs more words and points, and fewer points per word")
        # ln(1 + b·y)/ln(1 + b·x) falls from y/x at b = 0 to 1, so bisect on ln b.
        low, high = log(1e-12 / x), log(1e12 / x)
        for _ in range(200):
            middle = (low + high) / 2
            if log1p(exp(middle) * y) / log1p(exp(middle) * x) > f / e:
                low = middle
            else:
                high = middle
        b = exp((low + high) / 2)
        return cls(e / log1p(b * x), b)


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(f"{name}: {message}", places=(Place(("body", name), message),))
