"""Disk and database are lost at a random second while raters judge, and restored as docs/how-to/backups.md says."""

from __future__ import annotations

import configparser
import os
import random
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.storage import migrate
from app.storage.embedded.roles import find_or_create_serving_role
from tests.certificates import make_certificates
from tests.faults.archived import BACKUP, ArchivedServer, BackupStore, free_port, read_settings
from tests.faults.serving import Raters, Service, ServiceElsewhere, judging
from tests.working import until

ARCHIVE_TIMEOUT = 5  # seconds, of the test
SLACK = 5.0  # seconds that a segment needs to reach the archive, on a busy machine
RATERS = 96
RESTORED_WITHIN = 300.0  # seconds
PROGRAMS = ("pgbackrest", "setpriv")


def test_the_repository_is_encrypted_and_the_passphrase_is_not_in_it() -> None:
    settings = configparser.ConfigParser()
    settings.read_string(read_settings("pgbackrest.conf"))
    assert settings["global"]["repo1-cipher-type"] == "aes-256-cbc"
    assert "repo1-cipher-pass" not in settings["global"]
    assert not re.search(r"^[^#\n]*(cipher-pass|s3-key)", read_settings("pgbackrest.conf"), re.MULTILINE)


def test_the_files_speak_of_one_stanza() -> None:
    settings = configparser.ConfigParser()
    settings.read_string(read_settings("pgbackrest.conf"))
    (stanza,) = set(settings.sections()) - {"global"}
    for file in ("postgresql.conf", "fetch-wal", "rehearse", "cron"):
        assert set(re.findall(r"--stanza=(\w+)", read_settings(file))) == {stanza}, file
    for script in ("fetch-wal", "receive-wal", "rehearse"):
        assert os.access(BACKUP / script, os.X_OK), script


@dataclass
class Judged:
    """The service on the archived server. lost: judgments that were confirmed and are gone."""

    server: ArchivedServer
    run: Service
    raters: Raters
    began: float = field(default_factory=time.monotonic)

    def lost(self) -> int:
        """How many confirmed judgments are gone; what is left of an address is always the beginning."""
        rows = self.server.psql(
            """SELECT r.key || ' ' || i.position || ' ' || g.position || ' '
                      || string_agg((j.payload ->> 'score')::float8::text, ',' ORDER BY j.revision)
               FROM judgments j JOIN raters r ON r.id = j.rater_id JOIN items i ON i.id = j.item_id
               JOIN segments g ON g.id = j.segment_id GROUP BY r.key, i.position, g.position"""
        ).splitlines()
        stored = {
            (rater, int(item), int(segment)): [float(score) for score in scores.split(",")]
            for rater, item, segment, scores in (row.split(" ") for row in rows)
        }
        gone = 0
        for place, scores in self.raters.acked.items():
            there = stored.get(place, [])[: len(scores)]
            assert there == scores[: len(there)], place
            gone += len(scores) - len(there)
        return gone


def require_programs() -> None:
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"not installed (Debian's pgbackrest, util-linux): {', '.join(missing)}")


@contextmanager
def archived(scratch: Path, bin_dir: Path, store: BackupStore | None = None) -> Iterator[ArchivedServer]:
    """A server with its archive and a first backup."""
    require_programs()
    folder = scratch / f"archived-{free_port()}"
    folder.mkdir(mode=0o711)
    made = ArchivedServer(folder, bin_dir, free_port(), store)
    try:
        made.create(ARCHIVE_TIMEOUT)
        find_or_create_serving_role(made.url)
        migrate.upgrade_schema(made.url)
        made.run("pgbackrest", "--stanza=plumbline", "--type=full", "backup")
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


@pytest.fixture
def server(scratch: Path, bin_dir15: Path) -> Iterator[ArchivedServer]:
    with archived(scratch, bin_dir15) as made:
        yield made


@pytest.fixture
def judged(server: ArchivedServer, tmp_path: Path) -> Iterator[Judged]:
    run = ServiceElsewhere.at(server.url, tmp_path)
    run.start()
    try:
        yield Judged(server, run, judging(run, RATERS))
    finally:
        if run.process is not None and run.process.poll() is None:
            run.stop(signal.SIGKILL)


