"""States that a campaign is brought into before it goes out and in again: each does what somebody does to one."""

from __future__ import annotations

import sqlalchemy as sa

from tests.api.rehearsed import DOCUMENTS, SYSTEMS, Rehearsed, ok


def half_judged(live: Rehearsed) -> None:
    """A rater leaves in the middle of a task."""
    live.judge("r1", most=2)


def released(live: Rehearsed) -> None:
    """They give it back, and begin another."""
    for task in live.tasks(state="leased", rater="r1"):
        live.act("r1", f"/v1/tasks/{task}/release")
    live.judge("r1", most=1)


def reassigned(live: Rehearsed) -> None:
    """It is given to another, so that what was judged is surplus."""
    for task in live.tasks(state="leased", rater="r1"):
        body = {"rater": "r3", "reason": "on holiday"}
        live.client.post(f"{live.path}/tasks/{task}/reassign", json=body)  # not where nobody else may judge it
    live.judge("r3", most=1)


def expired(live: Rehearsed) -> None:
    """A lease runs out, and whoever asks next takes the task."""
    with live.database.transaction() as session:
        ran_out = "UPDATE tasks SET leased_until = now() - interval '1 day' WHERE state = 'leased' AND campaign_id = "
        session.execute(sa.text(ran_out + "(SELECT id FROM campaigns WHERE key = :key)"), {"key": live.key})
    live.judge("r2", most=1)


def revised(live: Rehearsed) -> None:
    """Everything, with second thoughts: the next rater in turn."""
    live.judge("r2")


def judged(live: Rehearsed) -> None:
    """Two raters finish, a third is half through."""
    live.judge("r1")
    live.judge("r2")
    live.judge("r3", most=2)


def voided(live: Rehearsed) -> None:
    """Some are set aside."""
    one = next(live.judgments())
    told = {"filter": {"task": one["task"], "document": one["document"]}, "reason": "a mistake"}
    ok(live.client.post(f"{live.path}/judgments/void", json=told))


def given_anew(live: Rehearsed) -> None:
    """A task is set aside and reopened, and its rater says everything again."""
    for task in live.tasks(state="handed_in")[:1]:
        said = {(one["item"], one["segment"]): one for one in live.judgments(task=task) if not one["surplus"]}
        (rater,) = {one["rater"] for one in said.values()}
        told = {"filter": {"task": task}, "reason": "misread the guidelines"}
        ok(live.client.post(f"{live.path}/judgments/void", json=told))
        ok(live.client.post(f"{live.path}/tasks/{task}/reopen", json={"reason": "again"}))
        live.say_again(rater, task, said.values())


def withdrawn(live: Rehearsed) -> None:
    """A replan takes tasks away, and another system than was planned comes."""
    segments = [{"source": "A late source.", "references": {"refA": "A late reference."}}] * 2
    ok(live.client.put(f"{live.path}/documents/d9", json={"position": 9, "segments": segments}))
    for system in SYSTEMS:
        texts = {"segments": [f"{system} came late {n}." for n in (1, 2)]}
        ok(live.client.put(f"{live.path}/systems/{system}/outputs/d9", json=texts))
    ok(live.client.post(f"{live.path}/plan/replan", json={"reason": "late"}))
    live.judge("r3", most=1)
    live.judge("r1", most=1)


def scored(live: Rehearsed) -> None:
    """An automatic metric has scores of outputs and of systems."""
    outputs = [
        {"system": system, "document": document, "segment": n, "score": 0.25 * n}
        for system in SYSTEMS
        for document in DOCUMENTS
        for n in (1, 2)
    ]
    body = {"systems": dict.fromkeys(SYSTEMS, 0.5), "outputs": outputs}
    ok(live.client.put(f"{live.path}/metrics/metric", json=body))


def locked(live: Rehearsed) -> None:
    """How the ranking is made is settled, where there is one."""
    told = live.client.post(f"{live.path}/lock", json={"recipe": "recommended", "reason": "late"})
    assert told.is_success or "rank nothing" in told.text, told.text


def excluded(live: Rehearsed) -> None:
    """A rater counts no longer."""
    ok(live.client.post(f"{live.path}/exclusions", json={"rater": "r3", "reason": "guessed"}))


def away(live: Rehearsed) -> None:
    """One rater pauses, another has left, and a third has come."""
    ok(live.client.put(f"{live.path}/raters/r4", json={}))
    live.put_rater("r1", state="paused")
    live.put_rater("r3", state="left")


def taken_away(live: Rehearsed) -> None:
    """A rater leaves with a task in hand, and a replan gives what they had to others."""
    if not live.tasks(state="leased", rater="r3"):
        live.judge("r3", most=1)
    live.put_rater("r3", state="left")
    ok(live.client.post(f"{live.path}/plan/replan", json={"reason": "left"}))
    live.judge("r2", most=1)


def erased(live: Rehearsed) -> None:
    """A rater is forgotten."""
    ok(live.client.delete("/v1/raters/r2", params={"campaign": live.key}))


def system_withdrawn(live: Rehearsed) -> None:
    """A system takes no longer part."""
    ok(live.client.put(f"{live.path}/systems/{SYSTEMS[-1]}", json={"state": "withdrawn"}))


def closed(live: Rehearsed) -> None:
    """Nobody judges any more."""
    ok(live.client.post(f"{live.path}/close"))


STATES = {
    one.__name__: one
    for one in (
        half_judged,
        released,
        reassigned,
        expired,
        revised,
        voided,
        given_anew,
        withdrawn,
        scored,
        locked,
        excluded,
        taken_away,
        away,
        erased,
        system_withdrawn,
        closed,
    )
}
"""In an order in which each can follow those before it."""
