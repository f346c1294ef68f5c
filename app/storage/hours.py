"""Queries about hours: the activity that pages recorded, the words they showed, and adjustments of paid time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy import text

from app.domain.attention_checks import ROLE
from app.domain.errors import NotFound
from app.stats.timing.active_time import ActivityLog, ScreenWordCounts
from app.storage.attention_checks import SHOWN_TEXT
from app.storage.db import Session, driver_connection
from app.storage.optional_filters import join_optional_conditions
from app.storage.packed_columns import make_packed_columns_select, unpack_column, unpack_times_as_microseconds
from app.storage.query_planning import disable_nested_loops
from app.storage.tables import hour_adjustments
from app.storage.word_count_sql import WORDS_OF
from app.storage.word_search import join_conditions_per_word, make_word_condition_values

Row = sa.Row[Any]
# Task, item, screen, whether segments are separate, and the numbers of source and output words of each segment.
Shown = tuple[int, int, int, bool, list[int], list[int]]


class DisputeNotFound(NotFound):
    """There is no such dispute in this campaign."""


# Kinds of events: events that a page sends by itself are no actions of a person; others say whether the page is seen.
OF_ITSELF = ("tick", "beat", "alive", "saved")
HIDES = ("hidden", "pagehide", "unload")
SAYS_NOTHING = ("blur",)

_COLUMNS = {
    "rater_id": "int8",
    "task_id": "int8",
    "page": "int8",
    "seq": "int4",
    "at_ms": "int8",
    "received_at": "timestamptz",
    "leased_at": "timestamptz",
    "sign": "int4",
    "item": "int4",
    "segment": "int4",
}
_ACTIVITY = """(
    SELECT a.rater_id, a.task_id, hashtextextended(a.session, 0) AS page, a.seq, a.at_ms, a.received_at,
           coalesce(l.leased_at, a.received_at) AS leased_at,
           CASE WHEN a.kind = ANY(%(hides)s) THEN 2 WHEN a.kind = ANY(%(silent)s) THEN 0 ELSE 1 END AS sign,
           coalesce(a.item, -1) AS item, coalesce(a.segment, -1) AS segment
    FROM activity a LEFT JOIN (
        SELECT task_id, rater_id, min(leased_at) AS leased_at FROM leases WHERE campaign_id = %(campaign)s
        GROUP BY 1, 2) l ON l.task_id = a.task_id AND l.rater_id = a.rater_id
    WHERE a.campaign_id = %(campaign)s AND a.kind <> ALL(%(itself)s)
      {conditions}) x"""
_ACTIVITY_BY = {"raters": "a.rater_id = ANY(%(raters)s)", "until": "a.received_at <= %(until)s"}

# The words of each segment of each item that a rater looked at; a text counts once, however often it is shown.
SCREENS = """
WITH seen AS MATERIALIZED (
    SELECT DISTINCT task_id FROM activity a WHERE campaign_id = %(campaign)s {conditions}),
sources AS MATERIALIZED (
    SELECT id, document_id, position, {source} AS words FROM segments g
    WHERE campaign_id = %(campaign)s AND document_id IN (
        SELECT i.document_id FROM seen k JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = k.task_id)),
texts AS MATERIALIZED (
    SELECT system_id, segment_id, {target} AS words FROM outputs o
    WHERE campaign_id = %(campaign)s AND segment_id IN (SELECT id FROM sources))
SELECT i.task_id, i.position, coalesce(i.screen, i.position), t.presentation = 'segment',
       array_agg(s.words ORDER BY s.position),
       array_agg(CASE WHEN i.reference IS NOT NULL THEN {reference} WHEN i.role = {attention_role} THEN {attention}
                      ELSE coalesce(o.words, 0) END ORDER BY s.position)
FROM seen k JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = k.task_id
JOIN items i ON i.campaign_id = %(campaign)s AND i.task_id = k.task_id
JOIN sources s ON s.document_id = i.document_id
     AND s.position BETWEEN coalesce(i.first_segment, 1) AND coalesce(i.last_segment, 2147483647)
