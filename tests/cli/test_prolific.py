"""`plumbline prolific` against a stand-in for Prolific on loopback, which keeps what it is told and what it pays."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from plumbline_client import Client

from app.client.crowd_platform import (
    CompletionCodeTemplates,
    IssuedCompletionCodes,
    StudySubmission,
    decide_submissions,
)
from tests.cli.conftest import Answer, Command
from tests.cli.crowd import campaign as campaign  # a fixture, as the next two
from tests.cli.crowd import served as served
from tests.cli.crowd import spine as spine
from tests.cli.crowd import take_part
from tests.load.server import Served
from tests.spine import Spine

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "recruit-on-prolific.md").read_text(encoding="utf-8")
NEW = ("--name", "Judge", "--description", "Read", "--places", "3", "--minutes", "5", "--reward", "90")


class Prolific(BaseHTTPRequestHandler):
    """Answers as its interface is described; `server.state` is what it holds."""

    state: dict[str, Any]

    def log_message(self, *_: object) -> None:
        """Nothing to say."""

    def _answer(self, body: object, status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        """A study, a submission, or a page of a study's submissions, one each."""
        assert self.headers["Authorization"] == "Token secret-of-prolific"
        parts = urlsplit(self.path)
        rows = self.state["submissions"]
        if study := re.fullmatch("/api/v1/studies/([^/]+)/(submissions/)?", parts.path):
            if study[1] not in self.state["studies"]:
                self._answer({"error": {"detail": "No study matches the given query."}}, 404)
                return
            if not study[2]:
                self._answer(self.state["studies"][study[1]])
                return
            rows = [row for row in rows if row["study"] == study[1]]
            n = int(parse_qs(parts.query).get("offset", ["0"])[0])
            following = f"{self.state['url']}{parts.path}?offset={n + 1}" if n + 1 < len(rows) else None
            self._answer({"results": rows[n : n + 1], "_links": {"next": {"href": following}}})
        else:
            self._answer(next(row for row in rows if row["id"] == parts.path.split("/")[-2]))

    def do_PATCH(self) -> None:
        """Other texts or another address of a study."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.state.get("refuses_changes"):
            self._answer({"error": {"detail": "the study cannot be changed"}}, 400)
        else:
            self._answer(self._keep(self.path.split("/")[-2], body))

    def _keep(self, study: str, given: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = self.state["studies"].setdefault(study, {"id": study, "status": "UNPUBLISHED"})
        kept.update(given)
        return kept

    def do_POST(self) -> None:
        """A study, or a decision; `breaks` loses the answer to one."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state["posts"].append((self.path, body))
        if self.path.endswith("/studies/"):
            if self.state.get("refuses"):
                self._answer({"error": {"detail": "the reward is too low"}}, 400)
            else:
                self._answer(self._keep(f"s{len(self.state['studies']) + 1}", body), 201)
            return
        row = next(row for row in self.state["submissions"] if row["id"] == self.path.split("/")[-3])
        if "return" in self.path:
            row["return_requested"] = "2026-11-26T00:00:00Z"
        else:
            self.state["paid"].append(row["participant_id"])
            row["status"] = "APPROVED"
        if self.state.pop("breaks", False):
            self.close_connection = True
            return
        self._answer(row)


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the stand-in holds; the settings lead to it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Prolific) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        state: dict[str, Any] = {"url": url, "studies": {}, "submissions": [], "posts": [], "paid": []}
        monkeypatch.setattr(Prolific, "state", state, raising=False)
        monkeypatch.setenv("PLUMBLINE_PROLIFIC_URL", url)
        monkeypatch.setenv("PLUMBLINE_PROLIFIC_TOKEN", "secret-of-prolific")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def run(command: Command, spine: Spine, served: Served, monkeypatch: pytest.MonkeyPatch) -> Any:
    """run(*words): `plumbline prolific …` on the server."""
    monkeypatch.setenv("PLUMBLINE_SERVER", served.url)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)

    def done(*words: str) -> Answer:
        return command(spine.url, "prolific", *words)

    return done


def link_of(study: dict[str, Any]) -> str:
    return str(study["external_study_url"])


def row(
    name: str, participant: str, code: str | None, status: str = "AWAITING REVIEW", *, study: str = "s1"
) -> dict[str, Any]:
    known = {"id": name, "study": study, "participant_id": participant, "study_code": code}
    return {**known, "status": status, "return_requested": None}


