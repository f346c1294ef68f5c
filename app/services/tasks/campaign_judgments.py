"""Judgments of a campaign as managers see them, and voiding judgments with a reason. Nothing is deleted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.domain.attention_checks import KIND, ROLE
from app.domain.errors import Invalid, Place
from app.domain.recipe import ScoringChoice
from app.domain.spreadsheet_cells import escape_formula
from app.reports.inputs.scores import find_or_create_score_profile_id, resolve_score_definition
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.stats.ratings import RatingRole
from app.storage import campaign_judgments, campaigns, seals
from app.storage.db import Database, Session

TABLE_COLUMNS = (
    *("id", "document", "segment", "systems", "rater", "score", "revision", "role", "task", "item"),
    *("submitted_at", "recorded_at", "data_version", "surplus", "void", "external_id", "payload"),
    *("comment", "screen_comment"),
)
ROLES = {role.value: role.name.lower() for role in RatingRole} | {ROLE: KIND}


@dataclass(frozen=True, slots=True)
class JudgmentFilter:
    """Which judgments to select; a field that is None does not restrict the selection.

    task: its public id or its key. severity, category: of an error that the judgment marks; a category matches by
    prefix. commented: whether the rater commented on the judgment's output or screen. q: words, each of which must be
    part of the source or of the output that was judged.
    """

    rater: str | None = None
    document: str | None = None
    task: str | None = None
    segment: int | None = None
    system: str | None = None
    severity: str | None = None
    category: str | None = None
    commented: bool | None = None
    q: str | None = None

    @property
    def given_values_by_field(self) -> dict[str, object]:
        """The conditions that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class ManagerJudgmentView:
    """A judgment as managers see it. void: why it was set aside, if it was. surplus: whether rankings ignore it.

    comment, screen_comment: what the rater wrote about its output and about its screen.
    """

    id: int
    task: str
    item: int
    role: str
    document: str
    segment: int | None
    systems: tuple[str, ...]
    rater: str
    revision: int
    payload: Mapping[str, Any]
    score: float | None
    submitted_at: datetime | None
    recorded_at: datetime
    data_version: int
    surplus: bool
    void: str | None
    external_id: str | None
    comment: str | None
    screen_comment: str | None


@dataclass(frozen=True, slots=True)
class VoidResult:
    """How many judgments were set aside, and the data version from which this holds."""

    judgments: int
    data_version: int


def list_judgments(
    session: Session, campaign: str, judgment_filter: JudgmentFilter, *, after: int, limit: int
) -> tuple[list[ManagerJudgmentView], int | None]:
    """List judgments with all their revisions, in the order in which they were stored. Raises NotFound.

    If a filter selects few of very many judgments, the list may be shorter than `limit`. The second value then says
    where to continue.
    """
    row = campaigns.load_campaign(session, campaign)
    profile = _profile(session, row.id, campaign)
    rows, reached = campaign_judgments.load_judgments_page(
        session, row.id, profile, after=after, limit=limit, filters=judgment_filter.given_values_by_field
    )
    return [_view(one) for one in rows], reached


def stream_judgments_jsonl(database: Database, campaign: str, judgment_filter: JudgmentFilter) -> Iterator[bytes]:
    """Stream the selected judgments as JSON lines, from one snapshot. Raises NotFound before the first byte."""
    with database.transaction() as session:
        row = campaigns.load_campaign(session, campaign)
        profile = _profile(session, row.id, campaign)
    return _lines(database, row.id, profile, judgment_filter)


def _lines(database: Database, campaign_id: int, profile: int, judgment_filter: JudgmentFilter) -> Iterator[bytes]:
    with database.transaction(snapshot=True) as session:
        for row in campaign_judgments.stream_judgment_rows(
            session, campaign_id, profile, filters=judgment_filter.given_values_by_field
        ):
            said = {name: getattr(_view(row), name) for name in ManagerJudgmentView.__slots__}
            yield json.dumps(said, ensure_ascii=False, default=_time).encode() + b"\n"


def stream_judgment_table(
    database: Database, campaign: str, judgment_filter: JudgmentFilter, *, tabs: bool = False
) -> Iterator[bytes]:
    """Stream the selected judgments as CSV or TSV. Formulas are escaped. Raises NotFound before the first byte."""
    with database.transaction() as session:
        row = campaigns.load_campaign(session, campaign)
        profile = _profile(session, row.id, campaign)
    return _table_lines(database, row.id, profile, judgment_filter, tabs=tabs)


def _table_lines(
    database: Database, campaign_id: int, profile: int, judgment_filter: JudgmentFilter, *, tabs: bool
) -> Iterator[bytes]:
    out = io.StringIO()
    writer = csv.writer(out, dialect=csv.excel_tab if tabs else csv.excel, lineterminator="\n" if tabs else "\r\n")
    writer.writerow(TABLE_COLUMNS)
    with database.transaction(snapshot=True) as session:
        for row in campaign_judgments.stream_judgment_rows(
            session, campaign_id, profile, filters=judgment_filter.given_values_by_field
        ):
            writer.writerow(_table_row(_view(row)))
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def _table_row(judgment: ManagerJudgmentView) -> list[object]:
    values = {name: getattr(judgment, name) for name in TABLE_COLUMNS}
    values["systems"] = " ".join(judgment.systems)
    values["payload"] = json.dumps(judgment.payload, ensure_ascii=False)
    return [escape_formula(value) if isinstance(value, str) else value for value in values.values()]


def void_judgments(
    session: Session, campaign: str, judgment_filter: JudgmentFilter, *, reason: str, actor: str
) -> VoidResult:
    """Set judgments aside from the campaign's next data version on. Judgments that are already set aside do not change.

    Raises NotFound, and Invalid if the filter has no conditions or selects more judgments than a seal can cover.
    """
    if not judgment_filter.given_values_by_field:
        raise Invalid("say which", places=(Place(("body", "filter"), "name at least one of its fields"),))
    row = campaigns.load_campaign(session, campaign, lock=True)
    voidable = campaign_judgments.count_voidable_judgments(
        session, row.id, filters=judgment_filter.given_values_by_field
    )
    if not voidable:
        return VoidResult(0, row.data_version)
    if voidable > seals.MOST_ROWS:
        wrong = f"selects {voidable:,} judgments; at most {seals.MOST_ROWS:,} can be voided at once"
        raise Invalid("too many judgments", places=(Place(("body", "filter"), wrong),))
    version = campaigns.take_next_data_version(session, row.id, actor=actor, what="voids", judged=True)
    n = campaign_judgments.insert_judgment_voids(
        session, row.id, filters=judgment_filter.given_values_by_field, reason=reason, actor=actor, version=version
    )
    what = {"judgments": n, "filter": judgment_filter.given_values_by_field, "data_version": version}
    audit.record_action(session, row.id, actor=actor, action="judgments set aside", what=what)
    return VoidResult(n, version)


def _profile(session: Session, campaign_id: int, campaign: str) -> int:
    return find_or_create_score_profile_id(
        session, campaign_id, resolve_score_definition(get_campaign(session, campaign), ScoringChoice())
    )


def _view(row: campaign_judgments.Row) -> ManagerJudgmentView:
    fields = {
        name: getattr(row, name) for name in ManagerJudgmentView.__slots__ if name not in ("role", "data_version")
    }
    fields |= {"role": ROLES[row.role], "data_version": row.version, "systems": tuple(row.systems or ())}
    return ManagerJudgmentView(**fields)


def _time(at: object) -> str:
    assert isinstance(at, datetime)  # noqa: S101  (everything else is JSON already)
    return at.isoformat().replace("+00:00", "Z")