LEFT JOIN (SELECT item_id, min(system_id) AS system_id FROM credits WHERE campaign_id = %(campaign)s GROUP BY 1) c
     ON c.item_id = i.id
LEFT JOIN texts o ON o.system_id = c.system_id AND o.segment_id = s.id
LEFT JOIN segments g ON i.role = {attention_role} AND g.campaign_id = %(campaign)s AND g.id = s.id
LEFT JOIN reference_texts f ON f.campaign_id = %(campaign)s AND f.segment_id = s.id AND f.name = i.reference
GROUP BY i.id, t.id ORDER BY i.task_id, 3, i.position"""
_BY_SPACES = f"coalesce({WORDS_OF}, 0)"
_BY_CHARACTERS = "(length(coalesce({text}, '')) + 1) / 2"


@dataclass(frozen=True, slots=True)
class SpaceDelimitedLanguages:
    """Whether spaces separate words in the source and target languages; if not, two characters count as a word."""

    source: bool
    target: bool


@dataclass(frozen=True, slots=True)
class CampaignActivityLog:
    """Activity with raters and tasks as codes. raters, tasks: their ids, by code."""

    log: ActivityLog
    screens: ScreenWordCounts
    raters: tuple[int, ...]
    tasks: tuple[int, ...]


def load_recorded_activity(
    session: Session,
    campaign_id: int,
    spacing: SpaceDelimitedLanguages,
    raters: Sequence[int] | None = None,
    until: datetime | None = None,
) -> CampaignActivityLog:
    """Return the activity recorded in a campaign, with the words shown; of some raters only, or until a time."""
    keys: dict[str, Any] = {
        "campaign": campaign_id,
        "raters": None if raters is None else list(raters),
        "until": until,
        "itself": list(OF_ITSELF),
        "hides": list(HIDES),
        "silent": list(SAYS_NOTHING),
    }
    activity = make_packed_columns_select(
        "activity", _COLUMNS, _ACTIVITY.format(conditions=join_optional_conditions(_ACTIVITY_BY, keys))
    )
    with disable_nested_loops(session), driver_connection(session).cursor(binary=True, row_factory=dict_row) as cursor:
        columns = cursor.execute(f"SELECT * FROM {activity}", keys).fetchone() or {}
    read = {name: unpack_column(columns.get(f"activity_{name}"), kind) for name, kind in _COLUMNS.items()}
    rater_ids, rater = np.unique(read["rater_id"], return_inverse=True)
    task_ids, task = np.unique(read["task_id"], return_inverse=True)
    _, page = np.unique(read["page"], return_inverse=True)
    log = ActivityLog(
        rater=rater.ravel().astype(np.int32),
        task=task.ravel().astype(np.int32),
        session=page.ravel().astype(np.int32),
        seq=read["seq"],
        at_ms=read["at_ms"],
        received=unpack_times_as_microseconds(read["received_at"], 0),
        since=unpack_times_as_microseconds(read["leased_at"], 0),
        sign=read["sign"],
        item=read["item"],
        segment=read["segment"],
    )
    screens = _screens(session, keys, spacing, {int(one): n for n, one in enumerate(task_ids)})
    return CampaignActivityLog(log, screens, tuple(map(int, rater_ids)), tuple(map(int, task_ids)))


def _screens(
    session: Session, keys: Mapping[str, Any], spacing: SpaceDelimitedLanguages, tasks: Mapping[int, int]
) -> ScreenWordCounts:
    def counted(spaced: bool, name: str) -> str:
        return (_BY_SPACES if spaced else _BY_CHARACTERS).format(text=name)

    query = SCREENS.format(
        source=counted(spacing.source, "g.source"),
        target=counted(spacing.target, "o.text"),
        reference=counted(spacing.target, "f.text"),
        attention=counted(spacing.target, SHOWN_TEXT),
        attention_role=ROLE,
        conditions=join_optional_conditions({"raters": _ACTIVITY_BY["raters"]}, keys),
    )
    with disable_nested_loops(session):
        rows = cast("list[Shown]", driver_connection(session).execute(query, keys).fetchall())
    read: dict[tuple[int, int], tuple[int, int]] = {}  # by screen: most words of a source, and words of all outputs
    for task, _, screen, _, sources, outputs in rows:
        most, of_all = read.get((task, screen), (0, 0))
        read[task, screen] = max(most, sum(sources)), of_all + sum(outputs)
    screen_words: list[tuple[int, int, int, int]] = []
    for task, item, screen, by_segment, sources, outputs in rows:
        if task in tasks:
            screen_words.append((tasks[task], item, 0, sum(read[task, screen])))
            pairs = zip(sources, outputs, strict=True) if by_segment else ()
            screen_words += [(tasks[task], item, n, s + o) for n, (s, o) in enumerate(pairs, 1)]
    columns = np.array(screen_words, dtype=np.int64).reshape(-1, 4)
    task_, item_, segment_ = (columns[:, n].astype(np.int32) for n in range(3))
    return ScreenWordCounts(task_, item_, segment_, columns[:, 3].astype(np.float64))


_PLACE_COLUMNS = {"judgment_id": "int8", "rater_id": "int8", "task_id": "int8", "item": "int4", "segment": "int4"}
_PLACES = """(
    SELECT j.id AS judgment_id, j.rater_id, i.task_id, i.position AS item,
           coalesce(g.position - coalesce(i.first_segment, 1) + 1, 0) AS segment
    FROM judgments j JOIN items i ON i.campaign_id = %(campaign)s AND i.id = j.item_id
    JOIN tasks t ON t.campaign_id = %(campaign)s AND t.id = i.task_id AND t.state <> 'imported'
    LEFT JOIN segments g ON g.campaign_id = %(campaign)s AND g.id = j.segment_id
    WHERE j.campaign_id = %(campaign)s) x"""
PLACES = f"SELECT * FROM {make_packed_columns_select('places', _PLACE_COLUMNS, _PLACES)}"


def find_data_version_time(session: Session, campaign_id: int, version: int) -> datetime | None:
    """Return when a data version was created, or None if no activity had been recorded by then."""
    query = text(
        """SELECT v.at FROM versions v WHERE v.campaign_id = :campaign AND v.n = :version AND EXISTS (
               SELECT FROM activity a WHERE a.campaign_id = :campaign AND a.received_at <= v.at)"""
    )
    made_at: datetime | None = session.execute(query, {"campaign": campaign_id, "version": version}).scalar()
    return made_at


def locate_judgments_in_tasks(session: Session, campaign_id: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return the place of each judgment: judgment_id, rater_id, task_id, item, segment (0: the whole item)."""
    with disable_nested_loops(session), driver_connection(session).cursor(binary=True, row_factory=dict_row) as cursor:
        packed_row = cursor.execute(PLACES, {"campaign": campaign_id}).fetchone() or {}
    read = {name: unpack_column(packed_row.get(f"places_{name}"), kind) for name, kind in _PLACE_COLUMNS.items()}
    return {name: values.astype(np.int64) for name, values in read.items()}


