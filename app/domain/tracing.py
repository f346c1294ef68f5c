"""Traces: which request led to which job, and how long each part took.

Tracing is off unless a process sets a tracer; then each call here costs one comparison. A request passes a string to
its job, the W3C `traceparent`, which the queue stores with its entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol

SpanKind = Literal["request", "flush", "job"]
Attributes = Mapping[str, str | int | float]
_current: ContextVar[str | None] = ContextVar("trace", default=None)


class TraceSpan(Protocol):
    """A piece of work that takes time."""

    @property
    def traceparent(self) -> str:
        """The span's `traceparent`."""

    def set_name_and_attributes(self, name: str, attributes: Attributes) -> None:
        """Set the name of the span, and further attributes."""

    def end(self) -> None:
        """End the span."""


class Tracer(Protocol):
    """Makes spans and sends them somewhere."""

    def start_span(self, kind: SpanKind, name: str, parent: str | None, seconds_ago: float) -> TraceSpan:
        """Start a span that began `seconds_ago`. parent: a `traceparent`, or None for the first span of a trace."""


_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Trace this process from now on, or stop with None."""
    global _tracer
    _tracer = tracer


def is_tracing() -> bool:
    """Whether spans are recorded."""
    return _tracer is not None


def get_current_traceparent() -> str | None:
    """Return the `traceparent` of the current work."""
    return _current.get()


def continue_trace(traceparent: str | None) -> None:
    """Set the current `traceparent` received from elsewhere; a process without its own spans passes it on."""
    _current.set(traceparent)


@contextmanager
def trace_span(kind: SpanKind, name: str, parent: str | None = None) -> Iterator[TraceSpan | None]:
    """Record a span around a block; yields None if tracing is off."""
    if _tracer is None:
        yield None
        return
    span = _tracer.start_span(kind, name, parent, 0.0)
    before = _current.set(span.traceparent)
    try:
        yield span
    finally:
        _current.reset(before)
        span.end()


def record_past_span(kind: SpanKind, name: str, seconds: float, attributes: Attributes) -> None:
    """Record a separate span that took this many seconds and has just ended."""
    if _tracer is not None:
        span = _tracer.start_span(kind, name, None, seconds)
        span.set_name_and_attributes(name, attributes)
        span.end()
