"""The audit log is written and read by index, however long it and the chains of others are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.storage import audit
from app.storage.db import Database, Session
from tests.blocks import costs, filled

MANY = """
INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings)
SELECT 'c' || n, 'c', 'da', 1, '{}', 'none', 'open', '{}' FROM generate_series(1, 3) n;
INSERT INTO audit_log (campaign_id, n, at, actor, action, what, hash)
SELECT c.id, n, now(), 'a', 'b', '{}', sha256(n::text::bytea)
FROM campaigns c, generate_series(1, 5) n WHERE key = 'c1';
INSERT INTO audit_log (campaign_id, n, at, actor, action, what, hash)
SELECT c.id, n, now(), 'a', 'b', '{}', sha256(n::text::bytea)
FROM (SELECT id FROM campaigns WHERE key = 'c2' UNION ALL SELECT NULL) c, generate_series(1, 10000) n
ORDER BY c.id, n;
ANALYZE audit_log;
"""
EARLY = 5 + 100  # the id of an early row of the long chain
FEW = 30  # blocks; all that there are take more than 200
Ask = Callable[[Session, int | None], object]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database with a short chain, two long ones, and a campaign without any."""
    with filled(database_url, MANY) as handle:
        yield handle


def page(session: Session, campaign: int | None, before: int | None = None) -> list[audit.AuditRecord]:
    rows, _ = audit.load_audit_page(session, before=before, limit=10, campaign_id=campaign, installation=True)
    return rows


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda s, c: audit.append_audit_row(s, c, actor="a", action="b", what={}), id="append"),
        pytest.param(page, id="page"),
        pytest.param(lambda s, c: page(s, c, before=EARLY), id="early page"),
        pytest.param(lambda s, c: page(s, c, before=10**9), id="page before what is not there"),
        pytest.param(lambda s, c: list(audit.stream_audit_chain(s, c)), id="chain"),
    ],
)
def test_nobody_reads_the_rows_of_others(
    database: Database, database_url: str, ask: Ask, request: pytest.FixtureRequest
) -> None:
    ids = {"short": 1, "long": 2, "none": 3, "installation": None}
    if "chain" in request.node.name:
        ids = {"short": 1, "none": 3}  # the others are read whole, as they should be

    def asked(campaign: int | None) -> Callable[[], None]:
        def run() -> None:
            with database.transaction() as session:
                ask(session, campaign)

        return run

    told = {name: max(costs(database, database_url, asked(campaign)).values()) for name, campaign in ids.items()}
    assert max(told.values()) <= FEW, told


def test_pages_of_a_campaign_follow_one_another(database: Database) -> None:
    with database.transaction() as session:
        audit.append_audit_row(session, 1, actor="a", action="newest", what={})
        first = page(session, 1)
        assert [row.n for row in first] == [6, 5, 4, 3, 2, 1]
        assert [row.n for row in page(session, 1, before=first[1].id)] == [4, 3, 2, 1]
        elsewhere = page(session, 2)[0].id
        assert [row.n for row in page(session, 1, before=elsewhere)] == [5, 4, 3, 2, 1]
        assert page(session, 3) == []
