"""Checks of a rater's session: lease, view, judge, change, replay, hand in, and all requests that must be refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.client.campaign_client import CampaignClient
from app.conformance.simulated_front_end import PLANTED, CheckResult, SimulatedFrontEnd

PROBLEM = "application/problem+json"
NO_TASK = "t_" + "0" * 32
OK, CONFLICT, STALE, UNKNOWN, MALFORMED = 200, 409, 412, 404, 422
NOBODY = 401
Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskCheckContext:
    """What the checks work on. one, other: two different payloads, if the protocol has two that fit the text."""

    managed: CampaignClient
    front: SimulatedFrontEnd
    stranger: SimulatedFrontEnd
    task: Told
    one: object
    other: object

    @property
    def task_path(self) -> str:
        """The path of the task."""
        return f"/v1/tasks/{self.task['task']}"

    def fetch_shown_answers(self) -> list[Told | None]:
        """Return the rater's own answers as the task shows them now."""
        shown = self.front.get_task(self.task)
        return [segment["judgment"] for item in shown["items"] for segment in item["segments"]]

    def list_segments_to_judge(self) -> list[tuple[int, int]]:
        """Return item and segment of every judgment that the task asks for."""
        return [(item["item"], segment["segment"]) for item in self.task["items"] for segment in item["segments"]]


def run_rater_session_checks(
    managed: CampaignClient, fronts: Sequence[SimulatedFrontEnd], payload: object, other_payload: object
) -> Iterator[CheckResult]:
    """Check every rule, in the order of a session. fronts: of two raters; the first of them gets a task.

    payload, other_payload: two different ones, if the protocol has two that fit the text.
    """
    front, stranger = fronts
    task = front.lease_task()
    yield CheckResult("a lease gives a task", ok=task is not None)
    if task is None:
        return
    at = TaskCheckContext(managed, front, stranger, task, payload, other_payload)
    for rule in (
        _check_lease,
        _check_heartbeat,
        _check_refusals,
        _check_strangers,
        _check_batches,
        _check_judging,
        _check_replay,
        _check_missing,
        _check_hand_in,
    ):
        yield from rule(at)


def _check_status(name: str, answer: httpx.Response, status: int) -> CheckResult:
    """Check the status of an answer. An error must be a problem document with all its members."""
    ok = answer.status_code == status
    if ok and status >= httpx.codes.BAD_REQUEST:
        ok = answer.headers.get("content-type") == PROBLEM and {"type", "title", "status", "errors"} <= set(
            answer.json()
        )
    return CheckResult(name, ok, f"{answer.status_code} {answer.headers.get('content-type', '')}")


def _check_lease(at: TaskCheckContext) -> Iterator[CheckResult]:
    again = at.front.lease_task()
    yield CheckResult(
        "leasing again gives the task that is held", ok=again is not None and again["task"] == at.task["task"]
    )
    yield CheckResult(
        "the task is leased, until when it says", at.task["state"] == "leased" and bool(at.task["leased_until"])
    )
    content = json.dumps(at.task)
    blind = not any(word in content for word in (*PLANTED, '"role"', '"system"'))
    yield CheckResult("the task names no system, no document and no role", blind)
    missing = [(one["item"], one["segment"]) for one in at.task["missing"]]
    yield CheckResult(
        "`missing` names every address, and no other", missing == at.list_segments_to_judge(), str(missing)
    )


def _check_heartbeat(at: TaskCheckContext) -> Iterator[CheckResult]:
    events = [{"session": "conformance", "seq": n, "kind": "focus", "at_ms": 1000 * n} for n in range(2)]
    first = at.front.send_request("POST", f"{at.task_path}/heartbeat", {"events": events})
    yield _check_status("a heartbeat with events is taken", first, OK)
    yield _check_status(
        "the same events again are taken",
        at.front.send_request("POST", f"{at.task_path}/heartbeat", {"events": events}),
        OK,
    )
    before, after = at.task["leased_until"], first.json().get("leased_until")
    yield CheckResult(
        "a heartbeat extends the lease", ok=after is not None and after >= before, detail=f"{before} {after}"
    )


def _check_refusals(at: TaskCheckContext) -> Iterator[CheckResult]:
    item, segment = at.list_segments_to_judge()[0]
    yield _check_status(
        "an unknown protocol is 422",
        at.front.send_judgment(at.task, item, segment, {"protocol": "none~such"}),
        MALFORMED,
    )
    yield _check_status(
        "a payload that is no object is 422", at.front.send_judgment(at.task, item, segment, [1]), MALFORMED
    )
    yield _check_status("an unknown item is 404", at.front.send_judgment(at.task, 9999, 1, at.one), UNKNOWN)
    yield _check_status("an unknown segment is 404", at.front.send_judgment(at.task, item, 9999, at.one), UNKNOWN)
    yield _check_status("an unknown task is 404", at.front.send_judgment({"task": NO_TASK}, 1, 1, at.one), UNKNOWN)
    yield CheckResult("what was refused left nothing", ok=not any(at.fetch_shown_answers()))


