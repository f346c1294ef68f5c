"""Input of reports on conditions: judgments with their times, and the condition under which each was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import RatingsWithTimes, load_ratings_with_times
from app.stats.arms.pace import JudgmentPaces
from app.stats.arms.times import TimedJudgments
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.quality.report import select_rating_events
from app.stats.rating_metadata import DocumentTable, RatingEventTable
from app.stats.ratings import Bools, Codes, RatingLevel, Ratings
from app.storage import system_descriptions
from app.storage.arms import TaskArm, hash_unfinished_task_keys, load_raters_with_unfinished_tasks, load_task_arms
from app.storage.db import Session

REJECTED = "task rejected by quality control"
UNFINISHED = "rater with unfinished work"
ALL = "all"


class JudgmentInclusionOptions(BaseModel):
    """Whose judgments count. The options follow Grundkiewicz et al. 2021, §4 and §5.2."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rejected: bool = Field(default=False, description="Include tasks that quality control rejected.")
    raters: Literal["all", "complete"] = Field(
        "all",
        description="complete: only raters who finished every task that they began or were assigned.",
    )


@dataclass(frozen=True, slots=True)
class ArmNameAndPresentation:
    """One condition: its name, and how screens present items; None if that is unknown."""

    name: str
    presentation: str | None


@dataclass(frozen=True, slots=True)
class JudgmentsByCondition:
    """The judgments of a campaign that count, with their conditions.

    condition: of each row. documents: by code. dropped: number of judgments that do not count, by reason. judgment_ids:
    the stored id of each row.
    """

    snapshot: CampaignSnapshot
    data_hash: str
    names: tuple[ArmNameAndPresentation, ...]
    condition: Codes
    work: TimedJudgments
    events: RatingEventTable
    documents: DocumentTable
    dropped: dict[str, int]
    with_arms: bool
    judgment_ids: npt.NDArray[np.int64]

    def select_condition_rows(self, condition: int) -> tuple[TimedJudgments, RatingEventTable]:
        """Return the rows of one condition."""
        mine = self.condition == condition
        return self.work.where(mine), select_rating_events(self.events, mine)

    def measure_judgment_paces(self) -> JudgmentPaces:
        """Return the timed judgments of segments with known word counts, of all conditions."""
        work, rows = self.work, self.work.rows
        keep = mask_first_rows_of_judgments(rows) & (rows.kind == RatingLevel.SEGMENT) & (np.nan_to_num(work.words) > 0)
        keep &= np.nan_to_num(work.seconds) > 0
        pace = np.log(work.seconds[keep] / work.words[keep])
        return JudgmentPaces(rows.rater[keep], rows.task[keep], self.condition[keep], self.events.submitted[keep], pace)


def load_judgments_by_condition(
    session: Session, snapshot: CampaignSnapshot, options: JudgmentInclusionOptions
) -> JudgmentsByCondition:
    """Load a campaign by its arms; if it has none, by presentation; if these are unknown too, as one condition."""
    read = load_ratings_with_times(session, snapshot)
    arms = load_task_arms(session, snapshot.campaign_id, read.rows.labels.tasks)
    done = np.array([one.done for one in arms], dtype=np.bool_)
    accepted = read.rows.accepted | options.rejected
    keep = accepted.copy()
    if options.raters == "complete":
        keep &= _complete(read.rows, done, load_raters_with_unfinished_tasks(session, snapshot.campaign_id))
    once = mask_first_rows_of_judgments(read.rows)
    counts = {REJECTED: int((once & ~accepted).sum()), UNFINISHED: int((once & accepted & ~keep).sum())}
    rows, events = read.rows.where(keep), select_rating_events(read.events, keep)
    names, of_task = _name_conditions(arms, np.unique(rows.task))
    work = TimedJudgments(
        rows, _seconds(read)[keep], read.words[keep], _select_by_code(done, rows.task), events.started
    )
    return JudgmentsByCondition(
        snapshot=snapshot,
        data_hash=_hash(session, snapshot, rows, read),
        names=names,
        condition=of_task[rows.task],
        work=work,
        events=events,
        documents=read.documents,
        dropped={reason: n for reason, n in counts.items() if n},
        with_arms=any(one.arm is not None for one in arms),
        judgment_ids=read.judgment_ids[keep],
    )


def make_unfinished_tasks_cache_key(session: Session, snapshot: CampaignSnapshot) -> list[object]:
    """Return which work of whom is unfinished; leases, hand-ins and reassignments do not change the data version."""
    return [
        sorted(load_raters_with_unfinished_tasks(session, snapshot.campaign_id)),
        hash_unfinished_task_keys(session, snapshot.campaign_id),
    ]


def count_dropped_judgments(campaign_conditions: Sequence[JudgmentsByCondition]) -> dict[str, int]:
    """Count the judgments of all campaigns that do not count, by reason."""
    reasons = dict.fromkeys(reason for one in campaign_conditions for reason in one.dropped)
    return {reason: sum(one.dropped.get(reason, 0) for one in campaign_conditions) for reason in reasons}


def _hash(session: Session, snapshot: CampaignSnapshot, rows: Ratings, read: RatingsWithTimes) -> str:
    """Return the digest of the rows that count."""
    if len(rows) == len(read.rows):
        return read.head.data_hash
    return hash_report_data(
        rows, read.documents, system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    )


def _complete(rows: Ratings, done: Bools, waited_for: frozenset[str]) -> Bools:
    """Return the rows of raters who have finished every task that they began and have no task waiting for them."""
    complete = np.array([key not in waited_for for key in rows.labels.raters], dtype=np.bool_)
    complete[rows.rater[~_select_by_code(done, rows.task)]] = False
    return _select_by_code(complete, rows.rater)


def _select_by_code(values: Bools, code: Codes) -> Bools:
    return np.asarray(values[code] if code.size else np.empty(0), dtype=np.bool_)


def _seconds(read: RatingsWithTimes) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    known = (read.events.started >= 0) & (read.events.submitted > read.events.started)
    return np.where(known, (read.events.submitted - read.events.started) / 1e6, np.nan)


def _name_conditions(arms: list[TaskArm], used: Codes) -> tuple[tuple[ArmNameAndPresentation, ...], Codes]:
    """Return the conditions in the order of their plan, and the condition of each task code."""
    order: dict[str, tuple[int, ArmNameAndPresentation]] = {}
    of = np.zeros(len(arms), dtype=np.int32)
    label = [one.arm or one.presentation or ALL for one in arms]
    for code in used.tolist():
        arm = arms[code]
        order[label[code]] = (arm.n, ArmNameAndPresentation(label[code], arm.presentation))
    names = sorted(order, key=lambda name: (order[name][0], name))
    place = {name: i for i, name in enumerate(names)}
    for code in used.tolist():
        of[code] = place[label[code]]
    return tuple(order[name][1] for name in names), of
