"""Calibration sets, and the import of a set into a campaign."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from app.api.documents import Label, Text
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.campaigns import calibration_sets
from app.services.campaigns.calibration_sets import CalibrationSet, CalibrationTextPair, count_pairs_by_stratum
from app.web.access import Manager, UnboundManager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1", tags=["test sets"])

SetKey = Annotated[
    str,
    Path(alias="set", pattern=KEY_PATTERN, description="Key of the set.", examples=["xsts-v1"]),
    AfterValidator(reject_dot_segment),
]
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest by default.", examples=[1])]
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "Another protocol, another version than the campaign has, or the campaign is too far."}
}


class CalibrationPairIn(BodyModel):
    """Two texts and how alike they are by consensus."""

    text1: Annotated[Text, StringConstraints(min_length=1)]
    text2: Annotated[Text, StringConstraints(min_length=1)]
    consensus: Annotated[float, Field(strict=False, ge=-1e9, le=1e9)]
    stratum: Label | None = None


class CalibrationSetIn(BodyModel):
    """A calibration set."""

    protocol: Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")]
    pairs: list[CalibrationPairIn] = Field(min_length=1, max_length=5000)


class CalibrationPairOut(ResponseModel):
    """A pair."""

    text1: str
    text2: str
    consensus: float
    stratum: str | None


class CalibrationSetOut(BaseModel):
    """A version of a set."""

    set: str
    version: int
    protocol: str
    consensus: float = Field(description="Mean consensus of the pairs.")
    strata: dict[str, int]
    frozen_at: Time | None = Field(description="When it was first used, since which it cannot change.")
    pairs: list[CalibrationPairOut]


class CalibrationSetRow(ResponseModel):
    """A set in its latest version."""

    key: str
    version: int
    protocol: str
    pairs: int
    frozen_at: Time | None


class CalibrationSetToAddIn(BodyModel):
    """The set to add."""

    set: Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


PAIRS = [
    {"text1": "The dog barked.", "text2": "Der Hund bellte.", "consensus": 5, "stratum": "5"},
    {"text1": "The dog barked.", "text2": "Morgen regnet es.", "consensus": 1, "stratum": "1"},
]
EXAMPLE = CalibrationSetOut.model_validate(
    {
        "set": "xsts-v1",
        "version": 1,
        "protocol": "xsts",
        "consensus": 3.0,
        "strata": {"1": 1, "5": 1},
        "frozen_at": None,
        "pairs": PAIRS,
    }
)
ROW = CalibrationSetRow(key="xsts-v1", version=1, protocol="xsts", pairs=2, frozen_at=None)


@router.put(
    "/calibration-sets/{set}",
    summary="Store a calibration set",
    responses=example_response(200, EXAMPLE, "The current state."),
)
def put_calibration_set(
    caller: UnboundManager,
    key: SetKey,
    body: Annotated[CalibrationSetIn, read_json_body_as(CalibrationSetIn, two={"protocol": "xsts", "pairs": PAIRS})],
    session: SessionDep,
) -> CalibrationSetOut:
    """Store pairs with a consensus. Once a campaign uses a version, it is frozen; other pairs become a new version."""
    pairs = [CalibrationTextPair(**one.model_dump()) for one in body.pairs]
    return make_calibration_set_out(
        calibration_sets.put_calibration_set(session, key, body.protocol, pairs, actor=caller.actor)
    )


@router.get("/calibration-sets/{set}", summary="Get a calibration set", responses=example_response(200, EXAMPLE))
def get_calibration_set(
    caller: UnboundManager,  # noqa: ARG001  (says who may call)
    key: SetKey,
    session: SessionDep,
    version: Version = None,
) -> CalibrationSetOut:
    """Return the set with its pairs."""
    return make_calibration_set_out(calibration_sets.get_calibration_set(session, key, version))


@router.get(
    "/calibration-sets",
    summary="List calibration sets",
    responses=example_response(200, Page[CalibrationSetRow](items=[ROW], next=None)),
)
def list_calibration_sets(
    caller: UnboundManager,  # noqa: ARG001  (says who may call)
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CalibrationSetRow]:
    """List the sets by key, each in its latest version."""
    sets = calibration_sets.list_calibration_sets(session, after=cursor, limit=limit + 1)
    return make_page([CalibrationSetRow.model_validate(one) for one in sets], limit, lambda one: one.key)


@router.post(
    "/campaigns/{campaign}/calibration",
    summary="Add a calibration set to a campaign",
    responses={**example_response(200, EXAMPLE), **REFUSED},
)
def add_calibration_set_to_campaign(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[CalibrationSetToAddIn, read_json_body_as(CalibrationSetToAddIn, latest={"set": "xsts-v1"})],
    session: SessionDep,
) -> CalibrationSetOut:
    """Add its pairs as documents of kind calibration, which a design can ask for, and freeze the version."""
    return make_calibration_set_out(
        calibration_sets.add_calibration_set_to_campaign(session, campaign, body.set, body.version, actor=caller.actor)
    )


def make_calibration_set_out(calibration_set: CalibrationSet) -> CalibrationSetOut:
    """Return a set in the form of the interface."""
    return CalibrationSetOut(
        set=calibration_set.key,
        version=calibration_set.version,
        protocol=calibration_set.protocol,
        consensus=calibration_set.mean_consensus,
        strata=dict(count_pairs_by_stratum(calibration_set)),
        frozen_at=calibration_set.frozen_at,
        pairs=[CalibrationPairOut.model_validate(pair) for pair in calibration_set.pairs],
    )