_RATERS = """
SELECT r.id, r.key, coalesce(r.person_id, -r.id) AS person, t.key AS team, e.state
FROM raters r JOIN enrolments e ON e.rater_id = r.id LEFT JOIN teams t ON t.id = e.team_id
WHERE r.campaign_id = :campaign {conditions}
ORDER BY r.key COLLATE "C" """
_ACCOUNTS = """
SELECT r.id, r.key, coalesce(r.person_id, -r.id) AS person, NULL AS team, NULL AS state
FROM raters r JOIN raters me ON me.campaign_id = r.campaign_id AND me.id = :rater
WHERE r.campaign_id = :campaign AND (r.id = me.id OR r.person_id = me.person_id)"""
_ENTRIES = """
SELECT h.id, h.kind, r.key AS rater, h.rater_id, t.key AS team, h.seconds, h.reason, h.answers_id AS answers, h.actor,
       h.at, (SELECT a.kind FROM hour_adjustments a WHERE a.campaign_id = h.campaign_id AND a.answers_id = h.id
              ORDER BY a.id LIMIT 1) AS answered
FROM hour_adjustments h JOIN raters r ON r.id = h.rater_id LEFT JOIN enrolments e ON e.rater_id = h.rater_id
LEFT JOIN teams t ON t.id = e.team_id
WHERE h.campaign_id = :campaign AND h.id > :after {conditions} ORDER BY h.id LIMIT :limit"""
_OF_TEAM = {"team": "t.key = :team"}
_ANSWER = "EXISTS (SELECT FROM hour_adjustments a WHERE a.campaign_id = h.campaign_id AND a.answers_id = h.id)"
_ENTRIES_BY = {
    **_OF_TEAM,
    "rater": "h.rater_id = :rater",
    "id": "h.id = :id",
    "answered": f"h.kind = 'dispute' AND {_ANSWER} = :answered",
}


