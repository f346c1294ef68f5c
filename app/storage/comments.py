"""Queries about raters' comments on outputs and screens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.comments import ON_OUTPUT, ON_SCREEN
from app.storage.tables import comments

Row = sa.Row[Any]
ADDRESS = ("campaign_id", "rater_id", "task_id", "item_id", "segment_id", "screen")
SCREEN_OF_ITEM = "coalesce(i.screen, i.position)"
# Judgments that were imported before comments had their own table keep them in `meta`, under the names of Pearmut's
# logs. `meta` is sealed, so an erasure cannot change it. Queries therefore hide these comments until the rater's data
# are purged.
_ERASED = "(SELECT e.state FROM enrolments e WHERE e.rater_id = j.rater_id) = 'erased'"
_SEALED = f"CASE WHEN j.meta ->> '{{name}}' IS NOT NULL AND ({_ERASED}) IS NOT TRUE THEN j.meta ->> '{{name}}' END"
# The comments on a judgment's output and screen: `j` is the judgment, `i` its item.
OF_OUTPUT = f"""coalesce((SELECT c.text FROM comments c WHERE c.campaign_id = j.campaign_id AND c.rater_id = j.rater_id
    AND c.task_id = i.task_id AND c.item_id = j.item_id AND c.segment_id IS NOT DISTINCT FROM j.segment_id),
    {_SEALED.format(name=ON_OUTPUT)})"""
OF_SCREEN = f"""coalesce((SELECT c.text FROM comments c WHERE c.campaign_id = j.campaign_id AND c.rater_id = j.rater_id
    AND c.task_id = i.task_id AND c.screen = {SCREEN_OF_ITEM}), {_SEALED.format(name=ON_SCREEN)})"""
META = f"""CASE WHEN j.meta ?| ARRAY['{ON_OUTPUT}', '{ON_SCREEN}'] AND {_ERASED}
    THEN j.meta - '{ON_OUTPUT}' - '{ON_SCREEN}' ELSE j.meta END"""
"""The `meta` of a judgment, without the comments of an erased rater."""

SET_APART = f"""nullif(j.meta - '{ON_OUTPUT}' - '{ON_SCREEN}', '{{}}'::jsonb) AS meta,
       nullif(btrim(j.meta ->> '{ON_OUTPUT}'), '') AS on_output,
       nullif(btrim(j.meta ->> '{ON_SCREEN}'), '') AS on_screen"""
"""Separates, for staged judgments `j`, the `meta` to keep from the comments, which can be erased."""
_STAGED = """
SELECT DISTINCT ON (r.rater_id, i.task_id, r.item_id, r.segment_id) r.rater_id, i.task_id, r.item_id, r.segment_id,
       NULL::int AS screen, r.on_output AS text
FROM resolved r JOIN items i ON i.campaign_id = :campaign AND i.id = r.item_id WHERE r.on_output IS NOT NULL
ORDER BY r.rater_id, i.task_id, r.item_id, r.segment_id, r.revision DESC"""
_STAGED_OF_SCREENS = f"""
SELECT DISTINCT ON (r.rater_id, i.task_id, {SCREEN_OF_ITEM}) r.rater_id, i.task_id, NULL::bigint, NULL::bigint,
       {SCREEN_OF_ITEM}, r.on_screen
FROM resolved r JOIN items i ON i.campaign_id = :campaign AND i.id = r.item_id WHERE r.on_screen IS NOT NULL
ORDER BY r.rater_id, i.task_id, {SCREEN_OF_ITEM}, r.revision DESC"""
_INSERT_STAGED = f"""
INSERT INTO comments (campaign_id, rater_id, task_id, item_id, segment_id, screen, revision, text)
SELECT :campaign, x.rater_id, x.task_id, x.item_id, x.segment_id, x.screen, 1, x.text
FROM (({_STAGED}) UNION ALL ({_STAGED_OF_SCREENS})) x
ON CONFLICT ({", ".join(ADDRESS)}) DO UPDATE
SET text = excluded.text, revision = comments.revision + 1, at = excluded.at
WHERE comments.text <> excluded.text"""


def store_or_remove_comment(
    session: Session,
    campaign_id: int,
    *,
    rater_id: int,
    task_id: int,
    item_id: int | None = None,
    segment_id: int | None = None,
    screen: int | None = None,
    comment: str,
) -> int:
    """Store the comment on an output or a screen, replacing an earlier one; return its revision, 0 if removed.

    The same text again changes nothing; an empty text removes the comment.
    """
    c = comments.c
    address = dict(zip(ADDRESS, (campaign_id, rater_id, task_id, item_id, segment_id, screen), strict=True))
    here = [c[name].is_not_distinct_from(value) for name, value in address.items()]
    if not comment:
        session.execute(sa.delete(comments).where(*here))
        return 0
    new = insert(comments).values(**address, revision=1, text=comment)
    written = new.on_conflict_do_update(
        index_elements=ADDRESS,
        set_={
            "text": comment,
            "revision": c.revision + sa.cast(c.text != comment, sa.Integer),
            "at": sa.case((c.text != comment, new.excluded.at), else_=c.at),
        },
    )
    return int(session.execute(written.returning(c.revision)).scalar_one())


def load_comments_of_rater_in_task(
    session: Session, campaign_id: int, task_id: int, rater_id: int, *, since: datetime | None
) -> list[Row]:
    """Return a rater's comments in a task, with ids of item and segment, or the screen. since: the earliest time."""
    c = comments.c
    query = sa.select(c.item_id, c.segment_id, c.screen, c.revision, c.text).where(
        c.campaign_id == campaign_id, c.task_id == task_id, c.rater_id == rater_id
    )
    return list(session.execute(query if since is None else query.where(c.at >= since)))


def insert_staged_comments(session: Session, campaign_id: int) -> None:
    """Store the comments of an import with the judgments that it added, once items are assigned to screens.

    If an answer has several revisions, the comment of the last one is stored.
    """
    session.execute(text(_INSERT_STAGED), {"campaign": campaign_id})


def load_first_screen_number_of_task(session: Session, campaign_id: int, task_id: int) -> int:
    """Return the first screen of a task."""
    query = f"SELECT min({SCREEN_OF_ITEM}) FROM items i WHERE i.campaign_id = :campaign AND i.task_id = :task"
    return int(session.execute(text(query), {"campaign": campaign_id, "task": task_id}).scalar_one())


def erase_comments_of_rater(session: Session, campaign_id: int, rater_id: int) -> None:
    """Delete a rater's comments, because they may reveal who the rater is."""
    c = comments.c
    session.execute(sa.delete(comments).where(c.campaign_id == campaign_id, c.rater_id == rater_id))
