"""Queries about comments of raters on outputs and screens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.tables import comments

Row = sa.Row[Any]
ADDRESS = ("campaign_id", "rater_id", "task_id", "item_id", "segment_id", "screen")
SCREEN_OF_ITEM = "coalesce(i.screen, i.position)"
# What is known of a judgment's output and screen: `j` is the judgment, `i` its item. Imported answers have theirs in
# what else is kept with them, as Pearmut's logs name them.
OF_OUTPUT = """coalesce((SELECT c.text FROM comments c WHERE c.campaign_id = j.campaign_id AND c.rater_id = j.rater_id
    AND c.task_id = i.task_id AND c.item_id = j.item_id AND c.segment_id = j.segment_id), j.meta ->> 'textfield')"""
OF_SCREEN = f"""coalesce((SELECT c.text FROM comments c WHERE c.campaign_id = j.campaign_id AND c.rater_id = j.rater_id
    AND c.task_id = i.task_id AND c.screen = {SCREEN_OF_ITEM}), j.meta ->> 'comment')"""


def store_comment(
    session: Session,
    campaign_id: int,
    *,
    rater_id: int,
    task_id: int,
    item_id: int | None = None,
    segment_id: int | None = None,
    screen: int | None = None,
    said: str,
) -> int:
    """Store the comment of an output or of a screen in place of an earlier one; how often it was written, 0: removed.

    The same text again changes nothing; an empty one removes the comment.
    """
    c = comments.c
    address = dict(zip(ADDRESS, (campaign_id, rater_id, task_id, item_id, segment_id, screen), strict=True))
    here = [c[name].is_not_distinct_from(value) for name, value in address.items()]
    if not said:
        session.execute(sa.delete(comments).where(*here))
        return 0
    new = insert(comments).values(**address, revision=1, text=said)
    written = new.on_conflict_do_update(
        index_elements=ADDRESS,
        set_={
            "text": said,
            "revision": c.revision + sa.cast(c.text != said, sa.Integer),
            "at": sa.case((c.text != said, sa.func.now()), else_=c.at),
        },
    )
    return int(session.execute(written.returning(c.revision)).scalar_one())


def load_own_comments(
    session: Session, campaign_id: int, task_id: int, rater_id: int, *, since: datetime | None
) -> list[Row]:
    """A rater's comments in a task: item and segment as ids, or the screen. since: none from before this time."""
    c = comments.c
    query = sa.select(c.item_id, c.segment_id, c.screen, c.revision, c.text).where(
        c.campaign_id == campaign_id, c.task_id == task_id, c.rater_id == rater_id
    )
    return list(session.execute(query if since is None else query.where(c.at >= since)))


def find_first_screen(session: Session, campaign_id: int, task_id: int) -> int:
    """The first screen of a task."""
    query = f"SELECT min({SCREEN_OF_ITEM}) FROM items i WHERE i.campaign_id = :campaign AND i.task_id = :task"
    return int(session.execute(text(query), {"campaign": campaign_id, "task": task_id}).scalar_one())


def erase_comments(session: Session, campaign_id: int, rater_id: int) -> None:
    """Delete what a rater commented: it may say who they are."""
    c = comments.c
    session.execute(sa.delete(comments).where(c.campaign_id == campaign_id, c.rater_id == rater_id))
