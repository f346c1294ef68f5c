"""Traces with OpenTelemetry: spans are sent to a collector, over HTTP, in the background. Needs the extra `traces`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fastapi.telemetry import TelemetryConfig

from app.domain import tracing
from app.domain.errors import Unavailable
from app.domain.tracing import Attributes, SpanKind

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as OpenTelemetrySpan

# The framework's own telemetry reveals paths, which may contain secrets, and takes time in each request.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
NANO = 1_000_000_000
PROBES = frozenset({"/livez", "/readyz", "/metrics"})
"""Requested all the time, with nobody waiting: they make no spans."""


class TracesNotInstalled(Unavailable):
    """Traces need the extra `traces`: install `plumbline[traces]`, or leave PLUMBLINE_TRACES unset."""


class OtelSpan:
    """A span of OpenTelemetry with the interface of `app.domain.tracing`."""

    def __init__(self, span: OpenTelemetrySpan) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        """Its `traceparent`, as in the W3C recommendation Trace Context."""
        told = self._span.get_span_context()
        return f"00-{told.trace_id:032x}-{told.span_id:016x}-{int(told.trace_flags):02x}"

    def set_name_and_attributes(self, name: str, attributes: Attributes) -> None:
        """Set its name, and add attributes."""
        self._span.update_name(name)
        self._span.set_attributes(dict(attributes))

    def end(self) -> None:
        """End the span."""
        self._span.end()


class OtelTracer:
    """Makes spans and passes them to an exporter. service: the name of this part of the service."""

    def __init__(self, service: str, exporter: SpanExporter, *, at_once: bool = False) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        provider = TracerProvider(resource=Resource.create({"service.name": service}))
        provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
        self._tracer = provider.get_tracer("plumbline")

    def start_span(self, kind: SpanKind, name: str, parent: str | None, seconds_ago: float) -> OtelSpan:
        """Start a span that began this many seconds ago."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind as Kinds
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        known = {"request": Kinds.SERVER, "flush": Kinds.INTERNAL, "job": Kinds.CONSUMER}
        context = TraceContextTextMapPropagator().extract({"traceparent": parent} if parent else {}, Context())
        began = time.time_ns() - int(seconds_ago * NANO)
        return OtelSpan(self._tracer.start_span(name, context, kind=known[kind], start_time=began))


def start_tracing(collector: str | None, service: str) -> None:
    """Send this process's spans to a collector, if there is one. collector: an address that accepts OTLP over HTTP.

    Raises TracesNotInstalled.
    """
    if collector is None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter(endpoint=f"{collector}/v1/traces")
        tracing.set_tracer(OtelTracer(service, exporter))
    except ImportError:
        raise TracesNotInstalled from None
