"""Hours in the interface."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field, StringConstraints

from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.protocols.base import is_empty_field
from app.web.pagination import Number
from app.web.request_bodies import BodyModel
from app.web.responses import ResponseModel

MOST_SECONDS = 10_000_000
LARGEST_ID = 2**63 - 1
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
EntryId = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Offset = Annotated[
    int, Query(ge=-14 * 60, le=14 * 60, description="Offset of the days from UTC, in minutes.", examples=[60])
]
Team = Annotated[str | None, Query(pattern=KEY_PATTERN, description="Only those of this team.", examples=["bonn"])]
After = Number
Answered = Annotated[bool | None, Query(description="Only disputes with an answer, or without.")]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of the rater or the reason, in any case.",
        examples=["offline"],
    ),
]


Heard = Annotated[
    float | None,
    Field(
        exclude_if=is_empty_field,
        description="Seconds of audio and video played, if any. Part of the active time.",
    ),
]


class RaterDayHoursOut(ResponseModel):
    """One day, in seconds."""

    day: date
    active_seconds: float
    adjusted_seconds: int
    heard_seconds: Heard = None


class HoursOwn(ResponseModel):
    """A rater's own hours, in seconds."""

    active_seconds: float = Field(description="Measured; see the rule in `docs/hours-and-progress.md`.")
    adjusted_seconds: int
    payable_seconds: float = Field(description="Active and adjusted seconds together, never below 0.")
    open_disputes: int
    days: list[RaterDayHoursOut]
    heard_seconds: Heard = None


class RaterHoursOut(HoursOwn):
    """Hours of one rater."""

    rater: str
    team: str | None


class TeamHoursOut(ResponseModel):
    """Hours of one team, or of the raters without a team."""

    team: str | None
    raters: int
    active_seconds: float
    adjusted_seconds: int
    payable_seconds: float


class CampaignHoursOut(ResponseModel):
    """A campaign's hours. A gap between actions counts up to `pause_seconds`, plus a time per word on screen."""

    campaign: str
    utc_offset: int
    pause_seconds: float
    seconds_per_word: float
    raters: list[RaterHoursOut]
    teams: list[TeamHoursOut]


class HoursAdjustmentOwn(ResponseModel):
    """A message about hours: an adjustment, a dispute or a refusal. It never changes."""

    id: int
    kind: Literal["adjustment", "dispute", "refusal"]
    seconds: int
    reason: str
    answers: int | None = Field(description="The dispute that it answers.")
    answered: Literal["adjustment", "refusal"] | None = Field(description="Outcome of a dispute.")
    at: Time


class HoursAdjustmentOut(HoursAdjustmentOwn):
    """A message about hours, with its rater and author."""

    rater: str
    actor: str


class OwnHoursAndAdjustmentsOut(ResponseModel):
    """A rater's own hours, with all messages about them."""

    hours: HoursOwn
    entries: list[HoursAdjustmentOwn]


class HoursAdjustmentIn(BodyModel):
    """Seconds to pay in addition to the measured ones, or to deduct."""

    rater: Key
    seconds: Annotated[int, Field(ge=-MOST_SECONDS, le=MOST_SECONDS)]
    reason: Reason
    answers: EntryId | None = Field(None, description="Dispute of this rater that the adjustment accepts.")


class DisputeRefusalIn(BodyModel):
    """Reason why nothing is paid for a dispute."""

    dispute: EntryId
    reason: Reason


class HoursDisputeIn(BodyModel):
    """Seconds that are missing, and why."""

    seconds: Annotated[int, Field(ge=1, le=MOST_SECONDS)]
    reason: Reason


DAY = RaterDayHoursOut(day=date(2026, 11, 20), active_seconds=5400.0, adjusted_seconds=600)
RATER = RaterHoursOut(
    rater="r1",
    team="bonn",
    active_seconds=5400.0,
    adjusted_seconds=600,
    payable_seconds=6000.0,
    open_disputes=0,
    days=[DAY],
)
HOURS = CampaignHoursOut(
    campaign="ted-ende",
    utc_offset=0,
    pause_seconds=30.0,
    seconds_per_word=0.8,
    raters=[RATER],
    teams=[
        TeamHoursOut(team="bonn", raters=1, active_seconds=5400.0, adjusted_seconds=600, payable_seconds=6000.0),
    ],
)
ENTRY = HoursAdjustmentOut(
    id=8,
    kind="adjustment",
    rater="r1",
    seconds=600,
    reason="a call about the guidelines",
    answers=None,
    answered=None,
    actor="token:0f3a9c51d27e",
    at="2026-11-20T12:00:00Z",
)
DISPUTE = HoursAdjustmentOwn(
    id=7,
    kind="dispute",
    seconds=600,
    reason="the page was closed while I looked a term up",
    answers=None,
    answered=None,
    at="2026-11-20T11:00:00Z",
)
OWN = OwnHoursAndAdjustmentsOut(hours=HoursOwn.model_validate(RATER), entries=[DISPUTE])
