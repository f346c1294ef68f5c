"""The size of a planned study: as requested, else as in the campaign or its pilot, else a usual value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.reports.inputs.variance_model_input import RatingsWithVarianceModel
from app.reports.power.options import PowerOptions
from app.stats.planning.power_and_cost import StudyCostAssumptions

SEGMENTS, RATERS, SYSTEMS, WORDS = 10.0, 10, 10, 40.0
"""Defaults for a campaign that has no data on them."""


@dataclass(frozen=True)
class StudySizes:
    """A request about a campaign, and the sizes that follow from both."""

    options: PowerOptions
    data: RatingsWithVarianceModel
    protocol: str
    pilot: RatingsWithVarianceModel | None = None

    @property
    def planning_ratings(self) -> RatingsWithVarianceModel:
        """The judgments on which planning is based: the pilot's, else the campaign's own."""
        return self.pilot or self.data

    @property
    def _size_source(self) -> RatingsWithVarianceModel:
        """The data for sizes that are not given: the campaign if it has judgments, else the pilot."""
        return self.data if len(self.data.ratings) else self.planning_ratings

    @cached_property
    def n_systems(self) -> int:
        """The number of systems requested, else the campaign's, else a usual number."""
        own = len(self._size_source.rows.systems)
        return self.options.systems or (own if own > 1 else SYSTEMS)

    @property
    def n_pairs(self) -> int:
        """The number of pairs of systems."""
        return self.n_systems * (self.n_systems - 1) // 2

    @cached_property
    def n_raters(self) -> int:
        """The number of raters requested, else the campaign's, else a usual number."""
        return self.options.raters or len(self._size_source.rows.raters) or RATERS

    @cached_property
    def mean_documents_per_system(self) -> int:
        """The mean number of documents (segments, if documents are unknown) on which a system was judged."""
        return self._size_source.rows.mean_sampled_units_per_system

    @cached_property
    def segments_per_document(self) -> float:
        """The number of segments in a document."""
        rows = self._size_source.rows
        own = rows.n_segments / rows.n_sampled_units if rows.n_sampled_units else SEGMENTS
        return self.options.segments or own

    @cached_property
    def words_per_segment(self) -> float:
        """The words of a segment, source and output together: twice those of the source."""
        known = self._size_source.inputs.documents
        there = (known.words > 0) & (known.segments > 0)
        total = int(known.segments[there].sum())
        own = 2.0 * float(known.words[there].sum()) / total if total else WORDS
        return self.options.words or own

    @property
    def study_cost_assumptions(self) -> StudyCostAssumptions:
        """The costs of a rating."""
        options = self.options
        return StudyCostAssumptions(
            options.seconds_per_word, options.overhead, options.onboarding_hours, options.hourly
        )

    @cached_property
    def document_lengths(self) -> tuple[int, ...]:
        """The number of segments of each judged document; empty if a number was requested or documents are unknown."""
        rows = self._size_source.rows
        if self.options.segments is not None or not len(rows) or not rows.documents_known:
            return ()
        there = np.unique(rows.document * rows.n_segments + rows.segment) // rows.n_segments
        return tuple(np.bincount(there, minlength=rows.n_sampled_units).tolist())
