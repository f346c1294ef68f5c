"""Worlds beyond a test's own symmetry, on a campaign's own design: its documents, lengths, raters and topics.

Scores are simulated in the campaign's unit, and no real score is used. No system is better in any of these worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Literal

import numpy as np

from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Codes, Floats, Ratings
from app.stats.validation.worlds import CATASTROPHES, ScoreGeneratingProcess

OwnWorld = Literal["clean", "topics", "rater_system", "skewed", "weak_null", "peeking"]
PROCESSES: Mapping[OwnWorld, ScoreGeneratingProcess] = MappingProxyType(
    {
        "clean": ScoreGeneratingProcess(),
        "topics": ScoreGeneratingProcess(topic_system=0.4),
        "rater_system": ScoreGeneratingProcess(rater_system=0.3),
        "skewed": CATASTROPHES,
        "weak_null": ScoreGeneratingProcess(document_system=0.2, segment=0.5, exponential=1.0),
        "peeking": ScoreGeneratingProcess(),
    }
)
LOOKS = (0.25, 0.5, 0.75, 1.0)
"""Shares of the documents after which results are checked in the world of peeking."""

UNRECORDED_TOPICS = 5
"""Number of topics that documents are assumed to have if no domains are known."""


@dataclass(frozen=True, slots=True, eq=False)
class CampaignWithRedrawnScores:
    """Rows whose scores are simulated. topic: of each document code, shape (documents,)."""

    rows: Ratings
    topic: Codes

    @classmethod
    def from_ratings(cls, rows: Ratings, documents: DocumentTable | None) -> CampaignWithRedrawnScores:
        """Take the rows of a campaign, with its domains as topics if there are two or more."""
        n = len(rows.labels.documents)
        topic, names = (
            (np.arange(n) % UNRECORDED_TOPICS, ()) if documents is None else documents.domain_codes_and_labels()
        )
        if len(names) < 2:
            topic = np.arange(n) % UNRECORDED_TOPICS
        return cls(rows, topic.astype(np.int32))

    def applicable_simulated_worlds(self) -> tuple[OwnWorld, ...]:
        """Return the worlds that apply; those with effects of documents need known documents."""
        return tuple(PROCESSES) if self.rows.documents_known else ("clean", "rater_system")

    def draw_null_study(self, world: OwnWorld, rng: np.random.Generator) -> Ratings:
        """Return the campaign with scores from a world in which all systems are equal."""
        rows, process = self.rows, PROCESSES[world]
        spread, middle = (float(rows.score.std()) or 1.0, float(rows.score.mean())) if len(rows) else (1.0, 0.0)
        value = self._values(process, rng)
        unit = rows.better_sign * spread / max(float(value.std()), 1e-12)
        return replace(rows.with_scores(middle + unit * value), scale=rows.scale).in_canonical_order()

    def draw_interim_studies(self, rows: Ratings, rng: np.random.Generator) -> tuple[Ratings, ...]:
        """Return the study at each look, as it grows: its documents arrive in a random order."""
        there = rng.permutation(np.unique(rows.document))
        parts = [there[: ceil(look * there.size)] for look in LOOKS]
        return tuple(rows.where(np.isin(rows.document, part)) for part in parts)

    def _values(self, process: ScoreGeneratingProcess, rng: np.random.Generator) -> Floats:
        rows = self.rows
        s, n, r = rows.n_systems, len(rows.labels.documents), len(rows.labels.raters)
        system, document, rater = rows.system, rows.document, rows.rater
        by_document = process.document_system * rng.normal(size=(s, n)) + process.document * rng.normal(size=n)
        by_document += (process.topic_system * rng.normal(size=(s, int(self.topic.max(initial=0)) + 1)))[:, self.topic]
        last = int(system.max(initial=0))
        by_document[last] += process.draw_effects_on_last_system(rng, (n,))
        by_rater = process.rater * rng.normal(size=r) + process.rater_system * rng.normal(size=(s, r))
        value = by_document[system, document] + by_rater[system, rater]
        # Half of the segment variance belongs to the output, half to the rating, so raters of one output agree in part.
        segment = rng.normal(size=(s, max(len(rows.labels.segment_document), 1)))[system, rows.segment]
        noise = process.segment * np.sqrt(0.5) * (segment + rng.normal(size=len(rows)))
        return np.asarray(value + noise, dtype=np.float64)
