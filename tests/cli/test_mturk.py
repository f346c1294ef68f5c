"""`plumbline mturk` against a stand-in on loopback; boto3 checks what is sent and reads what is answered."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from plumbline_client import Client

from app.client import remote_server
from app.client.mturk_question import make_hit_question_xml
from tests.cli.conftest import Answer, Command
from tests.cli.crowd import campaign as campaign  # a fixture, as the next two
from tests.cli.crowd import plan_and_open, take_part
from tests.cli.crowd import served as served
from tests.cli.crowd import spine as spine
from tests.load.server import Served
from tests.spine import Spine

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "recruit-on-mechanical-turk.md").read_text(encoding="utf-8")
NEW = ("--title", "Judge", "--description", "Read & judge", "--places", "3", "--minutes", "30", "--reward", "105")
ANSWER = """<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/\
QuestionFormAnswers.xsd"><Answer><QuestionIdentifier>code</QuestionIdentifier><FreeText>{}</FreeText></Answer>\
</QuestionFormAnswers>"""


class MechanicalTurk(BaseHTTPRequestHandler):
    """Answers as its interface is described; `state` is what it holds."""

    state: dict[str, Any]

    def log_message(self, *_: object) -> None:
        """Nothing to say."""

    def do_POST(self) -> None:
        """One operation, which a header names."""
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        self.state["asked"].append((operation, given))
        try:
            answer, status = getattr(self, operation)(**given), 200
        except LookupError as error:
            answer = {"__type": "RequestError", "Message": str(error.args[0]), "TurkErrorCode": "".join(error.args[1:])}
            status = 400
        if self.state.get("throttles") == operation and self.state["asked"][-2:-1] == [(operation, given)]:
            answer, status = {"__type": "ThrottlingException", "Message": "Rate exceeded"}, 400
        if self.state.get("breaks") == operation:
            del self.state["breaks"]
            self.close_connection = True
            return
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def CreateHIT(self, **given: Any) -> dict[str, Any]:  # noqa: N802  (the interface's names, also below)
        """Repeated under one token it is made once, as the interface says: then it is refused."""
        if self.state.get("refuses"):
            raise LookupError("your balance is too low")
        if given["UniqueRequestToken"] in [hit["UniqueRequestToken"] for hit in self.state["hits"]]:
            raise LookupError("The HIT was created before.", "AWS.MechanicalTurk.HitAlreadyExists")
        self.state["hits"].append({"HITId": f"H{len(self.state['hits']) + 1}", **given})
        return {"HIT": self.state["hits"][-1]}

    def GetHIT(self, HITId: str) -> dict[str, Any]:  # noqa: N802, N803
        """One that is there."""
        for hit in self.state["hits"]:
            if hit["HITId"] == HITId:
                return {"HIT": hit}
        raise LookupError(f"Hit {HITId} does not exist.")

    def ListHITs(self, NextToken: str = "0") -> dict[str, Any]:  # noqa: N802, N803
        """One a page, another requester's work first."""
        hits = [{"HITId": "H0"}, *self.state["hits"]]
        n = int(NextToken)
        return {"HITs": hits[n : n + 1], **({"NextToken": str(n + 1)} if n + 1 < len(hits) else {})}

    def ListAssignmentsForHIT(self, HITId: str, NextToken: str = "0") -> dict[str, Any]:  # noqa: N802, N803
        """One a page."""
        rows = [row for row in self.state["assignments"] if row["HITId"] == HITId]
        n = int(NextToken)
        following = {"NextToken": str(n + 1)} if n + 1 < len(rows) else {}
        return {"Assignments": rows[n : n + 1], "NumResults": 1, **following}

    def GetAssignment(self, AssignmentId: str) -> dict[str, Any]:  # noqa: N802, N803
        """One that is there."""
        return {"Assignment": self._assignment(AssignmentId)}

    def ApproveAssignment(self, AssignmentId: str) -> dict[str, Any]:  # noqa: N802, N803
        """Pay it."""
        self._assignment(AssignmentId)["AssignmentStatus"] = "Approved"
        return {}

    def RejectAssignment(self, AssignmentId: str, RequesterFeedback: str) -> dict[str, Any]:  # noqa: N802, N803
        """Do not pay it."""
        assert RequesterFeedback
        self._assignment(AssignmentId)["AssignmentStatus"] = "Rejected"
        return {}

    def _assignment(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = next(row for row in self.state["assignments"] if row["AssignmentId"] == name)
        assert row["AssignmentStatus"] == "Submitted" or self.state["asked"][-1][0] == "GetAssignment"
        return row


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the stand-in holds; the settings lead to it. Who tries again does so at once, not after some seconds."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with ThreadingHTTPServer(("127.0.0.1", 0), MechanicalTurk) as server:
        state: dict[str, Any] = {"hits": [], "assignments": [], "asked": []}
        monkeypatch.setattr(MechanicalTurk, "state", state, raising=False)
        monkeypatch.setenv("PLUMBLINE_MTURK_URL", f"http://127.0.0.1:{server.server_address[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def run(command: Command, spine: Spine, served: Served, monkeypatch: pytest.MonkeyPatch) -> Any:
    """run(*words): `plumbline mturk …` on the server."""
    monkeypatch.setenv("PLUMBLINE_SERVER", served.url)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)

    def done(*words: str) -> Answer:
        return command(spine.url, "mturk", *words)

    return done


@pytest.fixture
def opened(served: Served, campaign: str) -> str:
    """The campaign, which others were invited to and began."""
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(campaign).invite(1)
    plan_and_open(served, campaign)
    return campaign


def assignment(name: str, worker: str, code: str, *, hit: str = "H1") -> dict[str, Any]:
    answer = ANSWER.format(escape(code))
    return {
        "AssignmentId": name,
        "WorkerId": worker,
        "HITId": hit,
        "AssignmentStatus": "Submitted",
        "Answer": answer,
    }


def page_of(question: str) -> str:
    return ET.fromstring(question)[0].text or ""  # noqa: S314  (our own)


def link_of(hit: dict[str, Any]) -> str:
    """Where the page of a HIT leads."""
    linked = re.search(r'data-link="([^"]+)"', page_of(hit["Question"]))
    assert linked is not None, hit
    return linked[1]


def statuses(state: dict[str, Any]) -> dict[str, str]:
    return {row["AssignmentId"]: row["AssignmentStatus"] for row in state["assignments"]}


def test_a_hit_leads_to_the_campaign_and_its_workers_are_paid_once_or_rejected(
    run: Any, served: Served, campaign: str, mturk: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(served.url, served.secret) as plumbline:
        data = plumbline.campaign(campaign).data
        data.put_document("d2", [{"source": "Sun."}])
        data.put_outputs("alpha", "d2", ["Sonne."])
    shown = run("create", campaign, *NEW, "--dry-run")
    assert "3.15 dollars" in shown.stdout.decode(), shown.stderr
    early = run("create", campaign, *NEW, "--yes")
    assert (early.returncode, "the campaign is not open" in early.stderr.decode()) == (2, True), early
    answers = iter([True, False])
    with monkeypatch.context() as declining:
        declining.setattr("typer.confirm", lambda _: next(answers))
        declined = run("create", campaign, *NEW)
    assert (declined.returncode, "The campaign is not open yet." in declined.stdout.decode()) == (1, True), declined
    listed = served.managed(campaign).remote.iterate_paginated_list(f"/v1/campaigns/{campaign}/invitations")
    assert [one["live"] for one in listed] == [False]
    assert mturk["asked"] == []
    with monkeypatch.context() as opening:
        opening.setattr("typer.confirm", lambda _: plan_and_open(served, campaign))
        assert "\nH1\n" in run("create", campaign, *NEW).stdout.decode()
    (hit,) = mturk["hits"]
    assert (hit["Reward"], hit["MaxAssignments"], hit["AssignmentDurationInSeconds"]) == ("1.05", 3, 1800)
    assert "Read &amp; judge" in page_of(hit["Question"])
    codes = [take_part(served, campaign, link_of(hit), worker) for worker in ("W1", "W2")]
    assert codes == ["GOOD1", "GOOD1"]
    mturk["assignments"] += [
        assignment("a", "W1", "GOOD1"),
        assignment("b", "W2", "not <mine>"),
        assignment("c", "W3", "GOOD1"),
    ]
    mturk["asked"].clear()
    plan = run("settle", campaign, "H1", "--dry-run").stdout.decode()
    assert "no task of this participant is handed in" in plan
    assert "the code that was entered is not one of this participant's" in plan
    mturk["breaks"] = "ApproveAssignment"  # it pays, and its answer is lost
    broken = run("settle", campaign, "H1", "--yes")
    assert broken.returncode == 2, broken
    assert "mechanical turk cannot be reached" in broken.stderr.decode().lower()
    for _ in range(2):
        assert run("settle", campaign, "H1", "--yes").returncode == 0
    assert statuses(mturk) == {"a": "Approved", "b": "Submitted", "c": "Submitted"}
    assert [operation for operation, _ in mturk["asked"]].count("ApproveAssignment") == 1
    # The code that they were given is that of who failed.
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(campaign).change(settings={"quality": {"code_pass": "NEW33", "code_fail": "GOOD1"}})
    mturk["assignments"][1]["Answer"] = ANSWER.format("GOOD1")
    done = run("settle", campaign, "H1", "--yes")
    assert "b: rejected" in done.stdout.decode(), done
    assert statuses(mturk) == {"a": "Approved", "b": "Rejected", "c": "Submitted"}


def test_hits_that_are_not_of_the_campaign_are_refused(
    run: Any, served: Served, opened: str, mturk: dict[str, Any]
) -> None:
    assert run("create", opened, *NEW, "--yes").returncode == 0
    take_part(served, opened, link_of(mturk["hits"][0]), "W1")
    mturk["hits"] += [{"HITId": "bare"}, {"HITId": "other", "RequesterAnnotation": f"plumbline i_{'0' * 32}"}]
    for hit in ("bare", "other"):
        mturk["assignments"].append(assignment(hit, "W1", "GOOD1", hit=hit))
        refused = run("settle", opened, hit, "--yes")
        assert (refused.returncode, "does not belong to the campaign" in refused.stderr.decode()) == (2, True), refused
    unknown = run("settle", opened, "unknown", "--yes")
    assert (unknown.returncode, "does not exist" in unknown.stderr.decode()) == (2, True)
    assert set(statuses(mturk).values()) == {"Submitted"}


def test_what_mechanical_turk_refuses_leaves_no_invitation(
    run: Any, served: Served, opened: str, mturk: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mturk["refuses"] = True
    refused = run("create", opened, *NEW, "--yes")
    assert (refused.returncode, "your balance is too low" in refused.stderr.decode()) == (2, True)
    listed = served.managed(opened).remote.iterate_paginated_list(f"/v1/campaigns/{opened}/invitations")
    assert sorted(one["live"] for one in listed) == [False, True]


def test_a_server_that_goes_away_while_a_command_waits_leaves_no_invitation_without_a_word(
    run: Any, served: Served, opened: str, mturk: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again; and what cannot be ended then, the next run offers to end."""

    def invitations() -> list[tuple[str, bool]]:
        listed = served.managed(opened).remote.iterate_paginated_list(f"/v1/campaigns/{opened}/invitations")
        return [(str(one["invitation"]), bool(one["live"])) for one in listed if one["platform"] == "mturk"]

    asked: list[str] = []
    gone = {"server": True}
    reach = remote_server.RemoteServer.fetch_body, remote_server.RemoteServer.send_request

    def away(*_: Any, **__: Any) -> Any:
        raise remote_server.ServerUnreachable("nobody answers")

    def answer(question: str) -> bool:
        asked.append(question)
        for name, original in zip(("fetch_body", "send_request"), reach, strict=True):
            patched.setattr(remote_server.RemoteServer, name, away if gone["server"] else original)
        return len(asked) < 3

    with monkeypatch.context() as patched:
        patched.setattr("typer.confirm", answer)
        left = run("create", opened, *NEW)
    ((invitation, live),) = invitations()
    assert (left.returncode, live, len(asked)) == (2, True, 3), left
    assert left.stdout.decode().count("nobody answers") == 2
    assert invitation in left.stderr.decode()
    asked.clear()
    gone["server"] = False
    with monkeypatch.context() as patched:
        patched.setattr("typer.confirm", answer)
        made = run("create", opened, *NEW)
    assert (made.returncode, asked[0]) == (0, "End this invitation?"), made
    assert sorted(live for _, live in invitations()) == [False, True]
    assert dict(invitations())[invitation] is False
    third = run("create", opened, *NEW, "--yes")
    assert (third.returncode, "No HIT of yours" in third.stdout.decode()) == (0, False), "the others have theirs"


def test_a_hit_whose_answer_is_lost_is_made_once_and_keeps_its_invitation(
    run: Any, served: Served, opened: str, mturk: dict[str, Any]
) -> None:
    mturk["breaks"] = "CreateHIT"
    made = run("create", opened, *NEW, "--yes")
    assert (made.returncode, made.stdout.decode().splitlines()[:1]) == (0, ["H1"]), made
    assert [operation for operation, _ in mturk["asked"]] == ["CreateHIT", "CreateHIT", "ListHITs", "ListHITs"]
    listed = served.managed(opened).remote.iterate_paginated_list(f"/v1/campaigns/{opened}/invitations")
    assert sorted(one["live"] for one in listed) == [True, True]


def test_a_hit_may_be_there_where_a_later_try_is_refused_so_its_invitation_stays(
    run: Any, served: Served, opened: str, mturk: dict[str, Any]
) -> None:
    mturk |= {"breaks": "CreateHIT", "throttles": "CreateHIT"}
    made = run("create", opened, *NEW, "--yes")
    assert (made.returncode, "look there for the HIT" in made.stderr.decode()) == (2, True), made
    assert len(mturk["hits"]) == 1
    listed = served.managed(opened).remote.iterate_paginated_list(f"/v1/campaigns/{opened}/invitations")
    assert sorted(one["live"] for one in listed) == [True, True]


def test_who_entered_no_code_is_left_to_a_person_and_case_and_blanks_do_not_matter(
    run: Any, served: Served, opened: str, mturk: dict[str, Any]
) -> None:
    assert run("create", opened, *NEW, "--yes").returncode == 0
    take_part(served, opened, link_of(mturk["hits"][0]), "W1")
    mturk["assignments"] += [assignment("a", "W1", " "), {**assignment("b", "W1", ""), "Answer": "<other/>"}]
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(opened).change(settings={"quality": {"code_pass": "NEW33", "code_fail": "GOOD1"}})
    assert "Nothing was changed." in run("settle", opened, "H1", "--yes").stdout.decode()
    with Client(served.url, served.secret) as plumbline:
        plumbline.campaign(opened).change(settings={"quality": {"code_pass": "GOOD1", "code_fail": "NEW33"}})
    mturk["assignments"][1]["Answer"] = ANSWER.format(" good 1\n")
    assert "b: paid" in run("settle", opened, "H1", "--yes").stdout.decode()
    assert statuses(mturk) == {"a": "Submitted", "b": "Approved"}


def test_credentials_that_are_not_whole_are_named(
    run: Any, opened: str, mturk: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # it may have read credentials before
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    partial = run("settle", opened, "H1")
    assert (partial.returncode, "AWS_SECRET_ACCESS_KEY" in partial.stderr.decode()) == (2, True), partial
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    unknown = run("settle", opened, "H1")
    assert (unknown.returncode, "profile (nobody)" in unknown.stderr.decode()) == (2, True), unknown
    assert mturk["asked"] == []


def test_what_others_wrote_stays_text_in_the_page_of_a_hit() -> None:
    hostile = "]]></HTMLContent><script>alert(1)</script>"
    page = page_of(make_hit_question_xml(hostile, hostile, 'https://host/" onclick="x', "https://www.example.org/"))
    assert page.count("<script>") == 1
    assert "data-link='https://host/\" onclick=\"x'" in page


def test_the_commands_of_the_guide_do_what_it_says(
    command: Command, run: Any, spine: Spine, served: Served, mturk: dict[str, Any]
) -> None:
    with Client(served.url, served.secret) as plumbline:
        made = plumbline.create_campaign("try-turk", protocol="da", target_language="de").invite(40, platform="mturk")
    hit = "3XIQGXAUMC8U1E5UZ5HW0TEXAMPLE"
    invitation = made.link.partition("#invitation=")[2].partition(".")[0]
    mturk["hits"].append({"HITId": hit, "RequesterAnnotation": f"plumbline {invitation}"})
    commands = re.findall(r"^    plumbline (.*)$", GUIDE, re.MULTILINE)
    said = [command(spine.url, *shlex.split(words)) for words in commands]
    assert [answer.returncode for answer in said] == [0, 0, 0], said
    assert "40 places for 7 days, 120.00 dollars" in said[1].stdout.decode()
    assert "Nothing was changed." in said[2].stdout.decode()
    assert [operation for operation, _ in mturk["asked"]] == ["GetHIT", "ListAssignmentsForHIT"]
