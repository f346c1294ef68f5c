"""Campaigns: create one, get one, list them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from app.api.models.times import Time
from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.reports.inputs.campaign import CampaignInfo
from app.services.access.idempotency import IdempotentResponse
from app.services.campaigns import campaigns
from app.services.campaigns import settings as campaign_settings
from app.services.campaigns.campaigns import CampaignSort, NewCampaign
from app.services.templates.templates import create_campaign_from_template
from app.storage.db import Session
from app.web.access import Manager, UnboundManager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.ifmatch import IfMatchDep, quote_etag
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns", tags=["campaigns"])

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$", max_length=35)]
Basis = Literal["source", "reference", "both", "none"]


class CampaignIn(BodyModel):
    """A campaign to create."""

    key: Key
    name: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    series: Key | None = None
    template: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,64}$")] | None = Field(
        None,
        description="Template to start from; `GET /v1/campaign-templates` lists all. Fields that you send override it.",
    )
    protocol: Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")] | None = Field(
        None, description="Annotation protocol; `GET /v1/protocols` lists them. Required without a template."
    )
    options: dict[str, JsonValue] = Field(
        {}, max_length=20, description="`weights`: profile or table of MQM weights. `scale`: raw, or z for z-scores."
    )
    source_language: Language | None = None
    target_language: Language | None = None
    basis: Basis = Field("source", description="What raters compare an output with.")
    settings: dict[str, JsonValue] = Field({}, max_length=100)


class CampaignPatch(BodyModel):
    """What to change; what is left out stays. After the draft, only `name` and `settings`."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    series: Key | None = None
    protocol: Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")] = Field(
        "mqm", description="Fixed once something was answered by it."
    )
    options: dict[str, JsonValue] = Field({}, max_length=20, description="Fixed together with the protocol.")
    source_language: Language | None = None
    target_language: Language | None = None
    basis: Basis = "source"
    settings: dict[str, JsonValue] = Field({}, max_length=100, description="Replaces all settings.")

    def get_given_fields(self) -> dict[str, Any]:
        """Return the fields in the body; a name of null becomes the key again."""
        return self.model_dump(include=self.model_fields_set)


class CampaignOut(ResponseModel):
    """A campaign."""

    key: str
    name: str
    series: str | None
    protocol: str
    protocol_version: int
    options: dict[str, JsonValue]
    source_language: str | None
    target_language: str | None
    basis: Basis
    state: str
    settings: dict[str, JsonValue]
    documents_known: bool = Field(description="False if an import contained segments only.")
    data_version: int = Field(description="Rises with every change that can affect a report.")
    settings_version: int
    created_at: Time


NEW = {
    "key": "ted-ende",
    "name": "TED talks, English to German",
    "protocol": "mqm",
    "options": {"weights": "freitag2021"},
    "source_language": "en",
    "target_language": "de",
}
EXAMPLE = CampaignOut.model_validate(
    {
        **NEW,
        "series": None,
        "protocol_version": 1,
        "basis": "source",
        "state": "draft",
        "settings": {},
        "documents_known": True,
        "data_version": 0,
        "settings_version": 1,
        "created_at": "2026-11-20T12:00:00Z",
    }
)


ETAG = "ETag of the settings; send it as `If-Match` to change them."


State = Annotated[
    Literal["draft", "planned", "open", "paused", "closed"] | None,
    Query(description="Only those in this state.", examples=["open"]),
]
NamePart = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="A part of the name or the key, in any case.", examples=["ted"]),
]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of the name, the key or the series, in any case.",
        examples=["ted de"],
    ),
]
Sort = Annotated[CampaignSort, Query(description="Sort key; `-` reverses the order.")]
Series = Annotated[str | None, Query(pattern=KEY_PATTERN, description="Only those of this series.", examples=["wmt26"])]
OfProtocol = Annotated[str | None, Query(pattern=KEY_PATTERN, description="By this protocol only.", examples=["esa"])]
Source = Annotated[str | None, Query(max_length=35, description="From this language only.", examples=["en"])]
Target = Annotated[str | None, Query(max_length=35, description="Into this language only.", examples=["de"])]


