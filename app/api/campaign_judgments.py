"""Judgments of a campaign as managers see them, and how to set some of them aside."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from app.api.models.recipe import Key
from app.api.models.tasks import LARGEST
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.services.access.idempotency import IdempotentResponse
from app.services.tasks import campaign_judgments
from app.services.tasks.campaign_judgments import JudgmentFilter
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.file_streams import stream_response
from app.web.idempotency import IdempotentCreationDep
from app.web.pagination import LARGEST_PAGE, NUMBER, Page, make_page, parse_number_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/judgments", tags=["tasks"])


class JudgmentOut(ResponseModel):
    """A judgment with its systems and score, as managers see it."""

    id: int
    task: str
    item: int
    role: str
    document: str
    segment: int | None
    systems: list[str]
    rater: str
    revision: int
    payload: dict[str, JsonValue]
    score: float | None
    submitted_at: Time | None
    recorded_at: Time
    data_version: int
    surplus: bool = Field(description="Whether rankings leave it out as surplus.")
    void: str | None = Field(description="Why it was set aside.")
    external_id: str | None
    comment: str | None = Field(None, description="What the rater wrote about the output.")
    screen_comment: str | None = Field(None, description="What the rater wrote about its screen.")


class JudgmentListQuery(BaseModel):
    """The query of a list of judgments."""

    model_config = ConfigDict(extra="forbid")

    rater: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(None, examples=["r1"])
    document: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(None, examples=["news.1"])
    system: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(None, examples=["A"])
    task: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None, description="Its name in addresses, or its key.", examples=["b1-t7"]
    )
    segment: Annotated[int, Field(ge=1, le=LARGEST)] | None = Field(None, examples=[1])
    severity: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="Severity of an error that the judgment marks.", examples=["major"]
    )
    category: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None, description="Category of an error that the judgment marks, or the start of it.", examples=["Accuracy"]
    )
    commented: bool | None = Field(
        None, description="Only those with a comment on output or screen, or only the others."
    )
    q: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None,
        description="Words; each must be a part of the source or of the output that was judged, in any case. Judgments"
        " of a whole document are not found.",
        examples=["river rose"],
    )
    format: Literal["json", "ndjson", "csv", "tsv"] = Field(
        "json", description="Any but json: all judgments from one snapshot, one line each, without paging."
    )
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] = Field(
        50, description="Number of items per page.", examples=[50]
    )
    cursor: Annotated[int, Field(ge=0, le=2**63 - 1), AfterValidator(parse_number_cursor)] = Field(
        0, description="`next` from the previous page.", examples=[NUMBER]
    )

    @property
    def judgment_filter(self) -> JudgmentFilter:
        """Return the filter in the form that the service takes."""
        return JudgmentFilter(
            self.rater,
            self.document,
            self.task,
            self.segment,
            self.system,
            self.severity,
            self.category,
            self.commented,
            self.q,
        )


class JudgmentFilterIn(BodyModel):
    """Which judgments; what is left out does not matter. At least one field must be given."""

    rater: Key | None = None
    document: Key | None = None
    task: Key | None = Field(None, description="Its name in addresses, or its key.")
    segment: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    system: Key | None = None


class VoidJudgmentsIn(BodyModel):
    """Judgments to set aside, and why."""

    filter: JudgmentFilterIn
    reason: Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class VoidJudgmentsOut(ResponseModel):
    """What was set aside, under which data version."""

    judgments: int
    data_version: int


EXAMPLE = JudgmentOut(
    id=17,
    task="t_" + "0" * 32,
    item=1,
    role="rating",
    document="news.1",
    segment=2,
    systems=["A"],
    rater="r1",
    revision=1,
    payload={"protocol": "da", "score": 72},
    score=72.0,
    submitted_at="2026-11-20T12:00:00Z",
    recorded_at="2026-11-20T12:00:00Z",
    data_version=8,
    surplus=False,
    void=None,
    external_id=None,
)


NDJSON = "application/x-ndjson"
TABLES = {"csv": "text/csv; charset=utf-8", "tsv": "text/tab-separated-values; charset=utf-8"}
LISTED: dict[int | str, dict[str, Any]] = example_response(200, Page[JudgmentOut](items=[EXAMPLE], next=None))
LISTED[200]["content"][NDJSON] = {
    "schema": {"type": "string", "description": "With `format=ndjson`: a judgment a line."},
    "example": EXAMPLE.model_dump_json() + "\n",
}
for kind, separator in (("text/csv", ","), ("text/tab-separated-values", "\t")):
    LISTED[200]["content"][kind] = {
        "schema": {"type": "string"},
        "example": separator.join(campaign_judgments.TABLE_COLUMNS),
    }


@router.get(
    "",
    summary="List judgments",
    response_model=Page[JudgmentOut],
    responses=LISTED,
)
def list_judgments(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    query: Annotated[JudgmentListQuery, Query()],
    session: SessionDep,
    database: DatabaseDep,
) -> Page[JudgmentOut] | Response:
    """List judgments with all their revisions, in the order in which they were stored.

    A page covers at most 300 judgments, or 150 in a search for words. If few of very many match the filter, a page may
    hold fewer than `limit`, or none; `next` means that there are more to look at.
    """
    if query.format == "ndjson":
        pieces = campaign_judgments.stream_judgments_jsonl(database, campaign, query.judgment_filter)
        return stream_response(pieces, NDJSON, filename=f"{campaign}.ndjson")
    if query.format != "json":
        pieces = campaign_judgments.stream_judgment_table(
            database, campaign, query.judgment_filter, tabs=query.format == "tsv"
        )
        return stream_response(pieces, TABLES[query.format], filename=f"{campaign}-judgments.{query.format}")
    judgments, reached = campaign_judgments.list_judgments(
        session, campaign, query.judgment_filter, after=query.cursor, limit=query.limit + 1
    )
    shown = [JudgmentOut.model_validate(one) for one in judgments]
    return make_page(shown, query.limit, lambda one: str(one.id), reached=None if reached is None else str(reached))


@router.post(
    "/void",
    summary="Set judgments aside",
    responses=example_response(200, VoidJudgmentsOut(judgments=12, data_version=9)),
)
def void_judgments(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        VoidJudgmentsIn,
        read_json_body_as(VoidJudgmentsIn, rater={"filter": {"rater": "r1"}, "reason": "did not read the texts"}),
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Set aside all judgments that match the filter now, from the next data version on. Nothing is deleted."""

    def make() -> IdempotentResponse:
        done = campaign_judgments.void_judgments(
            session, campaign, JudgmentFilter(**body.filter.model_dump()), reason=body.reason, actor=caller.actor
        )
        return IdempotentResponse(200, VoidJudgmentsOut.model_validate(done).model_dump_json().encode())

    return idempotent_creation(session, caller, make)
