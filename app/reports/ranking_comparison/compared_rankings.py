"""Rankings side by side: a campaign under several recipes, or several campaigns under one recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType

from app.reports.ranking.view import RankingView, SystemLine
from app.reports.ranking_comparison.disagreeing_pairs import DisagreeingPair, find_disagreeing_pairs
from app.storage.imports.staging import format_canonical_json


@dataclass(frozen=True, slots=True)
class ComparedRanking:
    """One ranking. name: of the recipe or the campaign. view: None if there is none; `why` then says why."""

    name: str
    view: RankingView | None
    why: str | None = None
    etag: str = ""

    def find_system_line(self, system: str) -> SystemLine | None:
        """Return the line of a system in this ranking; None if it is not in it."""
        lines = self.view.systems if self.view else ()
        return next((line for line in lines if line.system == system), None)

    def relative_rank(self, system: str) -> float | None:
        """Return 0 for the best of a ranking and 1 for the worst, so that rankings of any length are comparable."""
        line = self.find_system_line(system)
        if line is None or self.view is None:
            return None
        return (line.rank - 1) / max(1, len(self.view.systems) - 1)


@dataclass(frozen=True, slots=True)
class RankingsSideBySide:
    """Rankings side by side.

    subject: what is ranked, for headings. systems: by mean relative rank over the rankings that have them.
    """

    subject: str
    columns: tuple[ComparedRanking, ...]
    systems: tuple[str, ...]
    mean_relative_rank: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def etag(self) -> str:
        """The ETag of everything that is shown."""
        text = format_canonical_json(
            [[self.subject, *self.notes], *([c.name, c.etag, c.why or ""] for c in self.columns)]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def columns_with_ranking(self) -> tuple[ComparedRanking, ...]:
        """The columns that contain a ranking."""
        return tuple(column for column in self.columns if column.view is not None)

    @property
    def has_same_systems(self) -> bool:
        """Whether every ranking has every system."""
        return all(len(column.view.systems) == len(self.systems) for column in self.columns_with_ranking if column.view)

    def find_first_line_of_system(self, system: str) -> SystemLine:
        """Return the line of a system in the first ranking that has it, with its name and whether it is human."""
        return next(line for column in self.columns if (line := column.find_system_line(system)) is not None)

    def list_disagreeing_pairs(self) -> list[DisagreeingPair]:
        """Return the pairs on which the rankings disagree, with one verdict per column that contains a ranking."""
        return find_disagreeing_pairs([column.view for column in self.columns if column.view is not None])


def make_rankings_side_by_side(
    subject: str, columns: Sequence[ComparedRanking], notes: Sequence[str] = ()
) -> RankingsSideBySide:
    """Arrange columns and systems, best first; ties are broken by the number of rankings with a system, then by key."""
    ranks_by_system: dict[str, list[float]] = {}
    for column in columns:
        for line in column.view.systems if column.view else ():
            ranks_by_system.setdefault(line.system, []).append(column.relative_rank(line.system) or 0.0)
    mean = {system: fmean(ranks) for system, ranks in ranks_by_system.items()}
    systems = sorted(
        ranks_by_system, key=lambda system: (round(mean[system], 10), -len(ranks_by_system[system]), system)
    )
    return RankingsSideBySide(subject, tuple(columns), tuple(systems), MappingProxyType(mean), tuple(notes))
