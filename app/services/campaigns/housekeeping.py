"""Housekeeping: let go of what has outlived its use."""

from __future__ import annotations

import logging
from datetime import timedelta

from app.storage import housekeeping
from app.storage.db import Database
from app.storage.leases import leases
from app.storage.recorder import shared_answers
from app.storage.recorder.shared_answers import MOST

KEPT = timedelta(days=7)
log = logging.getLogger("plumbline.worker")


def sweep(database: Database) -> dict[str, int] | None:
    """Delete expired answers, sessions and abandoned imports, and free tasks whose lease ran out; how many of each.

    Answers of stored reports are let go of as well, after a day and where they take too much room.

    None where another worker is at it. Nothing that a rater or a report can see is ever deleted.
    """
    with database.transaction() as session:
        counts = housekeeping.sweep(session, kept=KEPT)
        due = leases.campaigns_due(session) if counts is not None else []
    freed = 0
    for campaign_id in due:
        with database.transaction() as session:
            freed += leases.expire(session, campaign_id)
    if counts is None:
        return None
    return {**counts, "leases": freed, "answers of reports": _swept_answers(database)}


def _swept_answers(database: Database) -> int:
    """How many answers of stored reports were let go of; what is wrong with a cache is in the way of nothing else."""
    try:
        with database.transaction() as session:
            return shared_answers.sweep(session, most=MOST)
    except shared_answers.NotForgotten as error:
        log.warning("answers that are kept for other processes stay: %s", error)
        return 0
