"""Requests of Pearmut's dashboard. All of them need a token; Pearmut itself lists users and links without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.domain.errors import Invalid
from app.pearmut.app_state import PearmutAppState
from app.pearmut.bodies import CampaignTokenIn, CampaignUserIn, NewCampaignsIn, NewUserCountIn, read_body
from app.pearmut.errors import describe_error, make_json_response
from app.services.access import tokens
from app.services.access.organization_prefixes import parse_organization_number
from app.services.access.tokens import BadCredential, Caller
from app.services.pearmut import dashboard
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loaded_campaign import PearmutCampaign
from app.services.pearmut.loading import add_pearmut_campaign
from app.services.pearmut.users import PearmutTokenWrong, authenticate_dashboard
from app.storage.db import Session
from app.web.organizations import use_organization_of_credential

router = APIRouter()
Work = Callable[[Session, PearmutCampaign, Caller], object]
TABLES = "Make tables of results with Plumbline: `plumbline rank CAMPAIGN --latex`."
PURGE = "Campaigns are not purged here: close it, or erase its annotators, on Plumbline's pages."


async def _run_as_manager(request: Request, body: CampaignTokenIn, work: Work) -> Response:
    """Run a request of the campaign's manager. Raises PearmutTokenWrong."""
    state = PearmutAppState.of_request(request)
    await to_thread.run_sync(use_organization_of_credential, request, body.token or "")

    def run(session: Session) -> object:
        loaded = state.campaigns.load(session, body.campaign_id)
        return work(session, loaded, authenticate_dashboard(session, loaded, body.token or ""))

    return make_json_response(await state.judging.run_transaction_in_thread(run))


@router.post("/dashboard-data")
async def get_dashboard_data(request: Request) -> Response:
    """How far each user is."""
    body = await read_body(request, CampaignTokenIn)
    return await _run_as_manager(
        request, body, lambda session, loaded, _: dashboard.make_dashboard_data(session, loaded)
    )


@router.post("/dashboard-results")
async def get_dashboard_results(request: Request) -> Response:
    """Results by Pearmut's rule."""
    body = await read_body(request, CampaignTokenIn)

    def work(session: Session, loaded: PearmutCampaign, _: Caller) -> object:
        return dashboard.compute_model_results(dashboard.list_annotation_log_lines(session, loaded))

    return await _run_as_manager(request, body, work)


@router.post("/reset-campaign")
async def reset_user(request: Request) -> Response:
    """Set aside what a user did, and let them begin anew."""
    body = await read_body(request, CampaignUserIn)

    def work(session: Session, loaded: PearmutCampaign, by: Caller) -> str:
        dashboard.reset_user_work(session, loaded, body.user_id, by=by)
        return "ok"

    return await _run_as_manager(request, body, work)


@router.post("/note-user")
async def set_user_note(request: Request) -> Response:
    """Keep a note on a user."""
    body = await read_body(request, CampaignUserIn)

    def work(session: Session, loaded: PearmutCampaign, _: Caller) -> str:
        dashboard.set_user_note(session, loaded, body.user_id, body.note)
        return "ok"

    return await _run_as_manager(request, body, work)


@router.post("/add-new-user")
async def add_users(request: Request) -> Response:
    """Enrol more users; their links are in this answer only."""
    body = await read_body(request, NewUserCountIn)

    def work(session: Session, loaded: PearmutCampaign, by: Caller) -> object:
        links = dashboard.add_users(session, loaded, body.users, by=by)
        return {"status": "ok", "users": {link.user: link.credential for link in links}}

    return await _run_as_manager(request, body, work)


@router.post("/purge-campaign")
async def refuse_purge() -> Response:
    """Nothing is deleted here."""
    return make_json_response(PURGE, 409)


@router.post("/add-campaign")
async def add_campaigns(request: Request) -> Response:
    """Load campaigns, all or none; tokens and links of users are in this answer only."""
    body, state = await read_body(request, NewCampaignsIn), PearmutAppState.of_request(request)
    await to_thread.run_sync(use_organization_of_credential, request, body.token_main)
    given = body.campaign_data if isinstance(body.campaign_data, list) else [body.campaign_data]

    def work(session: Session) -> list[dict[str, Any]]:
        by = _unbound_manager(session, body.token_main)
        made = [add_pearmut_campaign(session, parse_campaign_file(one), by=by, actor=by.actor) for one in given]
        return [
            {"campaign_id": one.name, "token": one.token, "users": {link.user: link.credential for link in one.links}}
            for one in made
        ]

    try:
        return make_json_response({"status": "ok", "campaigns": await state.judging.run_transaction_in_thread(work)})
    except Invalid as error:
        return make_json_response({"error": describe_error(error)}, 400)


def _unbound_manager(session: Session, token: str) -> Caller:
    """Return the caller if they may create campaigns. Raises PearmutTokenWrong."""
    try:
        caller = tokens.authenticate_secret(session, token)
    except BadCredential:
        raise PearmutTokenWrong from None
    if not caller.has_rights_of("manager") or caller.campaign is not None:
        raise PearmutTokenWrong
    return caller


CampaignNames = Annotated[list[str], Query(alias="campaign_id", max_length=100)]
Tokens = Annotated[list[str] | None, Query(alias="token", max_length=100)]


@router.get("/download-annotations")
async def download_annotations(request: Request, names: CampaignNames, campaign_tokens: Tokens = None) -> Response:
    """The log of each campaign."""
    return await _download(
        request, names, campaign_tokens, "annotations.json", dashboard.list_annotation_log_lines, dict
    )


@router.get("/download-progress")
async def download_progress(request: Request, names: CampaignNames, campaign_tokens: Tokens = None) -> Response:
    """What Pearmut keeps of its users, by campaign."""
    return await _download(request, names, campaign_tokens, "progress.json", dashboard.make_progress_file_content, dict)


@router.get("/download-campaigns")
async def download_campaigns(request: Request, names: CampaignNames, campaign_tokens: Tokens = None) -> Response:
    """Each campaign as it was loaded."""
    return await _download(
        request,
        names,
        campaign_tokens,
        "campaigns.json",
        dashboard.make_campaign_file_content,
        lambda pairs: [one for _, one in pairs],
    )


async def _download(
    request: Request,
    names: list[str],
    campaign_tokens: list[str] | None,
    file: str,
    make: Callable[[Session, PearmutCampaign], object],
    put: Callable[[list[tuple[str, object]]], object],
) -> Response:
    """Return a file of several campaigns, with a token for each; one token may be valid for all."""
    state, secrets = PearmutAppState.of_request(request), campaign_tokens or []
    if len(secrets) not in (1, len(names)):
        raise Invalid("Mismatched campaign_id and token count")
    if len({parse_organization_number(secret) for secret in secrets}) > 1:
        raise PearmutTokenWrong
    await to_thread.run_sync(use_organization_of_credential, request, secrets[0])

    def work(session: Session) -> object:
        pairs: list[tuple[str, object]] = []
        for name, token in zip(names, secrets * (len(names) if len(secrets) == 1 else 1), strict=True):
            loaded = state.campaigns.load(session, name)
            authenticate_dashboard(session, loaded, token)
            pairs.append((name, make(session, loaded)))
        return put(pairs)

    value = await state.judging.run_transaction_in_thread(work)
    return make_json_response(value, headers={"Content-Disposition": f'attachment; filename="{file}"'})


@router.get("/export-results")
async def refuse_results_export() -> Response:
    """Tables are made by the reports."""
    return make_json_response(TABLES, 400)
