"""Reading commands with `--server`: the same output and the same exit codes as on the database."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.cli import bundle
from app.cli.kit import long_reports
from app.cli.kit.files import write_files_to_new_folder
from app.client.remote_server import RemoteServer
from app.domain.recipe import ExclusionTarget
from app.main import create_app
from app.services.access import tokens
from app.services.access.tokens import THE_OPERATOR
from app.services.campaigns import analysis_locks, campaigns, exclusions
from app.services.campaigns.campaigns import NewCampaign
from app.services.data import bundle as bundles
from app.services.jobs import jobs, rankings
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.cli.conftest import Answer, Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.data.test_imports import MQM
from tests.spine import Spine, fresh, template_of
from tests.web.conftest import serve
from tests.working import draining

pytestmark = pytest.mark.usefixtures("patience")
Serving = Callable[..., AbstractContextManager[tuple[str, int]]]
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
Both = Callable[..., tuple[Answer, Answer]]


def fill(database: Database) -> None:
    """Put one campaign into a database."""
    spine = Spine(database.url, database)
    with database.transaction() as session:
        campaigns.create_campaign(session, NewCampaign(key="demo", protocol="mqm", series="wmt"), actor="test")
    spine.take("demo", "mqm-tsv", MQM.encode())
    with database.transaction() as session:
        for wanted, why in ((ExclusionTarget("rater", "r0"), "=asleep"), (ExclusionTarget("system", "B"), "late")):
            exclusions.create_exclusion(session, "demo", wanted, reason=why, actor="test")
        analysis_locks.set_or_amend_analysis_lock(
            session,
            "demo",
            analysis_locks.AnalysisLockRequest(recipe="google-mqm", hypotheses=["A is best"], reason="late"),
            actor="t",
        )
        exclusions.lift_exclusion(session, "demo", 3, reason="it was there", actor="test")


@dataclass(frozen=True)
class ServedDatabase:
    """A database with one campaign, where it is served, and the secret of its manager."""

    database: Database
    origin: str
    secret: str


@pytest.fixture(scope="module")
def filled(postgres: embedded.EmbeddedServer, migrated_template: str, patience: None) -> Iterator[str]:
    """The template of databases with one campaign."""
    with template_of(postgres, migrated_template, lambda spine: fill(spine.database)) as name:
        yield name


@pytest.fixture
def template(filled: str) -> str:
    """For tests that change something: each has a database of its own."""
    return filled


@pytest.fixture
def origin(database: Database, serving: Serving) -> Iterator[str]:
    """A server with one campaign."""
    with serving(create_app(database, ServiceOptions())) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture(scope="module")
def served(postgres: embedded.EmbeddedServer, filled: str) -> Iterator[ServedDatabase]:
    """For tests that only read."""
    with fresh(postgres, filled) as spine:
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="manager", campaign="demo").secret
        with serve(create_app(spine.database, ServiceOptions())) as (host, port):
            yield ServedDatabase(spine.database, f"http://{host}:{port}", secret)


@pytest.fixture
def both(served: ServedDatabase, command: Command, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Run a command that changes nothing on the database, and over HTTP where no database can be reached."""

    def run(*arguments: str | Path) -> tuple[Answer, Answer]:
        monkeypatch.delenv("PLUMBLINE_SERVER", raising=False)
        near = command(served.database.url, *arguments)
        monkeypatch.setenv("PLUMBLINE_SERVER", served.origin)
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        return near, command(NOWHERE, *arguments)

    return run


