"""Traces: the parts of a job are children of the request that asked for it, through queue and processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from app.domain import tracing
from app.jobs.queue_worker import QueueWorker
from app.services.jobs.jobs import CHUNK, FINISH, PREPARE
from app.web.metrics import ServiceMetrics
from app.web.traces import OtelTracer, start_tracing
from tests.jobs.conftest import Bench
from tests.load.server import serving
from tests.working import until

FORGED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STUDY = {"studies": 250, "studies_per_document_set": 250, "permutations": 10, "seed": 5, "documents": [20]}
AT_ONCE = {"Prefer": "wait=0"}  # nobody computes yet


@pytest.fixture
def collected() -> Iterator[InMemorySpanExporter]:
    """What would have gone to a collector."""
    exporter = InMemorySpanExporter()
    tracing.set_tracer(OtelTracer("test", exporter, at_once=True))
    yield exporter
    tracing.set_tracer(None)


@pytest.fixture
def client(bench: Bench) -> Iterator[httpx.Client]:
    """An admin of the service, in a thread of this process."""
    with serving(bench.spine.url) as served:
        headers = {"Authorization": f"Bearer {served.secret}"}
        with httpx.Client(base_url=served.url, headers=headers, trust_env=False, timeout=60) as client:
            yield client


def by_name(spans: InMemorySpanExporter, start: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name.startswith(start)]


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def carried(bench: Bench) -> list[tuple[object, ...]]:
    """The traces that entries of the queue carry."""
    return bench.spine.ask("SELECT args->>'trace' FROM procrastinate.procrastinate_jobs WHERE status = 'todo'")


def test_the_framework_tells_no_collector_of_paths(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    assert client.get("/v1/me").status_code == 200
    assert not exporter.get_finished_spans()


def test_a_job_belongs_to_the_trace_of_its_request(
    bench: Bench, client: httpx.Client, collected: InMemorySpanExporter
) -> None:
    asked = client.post("/v1/campaigns/thrice/stability", json=STUDY, headers={"traceparent": FORGED, **AT_ONCE})
    assert asked.status_code == httpx.codes.ACCEPTED, asked.text
    (request,) = by_name(collected, "POST ")
    assert request.name == "POST /v1/campaigns/{campaign}/stability"
    assert request.kind is SpanKind.SERVER
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == httpx.codes.ACCEPTED
    assert request.attributes["plumbline.request"] == asked.headers["x-request-id"]
    assert request.parent is None  # whatever a client claims

    stop = threading.Event()
    worker = threading.Thread(target=QueueWorker(bench.spine.database, processes=1, stop=stop).run)
    worker.start()
    try:
        until(lambda: by_name(collected, f"job {FINISH}"), "the job is done")
    finally:
        stop.set()
        worker.join()
    spans = {task: by_name(collected, f"job {task}") for task in (PREPARE, CHUNK, FINISH)}
    everything = {span.context.span_id: span for spans_of in spans.values() for span in spans_of if span.context}
    assert all(spans.values())
    assert {span.context.trace_id for span in everything.values() if span.context} == {request.context.trace_id}  # type: ignore[union-attr]
    assert [parent_of(span) for span in spans[PREPARE]] == [request.context.span_id]  # type: ignore[union-attr]
    for span in (*spans[CHUNK], *spans[FINISH]):
        assert parent_of(span) in everything  # the part that entered it into the queue
        assert span.kind is SpanKind.CONSUMER


def test_a_flush_is_a_span_and_a_probe_is_none(client: httpx.Client, collected: InMemorySpanExporter) -> None:
    for probe in ("/livez", "/readyz", "/metrics"):
        client.get(probe)
    assert not collected.get_finished_spans()
    ServiceMetrics().count_flushed_answers("judgment", 3, 0.25)
    (flush,) = by_name(collected, "flush judgment")
    assert flush.attributes == {"plumbline.answers": 3}
    assert flush.end_time is not None
    assert flush.start_time is not None
    assert 0.2 < (flush.end_time - flush.start_time) / 1e9 < 0.3


def test_without_a_collector_nothing_is_traced_and_nothing_carried(bench: Bench, client: httpx.Client) -> None:
    start_tracing(None, "plumbline-web")
    assert not tracing.is_tracing()
    asked = client.post("/v1/campaigns/thrice/stability", json={**STUDY, "seed": 6}, headers=AT_ONCE)
    assert asked.status_code == httpx.codes.ACCEPTED
    assert set(carried(bench)) == {(None,)}
