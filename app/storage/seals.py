"""Seals: each data version of a campaign is sealed with the rows that it added, in a chain of hashes (decision 21).

Such rows are judgments, voids, and comparisons of columns. A seal is written in the transaction that creates its
version. Its content is a hash over the hashes of the version's rows, by kind and id. Its own hash covers the previous
seal, the version and the content. So a row that is changed, deleted, replaced or added behind the program's back is
detected. The removal of the last versions is detected, too, because the campaign counts its versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.citus_distribution import COLLECTED_FIRST
from app.storage.query_planning import disable_nested_loops
from app.storage.temporary_tables import enable_temporary_table_subqueries

Row = sa.Row[Any]
_START = "decode(repeat('00', 32), 'hex')"  # the predecessor of the first seal
_BYTES = "convert_to({}::text, 'UTF8')"
_US = "(extract(epoch FROM {}) * 1000000)::bigint"  # no time zone and no rounding, whatever the settings of a session


def judgment_hash_sql(alias: str) -> str:
    """Return SQL for the hash of a judgment: all its columns but campaign and version, which the seal covers.

    >>> judgment_hash_sql("j").startswith("sha256(convert_to(json_build_array(j.id, ")
    True
    """
    times = ", ".join(_US.format(f"{alias}.{name}") for name in ("started_at", "submitted_at", "recorded_at"))
    names = ("id", "item_id", "segment_id", "rater_id", "revision", "payload", "surplus")
    said = ", ".join(f"{alias}.{name}" for name in names)
    array = f"json_build_array({said}, {times}, {alias}.external_id, {alias}.meta, {alias}.guidelines)"
    return f"sha256({_BYTES.format(array)})"


JUDGMENT: Final = 0
VOID: Final = 1
COMPARISON: Final = 2
KINDS: Final = {"judgment": JUDGMENT, "void": VOID, "screen": COMPARISON}
"""Kinds of rows, by the names that the audit log uses for lawfully deleted ones."""


def void_hash_sql(alias: str) -> str:
    """Return SQL for the hash of a void, as `judgment_hash_sql` does for a judgment."""
    array = f"json_build_array('void', {alias}.judgment_id, {alias}.reason, {alias}.actor, {_US.format(f'{alias}.at')})"
    return f"sha256({_BYTES.format(array)})"


def comparison_hash_sql(alias: str) -> str:
    """Return SQL for the hash of an answer about the columns of a screen, as `judgment_hash_sql` does."""
    names = ("task_id", "screen", "rater_id", "revision", "payload", "surplus")
    said = ", ".join(f"{alias}.{name}" for name in names)
    array = f"json_build_array('screen', {said}, {_US.format(f'{alias}.recorded_at')})"
    return f"sha256({_BYTES.format(array)})"


def seal_row_columns_sql(kind: int, alias: str) -> str:
    """Return the columns that a query selects to seal stored rows of a kind: kind, id and hash."""
    by = {
        JUDGMENT: ("id", judgment_hash_sql),
        VOID: ("judgment_id", void_hash_sql),
        COMPARISON: ("task_id", comparison_hash_sql),
    }
    name, digest = by[kind]
    return f"{kind} AS kind, {alias}.{name} AS id, {digest(alias)} AS hash"


def _seal_hash(before: str, campaign: str, version: str, judgments: str, content: str) -> str:
    """Return SQL for the hash of a seal. version: a row of `versions`."""
    said = f"{campaign}, {version}.n, {_US.format(f'{version}.at')}, {version}.actor, {version}.what, {judgments}"
    return f"sha256({before} || {_BYTES.format(f'json_build_array({said})')} || {content})"


MOST_ROWS: Final = (1 << 25) - 1
"""Rows of one version: a seal joins their hashes of 32 bytes into one value, and Postgres limits a value to 1 GB."""

NOTHING = "SELECT NULL::int AS kind, NULL::bigint AS id, NULL::bytea AS hash WHERE false"
_CONTENT = "sha256(coalesce(string_agg({r}.hash, ''::bytea ORDER BY {r}.kind, {r}.id, {r}.hash), ''::bytea))"
_COUNT = f"count(r.id) FILTER (WHERE r.kind = {JUDGMENT})::int"


def version_seal_insert_sql(versions: str, rows: str, *, campaign: str) -> str:
    """Return a statement that seals one version. versions: has its row. rows: selected as by `seal_row_columns_sql`.

    If the previous version is not sealed, for example by a release without seals, this version is not sealed either.
    """
    return f"""
    INSERT INTO seals (campaign_id, version, judgments, content, hash)
    SELECT {campaign}, v.n, c.judgments, c.content, {_seal_hash("p.hash", campaign, "v", "c.judgments", "c.content")}
    FROM {versions} v CROSS JOIN LATERAL (
        SELECT s.hash FROM seals s WHERE s.campaign_id = {campaign} AND s.version = v.n - 1
        UNION ALL SELECT {_START} WHERE v.n = 1) p
    CROSS JOIN (SELECT {_COUNT} AS judgments, {_CONTENT.format(r="r")} AS content FROM ({rows}) r) c
    WHERE {COLLECTED_FIRST}"""


_ONE = "(SELECT n, at, actor, what FROM versions WHERE campaign_id = :campaign AND n = :version)"
_EMPTY = version_seal_insert_sql(_ONE, NOTHING, campaign="CAST(:campaign AS bigint)")
_WITH_ROWS = version_seal_insert_sql(
    _ONE, "SELECT kind, id, hash FROM sealed_rows", campaign="CAST(:campaign AS bigint)"
)


def sealed_insert_sql(kind: int, insert: str) -> str:
    """Return a statement that adds rows under :campaign and :version, seals them, and selects their number."""
    sealed = version_seal_insert_sql(
        _ONE, f"SELECT {seal_row_columns_sql(kind, 'x')} FROM stored x", campaign="CAST(:campaign AS bigint)"
    )
    return f"WITH stored AS ({insert} RETURNING *), sealed AS ({sealed}) SELECT count(*) FROM stored"


def hash_collecting_insert_sql(kind: int, insert: str) -> str:
    """Return a statement that adds rows under the version that is being created, and stores their hashes.

    It stores them in the same place as `collect_hashes_in_temporary_table`.
    """
    kept = f"SELECT {seal_row_columns_sql(kind, 'x')} FROM stored x"
    return f"WITH stored AS ({insert} RETURNING *) INSERT INTO sealed_rows {kept}"


def seal_empty_version(session: Session, campaign_id: int, version: int) -> None:
    """Seal a version that adds none of these rows."""
    session.execute(text(_EMPTY), {"campaign": campaign_id, "version": version})


def collect_hashes_in_temporary_table(session: Session, rows: str | None = None) -> None:
    """Create the table for hashes of the version that is being created, and store those of judgments, if any.

    rows: a query for all columns of these judgments.
    """
    enable_temporary_table_subqueries(session)
    made = "CREATE TEMP TABLE IF NOT EXISTS sealed_rows (kind int, id bigint, hash bytea) ON COMMIT DROP"
    session.execute(text(made))
    if rows is not None:
        session.execute(text(f"INSERT INTO sealed_rows SELECT {seal_row_columns_sql(JUDGMENT, 'x')} FROM ({rows}) x"))


def seal_collected_version(session: Session, campaign_id: int, version: int) -> None:
    """Seal a version with the hashes collected for it."""
    collect_hashes_in_temporary_table(session)
    session.execute(text(_WITH_ROWS), {"campaign": campaign_id, "version": version})
    session.execute(text("TRUNCATE sealed_rows"))


# Each existing version, as it should be and as it is.
_OF_CAMPAIGN = "WHERE {0}.campaign_id = :campaign AND {0}.version > :after"
_ROWS = f"""
rows AS (
    SELECT j.version, {seal_row_columns_sql(JUDGMENT, "j")} FROM judgments j {_OF_CAMPAIGN.format("j")}
    UNION ALL SELECT o.version, {seal_row_columns_sql(VOID, "o")} FROM voids o {_OF_CAMPAIGN.format("o")}
    UNION ALL SELECT q.version, {seal_row_columns_sql(COMPARISON, "q")} FROM screen_judgments q
        {_OF_CAMPAIGN.format("q")}
    UNION ALL SELECT * FROM unnest(CAST(:versions AS bigint[]), CAST(:kinds AS int[]), CAST(:ids AS bigint[]),
                                   CAST(:hashes AS bytea[]))),
