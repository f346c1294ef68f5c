"""A compiled plan as rows: tasks, items and the credited systems, with the degraded texts that it needs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.design.degradation import DonorTexts, degrade_text
from app.design.plan import Plan, PlanItem, PlannedItemGroup, Task
from app.domain.errors import Invalid, Place
from app.domain.media_elements import parse_media_element
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import PRESENTATIONS
from app.services.plans import plan_prefills
from app.services.plans.plan_input import PlanInput
from app.stats.ratings import RatingRole
from app.storage import plans, query_planner_statistics
from app.storage.db import Session
from app.storage.plans import TableRowsToInsert
from app.storage.query_planning import disable_nested_loops

ROLES = {role.name.lower(): role.value for role in RatingRole}
MIXED = 0  # the bucket of tasks that contain items of several buckets
MOST_DONORS = 2000
Row = tuple[object, ...]

DEGRADES_TEXTS = "only texts can be degraded; leave it out, or put repeats in its place"


@dataclass(frozen=True, slots=True)
class PlanStorageTarget:
    """Where a plan is stored: campaign, version, and what its names stand for."""

    campaign_id: int
    version: int
    view: CampaignInfo
    material: PlanInput


def store_plan_rows(
    session: Session,
    target: PlanStorageTarget,
    plan: Plan,
    *,
    tasks: Sequence[Task],
    groups: Sequence[PlannedItemGroup],
) -> None:
    """Write the given tasks of a plan with all the rows they need; the plan itself is already stored."""
    session.flush()
    group_ids = dict(
        zip((g.number for g in groups), plans.reserve_row_ids(session, "groups", len(groups)), strict=True)
    )
    task_ids = dict(zip((t.number for t in tasks), plans.reserve_row_ids(session, "tasks", len(tasks)), strict=True))
    places = [(task.number, item.position) for task in tasks for item in task.items]
    item_ids = dict(zip(places, plans.reserve_row_ids(session, "items", len(places)), strict=True))
    batches = (
        _arms(target, plan),
        _bucket_raters(target, plan),
        _documents(target, plan),
        _groups(target, groups, group_ids),
        _tasks(target, plan, tasks, task_ids),
        _items(target, tasks, task_ids, item_ids, group_ids, _prefills(session, target, plan)),
        _credits(target, tasks, item_ids),
        _variants(session, target, plan, tasks),
    )
    with disable_nested_loops(session):  # each check of the rows is a statement over all of them
        for batch in batches:
            plans.insert_rows_by_copy(session, batch)
    for rater_id in plans.load_invited_rater_ids(session, target.campaign_id):
        plans.add_rater_to_task_pool(session, target.campaign_id, rater_id)
    if len(places) >= query_planner_statistics.MANY:  # raters may come at once
        query_planner_statistics.refresh_query_planner_task_statistics(session)


def _arms(target: PlanStorageTarget, plan: Plan) -> TableRowsToInsert:
    shown = plan_prefills.choose_arm_prefill_names(target.view, plan.arms)
    rows = [
        (target.campaign_id, target.version, n, arm.name, arm.presentation, prefill)
        for n, (arm, prefill) in enumerate(zip(plan.arms, shown, strict=True), 1)
    ]
    return TableRowsToInsert("arms", ("campaign_id", "plan", "n", "name", "presentation", "prefill"), rows)


def _bucket_raters(target: PlanStorageTarget, plan: Plan) -> TableRowsToInsert:
    rows = [
        (target.campaign_id, target.version, bucket.number, target.material.rater_ids[rater])
        for bucket in plan.buckets
        for rater in bucket.raters
        if rater not in target.material.seats
    ]
    return TableRowsToInsert("bucket_raters", ("campaign_id", "plan", "bucket", "rater_id"), rows)


def _documents(target: PlanStorageTarget, plan: Plan) -> TableRowsToInsert:
    rows = [
        (target.campaign_id, target.version, target.material.document_ids[one.key], one.bucket, one.inclusion)
        for one in plan.documents
    ]
    return TableRowsToInsert("plan_documents", ("campaign_id", "plan", "document_id", "bucket", "inclusion"), rows)


def _groups(target: PlanStorageTarget, groups: Sequence[PlannedItemGroup], ids: Mapping[int, int]) -> TableRowsToInsert:
    names = target.material
    columns = (
        *("id", "campaign_id", "plan", "bucket", "unit", "nth", "document_id"),
        *("first_segment", "last_segment", "rater_id", "propensity"),
    )
    rows = [
        (
            *(ids[one.number], target.campaign_id, target.version, one.bucket, one.unit, one.nth),
            *(names.document_ids[one.document], one.first, one.last, names.rater_ids.get(one.rater), one.propensity),
        )
        for one in groups
    ]
    return TableRowsToInsert("groups", columns, rows)


def _tasks(target: PlanStorageTarget, plan: Plan, tasks: Sequence[Task], ids: Mapping[int, int]) -> TableRowsToInsert:
    names = target.material
    columns = (
        *("id", "campaign_id", "public_id", "key", "rater_id", "state", "meta", "plan", "arm", "bucket", "chain"),
        *("queue", "words", "segments", "presentation"),
    )
    rows: list[Row] = [
        (
            *(ids[task.number], target.campaign_id, f"t_{secrets.token_hex(16)}", f"p{target.version}-{task.number}"),
            *(names.rater_ids.get(task.rater), "free", {"number": task.number}, target.version),
            *(None if task.arm is None else task.arm + 1, MIXED if task.bucket is None else task.bucket, task.chain),
            *(task.queue, task.size.words, task.size.segments, choose_task_presentation(target, plan, task)),
        )
        for task in tasks
    ]
    return TableRowsToInsert("tasks", columns, rows)


def choose_task_presentation(target: PlanStorageTarget, plan: Plan, task: Task) -> str:
    """Return a task's presentation: its arm's, side by side if screens have columns, else the campaign's."""
    if task.arm is not None and plan.arms:
        return plan.arms[task.arm].presentation
    if plan.design.task.columns > 1:
        return "side_by_side"
    said = target.view.settings.get("presentation")
    return str(said) if said in PRESENTATIONS else PRESENTATIONS[0]


