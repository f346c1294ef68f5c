"""Plans are renewed within a campaign: what is finished stays, whole groups move, half-done ones are judged again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.domain.recipe import NAMED, ScoringChoice
from app.services.plans import replanning
from tests.api.live_campaign import (
    LIVE,
    RATERS,
    SYSTEMS,
    Auth,
    finish,
    judge_task,
    lease,
    ok,
    open_live,
    put_document,
    put_outputs,
    ranked,
    replan,
)

Ask = Callable[[str], list[tuple[Any, ...]]]


def test_a_rater_who_leaves_is_replaced_and_what_they_half_did_is_judged_again(
    live: httpx.Client, auth: Auth, ask_rows: Ask
) -> None:
    for _ in range(2):  # of the two tasks of r1's first group one is handed in, the other begun
        assert judge_task(live, auth("r1"), submit=_ == 0)
    judge_task(live, auth("r2"))
    seen = live.get(f"{LIVE}/raters/r1").headers["ETag"]
    ok(live.put(f"{LIVE}/raters/r1", json={"state": "left"}, headers={"If-Match": seen}))

    plan = replan(live)

    counts = plan["change"]["counts"]
    assert plan["version"] == 2
    assert counts["redone"] == 1
    assert counts["moved"] == 1
    finish(live, auth, "r2", "r3")
    assert ranked(live) == {"sysA": 12, "sysB": 12}
    assert ask_rows("SELECT count(*) FROM judgments") == [(4 + 24,)]
    per = ask_rows(
        """SELECT d.key, r.key, count(*) FROM judgments j JOIN items i ON i.id = j.item_id
           JOIN documents d ON d.id = i.document_id JOIN raters r ON r.id = j.rater_id
           WHERE i.surplus_from IS NULL GROUP BY 1, 2"""
    )
    assert Counter(row[0] for row in per) == {f"d{n}": 1 for n in range(1, 7)}  # one rater a document


def test_before_the_replan_the_work_counted_and_as_of_then_it_still_does(live: httpx.Client, auth: Auth) -> None:
    judge_task(live, auth("r1"))
    before = ok(live.get(LIVE))["data_version"]
    judge_task(live, auth("r1"), submit=False)
    seen = live.get(f"{LIVE}/raters/r1").headers["ETag"]
    ok(live.put(f"{LIVE}/raters/r1", json={"state": "left"}, headers={"If-Match": seen}))

    replan(live)

    now = ok(live.get(f"{LIVE}/ranking", params={"normalize": "none"}))
    then = ok(live.get(f"{LIVE}/ranking", params={"normalize": "none", "as_of": str(before)}))
    assert sum(one["n_ratings"] for one in then["systems"]) == 2
    assert sum(one["n_ratings"] for one in now["systems"]) < 4


def test_a_task_that_a_manager_moved_is_planned_on_where_it_is(live: httpx.Client, auth: Auth, ask_rows: Ask) -> None:
    ok(live.put(f"{LIVE}/raters/r4", json={}))
    replan(live)
    mine = [one["task"] for one in ok(live.get(f"{LIVE}/tasks", params={"rater": "r1"}))["items"]]
    for task in mine:
        ok(live.post(f"{LIVE}/tasks/{task}/reassign", json={"rater": "r4", "reason": "r1 is away"}))
    assert judge_task(live, auth("r4"), submit=False)

    plan = replan(live)

    assert plan["change"]["counts"] == {"stayed": 6}
    theirs = ask_rows(
        "SELECT r.key, t.state FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE r.key IN ('r1', 'r4')"
    )
    assert sorted(theirs) == [("r4", "free")] * (len(mine) - 1) + [("r4", "leased")]


def test_nobody_judges_again_what_a_manager_gave_them(admin: httpx.Client, auth: Auth, ask_rows: Ask) -> None:
    open_live(admin, raters=("r1", "r2", "r3", "r4"), ratings_per_item=2)
    listed = ok(admin.get(f"{LIVE}/tasks", params={"limit": 100}))["items"]
    having = {n: {one["rater"] for one in listed if one["items"][0]["document"] == f"d{n}"} for n in range(1, 7)}
    n = min(n for n, raters in having.items() if "r1" in raters)
    (stays,) = having[n] - {"r1"}
    gets = min({"r2", "r3", "r4"} - {stays})
    for one in listed:
        if one["rater"] == "r1" and one["items"][0]["document"] == f"d{n}":
            ok(admin.post(f"{LIVE}/tasks/{one['task']}/reassign", json={"rater": gets, "reason": "r1 is away"}))
    finish(admin, auth, gets)
    for rater in {"r1", "r2", "r3", "r4"} - {gets}:
        seen = admin.get(f"{LIVE}/raters/{rater}").headers["ETag"]
        ok(admin.put(f"{LIVE}/raters/{rater}", json={"state": "left"}, headers={"If-Match": seen}))

    replan(admin)
    finish(admin, auth, gets)

    done = "SELECT count(*) FROM judgments j JOIN items i ON i.id = j.item_id GROUP BY i.document_id"
    assert ask_rows(done) == [(4,)] * 6


def test_those_whom_an_ended_invitation_brought_keep_their_seats(admin: httpx.Client) -> None:
    made: dict[str, Any] = {}

    def invited() -> None:
        made.update(ok(admin.post(f"{LIVE}/invitations", json={"count": 2})))

    open_live(admin, raters=(), before=invited)
    claim = {"secret": made["secret"], "external_id": "P1", "want": "token"}
    got = ok(admin.post(f"/v1/invitations/{made['invitation']}/claim", json=claim))
    theirs = {"Authorization": f"Bearer {got['token']}"}
    assert judge_task(admin, theirs)
    assert admin.delete(f"{LIVE}/invitations/{made['invitation']}").status_code in {200, 204}

    replan(admin)

    while judge_task(admin, theirs):
        pass
    assert ranked(admin) == {"sysA": 12, "sysB": 12}


@pytest.mark.parametrize("stays", [1, *(pytest.param(stays, marks=pytest.mark.soak) for stays in (0, 2))])
def test_what_an_invited_rater_has_begun_stays_theirs_though_the_seat_it_was_planned_for_is_gone(
    admin: httpx.Client, ask: Callable[[str], None], ask_rows: Ask, stays: int
) -> None:
    made: dict[str, Any] = {}

    def invited() -> None:
        made.update(ok(admin.post(f"{LIVE}/invitations", json={"count": 3})))

    open_live(admin, raters=(), before=invited)
    begun, people = [], []
    for n in range(3):  # each begins a task that was planned for another seat
        claim = {"secret": made["secret"], "external_id": f"P{n}", "want": "token"}
        got = ok(admin.post(f"/v1/invitations/{made['invitation']}/claim", json=claim))
        people.append({"Authorization": f"Bearer {got['token']}"})
        begun.append(lease(admin, people[n])["task"])
        judge_task(admin, people[n], submit=False)
    ask(f"""UPDATE enrolments SET state = 'left' WHERE rater_id NOT IN (
                SELECT rater_id FROM tasks WHERE public_id = '{begun[stays]}')""")
    assert admin.delete(f"{LIVE}/invitations/{made['invitation']}").status_code in {200, 204}

    replan(admin)

    assert lease(admin, people[stays])["task"] == begun[stays]
    while judge_task(admin, people[stays]):
        pass
    assert ranked(admin) == {"sysA": 12, "sysB": 12}


def test_a_late_system_is_judged_by_those_who_judged_the_others(live: httpx.Client, auth: Auth, ask_rows: Ask) -> None:
    finish(live, auth, "r1")
    judge_task(live, auth("r2"))
    ok(live.put(f"{LIVE}/systems/sysC", json={}))
    for d in range(1, 7):
        put_outputs(live, d, "sysC")

    plan = replan(live)

    assert plan["report"]["unmet"] == []
    finish(live, auth, *RATERS)
    assert ranked(live) == {"sysA": 12, "sysB": 12, "sysC": 12}
    per = ask_rows(
        """SELECT DISTINCT d.key, r.key FROM judgments j JOIN items i ON i.id = j.item_id
           JOIN documents d ON d.id = i.document_id JOIN raters r ON r.id = j.rater_id"""
    )
    assert Counter(row[0] for row in per) == {f"d{n}": 1 for n in range(1, 7)}
    assert set(replan(live)["change"]["counts"]) == {"stayed"}  # nothing is dealt again


def test_a_withdrawn_system_is_judged_no_more(live: httpx.Client, auth: Auth) -> None:
    ok(live.put(f"{LIVE}/systems/sysB", json={"state": "withdrawn"}))

    replan(live)

    finish(live, auth, *RATERS)
    assert ranked(live)["sysA"] == 12
    assert ranked(live).get("sysB", 0) == 0


def withdraw(client: httpx.Client, state: str = "withdrawn") -> None:
    ok(client.put(f"{LIVE}/systems/sysB", json={"state": state}))


def ranking(client: httpx.Client, recipe: str, **options: Any) -> Any:
    return ok(client.get(f"{LIVE}/ranking", params={"recipe": recipe, "normalize": "none", **options}))


def test_a_system_withdrawn_in_the_middle_is_ranked_by_no_recipe_which_says_so(live: httpx.Client, auth: Auth) -> None:
    finish(live, auth, "r1")
    recipes = [one.name for one in NAMED.values() if one.aggregate != "macro_domain" and one.scoring == ScoringChoice()]
    before = {recipe: ranking(live, recipe)["systems"] for recipe in recipes}
    version = live.get(LIVE).json()["data_version"]

    withdraw(live)

    for recipe in recipes:
        ranked = ranking(live, recipe)
        assert [one["system"] for one in ranked["systems"]] == ["sysA"]
        assert {"reason": "withdrawn system sysB", "n": 4} in ranked["dropped"]
        assert sum("sysB was withdrawn from the campaign" in one for one in ranked["warnings"]) == 1
        assert ranking(live, recipe, as_of=version)["systems"] == before[recipe]
    withdraw(live, "active")
    assert {recipe: ranking(live, recipe)["systems"] for recipe in recipes} == before


def test_a_withdrawn_system_leaves_the_z_scores_of_the_others_alone(live: httpx.Client, auth: Auth) -> None:
    for rater in RATERS[:2]:
        judge_task(live, auth(rater))
    withdraw(live)
    replan(live)
    finish(live, auth, *RATERS)

    assert ranking(live, "recommended", normalize="auto")["recipe"]["normalize"] == "z"


@pytest.mark.parametrize("lifted", [False, True])
def test_the_exclusion_of_a_withdrawn_system_is_listed_once_and_can_be_lifted(
    live: httpx.Client, auth: Auth, lifted: bool
) -> None:
    finish(live, auth, "r1")
    withdraw(live)
    ok(live.put(f"{LIVE}/systems/sysB", json={"state": "withdrawn", "lab": "Lab"}))  # withdrawn already

    listed = live.get(f"{LIVE}/exclusions").json()["items"]
    assert [(one["what"], one["key"], one["lifted"]) for one in listed] == [("system", "sysB", None)]
    if lifted:
        n = listed[0]["exclusion"]
        assert live.delete(f"{LIVE}/exclusions/{n}", params={"reason": "rank it"}).status_code == 200
    assert {one["system"] for one in ranking(live, "recommended")["systems"]} == {"sysA", *(["sysB"] if lifted else [])}
    withdraw(live, "active")
    assert {one["system"] for one in ranking(live, "recommended")["systems"]} == {"sysA", "sysB"}


def test_a_system_that_was_excluded_for_another_reason_stays_so_when_it_takes_part_again(
    live: httpx.Client, auth: Auth
) -> None:
    finish(live, auth, "r1")
    ok(live.post(f"{LIVE}/exclusions", json={"system": "sysB", "reason": "wrong outputs"}))
    withdraw(live)
    withdraw(live, "active")

    assert [one["system"] for one in ranking(live, "recommended")["systems"]] == ["sysA"]
    assert [one["reason"] for one in live.get(f"{LIVE}/exclusions").json()["items"]] == ["wrong outputs"]


def test_bought_documents_are_dealt_and_a_closed_campaign_opens_for_them(live: httpx.Client, auth: Auth) -> None:
    finish(live, auth, *RATERS)
    for d in (7, 8, 9):
        put_document(live, d, SYSTEMS)

    plan = replan(live)

    assert plan["change"]["counts"] == {"stayed": 6, "new": 3}
    finish(live, auth, *RATERS)
    assert ranked(live) == {"sysA": 18, "sysB": 18}


def test_a_replan_of_a_replan_goes_on_from_it(live: httpx.Client, auth: Auth) -> None:
    judge_task(live, auth("r1"))
    put_document(live, 7, SYSTEMS)
    replan(live)
    judge_task(live, auth("r2"))
    seen = live.get(f"{LIVE}/raters/r3").headers["ETag"]
    ok(live.put(f"{LIVE}/raters/r3", json={"state": "left"}, headers={"If-Match": seen}))

    third = replan(live)

    assert third["version"] == 3
    finish(live, auth, "r1", "r2")
    assert ranked(live) == {"sysA": 14, "sysB": 14}


def test_a_dry_run_changes_nothing(live: httpx.Client, ask_rows: Ask) -> None:
    put_document(live, 7, SYSTEMS)
    before = ask_rows("SELECT id, state, rater_id FROM tasks ORDER BY id")

    answer = live.post(f"{LIVE}/plan/replan", json={"reason": "look"}, params={"dry_run": "true"})

    assert answer.status_code == 200, answer.text
    assert answer.json()["change"]["counts"]["new"] == 1
    assert ask_rows("SELECT id, state, rater_id FROM tasks ORDER BY id") == before


def test_documents_that_are_not_there_are_named(live: httpx.Client) -> None:
    answer = live.post(f"{LIVE}/plan/replan", json={"reason": "x", "documents": ["d1", "nowhere"]})

    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["errors"]] == [["body", "documents", 0], ["body", "documents", 1]]


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], list[int]]:
    """Let something happen each time that a replan has compiled its plan and not stored it yet."""

    def hook(happens: Callable[[int], None]) -> list[int]:
        compile_it, times = replanning.plan_remaining_tasks, list[int]()

        def compiled(*args: Any, **given: Any) -> Any:
            found = compile_it(*args, **given)
            times.append(len(times) + 1)
            happens(times[-1])
            return found

        monkeypatch.setattr(replanning, "plan_remaining_tasks", compiled)
        return times

    return hook


def _held(url: str) -> bool:
    """Whether somebody has the campaign's row."""
    with psycopg.connect(url) as db:
        return db.execute("SELECT 1 FROM campaigns FOR UPDATE SKIP LOCKED").fetchone() is None