found AS (
    SELECT r.version, {_COUNT} AS judgments, {_CONTENT.format(r="r")} AS content FROM rows r GROUP BY r.version)"""
_BEFORE = f"coalesce(s.before, {_START})"
_CHECK = f"""
WITH {_ROWS}
SELECT coalesce(v.n, s.version, f.version) AS n, v.n IS NOT NULL AS noted, s.version IS NOT NULL AS sealed,
       s.judgments, coalesce(f.judgments, 0) AS found, s.hash,
       s.content = coalesce(f.content, sha256(''::bytea)) AS as_written,
       s.hash = {_seal_hash(_BEFORE, "CAST(:campaign AS bigint)", "v", "s.judgments", "s.content")}
           AS linked
FROM (SELECT * FROM versions WHERE campaign_id = :campaign) v
FULL JOIN (SELECT *, lag(hash) OVER (ORDER BY version) AS before FROM seals WHERE campaign_id = :campaign) s
     ON s.version = v.n
FULL JOIN found f ON f.version = coalesce(v.n, s.version) ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class PurgedRows:
    """Rows that were deleted lawfully: their versions, kinds, ids and hashes."""

    versions: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    hashes: list[bytes] = field(default_factory=list)

    def add_row(self, version: int, kind: int, row: int, digest: bytes) -> None:
        """Add a row."""
        self.versions.append(version)
        self.kinds.append(kind)
        self.ids.append(row)
        self.hashes.append(digest)

    def sql_parameters(self) -> dict[str, object]:
        """Return the rows as parameters of a query."""
        return {"versions": self.versions, "kinds": self.kinds, "ids": self.ids, "hashes": self.hashes}


