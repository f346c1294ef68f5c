"""Resolve a filter of judgments, and load pages of the result; a page searches only as many as it can in time.

First the names become row ids. Then every condition is a condition on a judgment, and the planner knows the values.
Data shown with a judgment are joined once the page is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import text

from app.storage.comments import SCREEN_OF_ITEM
from app.storage.db import Session
from app.storage.optional_filters import join_optional_conditions
from app.storage.word_search import join_conditions_per_word, make_word_condition_values

LOOKED_AT = 300
"""The most judgments that one page searches: to test a system, each judgment touches three blocks of an index."""
SEARCHED = 150
"""The most judgments that one page searches for words: reading the texts of one touches twice as many blocks."""
FEW = 2500
"""The most judgments of a task or document that are found through its items."""

_ROWS = {
    "rater": "(SELECT id FROM raters WHERE campaign_id = :campaign AND key = :rater)",
    "document": "(SELECT id FROM documents WHERE campaign_id = :campaign AND key = :document)",
    "system": "(SELECT id FROM systems WHERE campaign_id = :campaign AND key = :system)",
    "task": """(SELECT array_agg(id) FROM tasks
                WHERE campaign_id = :campaign AND (public_id = :task OR key = :task))""",
}
# A fence (OFFSET 0) keeps the planner from reading everything that matches a condition if few judgments are searched.
_ITEM = "i.campaign_id = :campaign AND i.id = j.item_id"
# Each word is a part of the judged source or output; an item that shows a reference has no output. A statement over all
# judgments joins them once more: without look-ups, the subquery may use only the id of the outer judgment. A judgment
# of a whole document has no segment here, because its texts can be more than a page may read.
_TEXTS = """EXISTS (SELECT FROM {judged} k JOIN segments g ON g.campaign_id = :campaign AND g.id = k.segment_id
    LEFT JOIN credits c ON c.campaign_id = :campaign AND c.item_id = k.item_id
    LEFT JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = c.system_id AND o.segment_id = g.id
    WHERE k.campaign_id = :campaign AND k.id = j.id {words} {fence})"""
_SAME = "(SELECT CAST(:campaign AS bigint) AS campaign_id, j.id, j.item_id, j.segment_id)"
_TEXT = "concat_ws(' ', g.source, o.text)"
# A judgment that marks an error with this severity or category.
_ERROR = """jsonb_path_exists(
    j.payload, '$.errors[*] ? ({condition})', jsonb_build_object('asked', CAST(:{name} AS text)))"""
_COMMENTED = f"""EXISTS (
    SELECT FROM comments c JOIN items i ON {_ITEM} WHERE c.campaign_id = :campaign AND c.rater_id = j.rater_id
      AND c.task_id = i.task_id AND (c.item_id = j.item_id AND c.segment_id IS NOT DISTINCT FROM j.segment_id
                                     OR c.screen = {SCREEN_OF_ITEM}) {{fence}})
    OR coalesce(j.meta ->> 'textfield', j.meta ->> 'comment') IS NOT NULL"""
_CONDITIONS = {
    "rater": "j.rater_id = :rater",
    "task": f"EXISTS (SELECT FROM items i WHERE {_ITEM} AND i.task_id = ANY(:task) {{fence}})",
    "document": f"EXISTS (SELECT FROM items i WHERE {_ITEM} AND i.document_id = :document {{fence}})",
    "segment": """EXISTS (SELECT FROM segments g WHERE g.campaign_id = :campaign AND g.id = j.segment_id
                          AND g.position = :segment {fence})""",
    "system": """EXISTS (SELECT FROM credits c WHERE c.campaign_id = :campaign AND c.item_id = j.item_id
                         AND c.system_id = :system {fence})""",
    "severity": _ERROR.format(condition="@.severity == $asked", name="severity"),
    "category": _ERROR.format(condition="@.category starts with $asked", name="category"),
    "commented": f"({_COMMENTED}) = :commented",
}
_SYSTEM_OF_ITEM = """AND (SELECT count(*) FROM shown) < :items
    AND EXISTS (SELECT FROM credits c WHERE c.campaign_id = :campaign AND c.item_id = i.id
                AND c.system_id = :system OFFSET 0)"""
_OF_ITEMS = {"task": "i.task_id = ANY(:task)", "document": "i.document_id = :document"}

# All judgments of the content of a task or a document, optionally of one system, unless there are more than a page may
# search.
_FEW = """
WITH shown AS MATERIALIZED (SELECT i.id FROM items i WHERE i.campaign_id = :campaign {conditions} LIMIT :items),
of_system AS MATERIALIZED (SELECT i.id AS item_id FROM shown i WHERE true {system}),
found AS MATERIALIZED (
    SELECT j.id FROM of_system s
    CROSS JOIN LATERAL (SELECT id FROM judgments WHERE item_id = s.item_id OFFSET 0) j LIMIT :most)
