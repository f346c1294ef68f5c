"""What works without being asked goes through all organizations: jobs, webhooks, sweeps, media, backups and metrics."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from app.cli import db as db_command
from app.jobs import webhook_sender, worker
from app.jobs.job_steps import QueueEntryComputer
from app.jobs.queue_worker import QueueWorker
from app.reports.kit import store
from app.reports.kit.report import StoredReport
from app.reports.stability.report import REPORT
from app.services.access.service_gauges import ServiceGaugeReader
from app.services.every_organization import run_for_each_organization
from app.services.jobs import jobs, report_requests
from app.services.jobs.jobs import JobView
from app.services.media import uploads
from app.services.media.library import store_media
from app.services.media.media_settings import MediaSettings
from app.services.media.sweep import CONTINUED, FORGOTTEN, SPARED, delete_unused_media
from app.services.webhooks import delivery, events, webhooks
from app.storage import embedded, jobs_queue, organization_schemas
from app.storage.current_organization import (
    current_organization_number,
    organization_number_from_row_id,
    use_organization,
)
from app.storage.db import Database, DatabaseBusy
from app.storage.media.backup import MediaMissingFromBackup
from app.storage.media.stores import FolderMediaStore, hash_file
from tests.jobs.test_webhook_sender import LOOPBACK, Receiver, listening, sending
from tests.media_files import make_wav
from tests.organized import KEYS, OTHER, OURS, TWIN
from tests.services.jobs.test_jobs import request
from tests.spine import Spine, opened, template_of
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import drained, until

ALL = (OURS, TWIN, OTHER)


@pytest.fixture(scope="module")
def made(postgres: embedded.EmbeddedServer, organized_template: str) -> Iterator[str]:
    """The template: a campaign of one key in each organization; that of the twin has other judgments."""

    def fill(spine: Spine) -> None:
        for organization in ALL:
            with use_organization(organization):
                spine.take("thrice", "mqm-tsv", as_mqm(made_up(1 + (organization == TWIN), documents=8)))

    with template_of(postgres, organized_template, fill) as name:
        yield name


@pytest.fixture
def template(made: str) -> str:
    return made


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def ask(spine: Spine, organization: int) -> JobView:
    with use_organization(organization):
        found = report_requests.find_or_queue_report(spine.database, request())
    assert isinstance(found, JobView)
    assert organization_number_from_row_id(found.number) == organization
    return found


def undisturbed(spine: Spine, organization: int) -> bytes:
    with use_organization(organization), spine.database.transaction() as session:
        lookup = store.look_up_report(session, request())
        work = REPORT.prepare(session, lookup.about, request().options)
    return store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: False)


def done(spine: Spine, organization: int) -> bytes:
    with use_organization(organization):
        found = report_requests.find_or_queue_report(spine.database, request())
    assert isinstance(found, StoredReport)
    return found.body


def test_one_worker_computes_for_all_each_from_its_own_judgments(spine: Spine) -> None:
    for organization in ALL:
        ask(spine, organization)
    drained(spine.database)
    bodies = {organization: done(spine, organization) for organization in ALL}
    assert bodies == {organization: undisturbed(spine, organization) for organization in ALL}
    assert bodies[TWIN] != bodies[OURS] == bodies[OTHER]


def test_what_the_queue_has_lost_of_any_organization_is_entered_again(spine: Spine) -> None:
    for organization in ALL:
        ask(spine, organization)
    with spine.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        session.execute(text("DELETE FROM procrastinate_jobs"))
    assert drained(spine.database) == 0
    assert jobs.recover_stalled_jobs(spine.database) == len(ALL)
    drained(spine.database)
    assert done(spine, TWIN) == undisturbed(spine, TWIN)


def test_what_waits_of_a_removed_organization_goes_with_it(spine: Spine) -> None:
    for organization in ALL:
        ask(spine, organization)
    organization_schemas.remove_organization(spine.url, KEYS[TWIN], patience=0)
    left = spine.ask("SELECT (args->>'job')::bigint FROM procrastinate.procrastinate_jobs")
    assert {organization_number_from_row_id(number) for (number,) in left} == {OURS, OTHER}
    drained(spine.database)
    assert done(spine, OTHER) == done(spine, OURS)


def test_nothing_is_computed_any_longer_for_a_removed_organization(spine: Spine) -> None:
    job = ask(spine, TWIN).number
    at_work = QueueWorker(spine.database, processes=1, stop=threading.Event())
    with use_organization(TWIN):
        assert at_work._is_wanted(job)
    organization_schemas.remove_organization(spine.url, KEYS[TWIN], patience=0)
    with use_organization(TWIN):
        assert not at_work._is_wanted(job)
    QueueEntryComputer(spine.database, "test").compute_queue_entry(jobs.PREPARE, job)


def test_each_webhook_gets_the_events_of_its_organization(spine: Spine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "LOOK_EVERY", 0.02)
    receivers = {OURS: Receiver(0), TWIN: Receiver(0)}
    with listening(receivers[OURS]), listening(receivers[TWIN]):
        for organization, receiver in receivers.items():
            with use_organization(organization), spine.database.transaction() as session:
                made = webhooks.create_webhook(
                    session,
                    "thrice",
                    url=f"http://127.0.0.1:{receiver.port}/hook",
                    kinds=events.EVENT_KINDS,
                    allowed=LOOPBACK,
                    actor="test",
                )
                receiver.secret = made.secret
                campaign_id = session.execute(text("SELECT id FROM campaigns")).scalar_one()
                events.record_webhook_event(session, campaign_id, "job.done", {"of": organization})
        with sending(spine.database):
            until(lambda: all(receiver.seen for receiver in receivers.values()), "both are told")
    for organization, receiver in receivers.items():
        assert [one["data"]["of"] for one in receiver.seen] == [organization]
        assert not receiver.refused
    assert not set(receivers[OURS].ids) & set(receivers[TWIN].ids)  # a receiver of both takes each for what it is


def test_sweeps_reach_every_organization(spine: Spine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for organization in ALL:
        with use_organization(organization), spine.database.transaction() as session:
            session.execute(
                text("INSERT INTO tokens (prefix, hash, role, name) VALUES ('p', sha256('x'), 'admin', '')")
            )
            session.execute(
                text("INSERT INTO sessions (hash, token_id, expires_at) SELECT sha256('y'), id, now() FROM tokens")
            )
    worker._tidy(spine.database)
    for organization in ALL:
        with use_organization(organization), spine.database.transaction() as session:
            assert session.execute(text("SELECT count(*) FROM sessions")).scalar() == 0
    assert caplog.text.count("1 sessions") == len(ALL)


def test_bytes_of_media_stay_while_any_organization_has_them(spine: Spine, tmp_path: Path) -> None:
    policy = MediaSettings(store=FolderMediaStore(tmp_path / "media"), parts=tmp_path / "parts")
    hashes = []
    for n in range(2):
        (file := tmp_path / f"{n}.wav").write_bytes(make_wav(1 + n))
        hashes.append(hash_file(file))
        policy.require_store().put(file, hashes[n])
    with use_organization(TWIN):
        store_media(spine.database, policy, "thrice", "a.wav", tmp_path / "0.wav", actor="test")
    for sha256 in hashes:
        old = time.time() - SPARED - 60
        os.utime(FolderMediaStore(tmp_path / "media").path(sha256), (old, old))
    assert delete_unused_media(spine.database, policy)["media"] == 1
    assert [sha256 for sha256, _ in policy.require_store().list_hashes_with_times()] == hashes[:1]


def test_parts_of_uploads_go_with_their_organization(spine: Spine, tmp_path: Path) -> None:
    policy = MediaSettings(store=FolderMediaStore(tmp_path / "media"), parts=tmp_path / "parts")
    begun = {}
    for organization in ALL:
        with use_organization(organization):
            with spine.database.transaction() as session:
                begun[organization] = uploads.create_upload(
                    session, policy, "thrice", name="a.wav", size=9, sha256=None, actor="test"
                ).upload
            uploads.add_upload_part(
                spine.database, policy, "thrice", begun[organization], offset=0, pieces=[b"half"], actor="test"
            )
    organization_schemas.remove_organization(spine.url, KEYS[TWIN], patience=0)
    assert delete_unused_media(spine.database, policy)["media uploads"] == 0
    old = time.time() - FORGOTTEN - 60
    os.utime(policy.require_upload_folder() / f"{begun[TWIN]}.part", (old, old))
    assert delete_unused_media(spine.database, policy)["media uploads"] == 1
    assert {file.stem for file in policy.require_upload_folder().iterdir()} == {begun[OURS], begun[OTHER]}


def test_an_upload_that_goes_on_is_kept_however_long_ago_it_was_announced(spine: Spine, tmp_path: Path) -> None:
    policy = MediaSettings(store=FolderMediaStore(tmp_path / "media"), parts=tmp_path / "parts")
    begun = []
    with use_organization(OTHER):
        for name in ("goes-on.wav", "given-up.wav", "never-begun.wav"):
            with spine.database.transaction() as session:
                announced = uploads.create_upload(
                    session, policy, "thrice", name=name, size=9, sha256=None, actor="test"
                )
            begun.append(announced.upload)
        for upload in begun[:2]:
            uploads.add_upload_part(spine.database, policy, "thrice", upload, offset=0, pieces=[b"half"], actor="test")
        with spine.database.transaction() as session:
            session.execute(text("UPDATE media_uploads SET created_at = created_at - interval '20 days'"))
        old = time.time() - CONTINUED - 60
        os.utime(policy.require_upload_folder() / f"{begun[1]}.part", (old, old))
        assert delete_unused_media(spine.database, policy)["media uploads"] == 2
        with spine.database.transaction() as session:
            assert [one.upload for one in uploads.list_uploads(session, policy, "thrice")] == begun[:1]
        assert [file.stem for file in policy.require_upload_folder().iterdir()] == begun[:1]
        later = uploads.add_upload_part(
            spine.database, policy, "thrice", begun[0], offset=4, pieces=[b"more"], actor="test"
        )
        assert later.offset == 8


def test_what_is_done_for_each_leaves_out_one_that_was_just_removed(spine: Spine) -> None:
    def count() -> int:
        number = current_organization_number()
        if number == TWIN:
            with psycopg.connect(spine.url) as connection:
                connection.execute("DROP SCHEMA organization_1 CASCADE")
        with spine.database.transaction() as session:
            session.execute(text("SELECT count(*) FROM campaigns"))
        return number

    assert run_for_each_organization(spine.database, count) == [OURS, OTHER]


def test_what_was_claimed_is_sent_though_another_organization_cannot_be_asked(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = delivery.claim_due_webhooks

    def claim_but_of_twin(database: Database, limit: int) -> list[int]:
        if current_organization_number() == TWIN:
            raise DatabaseBusy
        return [current_organization_number(), *claim(database, limit)]

    monkeypatch.setattr(delivery, "claim_due_webhooks", claim_but_of_twin)
    sender = webhook_sender.WebhookSender(spine.database, stop=threading.Event(), allowed=LOOPBACK)
    sender._first = 1  # so that the third organization is asked first, then the default one, then the twin
    assert asyncio.run(sender._claim(16)) == [OTHER, OURS]


def test_a_backup_has_the_media_of_all(
    spine: Spine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLUMBLINE_DATA_DIR", str(tmp_path))
    policy = MediaSettings(store=FolderMediaStore(tmp_path / "media"), parts=tmp_path / "parts")
    for n, organization in enumerate((TWIN, OTHER)):
        (file := tmp_path / f"{n}.wav").write_bytes(make_wav(1 + n))
        with use_organization(organization):
            store_media(spine.database, policy, "thrice", "a.wav", file, actor="test")
    db_command._backup_media(spine.url, tmp_path / "b", overwrite=False)
    assert "2 files of media" in capsys.readouterr().out
    (lost,) = [path for path in (tmp_path / "media").glob("??/*") if path.read_bytes() == make_wav(2)]
    lost.unlink()
    with pytest.raises(MediaMissingFromBackup, match="plumbline media add") as raised:
        db_command._backup_media(spine.url, tmp_path / "b", overwrite=True)
    assert [place.loc for place in raised.value.places] == [(KEYS[OTHER], "thrice", "a.wav")]
    assert "1 files of media" in capsys.readouterr().out


def test_metrics_count_all_organizations_and_the_queue_once(spine: Spine) -> None:
    with closing(Database(spine.url, size=1)) as database:
        before = gauges(database)
        for organization in ALL:
            ask(spine, organization)
        after = gauges(database)
    assert before["campaigns"] == len(ALL)
    assert (before["jobs"], after["jobs"]) == (0, len(ALL))
    assert after["queue_depth"] == len(ALL)
    assert after["oldest_job_seconds"] < 600


def gauges(database: Database) -> dict[str, float]:
    """Sums over labels, by name."""
    totals = dict.fromkeys(("campaigns", "jobs", "queue_depth", "oldest_job_seconds"), 0.0)
    for gauge in ServiceGaugeReader(database).read():
        if gauge.name in totals:
            totals[gauge.name] += gauge.value
    return totals
