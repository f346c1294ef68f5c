"""The places of systems in a ranking, and their differences from another ranking."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from app.stats.ranking.result import Ranking


@dataclass(frozen=True, slots=True)
class RankingOrderAndClusters:
    """Systems, best first, with rank and cluster of each; clusters is None if the recipe draws none."""

    order: tuple[str, ...]
    ranks: tuple[float, ...]
    clusters: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class RankingDifference:
    """What a change did to a ranking.

    rank_changed: the flattened order differs. cluster_changed: the sequence of clusters, each a set, differs; None
    without clusters. swaps: number of pairs of systems in the reverse order. largest_move: in ranks; mover: the system
    that moved so far.
    """

    rank_changed: bool
    cluster_changed: bool | None
    swaps: int
    largest_move: float
    mover: str | None

    @property
    def are_order_and_clusters_changed(self) -> bool:
        """Whether both order and clusters differ."""
        return self.rank_changed and bool(self.cluster_changed)


def make_ranking_order_and_clusters(ranking: Ranking) -> RankingOrderAndClusters:
    """Return the order of the systems in a ranking, with ranks and clusters."""
    rows = ranking.systems
    clusters = [row.cluster for row in rows if row.cluster is not None]
    return RankingOrderAndClusters(
        order=tuple(row.system for row in rows),
        ranks=tuple(row.rank for row in rows),
        clusters=tuple(clusters) if len(clusters) == len(rows) else None,
    )


def compare_rankings(before: RankingOrderAndClusters, after: RankingOrderAndClusters) -> RankingDifference:
    """Compare two rankings of the same systems; a system that only one of them has is left out of both.

    Source: Knowles 2021, §5.2 (ΔRank, ΔCluster, ΔBoth).
    """
    common = set(before.order) & set(after.order)
    first, second = _places_of_systems(before, common), _places_of_systems(after, common)
    clusters = None
    if first.clusters is not None and second.clusters is not None:
        clusters = _clusters_of(first) != _clusters_of(second)
    moves = {system: abs(_rank(second, system) - _rank(first, system)) for system in first.order}
    mover = max(moves, key=lambda system: moves[system], default=None)
    largest = 0.0 if mover is None else moves[mover]
    return RankingDifference(
        rank_changed=first.order != second.order,
        cluster_changed=clusters,
        swaps=_swaps(first.order, second.order),
        largest_move=largest,
        mover=mover if largest else None,
    )


def _places_of_systems(places: RankingOrderAndClusters, systems: set[str]) -> RankingOrderAndClusters:
    """Return the places of some systems; ranks are recounted among these, keeping ties."""
    kept = [i for i, system in enumerate(places.order) if system in systems]
    ranks = [places.ranks[i] for i in kept]
    recounted = tuple(1 + sum(r < rank for r in ranks) + (ranks.count(rank) - 1) / 2 for rank in ranks)
    clusters = None if places.clusters is None else tuple(places.clusters[i] for i in kept)
    return RankingOrderAndClusters(tuple(places.order[i] for i in kept), recounted, clusters)


def _clusters_of(places: RankingOrderAndClusters) -> list[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for system, cluster in zip(places.order, places.clusters or (), strict=True):
        groups.setdefault(cluster, set()).add(system)
    return [frozenset(group) for _, group in sorted(groups.items())]


def _rank(places: RankingOrderAndClusters, system: str) -> float:
    return places.ranks[places.order.index(system)]


def _swaps(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    place = {system: i for i, system in enumerate(second)}
    return sum(place[a] > place[b] for a, b in combinations(first, 2))