@pytest.mark.soak
@pytest.mark.parametrize("received", [True, False], ids=["received", "archived"])
def test_what_was_confirmed_is_restored(judged: Judged, received: bool) -> None:
    """With a receiver nothing is lost; without one, at most what the archive did not have yet."""
    server, raters = judged.server, judged.raters
    if received:
        server.receive()
    seconds = random.Random(int(os.environ.get("SEED", "7"))).uniform(8, 16)
    raters.begin()
    began = time.monotonic()
    try:
        time.sleep(seconds)
        lost_at = float(server.psql("SELECT extract(epoch FROM clock_timestamp())"))
        server.lose()
        took = time.monotonic() - began
    finally:
        raters.stopping.set()
        judged.run.stop(signal.SIGKILL)
        raters.end()
    confirmed = sum(map(len, raters.acked.values()))

    began = time.monotonic()
    server.restore(received=received)
    restored = time.monotonic() - began
    gone = judged.lost()
    newest = float(server.psql("SELECT coalesce(extract(epoch FROM max(recorded_at)), 0) FROM judgments"))
    sys.stdout.write(
        f"{confirmed} confirmed in {took:.1f} s ({confirmed / took:.0f} a second), restored in {restored:.1f} s, "
        f"{gone} lost, the newest {lost_at - newest:.2f} s before the end\n"
    )
    migrate.check_schema(server.url)
    assert confirmed > 100
    assert restored < RESTORED_WITHIN
    assert gone == 0 if received else lost_at - newest <= ARCHIVE_TIMEOUT + SLACK


@pytest.mark.soak
def test_the_state_of_a_second_is_restored_and_a_rehearsal_checks_the_newest(judged: Judged) -> None:
    server, raters = judged.server, judged.raters
    raters.begin()
    until(lambda: raters.statuses[200] > 200, "they judge")
    second = server.psql("SELECT clock_timestamp()")
    until(lambda: raters.statuses[200] > 400, "they go on")
    raters.end()
    before = server.psql(f"SELECT count(*) FROM judgments WHERE recorded_at <= '{second}'")
    everything = server.psql("SELECT count(*) FROM judgments")
    assert 0 < int(before) < int(everything)
    plumbline = Path(sys.executable).with_name("plumbline")
    own = {**os.environ, "PLUMBLINE_DATABASE_URL": server.url, "PLUMBLINE_DATA_DIR": str(server.folder)}
    subprocess.run([plumbline, "audit", "--seal"], env=own, check=True)  # the campaign was made without its seals
    server.archive_all()

    done = subprocess.run(
        [server.folder / "rehearse"],
        env={**os.environ, **server.environment, "PLUMBLINE": str(plumbline)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()[-1]
    sys.stdout.write(f"{said}\n")
    assert re.match(rf"restored in \d+ s, checked after \d+ s: {everything} judgments, the newest of 20", said)
    assert not list((server.folder / "tmp").iterdir())

    server.lose()
    server.restore("--type=time", f"--target={second}", "--target-action=promote", received=False)
    there = int(server.psql("SELECT count(*) FROM judgments"))
    assert int(before) - RATERS <= there <= int(before)  # what had begun by then and was confirmed later is not in it
    assert server.psql(f"SELECT count(*) FROM judgments WHERE recorded_at > '{second}'") == "0"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BackupStore]:
    """A server that speaks S3, over TLS, with the bucket that the settings name."""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        """Ends a connection as TLS asks for: pgBackRest takes any other end for an attack."""

        def log(self, *_: object) -> None:
            """Nothing to say."""

        def finish(self) -> None:
            super().finish()
            with suppress(OSError):
                self.connection.settimeout(1)
                self.connection.unwrap()

    make_certificates(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls_certificate", tmp_path / "tls_key")
    service = DomainDispatcherApplication(create_backend_app)
    made = make_server("127.0.0.1", 0, service, threaded=True, request_handler=Handler, ssl_context=context)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    place = {"endpoint_url": f"https://localhost:{made.server_port}", "verify": str(tmp_path / "tls_authority")}
    account = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    boto3.client("s3", **place, **account).create_bucket(Bucket="plumbline-backup")
    yield BackupStore(made.server_port, tmp_path / "tls_authority")
    made.shutdown()
    thread.join()


@pytest.mark.soak
def test_a_store_like_s3_holds_the_backups_and_restores_them(
    scratch: Path, bin_dir15: Path, store: BackupStore
) -> None:
    with archived(scratch, bin_dir15, store) as server:
        server.psql("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
        server.archive_all()
        assert not list((server.folder / "repository").iterdir())
        server.lose()
        server.restore(received=False)
        assert server.psql("SELECT count(*), sum(n) FROM kept") == "1000|500500"