# In every run each command, and each form of an answer from one of them.
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("rank", "demo"), marks=pytest.mark.soak),
        ("rank", "demo", "--json", "--recipe", "google-mqm", "--alpha", "0.01", "--exclude", "system:A"),
        ("rank", "demo", "--csv", "--as-of", "1"),
        ("rank", "demo", "--csv", "--table", "segments"),
        pytest.param(("rank", "demo", "--markdown", "--table", "pairs"), marks=pytest.mark.soak),
        pytest.param(("rank", "demo", "--latex"), marks=pytest.mark.soak),
        ("rank", "demo", "--svg"),
        pytest.param(("rank", "demo", "--svg", "--table", "pairs"), marks=pytest.mark.soak),
        ("export", "demo"),
        ("export", "demo", "--format", "mqm-tsv"),
        ("recipes",),
        pytest.param(("locks", "demo"), marks=pytest.mark.soak),
        ("locks", "demo", "--json"),
        pytest.param(("exclusions", "list", "demo"), marks=pytest.mark.soak),
        ("exclusions", "list", "demo", "--json"),
        ("exclusions", "add", "demo", "document:d1", "--reason", "odd", "--dry-run", "--recipe", "google-mqm"),
        ("exclusions", "add", "demo", "document:d1", "--reason", "odd", "--dry-run", "--json"),
        ("report", "demo", "recipes", "--recipes", "recommended,google-mqm,wmt-da"),
        ("report", "demo", "recipes", "--json", "--as-of", "1"),
        pytest.param(("report", "demo", "recipes", "--csv"), marks=pytest.mark.soak),
        pytest.param(("report", "demo", "recipes", "--latex"), marks=pytest.mark.soak),
        ("report", "demo", "recipes", "--markdown"),
        pytest.param(("report", "demo", "recipes", "--svg"), marks=pytest.mark.soak),
        ("rank-series", "wmt"),
        ("rank-series", "wmt", "--recipe", "google-mqm", "--json"),
        pytest.param(("rank-series", "wmt", "--csv"), marks=pytest.mark.soak),
        pytest.param(("rank-series", "wmt", "--svg"), marks=pytest.mark.soak),
    ],
)
def test_the_answer_is_the_same(both: Both, arguments: tuple[str, ...]) -> None:
    near, far = both(*arguments)
    assert near.returncode == 0, near.stderr
    assert far.returncode == 0, far.stderr
    assert near.stdout
    assert near.stdout == far.stdout


def test_what_takes_long_is_waited_for_and_is_the_same(
    origin: str, database: Database, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.transaction() as session:
        monkeypatch.setenv("PLUMBLINE_TOKEN", tokens.issue_token(session, role="manager", campaign="demo").secret)
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    monkeypatch.setattr(long_reports, "LOOK_EVERY", 0.05)
    rank, beside = ("rank", "demo", "--seed", "3"), ("report", "demo", "recipes", "--recipes", "srp-paper,wmt22")
    asked = [(*rank, "--csv"), (*beside, "--csv"), ("rank-series", "wmt", "--recipe", "google-mqm", "--csv")]
    asked.append(("exclusions", "add", "demo", "document:d1", "--reason", "odd", "--dry-run", "--json"))
    with draining(database):
        far = [command(NOWHERE, *words, "--server", origin) for words in asked]
        misfit = command(NOWHERE, "rank", "demo", "--scoring", "spans:nope", "--server", origin)
    with database.transaction() as session:
        made = jobs.list_campaign_jobs(session, "demo", THE_OPERATOR, before=None, limit=9)
    assert sorted((one.kind, one.state) for one in made) == [
        ("campaigns/series", "done"),
        ("exclusion", "done"),
        ("ranking", "done"),
        ("ranking", "failed"),
        ("recipes", "done"),
    ]
    assert [one.stdout for one in far] == [command(database.url, *words).stdout for words in asked]
    assert (misfit.returncode, misfit.stdout) == (2, b"")
    assert b"nope" in misfit.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("rank", "demo", "--csv"),
        ("report", "demo", "recipes", "--csv"),
        ("rank-series", "wmt", "--svg"),
    ],
)
def test_what_was_waited_for_is_shown_although_the_data_have_moved_on(
    origin: str, database: Database, command: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    before, ask = command(database.url, *arguments).stdout, RemoteServer.request_result_without_waiting
    with database.transaction() as session:
        monkeypatch.setenv("PLUMBLINE_TOKEN", tokens.issue_token(session, role="manager", campaign="demo").secret)
        session.execute(text("DELETE FROM reports"))

    def ask_then_exclude(self: RemoteServer, method: str, path: str, *how: Any, **options: Any) -> httpx.Response:
        answer = ask(self, method, path, *how, **options)
        if path.endswith("/report"):
            with database.transaction() as session:
                exclusions.create_exclusion(
                    session, "demo", ExclusionTarget("system", "A"), reason="late", actor="test"
                )
        return answer

    monkeypatch.setattr(RemoteServer, "request_result_without_waiting", ask_then_exclude)
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    monkeypatch.setattr(long_reports, "LOOK_EVERY", 0.05)
    with draining(database):
        far = command(NOWHERE, *arguments, "--server", origin)
    assert (far.returncode, far.stdout) == (0, before), far.stderr
    assert command(database.url, *arguments).stdout != before, "the control"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rank", "nowhere"), b"there is no such campaign"),
        (("rank", "demo", "--recipe", "none-such"), b"recipe"),
        (("rank", "demo", "--alpha", "much"), b"alpha"),
        (("export", "demo", "--format", "none"), b""),
        (("locks", "nowhere"), b"there is no such campaign"),
        (("exclusions", "list", "nowhere"), b"there is no such campaign"),
        (("exclusions", "add", "demo", "rater:nobody", "--reason", "x"), b"rater"),
        (("exclusions", "add", "demo", "rater:r0", "--reason", "x"), b"excluded already"),
        (("exclusions", "lift", "demo", "99", "--reason", "x"), b"there is no such exclusion"),
        (("report", "demo", "recipes", "--recipes", "none-such"), b"recipes"),
        (("rank-series", "nowhere"), b"there is no such series"),
    ],
)
def test_a_refusal_is_one_clear_line_and_exit_code_2(both: Both, arguments: tuple[str, ...], said: bytes) -> None:
    near, far = both(*arguments)
    assert (near.returncode, far.returncode) == (2, 2)
    assert far.stderr.startswith(b"plumbline: the server refuses: ")
    assert said in far.stderr
    assert not far.stdout
    assert b"Traceback" not in far.stderr


