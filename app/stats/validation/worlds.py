"""Realistic simulated campaigns with a known truth: the worlds in which claims must hold.

A score is the sum of the system's mean, the effect of the document on all systems, its effect on this system, the
effect of its topic on this system, the rater's severity, the rater's preference for this system, and the segment. All
effects are normal, with the standard deviations of `ScoreGeneratingProcess`, unless a world says otherwise. A system's
true mean is its mean over all possible documents, topics and raters.

Sources: Carter et al. 2017 (uneven clusters); Janssen 1997 (the weak
null: equal means of other shape); Armitage et al. 1969 (repeated looks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from app.stats.ratings import Codes, Floats, Ratings
from app.stats.validation.designs import (
    SingleRatingDesign,
    draw_lognormal_document_lengths,
    make_document_lengths_with_giant,
    make_equal_document_lengths,
    make_simulated_design,
)

WorldName = Literal[
    "clean",
    "few_documents",
    "uneven",
    "one_giant",
    "one_larger_giant",
    "topics",
    "rater_system",
    "confounded",
    "disconnected",
    "skewed",
    "weak_null",
    "peeking",
]
Lengths = Codes | Callable[[np.random.Generator], Codes]


@dataclass(frozen=True, slots=True)
class ScoreGeneratingProcess:
    """How scores are generated: standard deviations in the unit of the scores; larger scores are better.

    catastrophes: share of the documents on which the last system fails, `depth` below the rest of its documents; its
    mean is unchanged, so elsewhere it is a little better. exponential: standard deviation of a skewed effect of
    documents on the last system, with mean 0.
    """

    document: float = 1.0
    document_system: float = 0.5
    topic_system: float = 0.0
    rater: float = 0.5
    rater_system: float = 0.0
    segment: float = 1.5
    catastrophes: float = 0.0
    depth: float = 5.0
    exponential: float = 0.0

    def draw_system_levels_on_documents(self, layout: SingleRatingDesign, rng: np.random.Generator, n: int) -> Floats:
        """Draw each system's level on each document, without segments, in n campaigns of mean 0: shape (n, S, D)."""
        s, d = layout.n_systems, layout.n_documents
        raters = int(layout.rater.max(initial=0)) + 1
        effects = self.document * rng.normal(size=(n, 1, d)) + self.document_system * rng.normal(size=(n, s, d))
        if self.topic_system:
            by_topic = self.topic_system * rng.normal(size=(n, s, int(layout.topic.max(initial=0)) + 1))
            effects += by_topic[:, :, layout.topic]
        effects += (self.rater * rng.normal(size=(n, raters)))[:, layout.rater]
        if self.rater_system:
            taste = self.rater_system * rng.normal(size=(n, s, raters))
            effects += taste[:, np.arange(s)[:, None], layout.rater]
        effects[:, -1] += self.draw_effects_on_last_system(rng, (n, d))
        return np.asarray(effects, dtype=np.float64)

    def draw_effects_on_last_system(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw the effects of documents on the last system alone, with mean 0."""
        noise = np.zeros(shape)
        if self.exponential:
            noise += self.exponential * (1 - rng.exponential(size=shape))
        if self.catastrophes:
            noise += self.depth * (self.catastrophes - (rng.random(shape) < self.catastrophes))
        return noise


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedWorld:
    """A kind of campaign.

    lengths: of its documents, or how they are drawn for each campaign. topics, raters, dealing: see
    `make_simulated_design`. looks: shares of the documents after which results are checked, the last one 1.
    description: in words.
    """

    name: WorldName
    description: str
    lengths: Lengths
    process: ScoreGeneratingProcess = ScoreGeneratingProcess()
    raters: int = 6
    topics: int = 1
    dealing: Literal["all systems", "own rater", "two islands"] = "all systems"
    looks: tuple[float, ...] = (1.0,)

    def make_design(self, rng: np.random.Generator, systems: int = 2) -> SingleRatingDesign:
        """Return who judges what in a campaign of this world."""
        lengths = self.lengths(rng) if callable(self.lengths) else self.lengths
        return make_simulated_design(
            lengths, systems=systems, raters=self.raters, topics=self.topics, dealing=self.dealing
        )


def simulate_campaign(world: SimulatedWorld, rng: np.random.Generator, means: Floats) -> Ratings:
    """Simulate one campaign of systems with these true means, shape (S,); larger is better."""
    layout = world.make_design(rng, len(means))
    level = (
        world.process.draw_system_levels_on_documents(layout, rng, 1)[0] + np.asarray(means, dtype=np.float64)[:, None]
    )
    rows = layout.make_ratings_scored_zero()
    noise = world.process.segment * rng.normal(size=len(rows))
    return rows.with_scores(np.repeat(level, layout.lengths, axis=1).ravel() + noise)


def simulate_campaigns_as_document_sums(
    world: SimulatedWorld, rng: np.random.Generator, means: Floats, n_campaigns: int, *, same_design: bool = False
) -> list[tuple[Floats, Floats, SingleRatingDesign]]:
    """Simulate many campaigns as sums of segment scores: [(sums (k, S, D), counts (D,), design)].

    Campaigns of one design are in one entry. same_design: all campaigns have the design that is drawn first.
    """
    drawn = []
    n = n_campaigns
    batches = [n] if same_design else [n // _DESIGNS + (i < n % _DESIGNS) for i in range(min(n, _DESIGNS))]
    for k in batches:
        layout = world.make_design(rng, len(means))
        level = (
            world.process.draw_system_levels_on_documents(layout, rng, k) + np.asarray(means, dtype=np.float64)[:, None]
        )
        counts = layout.lengths.astype(np.float64)
        sums = counts * level + np.sqrt(counts) * world.process.segment * rng.normal(size=level.shape)
        drawn.append((sums, counts, layout))
    return drawn


_DESIGNS = 200
"""Most designs drawn for many campaigns."""


_THIRTY = make_equal_document_lengths(30)
CATASTROPHES = ScoreGeneratingProcess(document_system=0.3, segment=0.5, catastrophes=0.05)
"""Documents differ little except for one in twenty, on which the last system fails by 5."""

WORLDS: Mapping[WorldName, SimulatedWorld] = MappingProxyType(
    {
        world.name: world
        for world in (
            SimulatedWorld(
                "clean",
                "30 documents of 10 segments, six raters; one rater judges the outputs of all systems for a document",
                _THIRTY,
            ),
            SimulatedWorld("few_documents", "8 documents of 10 segments", make_equal_document_lengths(8)),
            SimulatedWorld(
                "uneven",
                "30 documents whose lengths are lognormal; the longest is ten times as long as most others",
                draw_lognormal_document_lengths,
            ),
            SimulatedWorld(
                "one_giant",
                "20 documents, one of which has 60 of the 117 segments",
                make_document_lengths_with_giant(20, 117, 60),
            ),
            SimulatedWorld(
                "one_larger_giant",
                "20 documents, one of which has 100 of the 138 segments",
                make_document_lengths_with_giant(20, 138, 100),
            ),
            SimulatedWorld(
                "topics",
                "30 documents on five topics; each topic affects each system differently (standard deviation .4)",
                _THIRTY,
                ScoreGeneratingProcess(topic_system=0.4),
                topics=5,
            ),
            SimulatedWorld(
                "rater_system",
                "30 documents and three raters, whose preferences for systems differ (standard deviation .3)",
                _THIRTY,
                ScoreGeneratingProcess(rater_system=0.3),
                raters=3,
            ),
            SimulatedWorld(
                "confounded",
                "one system is judged by a single rater, who judges no other system",
                _THIRTY,
                dealing="own rater",
            ),
            SimulatedWorld(
                "disconnected",
                "the systems form two groups, and no rater judges systems of both groups",
                _THIRTY,
                dealing="two islands",
            ),
            SimulatedWorld(
                "skewed",
                "one system is 5 points worse on 5 % of its documents, but equal to the others on average",
                _THIRTY,
                CATASTROPHES,
            ),
            SimulatedWorld(
                "weak_null",
                "12 documents; all systems have equal means, but one system has skewed document effects",
                make_equal_document_lengths(12),
                ScoreGeneratingProcess(document_system=0.2, segment=0.5, exponential=1.0),
            ),
            SimulatedWorld(
                "peeking",
                "40 documents; results are checked after every fifth document",
                make_equal_document_lengths(40),
                looks=tuple(k / 8 for k in range(1, 9)),
            ),
        )
    }
)
