"""Plans: compile a campaign's design, preview its cost and its power, and freeze it with its seed and hash."""

from __future__ import annotations

import gzip
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter

from app.design.compile import compile_plan
from app.design.design_choices import Design
from app.design.parse import parse_design
from app.design.plan import Plan
from app.domain.errors import Conflict, Invalid, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.plans import plan_input, plan_prefills, plan_report, plan_storage
from app.services.plans import variance_components as plan_components
from app.services.plans.plan_input import PlanInput
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.storage import campaigns, plans
from app.storage.db import Session

PLAN_VERSION = "1"
_PLANS = TypeAdapter(Plan)
LARGEST_SEED = 2**53  # the largest integer that JSON numbers represent exactly
BODY = ("body",)


class TooLateForNewPlan(Conflict):
    """It is too late in the campaign for a new plan; use a replan."""

    published = "TooFar"


class PlanNotCompiledHere(Conflict):
    """This plan was not compiled here, so it can be neither drawn nor continued."""

    published = "NotCompiled"


@dataclass(frozen=True, slots=True)
class PlanView:
    """A stored plan, or a preview (version None).

    stale: what has changed in the campaign since it was compiled, in words; None if that was not checked.
    """

    campaign: str
    version: int | None
    hash: str
    seed: int
    design: Mapping[str, object]
    report: Mapping[str, object]
    change: Mapping[str, object] | None
    method_version: str
    data_version: int
    actor: str | None
    at: datetime | None
    stale: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A requested design, and the data to compile it for. pilot: key of a campaign, if one is named."""

    row: campaigns.CampaignRecord
    view: CampaignInfo
    given: object
    design: Design
    material: PlanInput
    pilot: str | None


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A compiled plan that is not stored yet. digest: of its full contents."""

    plan: Plan
    report: Mapping[str, object]
    digest: bytes


def compile_and_freeze_plan(
    session: Session, campaign: str, given: object, *, dry_run: bool, actor: str, pilot: str | None = None
) -> PlanView:
    """Compile a design and freeze it as the plan in force; dry_run: only preview it.

    pilot: key of the campaign whose judgments the forecast uses. Everybody who sees the plan sees what it says about
    these judgments, so only a caller who may read both campaigns may name a pilot.

    Raises NotFound, TooLateForNewPlan once a campaign is open, Invalid with places in the body if a design is not
    valid or cannot be met, NothingToJudge, NoRaterEnrolled, PrefilledErrorsMissing.
    """
    request = prepare_plan_request(session, campaign, given, pilot=pilot, lock=not dry_run)
    compiled = compile_plan_request(session, request)
    return (
        preview_compiled_plan(request, compiled)
        if dry_run
        else freeze_compiled_plan(session, request, compiled, actor=actor)
    )


def prepare_plan_request(
    session: Session, campaign: str, given: object, *, pilot: str | None, lock: bool
) -> PlanRequest:
    """Load the input for a design. lock: lock the campaign, as freezing requires.

    Raises the same errors as freezing.
    """
    row = campaigns.load_campaign(session, campaign, lock=lock)
    if row.state not in {"draft", "planned"}:
        raise TooLateForNewPlan(f"it is {row.state}")
    view, design = get_campaign(session, campaign), parse_design(given, loc=BODY)
    material = plan_input.load_plan_input(session, view, row.id)
    plan_prefills.check_prefills_exist(session, row.id, view, design)
    material = plan_input.restrict_to_calibration_set(material, design.calibration.set if design.calibration else None)
    return PlanRequest(row, view, given, design, material, pilot)


def choose_plan_seed(design: Design) -> int:
    """Return the design's own seed, or draw one."""
    return secrets.randbelow(LARGEST_SEED) if design.seed is None else design.seed


def compile_plan_request(session: Session, request: PlanRequest) -> CompiledPlan:
    """Compile the plan now. Raises Invalid with places in the body."""
    plan = compile_plan_with_seed(request, choose_plan_seed(request.design))
    return make_plan_with_report(
        request, plan, plan_components.load_or_fit_forecast_components(session, request.view, request.pilot)
    )


