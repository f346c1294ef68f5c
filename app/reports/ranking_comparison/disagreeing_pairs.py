"""Several rankings of the same systems compared: on which pairs they disagree, and how seriously."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from app.reports.ranking.view import RankingView

Kind = Literal["reversed", "significance", "order"]


@dataclass(frozen=True, slots=True)
class RankingPairVerdict:
    """One ranking's result for a pair.

    better: by score, None for equal scores. claims: the system that is significantly better.
    """

    better: str | None
    claims: str | None


@dataclass(frozen=True, slots=True)
class DisagreeingPair:
    """A pair on which rankings disagree.

    kind: `reversed` if each system is significantly better somewhere, `significance` if a claim holds only in some
    rankings, `order` if nothing is significant and the order differs. verdicts: one per ranking, None without the pair.
    """

    a: str
    b: str
    kind: Kind
    verdicts: tuple[RankingPairVerdict | None, ...]


def find_disagreeing_pairs(views: Sequence[RankingView]) -> list[DisagreeingPair]:
    """Return the pairs on which rankings disagree, in the order of the first ranking that has them."""
    told = [_verdicts(view) for view in views]
    disagreements = []
    for a, b in _pairs(views):
        verdicts = tuple(one.get(frozenset((a, b))) for one in told)
        kind = _kind([verdict for verdict in verdicts if verdict is not None])
        if kind is not None:
            disagreements.append(DisagreeingPair(a, b, kind, verdicts))
    return disagreements


def _pairs(views: Sequence[RankingView]) -> Iterator[tuple[str, str]]:
    """Yield every pair that occurs in some ranking, once."""
    seen: dict[str, None] = {}
    for view in views:
        seen.update(dict.fromkeys(line.system for line in view.systems))
    yield from combinations(seen, 2)


def _verdicts(view: RankingView) -> dict[frozenset[str], RankingPairVerdict]:
    rank = {line.system: line.rank for line in view.systems}
    verdicts = {}
    for pair in view.pairs:
        better = pair.better if rank[pair.better] < rank[pair.worse] else None
        claims = pair.better if pair.significant else pair.worse if pair.significant_reverse else None
        verdicts[frozenset((pair.better, pair.worse))] = RankingPairVerdict(better, claims)
    return verdicts


def _kind(verdicts: Sequence[RankingPairVerdict]) -> Kind | None:
    claims = {verdict.claims for verdict in verdicts}
    if len(claims - {None}) > 1:
        return "reversed"
    if len(claims) > 1:
        return "significance"
    return "order" if len({verdict.better for verdict in verdicts}) > 1 and claims == {None} else None
