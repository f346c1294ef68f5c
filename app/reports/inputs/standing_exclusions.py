"""Applies standing exclusions to split campaigns, for comparisons that use no recipe."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from app.reports.inputs.calibration import CampaignCalibrationSplit
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.exclusions_and_lock import load_exclusions_and_lock
from app.stats.selection import mask_excluded_rows
from app.storage import system_descriptions
from app.storage.db import Session


def drop_excluded_rows(session: Session, split: CampaignCalibrationSplit) -> CampaignCalibrationSplit:
    """Leave out the rows that standing exclusions of the data version name, and count them as dropped."""
    snapshot, rows = split.ratings.snapshot, split.ratings.rows
    keep, left_out = np.ones(len(rows), dtype=np.bool_), Counter[str]()
    for standing in load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version).exclusions:
        named = keep & mask_excluded_rows(rows, standing.exclusion)
        left_out[standing.reason] += int(named.sum())
        keep &= ~named
    if keep.all():
        return split
    remaining = rows.where(keep)
    words = system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    ratings = replace(
        split.ratings,
        rows=remaining,
        ids=split.ratings.ids[keep],
        data_hash=hash_report_data(remaining.in_canonical_order(), split.ratings.documents, words),
        dropped=(*split.ratings.dropped, *({"reason": why, "n": n} for why, n in left_out.items() if n)),
    )
    masks = {name: getattr(split, name)[keep] for name in ("test", "calibration", "references")}
    return replace(split, ratings=ratings, **masks)
