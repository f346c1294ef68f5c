"""Replans that take long to compile: a worker compiles them, and a repeated request applies the result.

Raters continue in the meantime. Handing in a task that a rater already has does not change the new plan, but beginning
a task does, and then a new job is needed. If raters were repeatedly faster than the workers, the request itself
compiles the plan while leasing and judging are blocked, so that a replan always completes.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from app.design.buckets import keep_one_account_per_person
from app.design.replan import Replan
from app.reports.kit.report import ReportComputation, make_undivided_computation
from app.reports.kit.store import make_report_key_from_parts
from app.services.campaigns.campaigns import get_campaign
from app.services.jobs.jobs import JobInputsChanged, JobRequest
from app.services.plans import compile_time_estimate, plan_input, plans, replanning
from app.services.plans.plan_jobs import (
    PlanJobResult,
    PlanNeedsJob,
    encode_plan_job_result,
    hash_as_canonical_json,
    list_plan_cache_key_parts,
    reraise_as_job_inputs_changed,
)
from app.services.plans.plans import PlanView
from app.services.plans.replanning import ATTEMPTS, CompiledReplan, NoPlanYet, RemainingWork, ReplanInput, ReplanRequest
from app.storage import campaigns, jobs
from app.storage import plans as stored_plans
from app.storage import reports as stored
from app.storage.db import Database, Session

KIND = "replan"
_FOUND = TypeAdapter(Replan)


def replan_or_require_job(
    session: Session,
    campaign: str,
    *,
    bought: Sequence[str] | None,
    rebalance: bool = False,
    reason: str,
    dry_run: bool,
    actor: str,
) -> PlanView:
    """Do what `replanning.replan_campaign` does, but take a slow compilation from a job.

    Raises the same errors, and PlanNeedsJob if no job has compiled the plan yet.
    """

    def make(session: Session, campaign: str, wish: ReplanRequest) -> CompiledReplan:
        basis = replanning.load_replan_input(session, campaign)
        left = replanning.compute_remaining_work(session, campaign, basis, wish)
        if not compile_time_estimate.is_compilation_slow(left.old.design, left.material):
            return replanning.compile_remaining_work(session, basis, left)
        request = _request(session, basis, left, reason, dry_run=dry_run)
        body = stored.find_report(session, request.key)
        if body is not None:
            return _make_compiled_replan(basis, left, body)
        if (
            dry_run
            or jobs.count_completed_jobs_of_same_request(
                session, request.key.campaign_id, KIND, request.arguments["question"]
            )
            < ATTEMPTS - 1
        ):
            raise PlanNeedsJob(request)
        replanning.block_judging(session, campaign)
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


def _make_compiled_replan(basis: ReplanInput, left: RemainingWork, body: bytes) -> CompiledReplan:
    kept = PlanJobResult.model_validate_json(body)
    compiled = _FOUND.validate_json(gzip.decompress(kept.compiled))
    return CompiledReplan(left, basis, compiled, replanning.merge_plans(left.old, compiled), kept.report)


def _request(session: Session, basis: ReplanInput, left: RemainingWork, reason: str, *, dry_run: bool) -> JobRequest:
    """Return the job request of a replan. While raters only continue, it stays the same, whatever reason is given."""
    planned = plans.decode_plan(left.before.compiled)
    now = replanning.find_task_holders(planned, basis.tasks, basis.material.seats)
    staying = {rater.key for rater in keep_one_account_per_person(left.material.raters)[0]}
    whose = {task.number: task.rater for task in left.old.tasks}
    # For raters who stay, started and handed-in tasks have the same effect, and started ones keep being handed in.
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
    return JobRequest(
        KIND, key, {left.view.key: version}, {**given, "reason": reason, "dry_run": dry_run}, role="manager"
    )


def _question(session: Session, left: RemainingWork) -> str:
    campaign_id, before = int(left.before.campaign_id), left.before
    beside = list_plan_cache_key_parts(session, left.view, campaign_id, left.material)
    how = ["rebalance"] if left.rebalance else []
    return hash_as_canonical_json([int(before.version), bytes(before.hash).hex(), beside, list(left.bought), *how])


def _key(left: RemainingWork, given: Mapping[str, Any]) -> stored.ReportKey:
    """Return the key under the data version of the plan in force, because every hand-in raises that of the campaign."""
    parts = [given["question"], given["tasks"]]
    before, seed = left.before, left.old.seed
    version = int(before.data_version)
    return make_report_key_from_parts(
        before.campaign_id, KIND, version, parts, seed=seed, method_version=plans.PLAN_VERSION
    )


def make_replan_computation(database: Database, request: JobRequest) -> ReportComputation[bytes]:
    """Return the work that remains for a job after its data are read. Raises JobInputsChanged."""
    ((campaign, version),) = request.campaigns.items()
    given = request.arguments
    with database.transaction(snapshot=True) as session:
        with reraise_as_job_inputs_changed():
            left = _load_remaining_work(session, campaign, given)
            if _question(session, left) != given["question"]:
                raise JobInputsChanged
        known = left.load_variance_components(session, version)

    def make() -> bytes:
        replanned = left.plan_remaining_work()
        merged = replanning.merge_plans(left.old, replanned)
        view = plans.make_plan_preview(
            replace(left.view, data_version=version),
            left.before.design,
            merged.plan,
            left.make_plan_report(merged.plan, known),
            plans.hash_plan(merged.plan, left.material),
            version,
            change=replanning.make_replan_change_record(replanned, given["reason"]),
        )
        return encode_plan_job_result(view, gzip.compress(_FOUND.dump_json(replanned), compresslevel=6, mtime=0))

    return make_undivided_computation(make)


def _load_remaining_work(session: Session, campaign: str, given: Mapping[str, Any]) -> RemainingWork:
    """Load the remaining work, with the tasks as they were when the job was requested."""
    row, view = campaigns.load_campaign(session, campaign), get_campaign(session, campaign)
    before = stored_plans.find_plan_in_force(session, row.id)
    if before is None:
        raise NoPlanYet
    tasks, planned = given["tasks"], plans.decode_plan(before.compiled)
    known = {task.number for task in planned.tasks}
    if not known.issuperset((*tasks["handed_in"], *tasks["started"])):  # tasks of a plan that is no longer in force
        raise JobInputsChanged
    calibration = planned.design.calibration
    material = plan_input.load_plan_input(session, view, row.id)
    return RemainingWork(
        view=view,
        before=before,
        old=replanning.assign_held_tasks_to_holders(planned, dict(tasks["held"])),
        material=plan_input.restrict_to_calibration_set(material, calibration.set if calibration else None),
        handed_in=frozenset(tasks["handed_in"]),
        started=frozenset(tasks["started"]),
        bought=tuple(given["bought"]),
        rebalance=bool(given.get("rebalance")),
    )
