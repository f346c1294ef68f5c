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

import httpx
import pytest
from plumbline_client import Client

from app.client.settlement import CodeVerdicts, Submission, decide_submissions
from tests.cli.conftest import Answer, Command
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "recruit-on-prolific.md").read_text(encoding="utf-8")
QUALITY = {"code_pass": "GOOD1", "code_fail": "BAD22"}
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
        """A submission, or a page of one of them each."""
        assert self.headers["Authorization"] == "Token secret-of-prolific"
        parts = urlsplit(self.path)
        rows = self.state["submissions"]
        if "/studies/" in parts.path:
            n = int(parse_qs(parts.query).get("offset", ["0"])[0])
            following = f"{self.state['url']}{parts.path}?offset={n + 1}" if n + 1 < len(rows) else None
            self._answer({"results": rows[n : n + 1], "_links": {"next": {"href": following}}})
        else:
            self._answer(next(row for row in rows if row["id"] == parts.path.split("/")[-2]))

    def do_POST(self) -> None:
        """A study, or a decision; `breaks` loses the answer to one."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state["posts"].append((self.path, body))
        if self.path.endswith("/studies/"):
            if self.state.get("refuses"):
                self._answer({"error": {"detail": "the reward is too low"}}, 400)
            else:
                self._answer({"id": "s1", "status": "UNPUBLISHED"}, 201)
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
        state: dict[str, Any] = {"url": url, "submissions": [], "posts": [], "paid": []}
        monkeypatch.setattr(Prolific, "state", state, raising=False)
        monkeypatch.setenv("PLUMBLINE_PROLIFIC_URL", url)
        monkeypatch.setenv("PLUMBLINE_PROLIFIC_TOKEN", "secret-of-prolific")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with patient(), serving(spine.url) as found:
        yield found


@pytest.fixture
def campaign(served: Served, request: pytest.FixtureRequest) -> str:
    """A campaign with fixed codes and one text to judge."""
    key = request.node.name[:40].replace("_", "-")
    with Client(served.url, served.secret) as plumbline:
        made = plumbline.create_campaign(key, protocol="da", target_language="de", settings={"quality": QUALITY})
        made.data.put_document("d1", [{"source": "Rain."}])
        made.data.put_system("alpha")
        made.data.put_outputs("alpha", "d1", ["Regen."])
    return key


@pytest.fixture
def run(command: Command, spine: Spine, served: Served, monkeypatch: pytest.MonkeyPatch) -> Any:
    """run(*words): `plumbline prolific …` on the server."""
    monkeypatch.setenv("PLUMBLINE_SERVER", served.url)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)

    def done(*words: str) -> Answer:
        return command(spine.url, "prolific", *words)

    return done


def take_part(served: Served, campaign: str, study: dict[str, Any], participant: str) -> str:
    """What a participant does who follows the study's address: claim, judge, hand in; the code."""
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(campaign).plan({"seed": 1})
        plumbline.campaign(campaign).open()
    invitation, secret = parse_qs(urlsplit(study["external_study_url"]).fragment)["invitation"][0].split(".")
    body = {"secret": secret, "external_id": participant, "want": "token"}
    claimed = httpx.post(f"{served.url}/v1/invitations/{invitation}/claim", json=body, trust_env=False)
    assert claimed.status_code == 201, claimed.text
    with Client(served.url, claimed.json()["token"]) as front_end:
        for task in front_end.tasks(campaign):
            for item in task.content.items:
                for segment in item.segments:
                    task.judge(item.item, segment.segment, {"protocol": "da", "score": 80})
            return task.hand_in()
    raise AssertionError("there was no task")


def row(name: str, participant: str, code: str | None, status: str = "AWAITING REVIEW") -> dict[str, Any]:
    return {"id": name, "participant_id": participant, "study_code": code, "status": status, "return_requested": None}


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
    code = take_part(served, campaign, study, "p1")
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


def test_what_prolific_refuses_leaves_no_invitation(
    run: Any, served: Served, campaign: str, prolific: dict[str, Any]
) -> None:
    prolific["refuses"] = True
    refused = run("create", campaign, *NEW)
    assert refused.returncode == 2
    assert "the reward is too low" in refused.stderr.decode()
    listed = served.managed(campaign).remote.items(f"/v1/campaigns/{campaign}/invitations")
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


FIXED = CodeVerdicts("GOOD1", "BAD22")
RANDOM = CodeVerdicts(None, None)


@pytest.mark.parametrize(
    ("codes", "entered", "verdicts", "action"),
    [
        (["GOOD1"], "GOOD1", FIXED, "approve"),
        (["GOOD1", "GOOD1"], None, FIXED, "approve"),
        (["BAD22"], "BAD22", FIXED, "return"),
        (["GOOD1", "BAD22"], "GOOD1", FIXED, "leave"),
        (["GOOD1"], "BAD22", FIXED, "leave"),
        (["OLD33"], "OLD33", FIXED, "leave"),
        ([], "GOOD1", FIXED, "leave"),
        (["0123456789"], "0123456789", RANDOM, "approve"),
        (["GOOD1"], "GOOD1", RANDOM, "leave"),
        (["x"], "x", CodeVerdicts("x", "x"), "leave"),
    ],
)
def test_only_who_certainly_passed_is_paid_and_only_who_certainly_failed_is_asked(
    codes: list[str], entered: str | None, verdicts: CodeVerdicts, action: str
) -> None:
    submission = Submission("a", "p1", entered, awaits=True, paid=False)
    (decision,) = decide_submissions([submission], {"p1": codes}, verdicts)
    assert decision.action == action


def test_who_was_paid_before_is_not_paid_again() -> None:
    before = Submission("a", "p1", "GOOD1", awaits=False, paid=True)
    again = Submission("b", "p1", "GOOD1", awaits=True, paid=False)
    for order in ([before, again], [again, before]):
        assert [one.action for one in decide_submissions(order, {"p1": ["GOOD1"]}, FIXED)] == ["leave"]


def test_the_commands_of_the_guide_do_what_it_says(
    command: Command, run: Any, spine: Spine, served: Served, prolific: dict[str, Any]
) -> None:
    with Client(served.url, served.secret) as plumbline:
        plumbline.create_campaign("try", protocol="da", target_language="de")
    commands = re.findall(r"^    plumbline (.*)$", GUIDE, re.MULTILINE)
    assert len(commands) == 3
    said = [command(spine.url, *shlex.split(words)) for words in commands]
    assert [answer.returncode for answer in said] == [0, 0, 0], said
    assert "40 places, 20 minutes, 300 each. Nothing was made." in said[1].stdout.decode()
    assert "Nothing was changed." in said[2].stdout.decode()
    assert prolific["posts"] == []
