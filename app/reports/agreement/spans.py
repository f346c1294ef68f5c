"""Marked errors in the form that span statistics need: by text and by rater."""

from __future__ import annotations

import numpy as np

from app.reports.inputs.raw_ratings import GRAVE, RawRatings
from app.stats.agreement.spans import MAJOR, MINOR, MarkedJudgments
from app.stats.rating_metadata import ErrorTable
from app.stats.ratings import RatingLevel

SIDES = 2


def split_marked_judgments_by_side(ratings: RawRatings, errors: ErrorTable) -> MarkedJudgments:
    """Split every judgment of a segment into two, one of the source and one of the output; of repeats, use the first.

    Only texts judged by two raters are kept. Marks without a position (such as omissions), and marks that are not
    minor, major or critical, are skipped and counted.
    """
    rows = ratings.rows
    cell = rows.segment.astype(np.int64) * max(rows.n_systems, 1) + rows.system
    order = np.lexsort((rows.nth, rows.rater, cell))
    order = order[rows.kind[order] == RatingLevel.SEGMENT]
    same = np.zeros(order.size, dtype=np.bool_)
    same[1:] = (cell[order][1:] == cell[order][:-1]) & (rows.rater[order][1:] == rows.rater[order][:-1])
    order = order[~same]
    shared = np.isin(cell[order], _repeated_cells(cell[order]))
    order = order[shared]
    _, unit = np.unique(cell[order], return_inverse=True)
    n = order.size
    judgment = np.full(len(rows), -1, dtype=np.int64)
    judgment[order] = np.arange(n)
    # Sources come first, then outputs. Within each, judgments are sorted by text and rater.
    n_units = int(unit.max(initial=-1)) + 1
    grave = np.array([GRAVE.get(name.casefold(), 0.0) for name in errors.severities] or [0.0])
    weight = grave[errors.severity] if errors.row.size else np.empty(0)
    ours = judgment[errors.row] >= 0
    placed = ours & (weight > 0) & (errors.start >= 0) & (errors.end >= errors.start)
    row = judgment[errors.row[placed]] + n * (errors.side[placed] == 1)
    by_row = np.argsort(row, kind="stable")
    return MarkedJudgments(
        unit=np.concatenate((unit, unit + n_units)).astype(np.int32),
        rater=np.tile(rows.rater[order], SIDES),
        document=np.tile(rows.document[order], SIDES),
        row=row[by_row].astype(np.int32),
        start=errors.start[placed][by_row],
        end=errors.end[placed][by_row],
        grave=np.where(weight[placed][by_row] > GRAVE["minor"], MAJOR, MINOR).astype(np.int32),
        category=errors.category[placed][by_row],
        n_documents=len(rows.labels.documents),
        raters=rows.labels.raters,
        skipped=int((ours & ~placed).sum()),
    )


def _repeated_cells(cells: np.ndarray) -> np.ndarray:
    values, n = np.unique(cells, return_counts=True)
    return values[n > 1]
