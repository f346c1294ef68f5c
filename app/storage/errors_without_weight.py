"""Marked errors whose severity is missing from a weight profile; hardly any campaign has one."""

from __future__ import annotations

import numpy as np
from sqlalchemy import text

from app.domain.spans import SEVERITIES
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight
from app.stats.ratings import Codes
from app.stats.scoring import WeightProfile, list_zero_weight_severities, weigh_error
from app.storage.db import Session
from app.storage.rating_codes import Ints

# First test whether a payload contains such an error at all: this takes a third of a microsecond, whereas expanding all
# errors takes several.
MARKED = """j.payload @> '{{"errors": [{{"severity": "{}"}}]}}'"""
ERRORS = """
SELECT j.id, e ->> 'severity', e ->> 'category'
FROM judgments j CROSS JOIN LATERAL jsonb_array_elements(j.payload -> 'errors') e
WHERE j.campaign_id = :campaign AND ({marked}) AND e ->> 'severity' = ANY(:severities) ORDER BY j.id"""


def load_errors_without_weight(
    session: Session, campaign_id: int, judgments: Codes, ids: Ints, profile: WeightProfile
) -> ErrorsWithoutWeight:
    """Return all errors, in the judgments behind some rows, for which a profile has no weight.

    judgments: the code of each row's judgment; ids: its id in the database.
    """
    severities = list_zero_weight_severities(profile, SEVERITIES)
    if not severities or not ids.size:
        return ErrorsWithoutWeight(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), ())
    query = text(ERRORS.format(marked=" OR ".join(MARKED.format(name) for name in severities)))
    marked_errors = session.execute(query, {"campaign": campaign_id, "severities": list(severities)})
    rows = [(of, _path(*error)) for of, *error in marked_errors if not weigh_error(profile, *error)[1]]
    code = {path: i for i, path in enumerate(sorted({path for _, path in rows}))}
    of = np.array([row[0] for row in rows], dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    at = order[np.minimum(np.searchsorted(ids, of, sorter=order), ids.size - 1)]
    there = ids[at] == of
    return ErrorsWithoutWeight(
        judgment=judgments[at[there]].astype(np.int32),
        path=np.array([code[path] for _, path in rows], dtype=np.int32)[there],
        paths=tuple(code),
    )


def _path(severity: str, category: str | None) -> str:
    return f"{severity}/{category}" if category else severity
