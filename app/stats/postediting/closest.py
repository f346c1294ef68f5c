"""Which post-edits are closest to a system's outputs: the system's own, those of its lab, or those of others.

Source: Bentivogli et al. 2018, §4 and figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix


@dataclass(frozen=True, slots=True)
class ClosestReferenceCount:
    """One evaluated system against the references of one origin (EXTERNAL: the independent translation).

    n: number of segments with references of this origin and of others. unique: those in which this origin alone is
    closest. tied: those in which it is closest together with another.
    """

    system: int
    origin: int
    n: int
    unique: int
    tied: int


@dataclass(frozen=True, slots=True)
class ClosestPostEditSharesByLab:
    """How often post-edits of others are closest, counted per segment and post-edited system; None if there are none.

    same: of other systems of the same lab; other: of other labs. n_same, n_other: number of cases behind them.
    """

    system: int
    same: float | None
    n_same: int
    other: float | None
    n_other: int


def count_closest_references(
    segments: Sequence[OutputReferenceEditMatrix], systems: Sequence[int]
) -> list[ClosestReferenceCount]:
    """Count, for each system, how often the references of each origin are closest, alone or with others."""
    origins = sorted({int(code) for at in segments for code in at.origin})
    tables = {system: _counts(segments, system, origins) for system in systems}
    return [
        ClosestReferenceCount(system, origin, *(int(x) for x in row))
        for system, table in tables.items()
        for origin, row in zip(origins, table, strict=True)
        if row[0]
    ]


def _counts(
    segments: Sequence[OutputReferenceEditMatrix], system: int, origins: Sequence[int]
) -> npt.NDArray[np.int64]:
    place = {origin: n for n, origin in enumerate(origins)}
    table = np.zeros((len(origins), 3), dtype=np.int64)
    for at in segments:
        row = np.flatnonzero(at.systems == system)
        if not row.size or not at.origin.size:
            continue
        best: dict[int, int] = {}
        for origin, edits in zip(at.origin.tolist(), at.edits[row[0]].tolist(), strict=True):
            best[origin] = min(edits, best.get(origin, edits))
        if len(best) < 2:
            continue
        least = min(best.values())
        winners = [origin for origin, edits in best.items() if edits == least]
        for origin in best:
            table[place[origin], 0] += 1
        for origin in winners:
            table[place[origin], 1 if len(winners) == 1 else 2] += 1
    return table


def compute_closest_shares_by_lab(
    counts: Sequence[ClosestReferenceCount], labs: Sequence[str | None]
) -> list[ClosestPostEditSharesByLab]:
    """Compare post-edits of the same lab with others, for each system with a lab; labs: by code of the system."""
    rows = []
    for system in dict.fromkeys(one.system for one in counts):
        if labs[system] is None:
            continue
        others = [one for one in counts if one.system == system and one.origin not in (system, EXTERNAL)]
        same = [one for one in others if labs[one.origin] == labs[system]]
        other = [one for one in others if labs[one.origin] not in (labs[system], None)]
        rows.append(ClosestPostEditSharesByLab(system, *_share(same), *_share(other)))
    return rows


def _share(lines: Sequence[ClosestReferenceCount]) -> tuple[float | None, int]:
    n = sum(one.n for one in lines)
    return (sum(one.unique + one.tied for one in lines) / n if n else None), n