def compile_plan_with_seed(request: PlanRequest, seed: int) -> Plan:
    """Compile the plan with a seed. Raises Invalid with places in the body if the design cannot be met."""
    material = request.material
    try:
        return compile_plan(request.design, material.test_set, material.systems, material.raters, seed)
    except Invalid as error:  # the design is the body
        places = tuple(Place((*BODY, *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None


def make_plan_with_report(request: PlanRequest, plan: Plan, components: ForecastVarianceComponents) -> CompiledPlan:
    """Return a plan with its report and its digest. components: variance components for the forecast."""
    report = plan_report.make_plan_report(request.view, request.material, plan, components)
    return CompiledPlan(plan, report, hash_plan(plan, request.material))


def preview_compiled_plan(request: PlanRequest, compiled: CompiledPlan) -> PlanView:
    """Return the preview of a plan."""
    return make_plan_preview(
        request.view, request.given, compiled.plan, compiled.report, compiled.digest, int(request.row.data_version)
    )


def freeze_compiled_plan(session: Session, request: PlanRequest, compiled: CompiledPlan, *, actor: str) -> PlanView:
    """Store a plan as the one in force. The campaign must have been locked before the plan's input was read."""
    row, campaign = request.row, request.view.key
    plans.delete_untouched_tasks(session, row.id)
    version = store_frozen_plan(
        session, row, request.given, compiled.plan, compiled.report, compiled.digest, actor=actor
    )
    target = plan_storage.PlanStorageTarget(row.id, version, request.view, request.material)
    plan_storage.store_plan_rows(session, target, compiled.plan, tasks=compiled.plan.tasks, groups=compiled.plan.groups)
    if row.state != "planned":
        campaigns.update_campaign(session, row.id, {"state": "planned", "settings_version": row.settings_version + 1})
    what = {"plan": version, "hash": compiled.digest.hex(), "seed": compiled.plan.seed}
    audit.record_action(session, row.id, actor=actor, action="plan frozen", what=what)
    return replace(get_plan(session, campaign, version), stale=())


def get_plan(session: Session, campaign: str, version: int | None = None) -> PlanView:
    """Return a plan by its version, by default the one in force. Raises NotFound."""
    return _view(campaign, plans.load_plan(session, campaigns.load_campaign(session, campaign).id, version))


def list_plans(session: Session, campaign: str, *, after: int, limit: int) -> list[PlanView]:
    """List plans by version, starting after `after`."""
    rows = plans.load_plans_page(session, campaigns.load_campaign(session, campaign).id, after=after, limit=limit)
    return [_view(campaign, row) for row in rows]


def encode_plan(plan: Plan) -> bytes:
    """Encode a plan as bytes for `decode_plan`."""
    return gzip.compress(_PLANS.dump_json(plan), compresslevel=6, mtime=0)


def decode_plan(data: bytes) -> Plan:
    """Decode a plan. Raises PlanNotCompiledHere if there are no bytes."""
    if not data:
        raise PlanNotCompiledHere
    return _PLANS.validate_json(gzip.decompress(data))


def hash_plan(plan: Plan, material: PlanInput) -> bytes:
    """Return the SHA-256 of a plan's full contents: all assignments, and the texts that they show."""
    digest = hashlib.sha256(plan.digest().encode())
    for (document, system), marks in sorted(material.test_set.outputs.items()):
        digest.update(f"\n{document}\t{system}\t{' '.join(mark or '-' for mark in marks)}".encode())
    return digest.digest()


def store_frozen_plan(
    session: Session,
    row: campaigns.CampaignRecord,
    given: object,
    plan: Plan,
    report: Mapping[str, object],
    digest: bytes,
    *,
    actor: str,
    change: Mapping[str, object] | None = None,
) -> int:
    """Store a plan as the one in force, under the next data version, and return the plan's version."""
    before = plans.find_plan_in_force(session, row.id)
    version = 1 if before is None else int(before.version) + 1
    data_version = campaigns.take_next_data_version(session, row.id, actor=actor, what=f"plan {version}")
    values = {
        "campaign_id": row.id,
        "version": version,
        "design": _design(given, plan.design, plan.seed),
        "seed": plan.seed,
        "hash": digest,
        "report": dict(report),
        "compiled": encode_plan(plan),
        "change": None if change is None else dict(change),
        "method_version": PLAN_VERSION,
        "data_version": data_version,
        "actor": actor,
    }
    plans.insert_plan(session, values)
    return version


def _design(given: object, design: Design, seed: int) -> dict[str, object]:
    """Return the design as it was requested, with the drawn seed if it had none."""
    sent = dict(given) if isinstance(given, dict) else {}
    return {**sent, "grouping": design.grouping, "seed": seed} if design.structure == "free" else {**sent, "seed": seed}


def _view(campaign: str, row: plans.Row) -> PlanView:
    return PlanView(
        campaign=campaign,
        version=row.version,
        hash=f"sha256:{row.hash.hex()}",
        seed=row.seed,
        design=row.design,
        report=row.report,
        change=row.change,
        method_version=row.method_version,
        data_version=row.data_version,
        actor=row.actor,
        at=row.at,
    )


def make_plan_preview(
    view: CampaignInfo,
    given: object,
    plan: Plan,
    report: Mapping[str, object],
    digest: bytes,
    data_version: int,
    *,
    change: Mapping[str, object] | None = None,
) -> PlanView:
    """Make the view of a plan that is not stored."""
    return PlanView(
        campaign=view.key,
        version=None,
        hash=f"sha256:{digest.hex()}",
        seed=plan.seed,
        design=_design(given, plan.design, plan.seed),
        report=report,
        change=change,
        method_version=PLAN_VERSION,
        data_version=data_version,
        actor=None,
        at=None,
        stale=(),
    )