def load_enrolled_raters(session: Session, campaign_id: int, team: str | None) -> list[Row]:
    """Return the enrolled raters, of one team if given; accounts of one person have the same `person`."""
    keys = {"campaign": campaign_id, "team": team}
    return list(session.execute(text(_RATERS.format(conditions=join_optional_conditions(_OF_TEAM, keys))), keys))


def load_accounts_of_same_person(session: Session, campaign_id: int, rater_id: int) -> list[Row]:
    """Return all accounts of a rater's person in the campaign, in the form of `load_enrolled_raters`."""
    return list(session.execute(text(_ACCOUNTS), {"campaign": campaign_id, "rater": rater_id}))


def load_hours_entries(
    session: Session,
    campaign_id: int,
    *,
    team: str | None = None,
    rater_id: int | None = None,
    entry_id: int | None = None,
    after: int = 0,
    limit: int | None = None,
    answered: bool | None = None,
    words: Sequence[str] = (),
) -> list[Row]:
    """Return adjustments, disputes and refusals in order of creation.

    The column `answered` is the kind of the entry that answers this one.

    answered: only disputes with an answer, or only those without. words: each is a part of the rater or the reason,
    ignoring case.
    """
    keys: dict[str, object] = {"campaign": campaign_id, "team": team, "rater": rater_id, "id": entry_id, "after": after}
    keys |= {"limit": limit, "answered": answered, **make_word_condition_values(words)}
    conditions = join_optional_conditions(_ENTRIES_BY, keys)
    conditions += join_conditions_per_word("concat_ws(' ', r.key, h.reason)", words)
    return list(session.execute(text(_ENTRIES.format(conditions=conditions)), keys))


def load_dispute(session: Session, campaign_id: int, entry_id: int) -> Row:
    """Return a dispute. Raises DisputeNotFound."""
    matching = load_hours_entries(session, campaign_id, entry_id=entry_id)
    if not matching or matching[0].kind != "dispute":
        raise DisputeNotFound
    return matching[0]


def insert_hours_entry(session: Session, campaign_id: int, values: Mapping[str, object]) -> Row:
    """Add an entry, which is permanent. values: rater_id, kind, seconds, reason, answers_id, actor."""
    made = sa.insert(hour_adjustments).values(campaign_id=campaign_id, **values).returning(hour_adjustments.c.id)
    return load_hours_entries(session, campaign_id, entry_id=int(session.execute(made).scalar_one()))[0]


def count_open_disputes_of_rater(session: Session, campaign_id: int, rater_id: int) -> int:
    """Count the disputes of a rater that have no answer."""
    rater_entries = load_hours_entries(session, campaign_id, rater_id=rater_id)
    return sum(row.kind == "dispute" and row.answered is None for row in rater_entries)
