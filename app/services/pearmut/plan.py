"""The plan of a Pearmut campaign: one task for each document, with its systems side by side in the loaded order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.design.design_inputs import WorkSize
from app.design.parse import parse_design
from app.design.plan import Bucket, Plan, PlanItem, PlannedDocument, PlannedItemGroup, Task
from app.domain.keys import SEAT
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.pearmut.loaded_campaign import PearmutCampaign, PlannedPearmutDocument
from app.services.plans import plan_input, plan_report, plan_storage, plans
from app.services.plans.plan_input import PlanInput
from app.services.plans.variance_components import load_or_fit_forecast_components
from app.storage import campaigns
from app.storage import plans as stored
from app.storage.db import Session

ANYBODY = f"{SEAT}000001"
BUCKET = 1
POOLED = "Documents are given to whoever comes next, so the report shows them dealt in turn."


def freeze_pearmut_plan(session: Session, loaded: PearmutCampaign, raters: Mapping[str, str], *, actor: str) -> None:
    """Store the plan as the one in force. raters: keys by the users' names in Pearmut.

    It was not compiled here, so it cannot be replanned.
    """
    row = campaigns.load_campaign(session, loaded.key, lock=True)
    view = get_campaign(session, loaded.key)
    material = plan_input.load_plan_input(session, view, row.id)
    dealt = _make_plan(loaded, raters, material, pooled=False)
    report = plan_report.make_plan_report(view, material, dealt, load_or_fit_forecast_components(session, view))
    plan = _make_plan(loaded, raters, material, pooled=loaded.is_single_stream)
    version = _store(session, row, plan, report, actor)
    there = replace(material, seats=frozenset({ANYBODY}))
    target = plan_storage.PlanStorageTarget(row.id, version, _shown_side_by_side(view), there)
    plan_storage.store_plan_rows(session, target, plan, tasks=plan.tasks, groups=plan.groups)
    campaigns.update_campaign(session, row.id, {"state": "planned", "settings_version": row.settings_version + 1})
    audit.record_action(session, row.id, actor=actor, action="plan frozen", what={"plan": version, "of": "Pearmut"})


def _shown_side_by_side(view: CampaignInfo) -> CampaignInfo:
    return replace(view, settings={**view.settings, "presentation": "side_by_side"})


def _store(
    session: Session, row: campaigns.CampaignRecord, plan: Plan, report: Mapping[str, object], actor: str
) -> int:
    version = 1
    values = {
        "campaign_id": row.id,
        "version": version,
        "design": {"task": {"columns": plan.design.task.columns}, "documents": {}, "seed": plan.seed},
        "seed": plan.seed,
        "hash": bytes.fromhex(plan.digest()),
        "report": dict(report),
        "compiled": b"",
        "change": None,
        "method_version": plans.PLAN_VERSION,
        "data_version": campaigns.take_next_data_version(session, row.id, actor=actor, what=f"plan {version}"),
        "actor": actor,
    }
    stored.insert_plan(session, values)
    return version


def _make_plan(loaded: PearmutCampaign, raters: Mapping[str, str], material: PlanInput, *, pooled: bool) -> Plan:
    keys = tuple(raters.values())
    words = {document.key: document.words for document in material.test_set.documents}
    units: dict[str, int] = {}
    ratings, queues = Counter[str](), Counter[str]()
    tasks, groups = [], []
    for n, document in enumerate(loaded.planned.values()):
        rater = ANYBODY if pooled else keys[n % len(keys)] if document.user is None else raters[document.user]
        ratings[document.key] += 1
        queues[rater] += 1
        unit = units.setdefault(document.key, len(units) + 1)
        groups.append(_group(document, unit, ratings[document.key], rater))
        tasks.append(_task(document, queues[rater], rater, sum(words[document.key])))
    columns = max(len(document.systems) for document in loaded.planned.values())
    documents = tuple(PlannedDocument(key, BUCKET, 1.0) for key in units)
    return Plan(
        design=parse_design({"task": {"columns": columns}} if columns > 1 else {}),
        seed=0,
        systems=tuple(sorted({key for document in loaded.planned.values() for key in document.systems.values()})),
        raters=keys,
        buckets=(Bucket(BUCKET, "all", keys, tuple(units)),),
        documents=documents,
        groups=tuple(groups),
        tasks=tuple(tasks),
        notes=(POOLED,) if loaded.is_single_stream else (),
    )


def _group(document: PlannedPearmutDocument, unit: int, nth: int, rater: str) -> PlannedItemGroup:
    return PlannedItemGroup(document.number, BUCKET, unit, nth, document.key, 1, document.length, rater, 1.0)


def _task(document: PlannedPearmutDocument, queue: int, rater: str, words: int) -> Task:
    systems: Sequence[str] = list(document.systems.values())
    items = tuple(
        PlanItem(n, 1, n, document.key, 1, document.length, "rating", key, (key,), document.number, propensity=1.0)
        for n, key in enumerate(systems, 1)
    )
    size = WorkSize(len(items), len(items) * document.length, len(items) * words)
    return Task(document.number, rater, queue, items, size, BUCKET)