def test_raters_lease_while_a_plan_is_compiled_and_what_they_took_stays_theirs(
    live: httpx.Client, auth: Auth, compiling: Any, ask_rows: Ask
) -> None:
    headers, leased = auth("r2"), []

    def happens(time: int) -> None:
        if time == 1:
            leased.append(lease(live, headers)["task"])

    times = compiling(happens)
    ok(live.put(f"{LIVE}/raters/r4", json={}))

    plan = replan(live)

    assert (times, plan["version"]) == ([1, 2], 2)
    assert ask_rows(f"SELECT state, plan FROM tasks WHERE public_id = '{leased[0]}'") == [("leased", 2)]
    assert lease(live, headers)["task"] == leased[0]


def test_where_something_changes_each_time_the_last_compiling_holds_all_others_up(
    live: httpx.Client, auth: Auth, compiling: Any, database_url: str
) -> None:
    held = []

    def happens(time: int) -> None:
        held.append(_held(database_url))
        if not held[-1]:
            lease(live, auth(RATERS[time - 1]))

    times = compiling(happens)

    assert replan(live)["version"] == 2
    assert (times, held) == ([1, 2, 3], [False, False, True])


def test_what_is_judged_while_a_plan_is_compiled_does_not_make_it_compile_again(
    live: httpx.Client, auth: Auth, compiling: Any, ask_rows: Ask
) -> None:
    task = lease(live, auth("r1"))
    place = f"/v1/tasks/{task['task']}/judgments/1/1"
    judge = {"json": {"protocol": "da", "score": 9}, "headers": auth("r1")}
    times = compiling(lambda _: ok(live.put(place, **judge)))

    replan(live)

    assert times == [1]
    assert ask_rows("SELECT count(*) FROM judgments") == [(1,)]


