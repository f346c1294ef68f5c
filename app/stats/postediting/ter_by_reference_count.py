"""TER against one post-edit, and against a growing number: how many make up for the targeted one.

Source: Bentivogli et al. 2018, §4 and figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix

CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class SystemTERByReferenceCount:
    """Curve of one system.

    origins: of its references, the farthest first, then its own post-edits, then EXTERNAL if there is one. single: TER
    against each alone; if an origin has several post-edits of an output, against each of these, as in HTER. growing:
    mTER against all references up to each. enough: fewest origins of others for which mTER is at most HTER, None if all
    together are not enough.
    """

    system: int
    origins: tuple[int, ...]
    single: tuple[float, ...]
    growing: tuple[float, ...]
    enough: int | None


@dataclass(frozen=True, slots=True)
class TERByReferenceCountCurve:
    """Means over the systems by position, and the systems. n_segments: number of segments that every origin edited."""

    n_segments: int
    systems: tuple[SystemTERByReferenceCount, ...]
    single: tuple[float, ...]
    growing: tuple[float, ...]
    enough: int | None


def compute_ter_by_reference_count(
    segments: Sequence[OutputReferenceEditMatrix], systems: Sequence[int]
) -> TERByReferenceCountCurve | None:
    """Compute the curve of these post-edited systems over segments with an output and a post-edit of each.

    None for fewer than two systems, without such a segment, or if these have no tokens.
    """
    wanted = set(systems)
    held = [at for at in segments if wanted <= set(at.systems.tolist()) and wanted <= set(at.origin.tolist())]
    if len(systems) < 2 or not held or not sum(int(at.length.sum()) for at in held):
        return None
    external = all(EXTERNAL in at.origin for at in held)
    lines = [_curve_of_system(held, system, sorted(wanted - {system}), external=external) for system in systems]
    lines = [line for line in lines if line is not None]
    single = tuple(float(x) for x in np.mean([line.single for line in lines], axis=0))
    growing = tuple(float(x) for x in np.mean([line.growing for line in lines], axis=0))
    others = len(systems) - 1
    return TERByReferenceCountCurve(
        len(held), tuple(lines), single, growing, _smallest_sufficient_count(growing[:others], single[others])
    )


def _curve_of_system(
    held: Sequence[OutputReferenceEditMatrix], system: int, others: Sequence[int], *, external: bool
) -> SystemTERByReferenceCount:
    alone = {origin: _ter(held, system, origin) for origin in others}
    order = sorted(others, key=lambda origin: (-alone[origin], origin))
    origins = (*order, system, *((EXTERNAL,) if external else ()))
    single = tuple(alone[o] if o in alone else _ter(held, system, o) for o in origins)
    growing = tuple(_mter(held, system, origins[: n + 1]) for n in range(len(origins)))
    return SystemTERByReferenceCount(
        system, origins, single, growing, _smallest_sufficient_count(growing[: len(others)], single[len(others)])
    )


def _smallest_sufficient_count(growing: Sequence[float], targeted: float) -> int | None:
    return next((n for n, value in enumerate(growing, 1) if value <= targeted + CLOSE), None)


def _ter(held: Sequence[OutputReferenceEditMatrix], system: int, origin: int) -> float:
    rows = [(at, at.systems == system, at.origin == origin) for at in held]
    edits = sum(int(at.edits[np.ix_(row, wanted)].sum()) for at, row, wanted in rows)
    length = sum(int(at.length[wanted].sum()) for at, _, wanted in rows)
    return 100.0 * edits / length if length else 0.0


def _mter(held: Sequence[OutputReferenceEditMatrix], system: int, origins: Sequence[int]) -> float:
    pairs = [at.edits_to_closest_reference(system, np.isin(at.origin, origins)) for at in held]
    length = sum(pair[1] for pair in pairs if pair is not None)
    edits = sum(pair[0] for pair in pairs if pair is not None)
    return 100.0 * edits / length if length else 0.0
