"""Comments: what a rater writes about an output or a screen, if the campaign asks for comments."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.people.raters import ActingRater
from app.services.tasks.task_content import TaskAddressNotFound, TaskContent, load_task_content
from app.services.tasks.tasks import (
    CampaignClosedToRaters,
    TaskHandedIn,
    determine_task_state_for_rater,
    load_own_task,
)
from app.storage import campaigns, comments
from app.storage.db import Session

NOT_ASKED = "the campaign asks for no such comment"


@dataclass(frozen=True, slots=True)
class CommentTarget:
    """What a comment is about: a segment of an item, an item that is judged as a whole, or a screen."""

    item: int | None = None
    segment: int | None = None
    screen: int | None = None


def put_comment(session: Session, public_id: str, target: CommentTarget, text: str, *, rater: ActingRater) -> int:
    """Store a comment in place of an earlier one, and return how often it was written (0: an empty text removed it).

    Raises TaskNotFound, TaskAddressNotFound, TaskHandedIn, CampaignClosedToRaters.
    """
    row = load_own_task(session, public_id, rater, lock=True)
    if campaigns.load_campaign(session, rater.campaign).state == "closed":
        raise CampaignClosedToRaters
    if determine_task_state_for_rater(session, row, rater) == "handed_in":
        raise TaskHandedIn
    content = load_task_content(session, public_id)
    return comments.store_or_remove_comment(
        session,
        row.campaign_id,
        rater_id=rater.rater_id,
        task_id=row.id,
        comment=text.strip(),
        **_address(content, target),
    )


def _address(content: TaskContent, target: CommentTarget) -> dict[str, int | None]:
    """Return the database ids of a target. Raises TaskAddressNotFound if it does not exist, or takes no comment."""
    if not (content.display.screen_comments if target.screen is not None else content.display.output_comments):
        raise TaskAddressNotFound(NOT_ASKED)
    if target.screen is not None:
        if target.screen not in content.items_by_screen:
            raise TaskAddressNotFound("the task has no such screen")
        return {"screen": target.screen}
    item = content.item_at(target.item or 0)
    # Exports write a comment next to an answer, so a comment on something that is not judged would be lost.
    if target.segment is None:
        if "document" not in content.forms:
            raise TaskAddressNotFound("no item is judged as a whole here; comment on one of its segments")
        return {"item_id": item.id}
    if "segment" not in content.forms:
        raise TaskAddressNotFound("no segment is judged by itself here; comment on the item")
    if not 1 <= target.segment <= len(item.segments):
        raise TaskAddressNotFound(f"the item has the segments 1 to {len(item.segments)}")
    return {"item_id": item.id, "segment_id": item.segments[target.segment - 1].id}