CHECK = {
    "kind": "attention",
    "segments": [
        {
            "source": "It rained.",
            "meta": {"attention": {"text": "sysA: Es schneite.", "rules": [{"measure": "score", "most": 95}]}},
        }
    ],
}


@pytest.mark.parametrize("leaves", [True, False])
def test_a_replan_leaves_an_attention_check_in_hand_to_its_rater(
    live: httpx.Client, auth: Auth, ask_rows: Ask, leaves: bool
) -> None:
    seen = live.get(LIVE).headers["ETag"]
    ok(live.patch(LIVE, json={"settings": {"attention": {"rate": 1.0}}}, headers={"If-Match": seen}))
    ok(live.put(f"{LIVE}/documents/check", json=CHECK))
    check = lease(live, auth("r1"))
    assert check["items"][0]["segments"][0]["text"] == "sysA: Es schneite."
    if leaves:
        seen = live.get(f"{LIVE}/raters/r1").headers["ETag"]
        ok(live.put(f"{LIVE}/raters/r1", json={"state": "left"}, headers={"If-Match": seen}))
    else:
        ok(live.put(f"{LIVE}/raters/r4", json={}))
    plan = replan(live)
    assert plan["version"] == 2
    assert (plan["change"]["counts"].get("moved", 0) > 0) is leaves
    assert ask_rows("SELECT state, plan, meta #>> '{attention,try}' FROM tasks WHERE plan IS NULL") == [
        ("leased", None, "1")
    ]
    at_work = ("r2", "r3") if leaves else (*RATERS, "r4")
    finish(live, auth, *at_work)
    assert ranked(live) == {"sysA": 12, "sysB": 12}
    rows = ok(live.get(f"{LIVE}/attention-checks/results"))["items"]
    assert {row["rater"] for row in rows if row["passed"] == 1} == set(at_work) - {"r4"}  # nothing was left for r4