def _prefills(session: Session, target: PlanStorageTarget, plan: Plan) -> dict[int | None, str | None]:
    """Return the name of the errors that tasks show, by their arm."""
    of_campaign = plan_prefills.keep_or_choose_campaign_prefill_name(session, target.campaign_id, target.view)
    return {None: of_campaign, **dict(enumerate(plan_prefills.choose_arm_prefill_names(target.view, plan.arms)))}


def _items(
    target: PlanStorageTarget,
    tasks: Sequence[Task],
    task_ids: Mapping[int, int],
    item_ids: Mapping[tuple[int, int], int],
    group_ids: Mapping[int, int],
    prefills: Mapping[int | None, str | None],
) -> TableRowsToInsert:
    columns = (
        *("id", "campaign_id", "task_id", "key", "position", "document_id", "first_segment", "last_segment", "role"),
        *("meta", "screen", "column_", "group_id", "of_item_id", "variant", "prefill", "reference", "side_order"),
        "propensity",
    )

    def row(task: Task, item: PlanItem) -> Row:
        of = None if item.of is None else item_ids.get((item.of.task, item.of.position))
        # Control items show them, too, so that nothing distinguishes these items.
        shown = None if item.role == "calibration" else prefills[task.arm]
        return (
            *(item_ids[task.number, item.position], target.campaign_id, task_ids[task.number], f"i{item.position}"),
            *(item.position, target.material.document_ids[item.document], item.first, item.last, ROLES[item.role]),
            *({}, item.screen, item.column, None if item.group is None else group_ids.get(item.group), of),
            *(item.variant, shown, item.reference, item.side_order, item.propensity),
        )

    # A copy may come before its original in the plan, so all originals are written first.
    rows = sorted((row(task, item) for task in tasks for item in task.items), key=lambda values: values[13] is not None)
    return TableRowsToInsert("items", columns, rows)


def _credits(
    target: PlanStorageTarget, tasks: Sequence[Task], item_ids: Mapping[tuple[int, int], int]
) -> TableRowsToInsert:
    rows = [
        (target.campaign_id, item_ids[task.number, item.position], target.material.system_ids[system])
        for task in tasks
        for item in task.items
        for system in find_credited_systems(item, target.material)
    ]
    return TableRowsToInsert("credits", ("campaign_id", "item_id", "system_id"), rows)


def find_credited_systems(item: PlanItem, material: PlanInput) -> tuple[str, ...]:
    """Return the systems to which an item's judgments are credited.

    A degraded copy is credited to its system, so that the two can be compared. A pair of a calibration set is credited
    to the system that stands for the set.
    """
    if item.systems:
        return item.systems
    if item.document in material.calibration:
        return (make_calibration_system_key(item.document),)
    return () if item.system is None else (item.system,)


def make_calibration_system_key(document: str) -> str:
    """Return the key of the system that stands for a calibration set: the prefix of its documents' keys."""
    return document.rpartition(":")[0]


def _variants(session: Session, target: PlanStorageTarget, plan: Plan, tasks: Sequence[Task]) -> TableRowsToInsert:
    degraded = [item for task in tasks for item in task.items if item.variant is not None]
    columns = ("campaign_id", "output_id", "kind", "name", "text", "how")
    return TableRowsToInsert("variants", columns, list(_make_degraded_texts(session, target, plan, degraded)))


class MediaNotDegradable(Invalid):
    """The plan asks for degraded outputs, but some outputs are audio, video or pictures."""


def _make_degraded_texts(
    session: Session, target: PlanStorageTarget, plan: Plan, items: Sequence[PlanItem]
) -> Iterator[Row]:
    """Yield every degraded text once.

    Its random draw depends on its own address, so it is the same in every plan of a seed. A text that was degraded for
    an earlier plan does not change, because raters may have seen it.
    """
    if not items:
        return
    output_ids = plans.load_outputs_by_position(session, target.campaign_id, (item.document for item in items))
    language = target.view.target_language
    donors = DonorTexts.from_texts(
        plans.load_degradation_donor_texts(session, target.campaign_id, MOST_DONORS), language
    )
    method = plan.design.controls.method
    seen: set[tuple[int, str | None]] = {*plans.load_degraded_text_keys(session, target.campaign_id)}
    for item in items:
        for position in range(item.first, item.last + 1):
            output = output_ids.get((item.system or "", item.document, position))
            if output is None or (output.id, item.variant) in seen:
                continue
            if parse_media_element(output.text) is not None:
                raise MediaNotDegradable(places=(Place(("body", "controls", "bad_reference"), DEGRADES_TEXTS),))
            seen.add((output.id, item.variant))
            address = f"{item.variant} {item.system} {item.document}:{position}"
            seed = [plan.seed, *address.encode()]
            made = degrade_text(seed, output.text, method=method, language=language, donors=donors)
            how = {"method": method, "changed": [list(span) for span in made.changed]}
            yield (target.campaign_id, output.id, "degraded", item.variant, made.text, how)
