"""How long answers given in this program took, by recorded activity: pages are often open longer than work takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.domain.languages import has_word_spaces
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.rating_metadata import EPOCH_UNKNOWN, RatingEventTable
from app.stats.timing.active_time import TimeSpentTable, compute_time_spent
from app.storage import hours
from app.storage.db import Session
from app.storage.hours import CampaignActivityLog, SpaceDelimitedLanguages

Ids = npt.NDArray[np.int64]
Places = dict[str, Ids]


def fill_missing_start_times(
    session: Session, snapshot: CampaignSnapshot, events: RatingEventTable, judgment_ids: Ids
) -> RatingEventTable:
    """Add a start time to answers that have none: the time of submission minus the active time spent on them.

    Only activity that arrived by the time of the data version counts, so the same version always gives the same times.
    """
    until = hours.find_data_version_time(session, snapshot.campaign_id, snapshot.version)
    if until is None or not judgment_ids.size:
        return events
    view = snapshot.campaign
    spacing = SpaceDelimitedLanguages(has_word_spaces(view.source_language), has_word_spaces(view.target_language))
    read = hours.load_recorded_activity(session, snapshot.campaign_id, spacing, until=until)
    seconds = _seconds(
        compute_time_spent(read.log, read.screens),
        read,
        hours.locate_judgments_in_tasks(session, snapshot.campaign_id),
        judgment_ids,
    )
    known = (events.started == EPOCH_UNKNOWN) & (events.submitted >= 0) & (seconds > 0)
    began = events.submitted - np.rint(seconds * 1e6).astype(np.int64)
    return replace(events, started=np.where(known, began, events.started))


def _seconds(
    totals: TimeSpentTable, read: CampaignActivityLog, places: Places, judgment_ids: Ids
) -> npt.NDArray[np.float64]:
    """Return the seconds spent at the address of each judgment, 0 if unknown."""
    order = np.argsort(places["judgment_id"])
    at = np.minimum(np.searchsorted(places["judgment_id"], judgment_ids, sorter=order), max(order.size - 1, 0))
    row = order[at] if order.size else at
    there = places["judgment_id"][row] == judgment_ids if order.size else np.zeros(judgment_ids.size, dtype=np.bool_)
    raters, tasks = np.array(read.raters, dtype=np.int64), np.array(read.tasks, dtype=np.int64)
    of_spent = np.stack([raters[totals.rater], tasks[totals.task], totals.item, totals.segment], axis=1)
    total = dict(zip(map(tuple, of_spent.tolist()), totals.seconds.tolist(), strict=True))
    if not total or not there.any():
        return np.zeros(judgment_ids.size)
    wanted = np.stack([places[name][row] for name in ("rater_id", "task_id", "item", "segment")], axis=1)
    seconds = np.array([total.get(tuple(one), 0.0) for one in wanted.tolist()])
    return np.where(there, seconds, 0.0)
