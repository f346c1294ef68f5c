"""Magic links for raters."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from app.api.models.raters import Key, RaterKey
from app.api.models.times import Time
from app.services.access.idempotency import IdempotentResponse
from app.services.people import rater_links
from app.services.people.enrolment import MOST
from app.web.access import Coordinator
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.landing_links import make_landing_link
from app.web.qr_codes import draw_qr_code
from app.web.request_bodies import BodyModel, read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["raters"])

LONGEST = 400
USUAL = 90
CSV = "text/csv; charset=utf-8"
Days = Annotated[int, Query(ge=1, le=LONGEST, description="Days until the link ends.", examples=[90])]
SECRET = "plb_0f3a9c51d27e_" + "x" * 43


class RaterLinkOut(BaseModel):
    """A link with its secret, which is shown this once."""

    rater: str
    link: str = Field(description="The secret is in the fragment, which browsers never send.")
    expires_at: Time
    qr: str = Field(description="The link as a QR code, in SVG.")


class RaterLinksIn(BodyModel):
    """Raters for whom to make links."""

    team: Key | None = Field(None, description="Null: a coordinator's own team, or a manager's whole campaign.")
    raters: Annotated[list[Key], Field(min_length=1, max_length=MOST)] | None = Field(
        None, description="Only these raters; each must be active or paused. Null: all of the team."
    )
    days: Annotated[int, Field(ge=1, le=LONGEST)] = Field(USUAL, description="Days until the links end.")


EXAMPLE = RaterLinkOut.model_validate(
    {
        "rater": "r1",
        "link": f"https://plumbline.example.org/#token={SECRET}",
        "expires_at": "2027-02-18T12:00:00Z",
        "qr": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 49 49">…</svg>',
    }
)
FILE = f"rater,link,expires_at,name,email\r\nr1,https://plumbline.example.org/#token={SECRET},2027-02-18T12:00:00+00:00,,\r\n"


@router.post(
    "/raters/{rater}/link",
    status_code=201,
    summary="Create a sign-in link for a rater",
    responses={
        **example_response(201, EXAMPLE, "Made; the secret is shown once."),
        409: {"description": "Erased, or not enrolled."},
    },
)
def create_rater_link(
    caller: Coordinator,
    campaign: CampaignKey,
    rater: RaterKey,
    request: Request,
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
    days: Days = USUAL,
) -> Response:
    """The link signs the rater in. The earlier link and every session that it opened end at once."""

    def make() -> IdempotentResponse:
        made = rater_links.renew_rater_link(session, campaign, rater, days=days, by=caller)
        link = make_landing_link(request, token=made.secret)
        out = RaterLinkOut(rater=made.rater, link=link, expires_at=made.expires_at, qr=draw_qr_code(link))
        return created_response(out, location=f"/v1/campaigns/{campaign}/raters/{rater}", secret=True)

    return idempotent_creation(session, caller, make)


@router.post(
    "/links",
    status_code=201,
    summary="Create sign-in links for a team",
    response_class=Response,
    responses=non_json_example_response(201, "Made; the secrets are shown once.", csv=("text/csv", FILE)),
)
def create_rater_links(
    caller: Coordinator,
    campaign: CampaignKey,
    body: Annotated[
        RaterLinksIn,
        read_json_body_as(RaterLinksIn, everybody={"days": 30}, team={"team": "bonn"}, two={"raters": ["r1", "r2"]}),
    ],
    request: Request,
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Return one line for each active or paused rater. Their earlier links end at once."""

    def make() -> IdempotentResponse:
        made = rater_links.renew_rater_links(session, campaign, body.team, body.raters, days=body.days, by=caller)
        data = rater_links.encode_links_csv(made, lambda secret: make_landing_link(request, token=secret))
        return IdempotentResponse(201, data, content_type=CSV, secret=True)

    return idempotent_creation(session, caller, make)
