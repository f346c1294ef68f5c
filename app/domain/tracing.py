"""Traces: which request led to which job, and how long each part took.

Off unless a process sets a tracer; then each call here costs one comparison. What goes from a request to a job is a
string, the W3C `traceparent`, which the queue keeps with its entries.
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
    """Something that takes time."""

    @property
    def traceparent(self) -> str:
        """Its `traceparent`."""

    def set_name_and_attributes(self, name: str, attributes: Attributes) -> None:
        """Name it, and say more about it."""

    def end(self) -> None:
        """It has ended."""


class Tracer(Protocol):
    """Makes spans and sends them somewhere."""

    def start_span(self, kind: SpanKind, name: str, parent: str | None, seconds_ago: float) -> TraceSpan:
        """A span that began so many seconds ago. parent: a `traceparent`, or none for the first of a trace."""


_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Trace this process from now on, or no longer."""
    global _tracer
    _tracer = tracer


def is_tracing() -> bool:
    """Whether anybody wants spans."""
    return _tracer is not None


def current_traceparent() -> str | None:
    """The `traceparent` of what is under way here."""
    return _current.get()


def continue_trace(context: str | None) -> None:
    """Say what is under way here, as somebody else told it: a process that itself makes no spans passes it on."""
    _current.set(context)


@contextmanager
def trace_span(kind: SpanKind, name: str, parent: str | None = None) -> Iterator[TraceSpan | None]:
    """A span around a block; None where nobody wants any."""
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
    """A span of its own that took so many seconds and has just ended."""
    if _tracer is not None:
        span = _tracer.start_span(kind, name, None, seconds)
        span.set_name_and_attributes(name, attributes)
        span.end()
