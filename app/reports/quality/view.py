"""The report on the quality of raters' work, as it is stored and sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.reports.inputs.timed_ratings import On, RaterReportHeader
from app.stats.quality.quality_criteria import MIN_PAIRS, ControlAdjust, ControlTestName, RaterQualityCriteria
from app.stats.quality.report import RaterQuality, SimilarRaterPair

MOST_PAIRS = 1000


class RaterQualityOptions(BaseModel):
    """How raters are tested."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    test: ControlTestName = Field("signed_rank", description="Of degraded items against their originals, one-sided.")
    min_pairs: Annotated[int, Field(ge=2, le=MOST_PAIRS)] = Field(
        MIN_PAIRS, description="Fewer pairs than this give no verdict.", examples=[8]
    )
    adjust: ControlAdjust = Field("bh", description="Over the raters that could be tested.")
    on: On = Field("score", description="What is compared: the score, or the number of marked errors.")

    def to_criteria(self) -> RaterQualityCriteria:
        """Convert the options to the criteria of the statistics."""
        return RaterQualityCriteria(test=self.test, min_pairs=self.min_pairs, adjust=self.adjust)


class RaterQualityView(RaterReportHeader):
    """Evidence on each rater; the verdict is that of the control items alone, and flags decide nothing."""

    on: On
    choices: RaterQualityCriteria
    higher_is_better: bool
    unit: str
    n_judgments: int
    counts: dict[str, int]
    raters: list[RaterQuality]
    warnings: list[str]
    alike: list[SimilarRaterPair] = Field(
        default=[], description="Pairs of raters whose answers are suspiciously similar."
    )
