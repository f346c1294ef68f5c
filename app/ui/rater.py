"""The rater's pages. They read and store everything over the same `/v1` addresses as any other front-end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, Request, Response

from app.domain.questionnaires import read_questionnaires
from app.services.campaigns import campaigns
from app.services.campaigns.display_settings import get_display_settings
from app.services.campaigns.rater_page_phrases import get_custom_phrases
from app.services.people import guidelines, qualification, questionnaires, tutorials
from app.services.people.guidelines import GuidelineTexts
from app.services.people.raters import ActingRater
from app.storage.db import Database
from app.storage.guidelines import GuidelinesNotFound
from app.ui import markdown, messages
from app.ui.access import RaterAtWork
from app.ui.annotation_forms import rater_forms_json
from app.ui.pages import RATERS, PageRoute, render_page
from app.web.deps import DatabaseDep

BEFORE_A_TASK = ("guidelines", "test", "tutorial")
router = APIRouter(prefix=RATERS, route_class=PageRoute, include_in_schema=False)


@router.get("")
def task_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """The task at hand."""
    return _page(request, "task", rater, database, {})


@router.get("/guidelines")
def how_to_judge_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """The guidelines, and practice on worked examples."""
    texts = _texts(database, rater)
    text = _choose_guidelines(request, texts)
    return _page(request, "guidelines", rater, database, {**text, "version": texts.version if texts else 0})


@router.get("/consent")
def consent_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """What the rater is to agree to, or has agreed to."""
    with database.transaction(snapshot=True) as session:
        asked, given = guidelines.find_requested_and_given_consent(session, rater)
    values = {"asked": asked, "given": given, "agreed": asked and given and given.version == asked.version}
    return _page(request, "consent", rater, database, {**values, **_choose_guidelines(request, asked)})


@router.get("/test")
def qualification_test_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """The test before the first task."""
    with database.transaction(snapshot=True) as session:
        has_test = qualification.has_qualification_test(session, rater.campaign)
    return _page(request, "test", rater, database, {"has_test": has_test})


@router.get("/tutorial")
def tutorial_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """Texts with known answers before the first task."""
    return _page(request, "tutorial", rater, database, {})


@router.get("/questionnaire")
def questionnaire_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """Questions before the first task and after the last one."""
    return _page(request, "questionnaire", rater, database, {})


@router.get("/hours")
def hours_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """The rater's own hours by day, and what was said about them."""
    return _page(request, "hours", rater, database, {})


@router.get("/codes")
def completion_codes_page(request: Request, rater: RaterAtWork, database: DatabaseDep) -> Response:
    """Codes of completion."""
    return _page(request, "codes", rater, database, {})


def _page(
    request: Request, name: str, rater: ActingRater, database: Database, values: Mapping[str, object]
) -> Response:
    """Render a page with what its modules need; about the campaign, only key, languages, protocol and settings."""
    with database.transaction(snapshot=True) as session:
        about, course = campaigns.get_campaign(session, rater.campaign), tutorials.get_tutorial(session, rater)
        asked = read_questionnaires(about.settings)
        after = questionnaires.is_questionnaire_outstanding(session, about.settings, rater, "after")
    shared = {
        "here": name,
        "home": RATERS,
        "campaign": about.key,
        "rater": rater.rater,
        "source_language": about.source_language or "",
        "target_language": about.target_language or "",
        "protocol": about.protocol,
        "markup": get_display_settings(about.settings).markup,
        "tutorial": "" if not course.lessons else "outstanding" if course.outstanding else "done",
        "questionnaires": bool(asked.before or asked.after),
        "questions_after": "outstanding" if after else "",
        "forms": rater_forms_json(about) if name in BEFORE_A_TASK else None,
    }
    own = partial(get_custom_phrases, about.settings)
    return render_page(request, f"rater/{name}.html", {**shared, **values}, who="rater", phrases=own)


def _texts(database: Database, rater: ActingRater) -> GuidelineTexts | None:
    with database.transaction(snapshot=True) as session:
        try:
            return guidelines.get_guidelines(session, rater.campaign, "guidelines")
        except GuidelinesNotFound:
            return None


def _choose_guidelines(request: Request, texts: GuidelineTexts | None) -> dict[str, object]:
    """Return the text in the language that fits best, as HTML."""
    if texts is None:
        return {"text": None, "text_language": None}
    offered = tuple(sorted(texts.texts, key=lambda code: code != messages.ENGLISH))
    wanted = (messages.choose_request_language(request, messages.NAMES), request.headers.get("accept-language", ""))
    language = next((code for one in wanted if (code := messages.preferred_language(one, offered))), offered[0])
    return {"text": markdown.markdown_to_html(texts.texts[language]), "text_language": language}