def _check_strangers(at: TaskCheckContext) -> Iterator[CheckResult]:
    item, segment = at.list_segments_to_judge()[0]
    yield _check_status("another rater's task is 404", at.stranger.send_request("GET", at.task_path), UNKNOWN)
    yield _check_status(
        "judging in another rater's task is 404", at.stranger.send_judgment(at.task, item, segment, at.one), UNKNOWN
    )
    yield _check_status("handing in another rater's task is 404", at.stranger.hand_in_task(at.task), UNKNOWN)
    nobody = at.front.client.get(at.task_path)
    yield _check_status("without a credential it is 401", nobody, NOBODY)
    wrong = at.front.client.get(at.task_path, headers={"Authorization": "Bearer plb_000000000000_wrong"})
    yield _check_status("with a wrong credential it is 401", wrong, NOBODY)
    yield CheckResult("what strangers tried left nothing", ok=not any(at.fetch_shown_answers()))


def _check_batches(at: TaskCheckContext) -> Iterator[CheckResult]:
    item, segment = at.list_segments_to_judge()[-1]
    good = {"item": item, "segment": segment, "payload": at.one, "if_match": 0}
    bad = at.front.send_request("POST", f"{at.task_path}/judgments", [good, {**good, "segment": 9999}])
    yield _check_status("many at once with one bad address are refused", bad, MALFORMED)
    yield CheckResult("of many at once all are stored or none", ok=not any(at.fetch_shown_answers()))
    yield _check_status(
        "many at once are stored", at.front.send_request("POST", f"{at.task_path}/judgments", [good]), OK
    )
    yield _check_status(
        "many at once may be sent again", at.front.send_request("POST", f"{at.task_path}/judgments", [good]), OK
    )
    answer = at.fetch_shown_answers()[-1]
    yield CheckResult(
        "sent again they are no new revision", ok=answer is not None and answer["revision"] == 1, detail=f"{answer}"
    )


def _check_judging(at: TaskCheckContext) -> Iterator[CheckResult]:
    item, segment = at.list_segments_to_judge()[0]
    first = at.front.send_judgment(at.task, item, segment, at.one, 0)
    yield _check_status('an answer with `If-Match: "0"` is stored', first, OK)
    yield CheckResult("it is revision 1, and `ETag` says so", _revision(first, 1), first.text[:200])
    again = at.front.send_judgment(at.task, item, segment, at.one, 0)
    yield CheckResult(
        "the same answer again is the same revision", again.status_code == OK and _revision(again, 1), again.text
    )
    if at.other == at.one:
        return
    stale = at.front.send_judgment(at.task, item, segment, at.other, 0)
    yield _check_status("another answer to a state that is past is 412", stale, STALE)
    both = stale.json() if stale.status_code == STALE else {}
    yield CheckResult("412 shows both answers", {"stored", "sent"} <= set(both), str(both)[:200])
    changed = at.front.send_judgment(at.task, item, segment, at.other, 1)
    yield CheckResult("a change to the state that is seen is revision 2", _revision(changed, 2), changed.text[:200])


def _check_replay(at: TaskCheckContext) -> Iterator[CheckResult]:
    if at.other == at.one:
        return
    item, segment = at.list_segments_to_judge()[0]
    late = at.front.send_judgment(at.task, item, segment, at.one, 0)
    yield CheckResult(
        "a late replay of the first answer is told 200 with that answer", late.status_code == OK, late.text[:200]
    )
    answer = at.fetch_shown_answers()[0]
    kept = answer is not None and answer["revision"] == 2
    yield CheckResult("and does not undo the newer one", kept, str(answer))
    last = at.front.send_judgment(at.task, item, segment, at.one)
    yield CheckResult("without `If-Match` the last write wins", _revision(last, 3), last.text[:200])


def _revision(answer: httpx.Response, wanted: int) -> bool:
    matches = answer.status_code == OK and answer.json()["revision"] == wanted
    return matches and answer.headers.get("etag") == f'"{wanted}"'


def _check_missing(at: TaskCheckContext) -> Iterator[CheckResult]:
    early = at.front.hand_in_task(at.task)
    yield _check_status("handing in too early is 409", early, CONFLICT)
    answers = at.fetch_shown_answers()
    left = [place for place, answer in zip(at.list_segments_to_judge(), answers, strict=True) if answer is None]
    named = [one["loc"] for one in early.json().get("errors", [])]
    wanted = [["items", item, "segments", segment] for item, segment in left]
    yield CheckResult("and names every missing judgment", bool(left) and named == wanted, f"{named}")
    for item, segment in left:
        at.front.send_judgment(at.task, item, segment, at.one, 0)


def _check_hand_in(at: TaskCheckContext) -> Iterator[CheckResult]:
    item, segment = at.list_segments_to_judge()[0]
    done = at.front.hand_in_task(at.task)
    yield _check_status("handing in is taken once nothing is missing", done, OK)
    again = at.front.hand_in_task(at.task)
    same = again.status_code == OK and again.json() == done.json() and bool(done.json().get("completion_code"))
    yield CheckResult("handing in again gives the same completion code", same, again.text[:200])
    late = at.front.send_judgment(at.task, item, segment, at.other)
    yield _check_status("judging what is handed in is 409", late, CONFLICT)

    yield _check_status(
        "releasing what is handed in is 409", at.front.send_request("POST", f"{at.task_path}/release"), CONFLICT
    )
    yield CheckResult("the task says that it is handed in", at.front.get_task(at.task)["state"] == "handed_in")
    next_task = at.front.send_lease_request().json()
    yield CheckResult(
        "there is no other task, and it says why",
        next_task["task"] is None and next_task["why"] == "finished",
        str(next_task),
    )
    at.managed.change_campaign_state("close")
    closed = at.stranger.lease_task()
    yield CheckResult("a closed campaign gives no task", closed is None)
