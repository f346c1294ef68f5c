"""Counters and timings of this service in Prometheus' text format, by route template and kind, never by name.

Each process counts for itself. If the supervisor names a folder for it (`PROMETHEUS_MULTIPROC_DIR`), all processes of a
service store their numbers there, and each process reports the sums over all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from app.domain.tracing import record_past_span
from app.services.access.service_gauges import ServiceGauge
from app.web.service_part_states import METRICS_FOLDER

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
FLUSHED = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


disable_created_metrics()  # type: ignore[no-untyped-call]  # they are a third of the text, and no rule reads them
JOB_SECONDS = Histogram(
    "plumbline_job_seconds",
    "Time from when a report was asked for until a worker stored it, by report.",
    ["report"],
    buckets=(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0),
    registry=CollectorRegistry(),
)
"""Counted by workers; a web process reports it if the supervisor gave them a folder."""


class ServiceMetrics:
    """The counters of one process."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry(auto_describe=False)
        self.requests = Counter(
            "plumbline_requests_total",
            "Answers by method, route and status.",
            ["method", "route", "status"],
            registry=own,
        )
        self.request_seconds = _make_histogram(
            own, "request_seconds", "Time until an answer began, by method and route.", "method", "route"
        )
        self.in_flight = _sum(own, "requests_in_flight", "Requests under way.")
        self.connections = _sum(own, "database_connections", "Connections of the pools.")
        self.in_use = _sum(own, "database_connections_in_use", "Connections in a transaction.")
        self.connection_wait = _make_histogram(
            own, "database_connection_wait_seconds", "Time that a request waited for a connection."
        )
        self.written = Counter(
            "plumbline_answers_written_total", "What raters sent and was committed, by kind.", ["kind"], registry=own
        )
        self.flush_size = Histogram(
            "plumbline_flush_size", "Answers that one commit wrote, by kind.", ["kind"], buckets=FLUSHED, registry=own
        )
        self.flush_seconds = _make_histogram(
            own, "flush_seconds", "Time from the start of a flush to its commit, by kind.", "kind"
        )
        self._of_route: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.no_task = Counter(
            "plumbline_lease_refusals_total", "Raters who got no task, by reason.", ["why"], registry=own
        )

    def count_response(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response and the time until it began."""
        # Stored here, because finding the counters by labels takes twice as long as counting: 10 µs of each request.
        of = self._of_route.get((method, route, status))
        if of is None:
            counters = self.requests.labels(method, route, status), self.request_seconds.labels(method, route)
            of = self._of_route[method, route, status] = counters
        of[0].inc()
        of[1].observe(seconds)

    def count_flushed_answers(self, kind: str, n: int, seconds: float) -> None:
        """Count the answers that one commit wrote."""
        self.written.labels(kind).inc(n)
        self.flush_size.labels(kind).observe(n)
        self.flush_seconds.labels(kind).observe(seconds)
        record_past_span("flush", f"flush {kind}", seconds, {"plumbline.answers": n})

    def format_all(self, state: Iterable[ServiceGauge]) -> bytes:
        """Format all metrics. state: the current values in the database."""
        if os.environ.get(METRICS_FOLDER):
            merged = CollectorRegistry()
            MultiProcessCollector(merged)  # type: ignore[no-untyped-call]
        else:
            merged = self.registry
        return generate_latest(merged) + format_gauges(state)


def _make_histogram(registry: CollectorRegistry, name: str, explained: str, *labels: str) -> Histogram:
    return Histogram(f"plumbline_{name}", explained, labels, buckets=SECONDS, registry=registry)


def _sum(registry: CollectorRegistry, name: str, explained: str) -> Gauge:
    """Make a gauge whose value for the service is the sum over its live processes."""
    return Gauge(f"plumbline_{name}", explained, registry=registry, multiprocess_mode="livesum")


def format_gauges(state: Iterable[ServiceGauge]) -> bytes:
    """Format current values, grouped by name."""
    now = CollectorRegistry()
    now.register(_StateCollector(state))
    return generate_latest(now)


class _StateCollector(Collector):
    """Gauges that are read again each time."""

    def __init__(self, state: Iterable[ServiceGauge]) -> None:
        self._state = state

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges, grouped by name."""
        families: dict[str, GaugeMetricFamily] = {}
        for gauge in self._state:
            family = families.setdefault(
                gauge.name,
                GaugeMetricFamily(
                    f"plumbline_{gauge.name}", gauge.explained, labels=[label for label, _ in gauge.labels]
                ),
            )
            family.add_metric([value for _, value in gauge.labels], gauge.value)
        return families.values()
