"""What a rater says of the columns of a screen together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Invalid, Place
from app.protocols import PreferencePayload, check_preference
from app.protocols._base import Preference
from app.services.judging import JudgedAlready, StaleJudgment
from app.services.raters import ActingRater
from app.services.tasks import CampaignClosed, Given, TaskHandedIn, TaskReleased, own, standing
from app.services.tasks_sheets import NoSuchAddress, Sheet, load
from app.storage import campaigns, late, replans, tasks
from app.storage.db import Session
from app.storage.staging import json_text


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that is on disk. surplus: kept, but somebody else has the task now."""

    revision: int
    surplus: bool
    leased_until: datetime | None


def compare(
    session: Session, public_id: str, screen: int, payload: PreferencePayload, *, seen: int | None, rater: ActingRater
) -> Compared:
    """Record a comparison under the rules of judgments.

    Raises Invalid naming the field, NotFound, StaleJudgment with both answers, JudgedAlready, TaskHandedIn,
    TaskReleased, CampaignClosed.
    """
    replans.hold(session, rater.campaign_id)
    campaign = campaigns.get(session, rater.campaign, lock=True)
    row = own(session, public_id, rater, lock=True)
    sheet = load(session, public_id)
    _check(sheet, screen, payload)
    if standing(session, row, rater) == "lapsed" and campaign.state != "closed":
        late.give_up(session, row.campaign_id, row.id, rater_id=rater.rater_id, actor=rater.actor)
        row = own(session, public_id, rater)
    state = standing(session, row, rater)
    if campaign.state == "closed":
        raise CampaignClosed
    if state == "handed_in":
        raise TaskHandedIn
    had = {one.screen: one for one in tasks.screen_answers(session, row.campaign_id, row.id, rater.rater_id)}.get(
        screen
    )
    surplus, until = state == "surplus", row.leased_until if state == "leased" else None
    revision = had.revision if had is not None else 0
    said = payload.model_dump(mode="json")
    if had is not None and had.payload == said and seen in (None, revision, revision - 1):
        return Compared(revision, surplus, until)
    if seen is not None and seen != revision:
        stale = StaleJudgment()
        stale.members = {
            "stored": {"revision": revision, "payload": _shown(had, rater)},
            "sent": {"seen": seen, "payload": said},
        }
        raise stale
    if had is not None and sheet.final:
        raise JudgedAlready
    if state != "leased" and tasks.last_end(session, row.campaign_id, row.id, rater.rater_id) == "released":
        raise TaskReleased
    version = campaigns.next_version(session, row.campaign_id, actor=rater.actor, what="comparisons", judged=True)
    values = {"screen": screen, "rater": rater.rater_id, "revision": revision + 1, "payload": json_text(said)}
    tasks.add_screen_answer(session, row.campaign_id, row.id, {**values, "surplus": surplus, "version": version})
    return Compared(revision + 1, surplus, until)


def _shown(had: tasks.Row | None, rater: ActingRater) -> Mapping[str, object] | None:
    """What the rater said before, as their credential shows it."""
    return None if had is None else Given.shown(had, rater.answers_since).payload


def _check(sheet: Sheet, screen: int, payload: PreferencePayload) -> None:
    """Raise NoSuchAddress or Invalid where the answer is none about this screen."""
    items = sheet.screens.get(screen, [])
    if "screen" not in sheet.forms or len(items) < 2:
        raise NoSuchAddress("nothing is asked of this screen")
    asked = next(widget for widget in sheet.forms["screen"].widgets if isinstance(widget, Preference))
    try:
        check_preference(payload, asked, protocol=sheet.protocol.name, columns=len(items))
    except Invalid as error:
        places = tuple(Place(("body", *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None