def compare_versions_with_seals(session: Session, campaign_id: int, purged: PurgedRows) -> Sequence[Row]:
    """Return each version with its seal and its rows, and whether the rows are still as they were sealed."""
    with disable_nested_loops(session):
        return session.execute(text(_CHECK), {"campaign": campaign_id, "after": 0, **purged.sql_parameters()}).all()


def load_sealable_campaigns(session: Session) -> list[Row]:
    """Return id, key and data version of each campaign that has one, and how many of its first versions are sealed."""
    query = """SELECT c.id, c.key, c.data_version,
                      coalesce((SELECT max(s.version) FROM seals s WHERE s.campaign_id = c.id), 0) AS sealed
               FROM campaigns c WHERE c.data_version > 0 ORDER BY c.id"""
    return list(session.execute(text(query)))


_LATER = (
    f"json_build_array(CAST(:campaign AS bigint), v.n, {_US.format('v.at')}, v.actor, v.what, coalesce(f.judgments, 0))"
)
_UNSEALED = f"""
WITH {_ROWS}
SELECT v.n, coalesce(f.judgments, 0) AS judgments, coalesce(f.content, sha256(''::bytea)) AS content,
       {_BYTES.format(_LATER)} AS said
FROM versions v LEFT JOIN found f ON f.version = v.n
WHERE v.campaign_id = :campaign AND v.n > :after ORDER BY v.n"""
_HOLD = "SELECT FROM campaigns WHERE id = :campaign FOR NO KEY UPDATE"
_LAST = "SELECT version, hash FROM seals WHERE campaign_id = :campaign ORDER BY version DESC LIMIT 1"
_ADD = """
INSERT INTO seals (campaign_id, version, judgments, content, hash)
SELECT :campaign, x.* FROM unnest(CAST(:n AS bigint[]), CAST(:judgments AS int[]), CAST(:content AS bytea[]),
                                  CAST(:hash AS bytea[])) x"""


def find_last_seal(session: Session, campaign_id: int) -> Row | None:
    """Return the last sealed version of a campaign, with its hash."""
    return session.execute(text(_LAST), {"campaign": campaign_id}).one_or_none()


def seal_unsealed_versions(
    session: Session, campaign_id: int, purged: PurgedRows, *, hold: bool
) -> tuple[int, bytes] | None:
    """Seal versions after the last sealed one, as they are now; return the last one with its hash, None if none.

    hold: lock the campaign until the transaction ends, so that no version is left over; otherwise writers need not
    wait.
    """
    key = {"campaign": campaign_id}
    if hold:
        session.execute(text(_HOLD), key)
    had = find_last_seal(session, campaign_id)
    after, before = (had.version, had.hash) if had is not None else (0, bytes(32))
    with disable_nested_loops(session):
        rows = session.execute(text(_UNSEALED), {**key, "after": after, **purged.sql_parameters()}).all()
    hashes: list[bytes] = []
    for row in rows:
        before = hashlib.sha256(before + row.said + row.content).digest()
        hashes.append(before)
    columns = {name: [getattr(row, name) for row in rows] for name in ("n", "judgments", "content")}
    session.execute(text(_ADD), {**key, **columns, "hash": hashes})
    return (int(rows[-1].n), before) if rows else None