SELECT (SELECT count(*) FROM shown), ARRAY(SELECT id FROM found)"""
_PAGE = """
WITH looked AS MATERIALIZED (
    SELECT j.id, j.item_id, j.segment_id, j.rater_id, j.payload, j.meta FROM judgments j
    WHERE j.campaign_id = :campaign AND j.id > :after {among} ORDER BY j.id LIMIT :looked)
SELECT ARRAY(SELECT j.id FROM looked j WHERE true {conditions} ORDER BY j.id LIMIT :limit),
       (SELECT count(*) FROM looked), (SELECT max(id) FROM looked)"""


@dataclass(frozen=True, slots=True)
class ResolvedJudgmentFilter:
    """A filter with its names replaced by row ids of the campaign. values: by field; several ids for a task."""

    values: Mapping[str, object]

    @property
    def sql_condition(self) -> str:
        """The condition for a statement over all judgments `j` of the campaign; AND precedes each part."""
        return _join_conditions(self.values, fence="")


@dataclass(frozen=True, slots=True)
class FilteredJudgmentIds:
    """The ids of a page's judgments. reached: the last one searched, if there are more to search."""

    ids: list[int]
    reached: int | None


def resolve_judgment_filter(
    session: Session, campaign_id: int, filters: Mapping[str, object]
) -> ResolvedJudgmentFilter | None:
    """Find the row ids of a filter's names; return None if one of them does not exist."""
    named = {name: row for name, row in _ROWS.items() if filters.get(name) is not None}
    rows: tuple[object, ...] = ()
    if named:
        query = text("SELECT " + ", ".join(named.values()))
        rows = tuple(session.execute(query, {**filters, "campaign": campaign_id}).one())
    if any(row is None for row in rows):
        return None
    words = make_word_condition_values(str(filters.get("q") or "").split())
    fields = {name: value for name, value in filters.items() if name != "q"}
    return ResolvedJudgmentFilter({**fields, **dict(zip(named, rows, strict=True)), **words})


def find_filtered_judgment_ids(
    session: Session, campaign_id: int, wanted: ResolvedJudgmentFilter, *, after: int, limit: int
) -> FilteredJudgmentIds:
    """Return the first matching judgments after an id. May be fewer than `limit` if the search limit was reached."""
    values = dict(wanted.values)
    few, found_by = _list_few_ids(session, campaign_id, values)
    beside = {name: value for name, value in values.items() if name not in {"rater", *found_by}}
    if few is not None:
        values["few"] = few
    conditions = _join_conditions(beside, fence="OFFSET 0")
    looked = max(SEARCHED if "word0" in values else LOOKED_AT, limit) if conditions else limit
    among = join_optional_conditions({"rater": _CONDITIONS["rater"], "few": "j.id = ANY(:few)"}, values)
    keys = {**values, "campaign": campaign_id, "after": after, "limit": limit, "looked": looked}
    query = text(_PAGE.format(among=among, conditions=conditions))
    ids, count, last = session.execute(query, keys).one()
    ended = count < looked or len(ids) == limit
    return FilteredJudgmentIds(list(ids), None if ended else int(last))


def _join_conditions(values: Mapping[str, object], *, fence: str) -> str:
    conditions = {name: condition.format(fence=fence) for name, condition in _CONDITIONS.items()}
    searched = join_conditions_per_word(_TEXT, [name for name in values if name.startswith("word")])
    words = (
        f" AND {_TEXTS.format(words=searched, fence=fence, judged=_SAME if fence else 'judgments')}" if searched else ""
    )
    return join_optional_conditions(conditions, values) + words


def _list_few_ids(
    session: Session, campaign_id: int, values: Mapping[str, object]
) -> tuple[list[int] | None, frozenset[str]]:
    """Return the judgments found through their items, and the filter fields that this search covers.

    It covers a system only if there are few enough items to test the systems of each: a document has as many judgments
    as its items have segments.
    """
    conditions = join_optional_conditions(_OF_ITEMS, values)
    if not conditions:
        return None, frozenset()
    for most, system in ((LOOKED_AT, _SYSTEM_OF_ITEM), (FEW, "")):
        if system and "system" not in values:
            continue
        keys = {**values, "campaign": campaign_id, "items": most + 1, "most": FEW + 1}
        statement = text(_FEW.format(conditions=conditions, system=system))
        shown, judgment_ids = session.execute(statement, keys).one()
        if shown <= most and len(judgment_ids) <= FEW:
            return list(judgment_ids), frozenset({*_OF_ITEMS, *(["system"] if system else [])})
    return None, frozenset()
