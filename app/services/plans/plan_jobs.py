"""Plans that take long to compile: a worker compiles them, and a repeated request freezes the result.

A worker freezes nothing. After the job is done, the same request finds the compiled plan by its key. The key contains
everything that determines a plan except a randomly drawn seed. The plan is then frozen as if it had been compiled at
once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import Base64Bytes, BaseModel, ConfigDict

from app.design.compile import hash_design_inputs
from app.domain.errors import Conflict, Invalid, NotFound
from app.reports.inputs.campaign import CampaignInfo
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.reports.kit.report import ReportComputation, make_undivided_computation
from app.reports.kit.store import make_report_key_from_parts
from app.services.jobs.jobs import JobInputsChanged, JobRequest, RandomDrawFailed
from app.services.plans import compile_time_estimate, plans
from app.services.plans import variance_components as plan_components
from app.services.plans.plan_input import PlanInput
from app.services.plans.plans import CompiledPlan, PlanRequest, PlanView
from app.storage import reports as stored
from app.storage import weight_profiles
from app.storage.db import Database, Session
from app.storage.imports.staging import format_canonical_json

KIND = "plan"
PILOTED = "campaigns/plan"
"""Named like comparisons of campaigns: the plan depends on the pilot, and is deleted with data erased there."""
KINDS = (KIND, PILOTED)


class PlanNeedsJob(Exception):
    """A job must compile the plan first. request: the job to start when the transaction has ended."""

    def __init__(self, request: JobRequest) -> None:
        super().__init__(request.kind)
        self.request = request


class PlanJobResult(BaseModel):
    """A compiled plan as a job stores it. compiled: the form for freezing it; the other fields are for the preview."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    data_version: int
    design: dict[str, Any]
    seed: int
    hash: str
    report: dict[str, Any]
    change: dict[str, Any] | None
    compiled: Base64Bytes


def encode_plan_job_result(view: PlanView, compiled: bytes) -> bytes:
    """Encode a plan's preview as a stored report."""
    shown = {name: getattr(view, name) for name in PlanJobResult.model_fields if name != "compiled"}
    return PlanJobResult.model_construct(**shown, compiled=compiled).model_dump_json().encode()


def parse_plan_job_preview(body: bytes) -> PlanView:
    """Return the preview of a plan from a stored report."""
    shown = PlanJobResult.model_validate_json(body).model_dump(exclude={"compiled"})
    return PlanView(**shown, version=None, method_version=plans.PLAN_VERSION, actor=None, at=None, stale=())


def compile_plan_or_require_job(
    session: Session, campaign: str, given: object, *, dry_run: bool, actor: str, pilot: str | None = None
) -> PlanView:
    """Do what `plans.compile_and_freeze_plan` does, but take a slow compilation from a job.

    Raises the same errors, and PlanNeedsJob if no job has compiled the plan yet.
    """
    wanted = plans.prepare_plan_request(session, campaign, given, pilot=pilot, lock=not dry_run)
    made = _compile_requested_plan(session, wanted)
    return (
        plans.preview_compiled_plan(wanted, made)
        if dry_run
        else plans.freeze_compiled_plan(session, wanted, made, actor=actor)
    )


def _compile_requested_plan(session: Session, wanted: PlanRequest) -> CompiledPlan:
    if not compile_time_estimate.is_compilation_slow(wanted.design, wanted.material):
        return plans.compile_plan_request(session, wanted)
    about = None if wanted.pilot is None else load_snapshot(session, wanted.pilot, None)
    key = _key(session, wanted, about)
    body = stored.find_report(session, key)
    if body is None:
        versions = {wanted.view.key: key.data_version} | ({} if about is None else {about.campaign.key: about.version})
        seed = plans.choose_plan_seed(wanted.design)
        asked = {"design": json.dumps(wanted.given), "pilot": wanted.pilot, "seed": seed}
        raise PlanNeedsJob(JobRequest(key.kind, key, versions, asked, role="manager"))
    kept = PlanJobResult.model_validate_json(body)
    return CompiledPlan(plans.decode_plan(kept.compiled), kept.report, bytes.fromhex(kept.hash.removeprefix("sha256:")))


def _key(session: Session, wanted: PlanRequest, about: CampaignSnapshot | None) -> stored.ReportKey:
    """Return a key of everything that determines a plan, except a randomly drawn seed. about: the pilot."""
    parts = [
        wanted.given,
        list_plan_cache_key_parts(session, wanted.view, int(wanted.row.id), wanted.material),
        None if about is None else _pilot_cache_key(session, about),
    ]
    kind, version, seed = KIND if about is None else PILOTED, int(wanted.row.data_version), wanted.design.seed or 0
    return make_report_key_from_parts(wanted.row.id, kind, version, parts, seed=seed, method_version=plans.PLAN_VERSION)


def list_plan_cache_key_parts(
    session: Session, view: CampaignInfo, campaign_id: int, material: PlanInput
) -> list[object]:
    """Return what a campaign's plan depends on besides its design and its data version, as plain values."""
    texts, systems = material.test_set, [system.key for system in material.systems]
    return [
        hash_design_inputs(texts, systems, material.raters),
        [view.protocol, dict(view.options), dict(view.settings), view.source_language, view.target_language],
        weight_profiles.has_any_scored_judgment(session, campaign_id),
    ]


def _pilot_cache_key(session: Session, about: CampaignSnapshot) -> list[object]:
    campaign = about.campaign
    scored = weight_profiles.has_any_scored_judgment(session, about.campaign_id)
    return [campaign.key, about.version, campaign.protocol, dict(campaign.options), scored]


def hash_as_canonical_json(parts: object) -> str:
    """Return the SHA-256 of plain values, in hexadecimal."""
    return hashlib.sha256(format_canonical_json(parts).encode()).hexdigest()


@contextmanager
def reraise_as_job_inputs_changed() -> Iterator[None]:
    """Context for a job that reads again what its request was about.

    Raises JobInputsChanged for errors that did not occur when the job was requested, and may not occur again.
    """
    try:
        yield
    except (Conflict, NotFound) as error:
        raise JobInputsChanged from error


def make_plan_computation(database: Database, request: JobRequest) -> ReportComputation[bytes]:
    """Return the work that remains for a job after its data are read.

    Raises JobInputsChanged, Invalid for an unfit pilot.
    """
    given: Mapping[str, Any] = request.arguments
    campaign, pilot = next(iter(request.campaigns)), given["pilot"]
    version = None if pilot is None else request.campaigns[pilot]
    with database.transaction(snapshot=True) as session:
        with reraise_as_job_inputs_changed():
            wanted = plans.prepare_plan_request(session, campaign, json.loads(given["design"]), pilot=pilot, lock=False)
            about = None if pilot is None else load_snapshot(session, pilot, version)
            if _key(session, wanted, about) != request.key:
                raise JobInputsChanged
        components = plan_components.load_or_fit_forecast_components(session, wanted.view, pilot, version=version)

    def make() -> bytes:
        try:
            plan = plans.compile_plan_with_seed(wanted, given["seed"])
        except Invalid as error:
            if wanted.design.seed is None:  # the same error as for a plan that is compiled at once
                raise RandomDrawFailed(error.detail, places=error.places) from error
            raise
        return encode_plan_job_result(
            plans.preview_compiled_plan(wanted, plans.make_plan_with_report(wanted, plan, components)),
            plans.encode_plan(plan),
        )

    return make_undivided_computation(make)
