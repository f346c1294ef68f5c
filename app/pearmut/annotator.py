"""Requests of the annotator's page: the next item, one of their own items, and storing answers."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TypeVar

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from app.domain.errors import AppError, Conflict, Unavailable
from app.pearmut.app_state import PearmutAppState
from app.pearmut.bodies import AnnotatorItemIn, NextItemIn, PearmutAnswersIn, read_body
from app.pearmut.errors import make_json_response
from app.services.pearmut import pages
from app.services.pearmut.answer_recording import SentAnnotation, record_sent_annotation
from app.services.pearmut.assets import sign_asset_addresses
from app.services.pearmut.users import PearmutUser, PearmutUserUnknown, authenticate_user
from app.services.tasks import leases
from app.services.tasks.leases import LeaseResult
from app.storage.db import Session
from app.web.organizations import use_organization_of_credential
from app.web.rate_limits import find_client_address

router = APIRouter()
B = TypeVar("B", bound=NextItemIn)
WHYS = {
    "paused": "The campaign is paused, or you are; ask whoever gave you this link.",
    "not_enrolled": "You are not enrolled any more.",
    "consent": "Agree to the campaign's terms on Plumbline's page first.",
    "qualification": "Pass the campaign's test on Plumbline's page first.",
    "questionnaire": "Answer the campaign's questions on Plumbline's page first.",
}


class TooManyUnknownUsers(AppError):
    """Too many unknown users from this address; wait a minute."""

    kind = "too_many"


class NoPearmutItemNow(Conflict):
    """There is nothing to annotate now."""

    published = "PearmutNothingNow"


class PearmutDocumentsTaken(Unavailable):
    """Others are at work on the last documents; wait, or come back later."""

    published = "PearmutOthersAtWork"


@router.post("/get-next-item")
async def get_next_item(request: Request) -> Response:
    """The next document, form or check of an annotator, or the end with the code of the verdict."""
    body, state = await _read_body_of_user(request, NextItemIn)
    step = await state.judging.run_transaction_in_thread(partial(_next_without_lease, request, state, body))
    if isinstance(step, PearmutUser):
        leased = await leases.lease_task(state.judging, rater=step.rater)
        step = await state.judging.run_transaction_in_thread(partial(_next_leased, state, step, leased))
    return make_json_response(step)


def _next_without_lease(
    request: Request, state: PearmutAppState, body: NextItemIn, session: Session
) -> pages.Response | PearmutUser:
    """Return what comes next, or the user if a lease is needed for it."""
    user = _user(request, state, body, session)
    progress = pages.load_user_progress(session, user)
    place = pages.find_next_place_without_lease(user, progress)
    if place is None and pages.has_document_to_judge(user, progress):
        return user
    return _respond(state, user, progress, session, place)


def _next_leased(state: PearmutAppState, user: PearmutUser, leased: LeaseResult, session: Session) -> pages.Response:
    progress = pages.load_user_progress(session, user)
    if leased.task is not None:
        place = pages.get_document_index_of_task(user, progress, leased.task.task)
        response = pages.make_item_response(session, user, progress, place, state.files.instructions)
        return sign_asset_addresses(session, user, response)
    if leased.why == "wait":
        raise PearmutDocumentsTaken(retry_after=leased.retry_after)
    if leased.why in WHYS:
        raise NoPearmutItemNow(WHYS[leased.why])
    return _respond(state, user, progress, session, None)


def _respond(
    state: PearmutAppState, user: PearmutUser, progress: pages.UserProgress, session: Session, place: int | str | None
) -> pages.Response:
    place = pages.find_next_form_or_goodbye(user, progress) if place is None else place
    if place is None:
        return pages.make_goodbye_response(user, progress)
    response = pages.make_item_response(session, user, progress, place, state.files.instructions)
    return sign_asset_addresses(session, user, response)


@router.post("/get-i-item")
async def get_own_item(request: Request) -> Response:
    """One item of an annotator, with what they answered; nobody sees what others did."""
    body, state = await _read_body_of_user(request, AnnotatorItemIn)

    def work(session: Session) -> pages.Response:
        user = _user(request, state, body, session)
        return sign_asset_addresses(
            session, user, pages.load_item_response(session, user, body.item_i, state.files.instructions)
        )

    return make_json_response(await state.judging.run_transaction_in_thread(work))


@router.post("/log-response")
async def store_answers_and_hand_in_document(request: Request) -> Response:
    """Keep answers and hand the document in, in one transaction; the same once more changes nothing."""
    body, state = await _read_body_of_user(request, PearmutAnswersIn)
    sent = SentAnnotation(body.item_i, body.payload.annotation, body.payload.actions, body.payload.comment)

    def work(session: Session) -> None:
        record_sent_annotation(session, _user(request, state, body, session), sent)

    async with state.get_campaign_answer_lock(body.campaign_id):
        await state.judging.run_transaction_in_thread(work)
    return make_json_response("ok")


async def _read_body_of_user(request: Request, model: type[B]) -> tuple[B, PearmutAppState]:
    """Return the body; from now on, the request works for the organization of its user."""
    body = await read_body(request, model)
    await to_thread.run_sync(use_organization_of_credential, request, body.user_id)
    return body, PearmutAppState.of_request(request)


def _user(request: Request, state: PearmutAppState, body: NextItemIn, session: Session) -> PearmutUser:
    """Return the annotator. Raises PearmutUserUnknown, and TooManyUnknownUsers if an address tries many names."""
    loaded, address = state.campaigns.load(session, body.campaign_id), find_client_address(request.scope)
    wait = state.failures.seconds_until_next_try(address)
    if wait:
        raise TooManyUnknownUsers(retry_after=wait)
    try:
        return authenticate_user(session, loaded, body.user_id)
    except PearmutUserUnknown:
        state.failures.count_failure(address, hashlib.sha256(body.user_id.encode("utf-8", "replace")).digest())
        raise
