"""Guidelines and the text of consent: written by language, every version kept."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.services.people import guidelines
from app.storage.db import Session
from app.storage.guidelines import Kind, NoTexts
from app.ui import markdown
from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.messages import message
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

KINDS: tuple[tuple[Kind, str], ...] = (("guidelines", message("Guidelines")), ("consent", message("Text of consent")))

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/guidelines")
def guidelines_page(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Both texts as raters see them, and forms to write them."""
    with database.transaction(snapshot=True) as session:
        texts = [(kind, name, *_shown(session, campaign, kind)) for kind, name in KINDS]
    return shell(request, caller, campaign, database, "guidelines", {"texts": texts})


def _shown(session: Session, campaign: str, kind: Kind) -> tuple[int, list[tuple[str, str]]]:
    """The latest version, 0 where there is none, and the text of each language as HTML."""
    try:
        current = guidelines.get(session, campaign, kind)
    except NoTexts:
        return 0, []
    return current.version, [
        (language, markdown.to_html(current.texts[language])) for language in sorted(current.texts)
    ]
