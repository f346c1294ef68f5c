"""Flags: problems that raters report, and managers' answers."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.api.models.tasks import LARGEST, TaskId
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.services.access.idempotency import IdempotentResponse
from app.services.tasks import flags
from app.services.tasks.flags import FlagView
from app.web.access import Manager, RaterCaller
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.pagination import Limit, Number, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1", tags=["tasks"])

After = Number
Answered = Annotated[bool | None, Query(description="Only those with an answer, or without.")]
OfRater = Annotated[str | None, Query(pattern=KEY_PATTERN, description="Only those of this rater.", examples=["r1"])]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of reason, note, rater, document or assignee, in any case.",
        examples=["breaks off"],
    ),
]
NAME_PATTERN = "^[A-Za-z0-9_-]{1,64}$"
FlagName = Annotated[str, Path(alias="flag", pattern=NAME_PATTERN, examples=["f_" + "0" * 32])]
MOST_CHANGED = 1000
Words = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class FlagIn(BodyModel):
    """A problem. item, segment: where; left out for the whole task or item."""

    reason: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{0,63}$")] = Field(
        description="In one word, such as bad_source, wrong_language or technical."
    )
    item: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    segment: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    note: Words | None = None


class CreatedFlagOut(BaseModel):
    """The name of a new flag."""

    flag: str


class FlagOut(ResponseModel):
    """A flag as managers see it."""

    model_config = ConfigDict(populate_by_name=True)

    flag: str = Field(validation_alias="public_id")
    task: str
    item: int | None
    segment: int | None
    document: str | None
    systems: list[str]
    rater: str
    reason: str
    note: str | None
    at: Time
    answer: str | None
    answered_by: str | None
    answered_at: Time | None
    assignee: str | None = Field(description="Who handles it, by the name that managers use.")


class FlagAnswerIn(BodyModel):
    """A manager's answer to a flag."""

    answer: Words


Assignee = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class ExpectedFlagState(BodyModel):
    """What flags must have now; what is left out is not checked."""

    answer: Words | None = Field(None, description="Null: they are open.")
    assignee: Assignee | None = Field(None, description="Null: they are assigned to nobody.")


class FlagsPatch(BodyModel):
    """A change of several flags at once; what is left out stays."""

    flags: Annotated[
        list[Annotated[str, StringConstraints(pattern=NAME_PATTERN)]], Field(min_length=1, max_length=MOST_CHANGED)
    ]
    answer: Words | None = Field(None, description="Null reopens them.")
    assignee: Assignee | None = Field(None, description="Who handles them; null for nobody.")
    expected: ExpectedFlagState | None = Field(
        None, description="Current values that all of them must have, so that no other change is overwritten."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set - {"flags", "expected"}:
            raise ValueError("must say answer or assignee")
        return self


class PreviousFlagState(ResponseModel):
    """What a flag had before a change."""

    model_config = ConfigDict(populate_by_name=True)

    flag: str = Field(validation_alias="public_id")
    answer: str | None
    assignee: str | None


class FlagsChangedOut(BaseModel):
    """Result of a change of several flags."""

    before: list[PreviousFlagState] = Field(description="Earlier values, in the order of the list.")


EXAMPLE = FlagOut(
    flag="f_" + "0" * 32,
    task="t_" + "0" * 32,
    item=1,
    segment=2,
    document="news.1",
    systems=["A"],
    rater="r1",
    reason="bad_source",
    note="the sentence breaks off",
    at="2026-11-20T12:00:00Z",
    answer=None,
    answered_by=None,
    answered_at=None,
    assignee=None,
)
BEFORE = FlagsChangedOut(before=[PreviousFlagState(flag="f_" + "0" * 32, answer=None, assignee=None)])


@router.post(
    "/tasks/{task}/flags",
    status_code=201,
    summary="Report a problem",
    responses=example_response(201, CreatedFlagOut(flag="f_" + "0" * 32)),
)
def create_flag(
    rater: RaterCaller,
    task: TaskId,
    body: Annotated[FlagIn, read_json_body_as(FlagIn, source={"reason": "bad_source", "item": 1, "segment": 1})],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """The task must be one that the rater has or had. It stays with the rater."""

    def make() -> IdempotentResponse:
        name = flags.create_flag(session, task, **body.model_dump(), rater=rater)
        return IdempotentResponse(201, CreatedFlagOut(flag=name).model_dump_json().encode())

    return idempotent_creation(session, rater, make)


@router.get(
    "/campaigns/{campaign}/flags",
    summary="List flags",
    responses=example_response(200, Page[FlagOut](items=[EXAMPLE], next=None)),
)
def list_flags(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    answered: Answered = None,
    rater: OfRater = None,
    q: SearchWords = "",
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[FlagOut]:
    """List flags, oldest first. A page of a search may be short or empty although there is a next one."""
    reported, reached = flags.list_flags(
        session, campaign, after=cursor, limit=limit + 1, answered=answered, rater=rater, q=q
    )
    page = make_page(reported, limit, lambda view: str(view.id), reached=None if reached is None else str(reached))
    return Page(items=[_make_flag_out(view) for view in page.items], next=page.next)


@router.patch(
    "/campaigns/{campaign}/flags",
    summary="Change several flags",
    responses={
        **example_response(200, BEFORE, "All are changed, or none if one cannot be."),
        409: {"description": "Some have something else than `expected`; `errors` names each."},
    },
)
def patch_flags(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        FlagsPatch,
        read_json_body_as(
            FlagsPatch,
            answer={"flags": ["f_" + "0" * 32], "answer": "the segment is left out"},
            assign={"flags": ["f_" + "0" * 32], "assignee": "Ada"},
            again={"flags": ["f_" + "0" * 32], "answer": None},
            undo={"flags": ["f_" + "0" * 32], "answer": None, "expected": {"answer": "the segment is left out"}},
        ),
    ],
    session: SessionDep,
) -> FlagsChangedOut:
    """Answer the flags, reopen them, or assign them to somebody. `before` returns their previous values.

    To undo a change, send the previous values, and as `expected` what the change had set. A restored answer has the
    name of the user who restores it and the time of the change; the audit log has the earlier ones.
    """
    values = body.model_dump(include=body.model_fields_set - {"flags", "expected"})
    expected = body.expected.model_dump(exclude_unset=True) if body.expected else None
    before = flags.change_flags(session, campaign, body.flags, values, expected=expected, actor=caller.actor)
    return FlagsChangedOut(before=[PreviousFlagState.model_validate(view) for view in before])


@router.post(
    "/campaigns/{campaign}/flags/{flag}/answer", summary="Answer a flag", responses=example_response(200, EXAMPLE)
)
def answer_flag(
    caller: Manager,
    campaign: CampaignKey,
    flag: FlagName,
    body: Annotated[FlagAnswerIn, read_json_body_as(FlagAnswerIn, excluded={"answer": "the segment is left out"})],
    session: SessionDep,
) -> FlagOut:
    """A new answer replaces the earlier one. The audit log records both."""
    return _make_flag_out(flags.answer_flag(session, campaign, flag, answer=body.answer, actor=caller.actor))


def _make_flag_out(view: FlagView) -> FlagOut:
    return FlagOut.model_validate(view)
