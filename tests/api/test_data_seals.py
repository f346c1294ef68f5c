"""Judgments are sealed as they are written: whatever is done to them beneath the service is found and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

from app.services.campaigns import data_seals
from app.services.people import erasure
from app.storage import embedded, migrate
from app.storage.db import Database
from tests.api.conftest import MQM, template_asked_for, template_by_admin
from tests.collecting import Collecting, collect
from tests.services.data.test_imports import judgment, lines, void

Ask = Callable[..., None]
SEALED = ("judgments", "voids", "screen_judgments", "seals", "versions", "audit_log")
LATEST = "(SELECT max(id) FROM judgments)"


def faults(database: Database) -> dict[str, tuple[str, ...]]:
    with database.transaction(snapshot=True) as session:
        return {one.campaign: one.faults for one in data_seals.verify_data_seals(session)}


def purge(database: Database, campaign: str) -> int:
    """As the owner of the schema, who alone may."""
    owner = Database(database.url, size=2)
    try:
        with owner.transaction() as session:
            return erasure.purge_rater_judgments(session, campaign, "r1", actor="operator")
    finally:
        owner.close()


def judge(client: httpx.Client, live: Collecting, score: float, segment: int = 1, rater: str = "r1") -> None:
    url = f"/v1/tasks/{live.tasks[0]}/judgments/1/{segment}"
    assert client.put(url, json={"protocol": "da", "score": score}, headers=live.auth(rater)).status_code == 200


def collect_judged(admin: httpx.Client, database: Database) -> Collecting:
    """A campaign with four flushes of one judgment, and one of two."""
    live = collect(database, segments=3)
    with database.transaction() as session:  # what the set-up wrote past the service
        data_seals.seal_all_campaigns(session, actor="test")
    assert admin.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")).status_code == 200
    for score in (10, 20, 30):
        judge(admin, live, score)
    judge(admin, live, 40, segment=2)
    many = [{"item": 2, "segment": n, "payload": {"protocol": "da", "score": n}} for n in (1, 2)]
    sent = admin.post(f"/v1/tasks/{live.tasks[0]}/judgments", json=many, headers=live.auth("r1"))
    assert sent.status_code == 200, sent.text
    assert faults(database) == {"live": ()}
    return live


def collect_beside(admin: httpx.Client, database: Database) -> Collecting:
    """A campaign in which columns were compared twice, and three judgments set aside: two here, one by a file."""
    live = collect(database, columns=2, options={"preference": "ranking"}, presentation="side_by_side")
    with database.transaction() as session:
        data_seals.seal_all_campaigns(session, actor="test")
    assert admin.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")).status_code == 200
    for segment in (1, 2):
        judge(admin, live, 10, segment)
    screen, said = f"/v1/tasks/{live.tasks[0]}/judgments/screens/1", {"protocol": "da"}
    for preference in ([[1], [2]], [[2], [1]]):
        told = admin.put(screen, json={**said, "preference": preference}, headers=live.auth("r1"))
        assert told.status_code == 200, told.text
    voided = {"filter": {"rater": "r1"}, "reason": "test"}
    assert admin.post(f"/v1/campaigns/{live.key}/judgments/void", json=voided).json()["judgments"] == 2
    assert admin.post("/v1/campaigns", json={"key": "read", "protocol": "da"}).status_code == 201
    file = admin.post(
        "/v1/campaigns/read/imports", params={"format": "jsonl"}, content=lines(judgment(), judgment("B"), void())
    )
    assert file.json()["stored"]["voids"] == 1, file.text
    assert faults(database) == {"live": (), "read": ()}
    return live


@contextmanager
def made_once(
    postgres: embedded.EmbeddedServer, migrated: str, make: Callable[[httpx.Client, Database], Collecting]
) -> Iterator[tuple[str, Collecting]]:
    """The name of a database that has a campaign, and the campaign."""
    made: list[Collecting] = []

    def fill(admin: httpx.Client, url: str) -> None:
        database = Database(url, size=2)
        made.append(make(admin, database))
        database.close()

    with template_by_admin(postgres, migrated, fill) as name:
        yield name, made[0]


@pytest.fixture(scope="module")
def judged_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[tuple[str, Collecting]]:
    with made_once(postgres, migrated_template, collect_judged) as made:
        yield made


@pytest.fixture(scope="module")
def beside_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[tuple[str, Collecting]]:
    with made_once(postgres, migrated_template, collect_beside) as made:
        yield made


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    return template_asked_for(request, migrated_template, {"judged": "judged_template", "beside": "beside_template"})


@pytest.fixture
def judged(judged_template: tuple[str, Collecting]) -> Collecting:
    """What `collect_judged` makes, in the database of the test."""
    return judged_template[1]


@pytest.fixture
def beside(beside_template: tuple[str, Collecting]) -> Collecting:
    """What `collect_beside` makes, in the database of the test."""
    return beside_template[1]


# What a superuser does, and what is said of it. Versions: 1 the set-up, 2 to 5 one judgment each, 6 two.
TAMPERING: dict[str, tuple[str, str]] = {
    "a digit of a payload": (
        "UPDATE judgments SET payload = jsonb_set(payload, '{score}', '21') WHERE version = 3",
        "version 3: its judgments, voids or comparisons are not what was written",
    ),
    "a row": ("DELETE FROM judgments WHERE version = 4", "version 4: 1 judgments were written, 0 are there"),
    "the last row": (
        f"DELETE FROM judgments WHERE id = {LATEST}",
        "version 6: 2 judgments were written, 1 are there",
    ),
    "the last rows, with their seal": (
        "DELETE FROM judgments WHERE version = 6; DELETE FROM seals WHERE version = 6",
        "version 6: not sealed",
    ),
    "the last rows, with their seal and version": (
        (
            "DELETE FROM judgments WHERE version = 6; DELETE FROM seals WHERE version = 6; "
            "DELETE FROM versions WHERE n = 6"
        ),
        "version 6: gone",
    ),
    "the answers of two rows, exchanged": (
        (
            "UPDATE judgments j SET payload = o.payload FROM judgments o WHERE j.version = 6 AND o.version = 6 "
            "AND j.id <> o.id"
        ),
        "version 6: its judgments, voids or comparisons are not what was written",
    ),
    "the places of two rows, exchanged": (
        "UPDATE judgments j SET version = o.version FROM judgments o WHERE (j.version, o.version) IN ((3, 4), (4, 3))",
        "versions 3 to 4: its judgments, voids or comparisons are not what was written",
    ),
    "who judged": ("UPDATE judgments SET rater_id = rater_id + 1 WHERE version = 2", "version 2: its judgments, voids"),
    "when": (
        "UPDATE judgments SET submitted_at = submitted_at + interval '1 microsecond' WHERE version = 2",
        "version 2: its judgments",
    ),
    "a flag": ("UPDATE judgments SET surplus = true WHERE version = 5", "version 5: its judgments, voids"),
    "a row more": (
        (
            "INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version) "
            "SELECT campaign_id, item_id, segment_id, rater_id, revision + 9, payload, version FROM judgments "
            "WHERE version = 5"
        ),
        "version 5: 1 judgments were written, 2 are there",
    ),
    "a row of a version that there is not": (
        f"UPDATE judgments SET version = 99 WHERE id = {LATEST}",
        "version 99: newer than the campaign says it is",
    ),
    "who made a version": ("UPDATE versions SET actor = 'x' WHERE n = 3", "version 3: not what was sealed"),
    "a version": ("DELETE FROM versions WHERE n = 3", "version 3: gone"),
    "a seal": ("DELETE FROM seals WHERE version = 3", "version 3: not sealed"),
    "a seal, made to fit": (
        (
            "DELETE FROM judgments WHERE version = 3; UPDATE seals SET judgments = 0, content = sha256('') "
            "WHERE version = 3"
        ),
        "version 3: not what was sealed",
    ),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_what_is_done_to_judgments_beneath_the_service_is_found(
    judged: Collecting, database: Database, beneath: Ask, what: str
) -> None:
    statement, said = TAMPERING[what]
    beneath(*statement.split("; "))
    found = faults(database)[judged.key]
    assert any(one.startswith(said) for one in found), found


OF_LIVE = "campaign_id = (SELECT id FROM campaigns WHERE key = 'live')"
OF_FILE = "campaign_id = (SELECT id FROM campaigns WHERE key = 'read')"
ANOTHER = f"(SELECT j.id FROM judgments j WHERE j.{OF_FILE} AND j.id <> judgment_id)"
ALIKE = "campaign_id, judgment_id, reason, actor, version"


@pytest.mark.parametrize(
    ("campaign", "statement"),
    [
        ("live", f"DELETE FROM voids WHERE {OF_LIVE}"),
        ("live", f"DELETE FROM voids WHERE judgment_id = (SELECT max(judgment_id) FROM voids WHERE {OF_LIVE})"),
        ("live", f"UPDATE voids SET reason = 'x' WHERE {OF_LIVE}"),
        ("live", f"UPDATE voids SET version = version - 1 WHERE {OF_LIVE}"),
        ("read", f"DELETE FROM voids WHERE {OF_FILE}"),
        ("read", f"UPDATE voids SET judgment_id = {ANOTHER} WHERE {OF_FILE}"),
        (
            "read",
            (f"INSERT INTO voids ({ALIKE}) SELECT {ALIKE.replace('judgment_id', ANOTHER)} FROM voids WHERE {OF_FILE}"),
        ),
        ("live", "DELETE FROM screen_judgments"),
        ("live", "DELETE FROM screen_judgments WHERE revision = 2"),
        ("live", "UPDATE screen_judgments SET payload = jsonb_set(payload, '{preference}', '[[1, 2]]')"),
        ("live", "UPDATE screen_judgments SET surplus = true WHERE revision = 1"),
        ("live", "UPDATE screen_judgments SET recorded_at = recorded_at + interval '1 microsecond'"),
    ],
)
def test_what_is_done_to_voids_and_comparisons_is_found(
    beside: Collecting, database: Database, beneath: Ask, campaign: str, statement: str
) -> None:
    beneath(statement)
    found = faults(database)
    assert any("voids or comparisons are not what was written" in one for one in found.pop(campaign)), found
    assert set(found.values()) == {()}


def test_voids_and_comparisons_of_a_purged_rater_break_no_seal(
    admin: httpx.Client, beside: Collecting, database: Database, beneath: Ask
) -> None:
    assert admin.delete("/v1/raters/r1", params={"campaign": beside.key}).is_success
    assert purge(database, beside.key) == 4, "answers, and none of what was said of them"
    assert faults(database) == {"live": (), "read": ()}
    beneath("DELETE FROM audit_log WHERE action = 'rater purged'")
    assert faults(database)["live"] == (
        "versions 2 to 3: 1 judgments were written, 0 are there",
        "versions 4 to 6: its judgments, voids or comparisons are not what was written",
    )


@pytest.fixture
def beneath(ask: Ask) -> Ask:
    """Statements of somebody whom no trigger stops."""
    return lambda *given: ask(*(f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in SEALED), *given)


def test_nothing_that_the_service_does_breaks_a_seal(
    admin: httpx.Client, judged: Collecting, database: Database
) -> None:
    """Voids, an import and a revision, a reassigned task, a hand-in, exclusions, an erasure, at last a purge."""
    base = f"/v1/campaigns/{judged.key}"
    steps: list[httpx.Response] = [
        admin.post(f"{base}/judgments/void", json={"filter": {"segment": 2}, "reason": "test"}),
        admin.post(f"{base}/exclusions", json={"rater": "r2", "reason": "test"}),
        admin.post(f"{base}/tasks/{judged.tasks[0]}/reassign", json={"rater": "r2", "reason": "test"}),
        admin.post("/v1/campaigns", json={"key": "read", "protocol": "mqm"}),
        admin.post("/v1/campaigns/read/imports", params={"format": "mqm-tsv"}, content=MQM.encode()),
        admin.post(
            "/v1/campaigns/read/imports", params={"format": "mqm-tsv"}, content=MQM.replace("Minor", "Major").encode()
        ),
        admin.post("/v1/campaigns/read/imports", params={"format": "mqm-tsv"}, content=MQM.encode()),
        admin.delete("/v1/raters/r1", params={"campaign": judged.key}),
    ]
    assert [answer.status_code for answer in steps if answer.is_error] == [], [answer.text for answer in steps]
    assert faults(database) == {"live": (), "read": ()}
    assert purge(database, judged.key) == 6
    assert faults(database) == {"live": (), "read": ()}
    with database.transaction(snapshot=True) as session:
        assert [one.judgments for one in data_seals.verify_data_seals(session)] == [6, 12 + 3 + 3]


def test_a_purge_that_the_audit_log_does_not_tell_of_is_found(
    admin: httpx.Client, judged: Collecting, database: Database, beneath: Ask
) -> None:
    assert admin.delete("/v1/raters/r1", params={"campaign": judged.key}).is_success
    purge(database, judged.key)
    beneath("DELETE FROM audit_log WHERE action = 'rater purged'")
    found = faults(database)["live"]
    assert found == tuple(
        f"{which}: {n} judgments were written, 0 are there" for which, n in (("versions 2 to 5", 1), ("version 6", 2))
    )


def test_what_a_release_without_seals_wrote_is_sealed_by_the_migration_and_later_on_request(
    judged: Collecting, anonymous: httpx.Client, database: Database, database_url: str, beneath: Ask
) -> None:
    migrate.downgrade_schema(database_url, "2026_11_22_judgments_of_a_rater")
    migrate.upgrade_schema(database_url)
    assert faults(database) == {"live": ()}
    judge(anonymous, judged, 50)
    assert faults(database) == {"live": ()}

    # The release before goes on serving for a while, and this one after it.
    beneath(
        "INSERT INTO versions (campaign_id, n, actor, what) SELECT id, data_version + 1, 'old', 'x' FROM campaigns",
        "UPDATE campaigns SET data_version = data_version + 1",
    )
    judge(anonymous, judged, 60)
    (told,) = faults(database)["live"]
    assert told.startswith("versions 8 to 9: not sealed; `plumbline audit --seal`")
    with database.transaction() as session:
        assert data_seals.seal_all_campaigns(session, actor="operator") == ["live"]
        assert data_seals.seal_all_campaigns(session, actor="operator") == []
    judge(anonymous, judged, 70)
    assert faults(database) == {"live": ()}

    # What was sealed late stands in the audit log, so that the chain cannot be made anew behind its back.
    beneath("UPDATE judgments SET payload = '{}' WHERE version = 2", "DELETE FROM seals")
    with database.transaction() as session:
        assert data_seals.seal_all_campaigns(session, actor="operator") == ["live"]
    told = faults(database)["live"]
    assert told == tuple(f"version {n}: the audit log has another seal of it" for n in (6, 9))


def test_the_order_of_a_flush_of_many_is_no_matter(judged: Collecting, database: Database) -> None:
    with database.transaction() as session:
        rows = session.execute(sa.text("SELECT version, judgments FROM seals ORDER BY version")).all()
    assert [tuple(row) for row in rows] == [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (6, 2)]