def test_a_study_leads_to_the_campaign_and_its_participants_are_paid_once(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run("create", campaign, *NEW, "--dry-run")
    assert (shown.returncode, prolific["posts"]) == (0, []), shown.stderr
    made = run("create", campaign, *NEW)
    assert made.stdout.decode().startswith("s1\n"), made.stderr
    ((path, study),) = prolific["posts"]
    assert path == "/api/v1/studies/"
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in study["external_study_url"]
    assert [(one["code"], one["actions"]) for one in study["completion_codes"]] == [
        ("GOOD1", [{"action": "MANUALLY_REVIEW"}]),
        ("BAD22", [{"action": "MANUALLY_REVIEW"}]),
    ]
    assert (study["reward"], study["total_available_places"]) == (90, 3)
    code = take_part(served, campaign, link_of(prolific["studies"]["s1"]), "p1")
    assert code == "GOOD1"
    submissions = [row("a", "p1", code), row("b", "p1", code), row("c", "p2", code), row("d", "p1", code, "RETURNED")]
    prolific["submissions"] += submissions
    prolific["posts"].clear()
    plan = run("settle", campaign, "s1", "--dry-run").stdout.decode()
    assert "no task of this participant is handed in" in plan
    assert "another submission of this participant is paid" in plan
    monkeypatch.setattr("typer.confirm", lambda _: False)
    assert run("settle", campaign, "s1").returncode == 1
    assert prolific["posts"] == []
    prolific["breaks"] = True  # it pays, and its answer is lost
    broken = run("settle", campaign, "s1", "--yes")
    assert broken.returncode == 2, broken
    assert "prolific cannot be reached" in broken.stderr.decode()
    for _ in range(2):
        assert run("settle", campaign, "s1", "--yes").returncode == 0
    assert prolific["paid"] == ["p1"]
    assert prolific["posts"] == [("/api/v1/submissions/a/transition/", {"action": "APPROVE"})]


def test_who_is_paid_in_one_study_is_not_paid_in_the_next_without_work(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any]
) -> None:
    with Client(served.url, served.secret) as plumbline:
        data = plumbline.campaign(campaign).data
        data.put_document("d2", [{"source": "Sun."}])
        data.put_outputs("alpha", "d2", ["Sonne."])
    assert [run("create", campaign, *NEW).returncode for _ in range(2)] == [0, 0]
    code = take_part(served, campaign, link_of(prolific["studies"]["s1"]), "p1")
    assert take_part(served, campaign, link_of(prolific["studies"]["s2"]), "p2") == code
    prolific["submissions"] += [
        row("a", "p1", code),
        row("b", "p1", code, study="s2"),
        row("c", "p1", None, study="s2"),
        row("d", "p2", code, study="s2"),
    ]
    for study in ("s1", "s2"):
        assert run("settle", campaign, study, "--yes").returncode == 0
    assert prolific["paid"] == ["p1", "p2"]
    assert [one["status"] for one in prolific["submissions"]] == [
        "APPROVED",
        "AWAITING REVIEW",
        "AWAITING REVIEW",
        "APPROVED",
    ]
    assert "handed in work for another study" in run("settle", campaign, "s2").stdout.decode()


def test_studies_that_are_not_of_the_campaign_or_were_copied_are_refused(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any]
) -> None:
    assert run("create", campaign, *NEW).returncode == 0
    code = take_part(served, campaign, link_of(prolific["studies"]["s1"]), "p1")
    address = prolific["studies"]["s1"]["external_study_url"]
    others = {
        "copied": address,
        "elsewhere": "https://example.org/survey",
        "unnamed": address.replace("&study=s1", ""),
        "foreign": re.sub("i_[0-9a-f]{32}", "i_" + "0" * 32, address).replace("study=s1", "study=foreign"),
        "none": None,
    }
    for study, link in others.items():
        prolific["studies"][study] = {"id": study, "external_study_url": link}
        prolific["submissions"].append(row(study, "p1", code, study=study))
        refused = run("settle", campaign, study, "--yes")
        assert refused.returncode == 2, (study, refused)
        assert "the study does not belong to the campaign" in refused.stderr.decode(), study
    with Client(served.url, served.secret) as plumbline:
        plumbline.create_campaign(f"{campaign}-2", protocol="da", target_language="de")
    assert "does not belong to the campaign" in run("settle", f"{campaign}-2", "s1", "--yes").stderr.decode()
    unknown = run("settle", campaign, "unknown", "--yes")
    assert (unknown.returncode, "No study matches" in unknown.stderr.decode()) == (2, True)
    assert prolific["paid"] == []


def test_who_handed_in_fewer_tasks_than_a_place_has_is_left_to_a_person(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any]
) -> None:
    assert run("create", campaign, *NEW).returncode == 0
    code = take_part(served, campaign, link_of(prolific["studies"]["s1"]), "p1")
    prolific["submissions"].append(row("a", "p1", code))
    assert "1 handed in, of 2" in run("settle", campaign, "s1", "--tasks", "2", "--yes").stdout.decode()
    assert prolific["paid"] == []
    assert run("settle", campaign, "s1", "--tasks", "1", "--yes").returncode == 0
    assert prolific["paid"] == ["p1"]


