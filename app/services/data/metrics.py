"""Scores of automatic metrics, imported from outside and stored as complete sets by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.errors import Invalid, NotFound, Place
from app.services.campaigns import audit
from app.storage import campaigns
from app.storage import metric_scores as stored
from app.storage.db import Session


class MetricNotFound(NotFound):
    """There are no scores of such a metric in this campaign."""


@dataclass(frozen=True, slots=True)
class MetricOutputScore:
    """The score of one output. Segments are numbered from 1."""

    system: str
    document: str
    segment: int
    score: float


@dataclass(frozen=True, slots=True)
class MetricScoreSet:
    """A set of scores. systems: scores of systems as a whole. in_order: by system, the scores of all test segments.

    The scores follow the order of segments in the campaign, and are None for segments without a score.
    """

    higher_is_better: bool = True
    systems: Mapping[str, float] = field(default_factory=dict)
    outputs: Sequence[MetricOutputScore] = ()
    in_order: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """A stored metric. n_outputs, n_of_systems: the number of scores of outputs, and of systems as a whole."""

    metric: str
    higher_is_better: bool
    n_outputs: int
    n_of_systems: int
    n_systems: int
    data_version: int
    left: Mapping[str, int] = field(default_factory=dict)


Address = tuple[int, int | None]


def put_metric_scores(session: Session, campaign: str, metric: str, given: MetricScoreSet, *, actor: str) -> Metric:
    """Replace the scores of a metric. Storing the same set again changes nothing.

    Scores of systems and segments that the campaign does not have, or could still lose, are left out and counted.
    Raises NotFound, Invalid if a list does not fit the test set, an output is scored twice, or no score remains.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    rows, left = _rows(session, row.id, given)
    if not rows:
        why = ", ".join(f"{n} {reason}" for reason, n in sorted(left.items())) or "there is no score"
        raise Invalid("no score can be stored", places=(Place(("body",), why),))
    before = next(
        (
            one
            for one in stored.load_metrics_with_score_counts(session, row.id, row.data_version)
            if one.metric == metric
        ),
        None,
    )
    if before is None or not _is_unchanged(session, row.id, before, rows, given):
        version = campaigns.take_next_data_version(session, row.id, actor=actor, what=f"scores of {metric}")
        listed = [(*address, score) for address, score in rows.items()]
        stored.store_metric_scores(
            session, row.id, metric, listed, higher_is_better=given.higher_is_better, version=version
        )
        audit.record_action(session, row.id, actor=actor, action="metric put", what={"metric": metric, "n": len(rows)})
    return _with_left_out_counts(get_metric(session, campaign, metric), left)


def get_metric(session: Session, campaign: str, metric: str) -> Metric:
    """Return a stored metric. Raises NotFound."""
    metric_scores = next((one for one in list_metrics(session, campaign) if one.metric == metric), None)
    if metric_scores is None:
        raise MetricNotFound(metric)
    return metric_scores


def list_metrics(session: Session, campaign: str) -> list[Metric]:
    """List the metrics of a campaign by name. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    return [
        Metric(one.metric, one.higher_is_better, one.n_outputs, one.n_of_systems, one.n_systems, one.version)
        for one in stored.load_metrics_with_score_counts(session, row.id, row.data_version)
    ]


def _with_left_out_counts(metric: Metric, left: Mapping[str, int]) -> Metric:
    counts = (metric.n_outputs, metric.n_of_systems, metric.n_systems, metric.data_version)
    return Metric(metric.metric, metric.higher_is_better, *counts, dict(left))


def _rows(session: Session, campaign_id: int, given: MetricScoreSet) -> tuple[dict[Address, float], Counter[str]]:
    """Return scores by (system id, segment id), and how many are left out, by reason."""
    systems, segments = (
        stored.load_scorable_systems(session, campaign_id),
        stored.load_segments_with_scorable_flag(session, campaign_id),
    )
    known = {(row.key, row.position): row for row in segments}
    left: Counter[str] = Counter()
    rows: dict[Address, float] = {}
    for key, score in given.systems.items():
        if key in systems:
            rows[systems[key], None] = score
        else:
            left["of systems that are not judged here"] += 1
    for system, segment, score, place in _iterate_scores(given, segments):
        segment_id = known.get(segment)
        if system not in systems:
            left["of systems that are not judged here"] += 1
        elif segment_id is None or not segment_id.stands:
            left["of segments that are not here"] += 1
        elif (systems[system], segment_id.id) in rows:
            raise Invalid(places=(Place(place, "this output already has a score"),))
        else:
            rows[systems[system], segment_id.id] = score
    return rows, left


def _iterate_scores(
    given: MetricScoreSet, segments: Sequence[Any]
) -> Iterator[tuple[str, tuple[str, int], float, tuple[str | int, ...]]]:
    for n, output in enumerate(given.outputs):
        yield output.system, (output.document, output.segment), output.score, ("body", "outputs", n)
    for system, scores in given.in_order.items():
        if len(scores) != len(segments):
            what = f"holds {len(scores):,} scores; the test set has {len(segments):,} segments"
            raise Invalid(places=(Place(("body", "in_order", system), what),))
        for row, score in zip(segments, scores, strict=True):
            if score is not None:
                yield system, (row.key, row.position), score, ("body", "in_order", system)


def _is_unchanged(
    session: Session, campaign_id: int, before: Any, rows: Mapping[Address, float], given: MetricScoreSet
) -> bool:
    if before.higher_is_better != given.higher_is_better:
        return False
    systems = stored.load_scorable_systems(session, campaign_id)
    segments = {
        (row.key, row.position): row.id for row in stored.load_segments_with_scorable_flag(session, campaign_id)
    }
    held = stored.load_metric_score_set(session, campaign_id, before.metric, before.version)
    had = {
        (
            systems.get(row.system),
            None if row.document is None else segments.get((row.document, row.position)),
        ): row.score
        for row in held
    }
    return had == rows
