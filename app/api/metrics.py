"""Scores of automatic metrics, sent as whole sets by name, for the report that compares them with human scores."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import AfterValidator, Field, StringConstraints

from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.data import metrics
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/metrics", tags=["test sets"])

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
MetricName = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="Name of the metric.", examples=["comet-22"]),
    AfterValidator(reject_dot_segment),
]
MOST_SYSTEMS, MOST_OUTPUTS = 2_000, 500_000


class OutputScore(BodyModel):
    """The score of one output."""

    system: Key
    document: Key
    segment: int = Field(ge=1, le=1_000_000, description="Number of the segment, from 1.")
    score: float


class MetricScoresIn(BodyModel):
    """All scores of a metric."""

    higher_is_better: bool = True
    systems: dict[Key, float] = Field(
        default_factory=dict, max_length=MOST_SYSTEMS, description="Scores of whole systems."
    )
    outputs: list[OutputScore] = Field(default_factory=list, max_length=MOST_OUTPUTS)
    in_order: dict[Key, list[float | None]] = Field(
        default_factory=dict,
        max_length=MOST_SYSTEMS,
        description="By system: scores of every test segment in document order; null if there is none.",
    )


class MetricOut(ResponseModel):
    """A metric as it stands."""

    metric: str
    higher_is_better: bool
    n_outputs: int = Field(description="Outputs that have a score.")
    n_of_systems: int = Field(description="Systems that have a score of their own.")
    n_systems: int
    data_version: int = Field(description="Data version that added these scores.")
    left: dict[str, int] = Field(default_factory=dict, description="Scores that were not stored, by reason.")


EXAMPLE = MetricOut(
    metric="comet-22", higher_is_better=True, n_outputs=7406, n_of_systems=14, n_systems=14, data_version=8
)
GIVEN = {
    "higher_is_better": True,
    "systems": {"A": 0.81},
    "outputs": [{"system": "A", "document": "d1", "segment": 1, "score": 0.79}],
}


@router.put("/{metric}", summary="Store the scores of a metric", responses=example_response(200, EXAMPLE))
def put_metric_scores(
    caller: Manager,
    campaign: CampaignKey,
    metric: MetricName,
    body: Annotated[
        MetricScoresIn, read_json_body_as(MetricScoresIn, both=GIVEN, in_order={"in_order": {"A": [0.79, None]}})
    ],
    session: SessionDep,
) -> MetricOut:
    """Replace its earlier scores; the same ones again change nothing. Scores that match no output are only counted."""
    given = metrics.MetricScoreSet(
        higher_is_better=body.higher_is_better,
        systems=body.systems,
        outputs=[metrics.MetricOutputScore(one.system, one.document, one.segment, one.score) for one in body.outputs],
        in_order=body.in_order,
    )
    return MetricOut.model_validate(metrics.put_metric_scores(session, campaign, metric, given, actor=caller.actor))


@router.get("/{metric}", summary="Get a metric", responses=example_response(200, EXAMPLE))
def get_metric(caller: Viewer, campaign: CampaignKey, metric: MetricName, session: SessionDep) -> MetricOut:  # noqa: ARG001  (says who may call)
    """Return how many of its scores are stored, and since when."""
    return MetricOut.model_validate(metrics.get_metric(session, campaign, metric))


@router.get(
    "",
    summary="List the automatic metrics",
    responses=example_response(200, Page[MetricOut](items=[EXAMPLE], next=None)),
)
def list_metrics(caller: Viewer, campaign: CampaignKey, session: SessionDep) -> Page[MetricOut]:  # noqa: ARG001  (says who may call)
    """List all metrics of the campaign by name."""
    items = [MetricOut.model_validate(one) for one in metrics.list_metrics(session, campaign)]
    return Page[MetricOut](items=items, next=None)
