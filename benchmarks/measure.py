"""One run of the speed table: everything is timed on one server, so that ratios come from a single run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from app.storage.embedded import EmbeddedServer
from benchmarks import bounds, synthetic
from benchmarks.children import HeldByChildren, run
from benchmarks.processes import postmaster

SMALL: Final = synthetic.whole(10_000)
WRITTEN: Final = ("judgments", "scores")
DECLARED: Final = ("systems", "documents", "raters", "segments", "outputs", "tasks", "items", "credits")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. ratio: in the direction of the goal; None for a figure without a goal."""

    what: str
    seconds: float
    against: str = ""
    bound: float | None = None
    ratio: float | None = None
    goal: str = ""


@dataclass(slots=True)
class Bench:
    """A server with synthetic campaigns, and the figures measured on it.

    memory: peaks in megabytes, by what used the memory.
    """

    server: EmbeddedServer
    folder: Path
    repeats: int
    rows: list[Row] = field(default_factory=list)
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address for serving, which is not the owner's, as in production."""
        return self.server.url("app")

    @property
    def starts(self) -> int:
        """How often a measurement in its own process is repeated: more often than others, unless once is enough."""
        return self.repeats + 2 if self.repeats > 1 else 1

    def import_mqm(self, n: int) -> str:
        """Import n MQM judgments into a new campaign, time this, and return the campaign's key."""
        file, key = self.folder / f"mqm-{n}.tsv", f"mqm-{n}"
        synthetic.mqm_tsv(file, n)
        return self._import(file, key, "mqm-tsv", "mqm", n)

    def import_da(self, n: int) -> str:
        """Import n direct assessments in the same way: no texts, no errors, one row per judgment."""
        file, key = self.folder / f"da-{n}.tsv", f"da-{n}"
        synthetic.wmt_da(file, n)
        return self._import(file, key, "wmt-da", "da", n)

    def _import(self, file: Path, key: str, format: str, protocol: str, n: int) -> str:
        print(f"importing {n:,} ({format})", file=sys.stderr)
        with HeldByChildren(postmaster(self.server)) as server:
            answer = run("import", self.url, key, format, protocol, str(file)).answer
        file.unlink()
        assert answer["judgments"] == n, answer
        self.memory[f"import of {n:,} ({format}): importing process"] = answer["memory"]
        self.memory[f"import of {n:,} ({format}): server, without shared buffers"] = server.peak
        if answer["readers"]:
            self.memory[f"import of {n:,} ({format}): reading processes, together"] = answer["readers"]
        self._against_copy(f"import of {n:,} judgments ({format})", answer["seconds"], key)
        return key

    def _against_copy(self, what: str, seconds: float, key: str) -> None:
        plain, encoded, every = (self._copied(key, *choice) for choice in _VARIANTS)
        self.rows += [
            Row(what, seconds, "COPY of its judgments and scores", plain, plain / seconds, "≥ 0.15"),
            Row(what, seconds, "the same, JSON encoded beforehand (stricter)", encoded, encoded / seconds),
            Row(what, seconds, "COPY of all rows that it wrote (looser)", plain + every, (plain + every) / seconds),
        ]

    def _copied(self, key: str, tables: Iterable[str], encoded: bool) -> float:
        owner = self.server.url("owner")
        return sum(
            median(bounds.copy_table(owner, table, key, encoded=encoded) for _ in range(self.repeats))
            for table in tables
        )

    def load(self, key: str, n: int) -> float:
        """Time the loading of a campaign against reading its flat table; return the seconds in a fresh process."""
        print(f"loading {n:,}", file=sys.stderr)
        owner = self.server.url("owner")
        bounds.flatten(owner, key)
        cold, warm, flat = [], [], []
        for _ in range(self.starts):
            flat.append(bounds.load_flat(owner))
            answer = run("load", self.url, key).answer
            assert answer["ratings"] == n, answer
            cold.append(answer["seconds"])
            warm.append(answer["warm"])
        self.memory[f"loading of {n:,}: loading process"] = answer["memory"]
        bound, what = median(flat), f"loading of {n:,} ratings"
        self.rows += [
            _ratio(what, cold, "string_agg of the same 12 columns, flat", bound, "≤ 3" if n > SMALL else ""),
            _ratio(f"{what}, warm", warm, "string_agg of the same 12 columns, flat", bound),
        ]
        return float(median(cold))

    def rank(self, key: str, n: int, load: float) -> float:
        """Time a ranking that is not stored yet, in fresh processes; return the seconds without imports."""
        print(f"ranking {n:,}", file=sys.stderr)
        runs, full = [], []
        for seed in range(self.starts):
            runs.append(run("rank", self.url, key, str(seed), "without"))
            full.append(run("rank", self.url, key, str(seed), "with").answer["seconds"])
        assert all(one.answer["n"] == n for one in runs)
        self.memory[f"ranking of {n:,}: ranking process"] = max(one.answer["memory"] for one in runs)
        what, goal = f"ranking of {n:,}, with loading", "≤ 3" if n > SMALL else ""
        alone = [one.answer["seconds"] - load for one in runs]
        self.rows += [
            _ratio(what, [one.answer["seconds"] for one in runs], "its loading", load, goal),
            _ratio(f"ranking of {n:,}, without loading", alone, "its loading", load),
            _ratio(f"{what}, process start and Python imports", [one.seconds for one in runs], "its loading", load),
            _ratio(f"{what}, rank sets and influence", full, "its loading", load),
        ]
        return float(median(one.answer["seconds"] for one in runs))

    def growth(self, what: str, large: float, small: float, goal: str = "") -> None:
        """Add how much longer the large campaign takes than the small one."""
        self.rows.append(Row(what, large, f"the same at {SMALL:,}", small, large / small, goal))


_VARIANTS: Final = ((WRITTEN, False), (WRITTEN, True), (DECLARED, False))


def _ratio(what: str, seconds: Sequence[float], against: str, bound: float, goal: str = "") -> Row:
    return Row(what, median(seconds), against, bound, median(seconds) / bound, goal)
