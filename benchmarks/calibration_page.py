"""The page `docs/calibration.md` with the measured sizes and coverages, and its picture."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from app.reports.kit.charts.rates import plot_simulated_and_nominal_rates
from app.stats.validation.proportion import Proportion
from app.stats.validation.worlds import WORLDS
from benchmarks.calibration import MEASURED, OURS, Cell, shape

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
PAGE: Final = DOCS / "calibration.md"
PICTURE: Final = DOCS / "pictures" / "calibration.svg"
PICTURED: Final = OURS
HEADINGS: Final[Mapping[str, str]] = MappingProxyType({"size": "False claims", "coverage": "Coverage"})

HEAD: Final = """# Calibration: how often claims err

Every test, interval and flag has a nominal error rate. This rate holds only under certain assumptions: many documents
of equal length, raters who differ only in severity, symmetric scores, and a single look at the data. Real campaigns
violate these assumptions. To measure the effect, we simulated up to {n:,} campaigns of each of {worlds} kinds
(*worlds*) and counted the errors. `python -m benchmarks.calibration` regenerates this page.

![Measured shares of each claim in each world, next to the nominal level](pictures/calibration.svg)

In every world, no system is better than another. For gates, the candidate's true difference lies exactly on the
boundary of the claim.

{described}

The share of false claims should be at most the nominal level; coverage should be at least the nominal level. *Pairs
claimed* is the share of pairs for which a difference is claimed. All other rows of the table under *False claims*
show the share of campaigns in which such a claim is made or such a flag is raised. **!** marks a share that misses
its level by more than three standard errors, if the program warns about this case. The warnings are quoted below the
tables, each with the figures of the first world listed after it. **!!** marks a share that misses its level without a
warning.
"""


def page(cells: Sequence[Cell]) -> str:
    """Return the page as Markdown."""
    described = "\n".join(
        [
            "| world | campaign |",
            "|---|---|",
            *(f"| `{name}` | {world.description} |" for name, world in WORLDS.items()),
        ]
    )
    largest = max(cell.n for cell in cells)
    parts = [HEAD.format(n=largest, worlds=len(WORLDS), described=described)]
    for kind, heading in HEADINGS.items():
        these = [cell for cell in cells if cell.kind == kind]
        if these:
            parts += [f"## {heading}\n", *_table(these), "\n"]
    parts += ["## Warnings of the program\n", *_warnings(cells)]
    return "\n".join(parts).rstrip() + "\n"


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    worlds = [name for name in WORLDS if any(cell.world == name for cell in cells)]
    yield f"| claim | level | {' | '.join(f'`{name}`' for name in worlds)} |"
    yield f"|---|--:|{'--:|' * len(worlds)}"
    for claim in dict.fromkeys(cell.claim for cell in cells):
        row = {cell.world: cell for cell in cells if cell.claim == claim}
        level = next(iter(row.values())).nominal
        yield f"| {claim} | {share(level)} | {' | '.join(_shown(row.get(name)) for name in worlds)} |"


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return share(cell.rate) + ("" if cell.kept else " **!**" if cell.warned else " **!!**")


def share(value: float) -> str:
    """Format a share as usual in the field.

    >>> share(0.0512), share(1.0)
    ('.051', '1.00')
    """
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1.00"


def _warnings(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield the warnings of cells that miss their level, each once, with its figures from one world."""
    said: dict[str, _Said] = {}
    for cell in cells:
        if not cell.kept:
            for warning in cell.warnings:
                one = said.setdefault(shape(warning), _Said(warning))
                one.worlds.setdefault(f"`{cell.world}`")
                one.makers.setdefault(cell.claim.split(":")[0])
    for one in said.values():
        yield f"- “{one.warning}” – {_listed(one.makers)} in {_listed(one.worlds)}"


@dataclass(frozen=True, slots=True)
class _Said:
    """A warning, the worlds in which it was given, and the claimants that gave it, both in the order of the tables."""

    warning: str
    worlds: dict[str, None] = field(default_factory=dict)
    makers: dict[str, None] = field(default_factory=dict)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


class _Rate(NamedTuple):
    """A cell in the form that the chart reads."""

    meaning: str
    expected: float | None
    bound: str
    rate: float | None
    low: float
    high: float
    kept: bool | None

    @classmethod
    def of(cls, cell: Cell) -> _Rate:
        counted = Proportion(cell.found, cell.n)
        bound = "at most" if cell.kind == "size" else "at least"
        return cls(
            cell.claim.replace("`", ""),
            cell.nominal,
            bound,
            cell.rate,
            counted.lower_bound,
            counted.upper_bound,
            kept=cell.kept,
        )


def picture(cells: Sequence[Cell]) -> bytes:
    """Draw the default recipe and the gate as SVG, with one row per claim and world."""
    drawn = [cell for cell in cells if cell.claim.startswith(PICTURED)]
    groups = {world: [_Rate.of(cell) for cell in drawn if cell.world == world] for world in WORLDS}
    notes = ["No system is better than another in these campaigns. A gate's candidate lies on the claim's boundary."]
    return plot_simulated_and_nominal_rates(
        "Measured size and coverage", {world.replace("_", " "): rows for world, rows in groups.items() if rows}, notes
    )


def read(path: Path = MEASURED) -> list[Cell]:
    """Read the measured figures."""
    return [Cell(**{**cell, "warnings": tuple(cell["warnings"])}) for cell in json.loads(path.read_text())]


def write() -> None:
    """Create page and picture from the figures."""
    cells = read()
    PAGE.write_text(page(cells), encoding="utf-8")
    PICTURE.write_bytes(picture(cells))
