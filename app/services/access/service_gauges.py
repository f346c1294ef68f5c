"""The state of the whole service for its operators: numbers without names of campaigns or people."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.domain.errors import AppError
from app.services.every_organization import run_for_each_organization
from app.storage import service_state
from app.storage.db import Database, Session

KEPT = 5.0
"""Seconds for which the numbers are reused, so that a stranger's request costs almost nothing."""
HEARD = 30.0
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "campaigns": "state",
        "jobs": "state",
        "queue_depth": "queue",
        "webhooks": "state",
        "replication_lag_seconds": "standby",
    }
)
EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        "database_up": "1 where the database answers.",
        "open_leases": "Tasks that raters hold.",
        "expired_leases": "Of these, those whose time is over and that nobody took yet.",
        "campaigns": "Campaigns by state.",
        "jobs": "Jobs that have not ended, by state.",
        "oldest_job_seconds": "Age of the oldest job that has not ended.",
        "queue_depth": "Parts of jobs that wait, by queue.",
        "workers": "Lanes of workers that have been heard of lately.",
        "webhooks": "Webhooks by state.",
        "replication_lag_seconds": "What standby servers lag.",
    }
)

SHARED = frozenset({"oldest_job_seconds", "queue_depth", "workers", "replication_lag_seconds"})
"""Numbers that are not added up, because all organizations share them or because they describe the oldest job."""


@dataclass(frozen=True, slots=True)
class ServiceGauge:
    """A current number. labels: name and value of each."""

    name: str
    explained: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


class ServiceGaugeReader:
    """Reads the numbers, at most every few seconds. In between, callers get the earlier numbers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._read_at = -KEPT
        self._gauges: Sequence[ServiceGauge] = ()

    def read(self) -> Sequence[ServiceGauge]:
        """Return the numbers. If the database does not answer, return only that."""
        with self._lock:
            if time.monotonic() - self._read_at >= KEPT:
                self._gauges = self._load()
                self._read_at = time.monotonic()
            return self._gauges

    def _load(self) -> Sequence[ServiceGauge]:
        try:
            states = run_for_each_organization(self._database, self._load_organization)
        except AppError:
            return (_gauge("database_up", 0.0),)
        values = states[0]
        for others in states[1:]:
            for place, value in others.items():
                before = values.get(place, 0.0)
                values[place] = max(before, value) if place[0] in SHARED else before + value
        return (_gauge("database_up", 1.0), *(_gauge(what, value, label) for (what, label), value in values.items()))

    def _load_organization(self) -> dict[tuple[str, str | None], float]:
        """Return the numbers of one organization, by name and label."""
        with self._database.transaction() as session:
            rows = service_state.load_service_gauges(session, heartbeat_within=HEARD)
        return {(row.what, row.label): row.value for row in rows}


def list_campaign_task_gauges(session: Session, *, only: str | None) -> list[ServiceGauge]:
    """List the numbers of tasks in running campaigns, by campaign and state."""
    return [
        ServiceGauge("campaign_tasks", "Tasks by state.", row.n, (("campaign", row.campaign), ("state", row.state)))
        for row in service_state.count_tasks_by_campaign_and_state(session, only_campaign=only)
    ]


def _gauge(name: str, value: float, label: str | None = None) -> ServiceGauge:
    labels = ((LABELS[name], label or ""),) if name in LABELS else ()
    return ServiceGauge(name, EXPLAINED[name], value, labels)
