"""Expected duration of a ranking, from its size alone: long ones become jobs, the others are computed at once."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.recipe import Recipe
from app.stats.ranking.rank_sets import choose_number_of_bootstrap_draws
from app.stats.testing.pair_tests import DRAWN_TESTS, choose_number_of_resamples
from app.storage import test_sets
from app.storage.db import Session

AT_ONCE = 5.0
"""Seconds that a client waits if it does not specify anything."""
QUICK_JUDGMENTS = 40_000
"""With more judgments than this, a worker makes the reports that read them all.

The process that answers raters should not compute for longer than about .2 s.
"""

# Seconds on one processor that another process uses as well. They are twice the processor time if a fifth of the
# ratings is missing, so that each pair has its own segments; with complete ratings, the time is a sixth of that.
# Measured: 30 systems on 60, 180 and 900 documents .3, .6 and 2.5 s, 45 on 180 2.8 s, 60 on 60 and 180 4.4 and 8.8 s;
# by segment about four times that. Bootstrap: 30 on 180 1.7 s, 40 8.4 s. maxT: 60 on 180 3.4 s; its rank sets: 1.4 s.
_A_SUM, _A_COMPARISON, _A_STEP, _A_REJECTION = 1.25e-9, 7.5e-9, 3.5e-7, 1e-10
_BOOTSTRAP = 4  # times as long as sign flips
# Costs besides resampling: a ranking of 10,000 judgments takes .05 s, of a million 1.2 s (docs/benchmarks.md).
_A_CAMPAIGN, _AN_OUTPUT = 0.05, 2.5e-6


@dataclass(frozen=True, slots=True)
class CampaignTestSetSize:
    """Number of systems, test documents and their segments in a campaign."""

    systems: int
    documents: int
    segments: int

    @classmethod
    def load(cls, session: Session, campaign_id: int) -> CampaignTestSetSize:
        """Load the present size."""
        return cls(*test_sets.load_test_set_size(session, campaign_id))


def estimate_resampling_seconds(size: CampaignTestSetSize, recipe: Recipe) -> float:
    """Estimate the seconds for draws, which grow with the square of the number of pairs, and for rank sets.

    >>> from app.domain.recipe import NAMED
    >>> sizes = [CampaignTestSetSize(n, 180, 900) for n in (10, 30, 60)]
    >>> [round(estimate_resampling_seconds(size, NAMED["recommended"]), 1) for size in sizes]
    [0.0, 2.0, 23.5]
    """
    pairs = size.systems * (size.systems - 1) // 2
    seconds = 0.0
    if recipe.test in DRAWN_TESTS and pairs:
        units = size.segments if recipe.unit == "segment" else size.documents
        each = _A_SUM * size.systems * units + _A_COMPARISON * pairs
        step = _A_STEP * pairs if recipe.adjust == "maxT" else 0.0
        seconds += choose_number_of_resamples(recipe, pairs) * (
            each * (_BOOTSTRAP if recipe.test == "bootstrap" else 1) + step
        )
    if recipe.rank_sets and pairs:
        seconds += choose_number_of_bootstrap_draws(size.systems) * size.systems**2 * size.documents * _A_REJECTION
    return seconds


def estimate_ranking_seconds(size: CampaignTestSetSize, recipe: Recipe) -> float:
    """Estimate the time of the whole ranking; loading is quick for one campaign, but adds up over a series.

    >>> from app.domain.recipe import NAMED
    >>> round(estimate_ranking_seconds(CampaignTestSetSize(15, 180, 900), NAMED["wmt-da"]), 2)
    0.08
    """
    return _A_CAMPAIGN + _AN_OUTPUT * size.systems * size.segments + estimate_resampling_seconds(size, recipe)
