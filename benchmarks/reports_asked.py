"""The arguments of a run of `benchmarks.reports`: which kinds it times, and on campaigns of which sizes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.reports import registry
from app.reports.kit.report import Report

ROWS: Final = 140_000
REQUESTS: Final = 200
LEAST: Final = 100
"""Judgments of the larger campaign: with fewer, the campaign of a tenth of the size would have almost none."""
ON: Final[Mapping[str, tuple[str, ...]]] = {
    "campaign/mqm2": ("mqm2",),
    "campaign/postediting": ("postedit",),
    "campaigns/postediting_da": ("postedit", "da_sqm"),
    "campaigns/xsts": ("xsts",),
    "campaigns/linking": ("xsts", "xsts-2"),
    "campaigns/agreement": ("da_sqm", "da_sqm-2"),
    "campaigns/protocols": ("da_sqm", "da_sqm-2"),
    "campaigns/ui": ("da_sqm", "da_sqm-2"),
    "campaigns/robustness": ("da_sqm", "da_sqm-2"),
}
"""The campaigns that a kind reads, by protocol; by default the first one."""
FIRST_ONE: Final = "da_sqm"
NO_DATA: Final = "preferences"
"""Preferences come from screens, not from judgments, and there are none here."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A run.

    only: if empty, all kinds. at_most: judgments of the larger campaign of a kind, if it is capped. jobs: whether kinds
    that are jobs are timed; those in `only` always are.
    """

    rows: int
    requests: int
    jobs: bool
    only: frozenset[str]
    without: frozenset[str]
    at_most: Mapping[str, int]
    write: Path | None

    @property
    def names(self) -> list[str]:
        """The names of all kinds in the table."""
        return sorted(self.only or registry.ALL)

    def left_out(self, name: str, kind: Report[Any, Any]) -> str | None:
        """Return why a kind is not timed; None if it is."""
        if kind.name == NO_DATA:
            return "not timed, because its data are screens, not judgments"
        if name in self.without:
            return "left out of this run"
        if kind.long and not (self.jobs or self.only):
            return "a job with progress: not timed here"
        return None

    def sizes(self, name: str | None = None) -> tuple[int, int]:
        """Return the judgments of the smaller and the larger campaign. name: a kind, which may be capped."""
        rows = self.at_most.get(name, self.rows) if name is not None else self.rows
        return rows // 10, rows

    def needed(self) -> dict[int, tuple[str, ...]]:
        """Return the campaigns needed, by size: those of the timed kinds, and that of the stored reports."""
        found: dict[int, set[str]] = {}
        for name in self.names:
            if self.left_out(name, registry.ALL[name]) is None:
                for size in self.sizes(name):
                    found.setdefault(size, set()).update(about(name))
        if not self.only:
            found.setdefault(self.rows, set()).add(FIRST_ONE)
        return {size: tuple(sorted(found[size])) for size in sorted(found)}


def about(name: str) -> tuple[str, ...]:
    """Return the campaigns that a kind reads."""
    return ON.get(name, (FIRST_ONE,))


def read(arguments: Sequence[str] | None, description: str | None) -> Asked:
    """Parse the command line; end the process if the arguments make no sense."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=description)
    parser.add_argument("--rows", type=int, default=ROWS, help="judgments of a campaign")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of each kind of request")
    parser.add_argument("--with-jobs", action="store_true", help="time the kinds that are jobs, too, by single runs")
    only = "time these kinds, as campaign/arms, jobs or not, and no stored reports"
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND", help=only)
    parser.add_argument("--without", nargs="*", default=[], metavar="KIND", help="kinds that are left out")
    capped = "judgments of the larger campaign of a kind, where --rows would take too long; the table says so"
    parser.add_argument("--at-most", nargs="+", default=[], metavar="KIND=ROWS", type=_cap, help=capped)
    parser.add_argument("--write", type=Path, help="page to put the tables into, between its marks")
    given = parser.parse_args(arguments)
    at_most = dict(given.at_most)
    unknown = sorted({*given.only, *given.without, *at_most} - set(registry.ALL))
    if unknown:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(sorted(registry.ALL))}")
    if given.rows < LEAST or any(not LEAST <= rows <= given.rows for rows in at_most.values()):
        parser.error(f"a campaign has {LEAST} judgments or more, and one of --at-most no more than --rows")
    if given.only and given.write:
        parser.error("what --only times is a part of the tables and cannot take their place")
    return Asked(
        rows=given.rows,
        requests=given.requests,
        jobs=given.with_jobs,
        only=frozenset(given.only),
        without=frozenset(given.without),
        at_most=at_most,
        write=given.write,
    )


def _cap(text: str) -> tuple[str, int]:
    kind, _, rows = text.partition("=")
    if not rows.isascii() or not rows.isdecimal():
        raise argparse.ArgumentTypeError("it is KIND=ROWS, as campaign/arms=14000")
    return kind, int(rows)