def test_a_token_that_does_not_work_is_said_and_not_shown(
    served: ServedDatabase, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_TOKEN", "plb_000000000000_s3cret")
    answer = command(NOWHERE, "rank", "demo", "--server", served.origin)
    assert answer.returncode == 2
    assert answer.stderr.startswith(b"plumbline: the server refuses: there is no such credential")
    assert b"s3cret" not in answer.stderr


def test_a_file_is_written_whole_or_not_at_all(both: Both, tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    _, far = both("export", "demo", "-o", file)
    assert far.returncode == 0
    whole = file.read_bytes()
    file.unlink()
    assert both("export", "demo", "-f", "none", "-o", file)[1].returncode == 2
    assert whole.count(b"\n") > 3
    assert list(tmp_path.iterdir()) == []


def test_a_release_over_http_has_the_files_that_it_has_on_the_database(served: ServedDatabase, tmp_path: Path) -> None:
    write_files_to_new_folder(
        bundle.fetch_bundle_files(RemoteServer(served.origin, served.secret), "demo"), tmp_path / "far"
    )
    write_files_to_new_folder(bundles.make_bundle_files(served.database, "demo"), tmp_path / "near")
    near, far = (
        {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (tmp_path / "near", tmp_path / "far")
    )
    assert near == far
    assert "SHA256SUMS" in near


def test_a_server_that_is_not_there_is_said_in_one_line(command: Command) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    answer = command(NOWHERE, "recipes", "--server", url)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"plumbline: the server cannot be reached: {url}".encode())
    assert answer.stderr.count(b"\n") == 1


def test_something_else_than_plumbline_is_noticed(serving: Serving, command: Command) -> None:
    async def other(scope: object, receive: object, send: Callable[..., object]) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>"})

    with serving(other, lifespan="off") as (host, port):
        answer = command(NOWHERE, "recipes", "--server", f"http://{host}:{port}")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert b"it answers 404, and not as Plumbline does" in answer.stderr
    assert command(NOWHERE, "recipes", "--server", "ftp://x").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("exclusions", "add", "demo", "colour:red", "--reason", "x"),
        ("report", "demo", "weather"),
        ("report", "demo", "recipes", "--csv", "--svg"),
    ],
)
def test_arguments_that_mean_nothing_are_refused_before_anything_is_asked(
    command: Command, arguments: tuple[str, ...]
) -> None:
    answer = command(NOWHERE, *arguments)
    assert answer.returncode == 2
    assert answer.stderr.count(b"\n") == 2, "one line, and the place"


def test_an_exclusion_is_made_and_lifted_over_http_as_on_the_database(
    origin: str, database: Database, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="manager", campaign="demo").secret
    monkeypatch.setenv("PLUMBLINE_TOKEN", secret)
    made = command(NOWHERE, "exclusions", "add", "demo", "document:d1", "--reason", "odd", "--json", "--server", origin)
    assert made.returncode == 0, made.stderr
    number = json.loads(made.stdout)["exclusion"]
    stored = json.loads(command(database.url, "exclusions", "list", "demo", "--json").stdout)["items"]
    assert [(one["what"], one["key"], one["lifted"] is None) for one in stored] == [
        ("rater", "r0", True),
        ("system", "B", False),
        ("document", "d1", True),
    ]
    lifted = command(database.url, "exclusions", "lift", "demo", str(number), "--reason", "awake", "--json")
    assert json.loads(lifted.stdout)["lifted"]["reason"] == "awake"
    again = command(NOWHERE, "exclusions", "lift", "demo", str(number), "--reason", "x", "--json", "--server", origin)
    assert json.loads(again.stdout) == json.loads(lifted.stdout), "one that is lifted already stays as it is"
