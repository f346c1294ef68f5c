"""Replans that take long to compile: a worker compiles, and whoever asks again does to the campaign what it found.

Raters go on meanwhile. What they hand in of the tasks that they have changes nothing that is new; a task that somebody
begins does, and the question is another then. Where raters were faster than the workers again and again, the plan is
compiled in the request, with nobody leasing or judging, so that a replan comes to an end.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from app.design.buckets import one_rater_per_person
from app.design.replan import Replan
from app.reports.kit.report import ReportWork, make_undivided_work
from app.reports.kit.store import make_report_key
from app.services.campaigns.campaigns import get
from app.services.jobs.jobs import AskedOtherwise, Request
from app.services.plans import expected_time, plan_input, plans, replanning
from app.services.plans.plan_jobs import Later, StoredPlan, as_asked, as_stored_report, digest_of, rests_on
from app.services.plans.plans import PlanView
from app.services.plans.replanning import ATTEMPTS, Basis, CompiledReplan, NoPlanYet, RemainingWork, Wish
from app.storage import campaigns, jobs
from app.storage import plans as stored_plans
from app.storage import reports as stored
from app.storage.db import Database, Session

KIND = "replan"
_FOUND = TypeAdapter(Replan)


def replan_campaign(
    session: Session,
    campaign: str,
    *,
    bought: Sequence[str] | None,
    rebalance: bool = False,
    reason: str,
    dry_run: bool,
    actor: str,
) -> PlanView:
    """As `replanning.replan_campaign`, which it is where compiling is quick; else with what a job has compiled.

    Raises as it does, and Later where no job has yet.
    """

    def make(session: Session, campaign: str, wish: Wish) -> CompiledReplan:
        basis = replanning.rests_on(session, campaign)
        left = replanning.left_of(session, campaign, basis, wish)
        if not expected_time.takes_long(left.old.design, left.material):
            return replanning.compiled_of(session, basis, left)
        request = _request(session, basis, left, reason, dry_run=dry_run)
        body = stored.find(session, request.key)
        if body is not None:
            return _compiled(basis, left, body)
        if dry_run or jobs.n_alike(session, request.key.campaign_id, KIND, request.given["question"]) < ATTEMPTS - 1:
            raise Later(request)
        replanning.hold(session, campaign)
        return replanning.compile_replan(session, campaign, wish)

    return replanning.replan_campaign(
        session,
        campaign,
        bought=bought,
        rebalance=rebalance,
        reason=reason,
        dry_run=dry_run,
        actor=actor,
        make=make,
    )


def _compiled(basis: Basis, left: RemainingWork, body: bytes) -> CompiledReplan:
    kept = StoredPlan.model_validate_json(body)
    compiled = _FOUND.validate_json(gzip.decompress(kept.compiled))
    return CompiledReplan(left, basis, compiled, replanning.merge(left.old, compiled), kept.report)


def _request(session: Session, basis: Basis, left: RemainingWork, reason: str, *, dry_run: bool) -> Request:
    """question: the same as long as only raters went on. The reason is told, and is no part of what is asked."""
    planned = plans.unpack(left.before.compiled)
    now = replanning.holders(planned, basis.tasks, basis.material.seats)
    staying = {rater.key for rater in one_rater_per_person(left.material.raters)[0]}
    whose = {task.number: task.rater for task in left.old.tasks}
    # Of who stays, what is handed in and what is begun come to the same, and the one becomes the other all the time.
    done = sorted(number for number in left.handed_in if whose[number] not in staying)
    begun = sorted((left.handed_in | left.started) - set(done))
    given = {
        "question": _question(session, left),
        "tasks": {"handed_in": done, "started": begun, "held": sorted([n, rater] for n, rater in now.items())},
        "bought": list(left.bought),
        "rebalance": left.rebalance,
    }
    key = _key(left, given)
    version = int(left.view.data_version)
    return Request(KIND, key, {left.view.key: version}, {**given, "reason": reason, "dry_run": dry_run}, role="manager")


def _question(session: Session, left: RemainingWork) -> str:
    campaign_id, before = int(left.before.campaign_id), left.before
    beside = rests_on(session, left.view, campaign_id, left.material)
    how = ["rebalance"] if left.rebalance else []
    return digest_of([int(before.version), bytes(before.hash).hex(), beside, list(left.bought), *how])


def _key(left: RemainingWork, given: Mapping[str, Any]) -> stored.ReportKey:
    """Under the data version of the plan in force, for that of the campaign counts every task that is handed in."""
    parts = [given["question"], given["tasks"]]
    before, seed = left.before, left.old.seed
    version = int(before.data_version)
    return make_report_key(before.campaign_id, KIND, version, parts, seed=seed, method_version=plans.METHOD_VERSION)


def work(database: Database, request: Request) -> ReportWork[bytes]:
    """What remains to be done for a job once the data are read. Raises AskedOtherwise."""
    ((campaign, version),) = request.campaigns.items()
    given = request.given
    with database.transaction(snapshot=True) as session:
        with as_asked():
            left = _left(session, campaign, given)
            if _question(session, left) != given["question"]:
                raise AskedOtherwise
        known = left.known(session, version)

    def make() -> bytes:
        replanned = left.replanned()
        merged = replanning.merge(left.old, replanned)
        view = plans.preview_plan(
            replace(left.view, data_version=version),
            left.before.design,
            merged.plan,
            left.report(merged.plan, known),
            plans.digest_of(merged.plan, left.material),
            version,
            change=replanning.change_of(replanned, given["reason"]),
        )
        return as_stored_report(view, gzip.compress(_FOUND.dump_json(replanned), compresslevel=6, mtime=0))

    return make_undivided_work(make)


def _left(session: Session, campaign: str, given: Mapping[str, Any]) -> RemainingWork:
    """What is left to plan, the tasks as they were when it was asked for."""
    row, view = campaigns.get(session, campaign), get(session, campaign)
    before = stored_plans.latest(session, row.id)
    if before is None:
        raise NoPlanYet
    tasks, planned = given["tasks"], plans.unpack(before.compiled)
    known = {task.number for task in planned.tasks}
    if not known.issuperset((*tasks["handed_in"], *tasks["started"])):  # of a plan that is in force no more
        raise AskedOtherwise
    calibration = planned.design.calibration
    material = plan_input.read(session, view, row.id)
    return RemainingWork(
        view=view,
        before=before,
        old=replanning.move_tasks(planned, dict(tasks["held"])),
        material=plan_input.with_calibration_set(material, calibration.set if calibration else None),
        handed_in=frozenset(tasks["handed_in"]),
        started=frozenset(tasks["started"]),
        bought=tuple(given["bought"]),
        rebalance=bool(given.get("rebalance")),
    )