@router.post(
    "",
    status_code=201,
    summary="Create a campaign",
    responses=example_response(201, EXAMPLE, "Created, in the state draft."),
)
def create_campaign(
    caller: UnboundManager,
    body: Annotated[
        CampaignIn,
        read_json_body_as(
            CampaignIn,
            mqm=NEW,
            da={"key": "wiki-bnhi", "protocol": "da"},
            template={"key": "news-ende", "template": "esa-crowd"},
        ),
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Create a campaign in state draft. Its judgments come from imports or from raters."""

    def make() -> IdempotentResponse:
        view = _create(session, body, actor=caller.actor)
        return created_response(CampaignOut.model_validate(view), location=f"/v1/campaigns/{view.key}")

    return idempotent_creation(session, caller, make)


@router.get(
    "", summary="List campaigns", responses=example_response(200, Page[CampaignOut](items=[EXAMPLE], next=None))
)
def list_campaigns(
    caller: Viewer,
    session: SessionDep,
    q: SearchWords = "",
    name: NamePart = None,
    series: Series = None,
    state: State = None,
    protocol: OfProtocol = None,
    source_language: Source = None,
    target_language: Target = None,
    sort: Sort = "key",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[CampaignOut]:
    """List the campaigns that your credential gives access to and that match all filters."""
    after = parse_sort_cursor(cursor, by_value=not sort.endswith("key"))
    wanted = {"series": series, "state": state, "protocol": protocol}
    wanted |= {"source_language": source_language, "target_language": target_language}
    where = {column: value for column, value in wanted.items() if value is not None}
    views = campaigns.list_campaigns(
        session, after=after, limit=limit + 1, only=caller.campaign, sort=sort, where=where, q=q, name=name
    )
    page = make_page(views, limit, lambda view: format_sort_cursor(*campaigns.make_campaign_cursor(view, sort)))
    return Page(items=[CampaignOut.model_validate(view) for view in page.items], next=page.next)


@router.get(
    "/{campaign}",
    summary="Get a campaign",
    responses=example_response(200, EXAMPLE, "The current state.", etag=ETAG),
)
def get_campaign(caller: Viewer, campaign: CampaignKey, session: SessionDep, response: Response) -> CampaignOut:  # noqa: ARG001  (says who may call)
    """Return its settings, its state and the version of its data."""
    return _campaign_response(campaigns.get_campaign(session, campaign), response)


@router.patch(
    "/{campaign}",
    summary="Change a campaign",
    responses=example_response(200, EXAMPLE, "The current state.", etag=ETAG),
)
def patch_campaign(
    caller: Manager,
    campaign: CampaignKey,
    if_match: IfMatchDep,
    body: Annotated[CampaignPatch, read_json_body_as(CampaignPatch, rename={"name": "TED talks"})],
    session: SessionDep,
    response: Response,
) -> CampaignOut:
    """Change all but the key of a draft; later, only the name and settings. Of concurrent changes, one succeeds."""
    view = campaign_settings.change_campaign_settings(
        session,
        campaign,
        body.get_given_fields(),
        has_seen_version=lambda version: if_match.has(str(version)),
        actor=caller.actor,
    )
    return _campaign_response(view, response)


def _create(session: Session, body: CampaignIn, *, actor: str) -> CampaignInfo:
    """Create the campaign in the body, completed from its template. Raises Invalid, naming the field."""
    if body.template is not None:
        given = body.model_dump(include=body.model_fields_set, exclude={"template"})
        return create_campaign_from_template(session, body.template, given, actor=actor)
    if body.protocol is None:
        raise Invalid("the campaign is not valid", places=(Place(("protocol",), "is needed where no template is"),))
    new = NewCampaign(**body.model_dump(exclude={"template"}))
    return campaigns.create_campaign(session, new, actor=actor)


def _campaign_response(view: CampaignInfo, response: Response) -> CampaignOut:
    response.headers["ETag"] = quote_etag(str(view.settings_version))
    return CampaignOut.model_validate(view)
