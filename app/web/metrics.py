"""Counters of this process's responses in Prometheus' text format, by route template, never by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, str, int]  # method, route template, status


class RequestMetrics:
    """Counters of one process, written from its event loop only."""

    def __init__(self) -> None:
        self.requests: Counter[Labels] = Counter()
        self.seconds: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.in_flight = 0

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer and how long it took to begin."""
        self.requests[method, route, status] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds any number
        self.answers[route] += 1

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it. gauges: explanation and value by name, as they are now."""
        lines = _metric_header("plumbline_requests_total", "counter", "Answers by method, route and status.")
        for (method, route, status), n in sorted(self.requests.items()):
            lines.append(f'plumbline_requests_total{{method="{method}",route="{route}",status="{status}"}} {n}')
        lines += _metric_header("plumbline_request_seconds", "summary", "Time until an answer began, by route.")
        for route, n in sorted(self.answers.items()):
            lines.append(f'plumbline_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}')
            lines.append(f'plumbline_request_seconds_count{{route="{route}"}} {n}')
        for name, (explained, value) in gauges.items():
            lines += [*_metric_header(f"plumbline_{name}", "gauge", explained), f"plumbline_{name} {value:g}"]
        return _join_lines(lines)


def _metric_header(name: str, kind: str, explained: str) -> list[str]:
    return [f"# HELP {name} {explained}", f"# TYPE {name} {kind}"]


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
