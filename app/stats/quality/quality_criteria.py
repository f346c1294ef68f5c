"""The checks and choices of quality control. A campaign's settings hold these, so this module imports no statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

ControlTestName = Literal["signed_rank", "paired_t", "rank_sum"]
ControlAdjust = Literal["bh", "holm", "none"]
TESTS: tuple[str, ...] = get_args(ControlTestName)
MIN_PAIRS = 8
"""With fewer pairs there is no verdict; the number is our own choice (docs/quality.md)."""
ALPHA = 0.05
REFERENCE = 0.5
DECISION = 5.0
CHANCE = 0.01
"""Chance that a rater who does not drift is flagged for drift."""
Check = Literal["controls", "habits", "speed", "panel", "repeats", "drift", "within_tasks", "alike"]
CHECKS: tuple[Check, ...] = get_args(Check)
"""The checks of a rater; the first is a test with a verdict, the others have limits."""


@dataclass(frozen=True, slots=True)
class FlagThresholds:
    """From where evidence is flagged; a flag is for a person to look at and decides nothing.

    chance: of any honest rater of a campaign to be flagged by a check, as Benjamini and Hochberg bound it over the
    raters (over the pairs, for answers that are alike). drift_chance: of one honest rater to be flagged for drift.
    Beside its chance some evidence has to be of a size that matters. run_p: chance of the longest run in random order.
    fast: seconds a word as a share of the panel's median, with at least `min_timed` timed judgments. round: share of
    round scores. correlation: as a share of what is usual, below. offset: in robust SDs of the raters' levels.
    repeats: distance as a multiple of the others', with at least `min_repeats`. min_raters: fewer than these are not
    told apart by habits, correlation or level. min_judgments: below it habits are not judged.
    """

    run_p: float = 0.001
    fast: float = 1 / 3
    min_timed: int = 20
    round: float = 0.95
    correlation: float = 0.5
    offset: float = 3.0
    min_raters: int = 5
    repeats: float = 1.3
    min_repeats: int = 5
    min_judgments: int = 20
    drift_chance: float = CHANCE
    chance: float = 0.01


@dataclass(frozen=True, slots=True)
class RaterQualityCriteria:
    """How raters are judged. k, h: of the CUSUM. tolerance: of repeats, None for a tenth of the scale."""

    test: ControlTestName = "signed_rank"
    min_pairs: int = MIN_PAIRS
    adjust: ControlAdjust = "bh"
    alpha: float = ALPHA
    tolerance: float | None = None
    k: float = REFERENCE
    h: float = DECISION
    limits: FlagThresholds = field(default_factory=FlagThresholds)
