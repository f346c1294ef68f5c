"""What one process answered of a report, every other tells by one statement; never to who may not, nor too late."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.services import answers as keeping
from app.services.access import tokens
from app.services.campaigns.campaigns import NewCampaign, create
from app.storage import embedded
from app.storage.db import Database
from tests.api.conftest import MQM, OPTIONS, TestClient
from tests.api.counting import Counting, settled
from tests.api.counting import counting as counting  # a fixture
from tests.patience import as_served, soon
from tests.spine import Spine, fresh
from tests.working import LIMIT

CARD, RANKING = "/v1/campaigns/ted/reports/card", "/v1/campaigns/ted/ranking?recipe=google-mqm&permutations=100"
_numbers = itertools.count()


@dataclass(frozen=True)
class Process:
    """An application with a memory of its own, and a client of it."""

    app: FastAPI
    client: TestClient

    def get(self, path: str, headers: dict[str, str]) -> httpx.Response:
        """An answer, and what it leaves to others is kept."""
        answer = self.client.get(path, headers=headers)
        settled(self.client, self.app)
        return answer


@dataclass(frozen=True)
class Both:
    """Two processes on one database."""

    spine: Spine
    first: Process
    second: Process

    def secret(self, role: tokens.Role = "manager") -> str:
        with self.spine.database.transaction() as session:
            return tokens.issue(session, role=role).secret

    def words(self) -> dict[str, str]:
        """Headers of a request that nobody has sent yet, with a token of its own."""
        accept = f"application/json, x/{next(_numbers)};q=0.1"
        return {"Authorization": f"Bearer {self.secret()}", "Accept": accept}

    def kept(self) -> int:
        (((n,),)) = self.spine.ask("SELECT count(*) FROM answers")
        return int(n)


@pytest.fixture(scope="module")
def shared(postgres: embedded.Server, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("ted", "mqm-tsv", MQM.encode())
        yield spine


@contextmanager
def two_processes(shared: Spine, database: Database) -> Iterator[Both]:
    apps = [create_app(database, OPTIONS) for _ in range(2)]
    with TestClient(apps[0]) as one, TestClient(apps[1]) as other:
        yield Both(shared, Process(apps[0], one), Process(apps[1], other))


@pytest.fixture
def both(shared: Spine) -> Iterator[Both]:
    with two_processes(shared, shared.database) as both:
        yield both


@pytest.fixture
def hasty(shared: Spine) -> Iterator[Both]:
    """Processes that wait for a lock as long as a service does."""
    with (
        as_served(),
        closing(Database(shared.url, size=3, role=shared.database.role)) as database,
        two_processes(shared, database) as both,
    ):
        yield both


def same(first: httpx.Response, again: httpx.Response) -> bool:
    told = [{k: v for k, v in one.headers.items() if k != "x-request-id"} for one in (first, again)]
    return first.status_code == again.status_code and first.content == again.content and told[0] == told[1]


@pytest.mark.parametrize("path", [CARD, CARD + ".svg", RANKING])
def test_another_process_answers_in_one_statement(both: Both, counting: Counting, path: str) -> None:
    words = both.words()
    with counting() as the_long_way:
        first = both.first.get(path, words)
    with counting() as at_once:
        second = both.second.get(path, words)
    with counting() as then:
        again = both.second.get(path, words)
        unchanged = both.second.get(path, {**words, "If-None-Match": first.headers["ETag"]})
    assert first.status_code == 200, first.text
    assert same(first, second)
    assert same(first, again)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert (len(at_once), len(then)) == (1, 2), at_once + then
    assert len(the_long_way) > 5
    with counting() as in_other_words:
        both.second.get(path, both.words())
    assert len(in_other_words) > 5, "the control"


def test_who_begins_with_the_tag_elsewhere_gets_its_304_and_whoever_wants_the_body_gets_it(
    both: Both, counting: Counting
) -> None:
    words = both.words()
    tag = {**words, "If-None-Match": both.first.get(CARD, both.words()).headers["ETag"]}
    once = both.first.get(CARD, tag)
    with counting() as at_once:
        twice = both.second.get(CARD, tag)
    assert (once.status_code, len(at_once)) == (304, 1)
    assert same(once, twice)
    with counting() as whole:
        first = both.second.get(CARD, words)
    with counting() as then:
        second = both.first.get(CARD, words)
    assert first.status_code == 200
    assert same(first, second)
    assert len(whole) > 5, "nobody has seen the body before"
    assert len(then) == 1, "what was kept without it has it now"


def test_after_a_change_the_process_that_knew_it_is_told_by_the_one_that_made_it_anew(
    both: Both, counting: Counting
) -> None:
    words = both.words()
    before = [both.first.get(CARD, words), both.second.get(CARD, words)]
    with counting() as unchanged:
        assert both.second.get(CARD, words).headers["ETag"] == before[1].headers["ETag"]
    both.spine.take("ted", "mqm-tsv", MQM.replace("rater1", f"rater{10 + next(_numbers)}").encode())
    with counting() as changed:
        after = both.first.get(CARD, words)
    with counting() as told:
        second = both.second.get(CARD, words)
    assert after.json()["data_hash"] != before[0].json()["data_hash"]
    assert same(after, second)
    assert len(changed) > 10
    assert (len(unchanged), len(told)) == (1, 1)


def test_who_may_not_is_refused_by_every_process(both: Both) -> None:
    words = both.words()
    good = words["Authorization"].removeprefix("Bearer ")
    assert both.first.get(CARD, words).status_code == 200
    almost = good[:-3] + ("A" if good[-3] != "A" else "B") + good[-2:]
    assert both.second.get(CARD, {**words, "Authorization": f"Bearer {almost}"}).status_code == 401
    assert both.second.get(CARD.replace("ted", "none"), words).status_code == 404
    assert both.second.get(CARD, {**words, "Authorization": f"Bearer {both.secret('frontend')}"}).status_code == 403
    with both.spine.database.transaction() as session:
        tokens.revoke(session, good.split("_")[1], by=None)
    kept = both.kept()
    assert [one.get(CARD, words).status_code for one in (both.first, both.second)] == [401, 401]
    assert both.kept() == kept


def test_no_secret_is_kept(both: Both) -> None:
    words = both.words()
    both.first.get(CARD, words)
    secret = words["Authorization"].rpartition("_")[2]
    told = "\n".join(str(row) for (row,) in both.spine.ask("SELECT a::text FROM answers a"))
    assert told
    assert secret not in told
    assert secret.encode().hex() not in told


def test_an_erasure_takes_them_with_it(both: Both, counting: Counting) -> None:
    words = both.words()
    etag = both.first.get(CARD, words).headers["ETag"]
    assert both.kept()
    assert both.first.client.delete("/v1/raters/rater0?campaign=ted", headers=words).status_code == 200
    assert both.kept() == 0
    with counting() as anew:
        assert both.second.get(CARD, words).headers["ETag"] != etag
    assert len(anew) > 10


@pytest.mark.parametrize(
    ("away", "back"),
    [
        ("LOCK TABLE answers IN ACCESS EXCLUSIVE MODE", None),
        ("ALTER TABLE answers RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO answers"),
        (
            "REVOKE SELECT, INSERT, UPDATE ON answers FROM plumbline_app",
            "GRANT SELECT, INSERT, UPDATE ON answers TO plumbline_app",
        ),
    ],
)
def test_a_table_that_is_locked_or_away_harms_no_request_and_is_said_once(
    hasty: Both,
    counting: Counting,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    away: str,
    back: str | None,
) -> None:
    monkeypatch.setattr(keeping, "PAUSE", 0.0)
    known = hasty.words()
    hasty.first.get(CARD, known)

    def seconds_of_the_slower() -> float:
        words = hasty.words()  # nobody remembers what is asked in these
        told = [one.client.get(CARD, headers=words) for one in (hasty.first, hasty.second)]
        assert same(*told)
        assert told[0].status_code == 200
        return max(one.elapsed.total_seconds() for one in told)

    with psycopg.connect(hasty.spine.url) as owner:
        owner.execute(away.encode())
        if back is not None:
            owner.commit()
        with caplog.at_level(logging.WARNING):
            assert soon(seconds_of_the_slower, 1.4), "less than a lock is waited for elsewhere"
            assert hasty.second.client.get(CARD, headers=known).status_code == 200
            with counting() as remembered:
                assert hasty.first.client.get(CARD, headers=known).status_code == 200
            for process in (hasty.first, hasty.second):
                settled(process.client, process.app)
        if back is not None:
            owner.execute(back.encode())
    assert len([one for one in remembered if "kept_answer" in one]) == 1
    said = [one for one in caplog.records if one.name == "plumbline.answers"]
    assert len(said) == 2, "once by each process"
    assert not any(one.exc_info for one in said)
    words = hasty.words()
    hasty.first.get(RANKING, words)
    with counting() as again:
        hasty.second.get(RANKING, words)
    assert len(again) == 1, "once it is back all is as before"


def test_after_a_failure_nothing_is_tried_for_a_while(both: Both, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(both.spine.url, autocommit=True) as owner:
        owner.execute("ALTER TABLE answers RENAME TO elsewhere")
        both.first.get(CARD, both.words())
        owner.execute("ALTER TABLE elsewhere RENAME TO answers")
    before = both.kept()
    assert both.first.get(CARD, both.words()).status_code == 200
    assert both.kept() == before
    assert len([one for one in caplog.records if one.name == "plumbline.answers"]) == 1


def test_many_processes_that_answer_the_same_at_once_keep_one(both: Both) -> None:
    words = both.words()
    before, answers = both.kept(), []
    ask: list[Callable[[], None]] = [
        lambda p=p: answers.append(p.client.get(CARD, headers=words))  # type: ignore[misc]  # mypy cannot infer it
        for p in (both.first, both.second) * 4
    ]
    threads = [threading.Thread(target=one) for one in ask]
    for one in threads:
        one.start()
    for one in threads:
        one.join(LIMIT)
    for process in (both.first, both.second):
        settled(process.client, process.app)
    assert len(answers) == 8
    assert all(same(answers[0], one) for one in answers)
    assert both.kept() == before + 1


def test_what_a_campaign_left_goes_with_it(both: Both) -> None:
    with both.spine.database.transaction() as session:
        create(session, NewCampaign(key="short", protocol="mqm"), actor="test")
    of_it = "SELECT count(*) FROM answers WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'short')"
    assert both.first.get(CARD.replace("ted", "short"), both.words()).status_code == 200
    (((n,),)) = both.spine.ask(of_it)
    before = both.kept()
    with psycopg.connect(both.spine.url) as owner:
        owner.execute("SET LOCAL plumbline.purge = 'on'")
        owner.execute("DELETE FROM profiles WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'short')")
        owner.execute("DELETE FROM reports WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'short')")
        owner.execute("DELETE FROM audit_log WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'short')")
        owner.execute("DELETE FROM campaigns WHERE key = 'short'")
    assert n == 1
    assert both.kept() == before - 1
