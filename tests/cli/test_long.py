"""Reports that take a long time, requested from a server: the command waits and shows the progress or the refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.api.kit import job_responses
from app.cli.kit import long_reports
from app.cli.kit.remote_series_backend import RemoteSeriesBackend
from app.client.remote_server import RemoteServer
from app.services.access import tokens
from app.services.jobs import segment_scores
from app.services.plans import compile_time_estimate
from app.storage import embedded
from tests.cli.conftest import Command
from tests.load.server import serving
from tests.spine import Spine, fresh, opened
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import draining

FEW = ("--documents", "6", "--studies", "10", "--studies-per-document-set", "10", "--seed", "4")


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=8)))
        yield found


def test_a_server_makes_the_report_as_a_job_and_the_command_waits_for_it(
    spine: Spine, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_reports, "LOOK_EVERY", 0.05)
    with spine.database.transaction() as session:
        monkeypatch.setenv("PLUMBLINE_TOKEN", tokens.issue_token(session, role="viewer").secret)
    with serving(spine.url) as served, draining(spine.database):
        there = command(spine.url, "stability", "thrice", *FEW, "--server", served.url, "--json")
        refused = command(spine.url, "stability", "thrice", "--documents", "9", "--server", served.url)
    assert there.returncode == 0, there.stderr
    assert spine.ask("SELECT state, count(*) FROM jobs GROUP BY 1 ORDER BY 1") == [("done", 1), ("failed", 1)]
    assert json.loads(there.stdout) == json.loads(command(spine.url, "stability", "thrice", *FEW, "--json").stdout)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"documents: 9 is not between 1 and 8" in refused.stderr


def test_segment_scores_that_a_job_makes_are_waited_for(
    spine: Spine, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_scores, "QUICK_JUDGMENTS", 0)
    monkeypatch.setattr(job_responses, "WAIT", 0)
    monkeypatch.setattr(long_reports, "LOOK_EVERY", 0.05)
    with spine.database.transaction() as session:
        monkeypatch.setenv("PLUMBLINE_TOKEN", tokens.issue_token(session, role="viewer").secret)
    asked = (spine.url, "rank", "thrice", "--csv", "--table", "segments")
    with serving(spine.url) as served, draining(spine.database):
        answers = [command(*asked, "--server", served.url) for _ in range(2)]
    for answer in answers:
        assert (answer.returncode, answer.stdout) == (0, command(*asked).stdout), answer.stderr
    assert spine.ask("SELECT count(*) FROM jobs WHERE kind = 'segments'") == [(1,)]


def test_a_plan_that_a_job_compiles_is_waited_for_and_then_frozen(
    command: Command, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)
    monkeypatch.setattr(long_reports, "LOOK_EVERY", 0.05)
    designs = {"once": {"overlap": None}, "cannot": {"ratings_per_item": 9}}
    files = {name: tmp_path / f"{name}.json" for name in designs}
    for name, design in designs.items():
        files[name].write_text(json.dumps(design))
    with opened(database_url) as spine, serving(database_url) as there, draining(spine.database):
        monkeypatch.setenv("PLUMBLINE_TOKEN", there.secret)
        remote, at = RemoteServer(there.url, there.secret), ("--server", there.url)
        _draft(remote)
        seen = command(database_url, "plan", "draft", files["once"], "--dry-run", "--json", *at)
        frozen = command(database_url, "plan", "draft", files["once"], "--json", *at)
        refused = command(database_url, "plan", "draft", files["cannot"], *at)
        renewed = command(database_url, "plan", "draft", "--replan", "one left", "--rebalance", "--json", *at)
        desk = RemoteSeriesBackend(remote).compile_and_freeze_plan("draft", {"seed": 4}, dry_run=True)
        jobs = spine.ask("SELECT kind, state, count(*) FROM jobs GROUP BY 1, 2 ORDER BY 1, 2")
    first, second, third = (json.loads(one.stdout) for one in (seen, frozen, renewed))
    assert [one["version"] for one in (first, second, third)] == [None, 1, 2]
    assert (first["hash"], first["seed"]) == (second["hash"], second["seed"])
    assert (desk.version, desk.seed) == (None, 4)
    assert refused.returncode == 2
    assert b"ratings_per_item" in refused.stderr
    assert jobs == [("plan", "done", 2), ("plan", "failed", 1), ("replan", "done", 1)]


def _draft(remote: RemoteServer) -> None:
    """Two systems on two documents, and two raters."""
    made = {"key": "draft", "protocol": "da", "target_language": "de"}
    remote.send_change("POST", "/v1/campaigns", {}, made)
    for key in ("d1", "d2"):
        remote.send_change(
            "PUT", f"/v1/campaigns/draft/documents/{key}", {}, {"segments": [{"source": f"{key} is here."}]}
        )
    for system in ("A", "B"):
        remote.send_change("PUT", f"/v1/campaigns/draft/systems/{system}", {}, {})
        for key in ("d1", "d2"):
            where = f"/v1/campaigns/draft/systems/{system}/outputs/{key}"
            remote.send_change("PUT", where, {}, {"segments": [f"{system} says {key}."]})
    for rater in ("r1", "r2"):
        remote.send_change("PUT", f"/v1/campaigns/draft/raters/{rater}", {}, {})