@pytest.mark.parametrize(
    ("refuses", "why"),
    [("refuses", "the reward is too low"), ("refuses_changes", "the study cannot be changed")],
)
def test_what_prolific_refuses_leaves_no_invitation(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any], refuses: str, why: str
) -> None:
    prolific[refuses] = True
    refused = run("create", campaign, *NEW)
    assert refused.returncode == 2
    assert why in refused.stderr.decode()
    listed = served.managed(campaign).remote.iterate_paginated_list(f"/v1/campaigns/{campaign}/invitations")
    assert [one["live"] for one in listed] == [False]


def test_without_a_token_or_fixed_codes_nothing_is_asked_of_prolific(
    run: Any, campaign: str, served: Served, prolific: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(campaign).change(settings={"quality": {"code_pass": "A{code}", "code_fail": "B{code}"}})
    assert "fixed codes only" in run("create", campaign, *NEW).stderr.decode()
    monkeypatch.delenv("PLUMBLINE_PROLIFIC_TOKEN")
    assert "PLUMBLINE_PROLIFIC_TOKEN" in run("settle", campaign, "s1").stderr.decode()
    assert prolific["posts"] == []


FIXED = CompletionCodeTemplates("GOOD1", "BAD22")
RANDOM = CompletionCodeTemplates(None, None)


@pytest.mark.parametrize(
    ("codes", "entered", "verdicts", "action"),
    [
        (["GOOD1"], "GOOD1", FIXED, "approve"),
        (["GOOD1", "GOOD1"], None, FIXED, "approve"),
        (["BAD22"], "BAD22", FIXED, "refuse"),
        (["GOOD1", "BAD22"], "GOOD1", FIXED, "leave"),
        (["GOOD1"], "BAD22", FIXED, "leave"),
        (["OLD33"], "OLD33", FIXED, "leave"),
        ([], "GOOD1", FIXED, "leave"),
        (["0123456789"], "0123456789", RANDOM, "approve"),
        (["GOOD1"], "GOOD1", RANDOM, "leave"),
        (["x"], "x", CompletionCodeTemplates("x", "x"), "leave"),
    ],
)
def test_only_who_certainly_passed_is_paid_and_only_who_certainly_failed_is_asked(
    codes: list[str], entered: str | None, verdicts: CompletionCodeTemplates, action: str
) -> None:
    submission = StudySubmission("a", "p1", entered, awaits=True, paid=False)
    (decision,) = decide_submissions([submission], IssuedCompletionCodes({"p1": codes}), verdicts)
    assert decision.action == action


@pytest.mark.parametrize(
    ("codes", "tasks", "action"),
    [
        (["GOOD1"], 1, "leave"),
        (["BAD22"], 1, "leave"),
        (["GOOD1", "GOOD1"], 1, "approve"),
        (["BAD22", "BAD22"], 1, "refuse"),
        (["GOOD1", "GOOD1"], 2, "leave"),
        (["GOOD1", "GOOD1", "GOOD1"], 2, "approve"),
    ],
)
def test_an_attention_check_is_no_work_to_be_paid_or_refused(codes: list[str], tasks: int, action: str) -> None:
    submission = StudySubmission("a", "p1", codes[0], awaits=True, paid=False)
    handed_in = IssuedCompletionCodes({"p1": codes}, checks={"p1": 1})
    (decision,) = decide_submissions([submission], handed_in, FIXED, tasks=tasks)
    assert decision.action == action


def test_who_was_paid_before_is_not_paid_again() -> None:
    before = StudySubmission("a", "p1", "GOOD1", awaits=False, paid=True)
    again = StudySubmission("b", "p1", "GOOD1", awaits=True, paid=False)
    for order in ([before, again], [again, before]):
        assert [one.action for one in decide_submissions(order, IssuedCompletionCodes({"p1": ["GOOD1"]}), FIXED)] == [
            "leave"
        ]


def test_the_commands_of_the_guide_do_what_it_says(
    command: Command, run: Any, spine: Spine, served: Served, prolific: dict[str, Any]
) -> None:
    with Client(served.url, served.secret) as plumbline:
        made = plumbline.create_campaign("try", protocol="da", target_language="de").invite(40, platform="prolific")
    study = "60d9aadeb86739de712faee0"
    prolific["studies"][study] = {"id": study, "external_study_url": f"{made.link}&study={study}"}
    commands = re.findall(r"^    plumbline (.*)$", GUIDE, re.MULTILINE)
    assert len(commands) == 3
    said = [command(spine.url, *shlex.split(words)) for words in commands]
    assert [answer.returncode for answer in said] == [0, 0, 0], said
    assert "40 places, 20 minutes, 300 each. Nothing was made." in said[1].stdout.decode()
    assert "Nothing was changed." in said[2].stdout.decode()
    assert prolific["posts"] == []
