"""The report on robustness, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Alignment, Cell, Table
from app.stats.robustness.ranking_places import RankingOrderAndClusters
from app.stats.robustness.reranking import ScoreChangeEffect
from app.stats.robustness.score_changes import Group

IN_WORDS: dict[Group, str] = {
    "references": "without human systems and references",
    "lowest": "without the lowest system",
    "highest": "without the highest system",
    "degraded": "human systems and references degraded",
    "degraded_reference_rows": "reference rows degraded",
    "inflated": "the lowest system inflated",
    "system": "without one system",
    "rater": "without one rater",
    "document": "without one document",
    "domain": "without one domain",
}
UNPLACED = frozenset({"rater", "document"})
"""Groups so large that the report omits the places of systems after each change."""


class RankingOrderAndClustersView(BaseModel):
    """Systems, best first, with rank and cluster of each."""

    model_config = ConfigDict(frozen=True)

    systems: list[str]
    ranks: list[float]
    clusters: list[int] | None = Field(description="Null if the recipe forms none.")


class ScoreChangeEffectView(BaseModel):
    """One change and what it did to the ranking."""

    model_config = ConfigDict(frozen=True)

    group: Group
    what: str = Field(description="The unit as WHAT:KEY, or the factor.")
    rank_changed: bool | None = Field(description="Whether the order differs; null if there is no ranking to compare.")
    cluster_changed: bool | None = Field(description="Whether the sequence of clusters differs; null without clusters.")
    both: bool | None
    swaps: int | None = Field(description="Pairs of systems whose order is reversed.")
    largest_move: float | None = Field(description="Largest move, in ranks.")
    mover: str | None = Field(description="The system that moves most; null where none does.")
    before: RankingOrderAndClustersView | None = Field(
        None, description="Ranking of the same systems without the change."
    )
    after: RankingOrderAndClustersView | None = None
    why: str | None = Field(None, description="Reason why there is no ranking to compare.")

    @classmethod
    def from_effect(cls, effect: ScoreChangeEffect) -> ScoreChangeEffectView:
        """Make the view of an effect from the statistics."""
        change, difference = effect.change, effect.difference
        placed = change.group not in UNPLACED
        return cls(
            group=change.group,
            what=change.what,
            rank_changed=difference and difference.rank_changed,
            cluster_changed=difference and difference.cluster_changed,
            both=difference and difference.are_order_and_clusters_changed,
            swaps=difference and difference.swaps,
            largest_move=difference and difference.largest_move,
            mover=difference and difference.mover,
            before=_places(effect.before) if placed else None,
            after=_places(effect.after) if placed else None,
            why=effect.why,
        )


def _places(places: RankingOrderAndClusters | None) -> RankingOrderAndClustersView | None:
    if places is None:
        return None
    clusters = None if places.clusters is None else list(places.clusters)
    return RankingOrderAndClustersView(systems=list(places.order), ranks=list(places.ranks), clusters=clusters)


class ScoreChangeGroupView(BaseModel):
    """All changes of one group."""

    model_config = ConfigDict(frozen=True)

    group: Group
    meaning: str = Field(description="Description of the group in words.")
    n: int = Field(description="Changes with a ranking to compare.")
    rank_changed: int
    cluster_changed: int
    both: int
    largest_move: float | None
    why: str | None = Field(None, description="Reason why the group has no changes.")


class RobustnessView(ReportHeader):
    """What a ranking depends on."""

    recipe: str
    recipe_hash: str
    normalize: str = Field(description="Normalization, as chosen on all data.")
    test: str
    seed: int
    systems: list[str] = Field(description="Best first, without any change.")
    human_systems: list[str]
    groups: list[ScoreChangeGroupView]
    changes: list[ScoreChangeEffectView]


def summarize_score_change_group(
    group: Group, changes: Iterable[ScoreChangeEffectView], why: str | None = None
) -> ScoreChangeGroupView:
    """Count over the changes of one group; changes without a ranking to compare are not counted."""
    own = [one for one in changes if one.group == group and one.rank_changed is not None]
    return ScoreChangeGroupView(
        group=group,
        meaning=IN_WORDS[group],
        n=len(own),
        rank_changed=sum(bool(one.rank_changed) for one in own),
        cluster_changed=sum(bool(one.cluster_changed) for one in own),
        both=sum(bool(one.both) for one in own),
        largest_move=max((one.largest_move or 0.0 for one in own), default=None),
        why=why,
    )


HEADS: tuple[tuple[str, Alignment], ...] = (
    ("Change", "left"),
    ("Rankings", "right"),
    ("Order changed", "right"),
    ("Clusters changed", "right"),
    ("Both", "right"),
    ("Largest move", "right"),
)


def make_tables(view: RobustnessView) -> Sequence[TableSection]:
    """Make one row per group, and a table of changes; for raters and documents, only those with an effect."""
    headings, alignments = zip(*HEADS, strict=True)
    rows = tuple(_group_cells(group) for group in view.groups)
    shown = [TableSection("By kind of change", Table(headings, alignments, rows), frozenset())]
    listed = [one for one in view.changes if one.group not in UNPLACED or one.rank_changed or one.cluster_changed]
    if listed:
        shown.append(TableSection("Changes", _changes_table(listed), frozenset({1, 6})))
    return shown


def _group_cells(group: ScoreChangeGroupView) -> tuple[str, ...]:
    if not group.n:
        return group.meaning, "0", "–", "–", "–", "–"
    counts = (group.rank_changed, group.cluster_changed, group.both)
    return (
        group.meaning,
        f"{group.n:,}",
        *(f"{n:,}" for n in counts),
        text_formatting.format_rank(group.largest_move or 0.0),
    )


def _changes_table(changes: Sequence[ScoreChangeEffectView]) -> Table:
    headings = ("Change", "Of", "Order", "Clusters", "Swaps", "Largest move", "System")
    sides: tuple[Alignment, ...] = ("left", "left", "left", "left", "right", "right", "left")
    rows = tuple(
        (
            IN_WORDS[one.group],
            one.what,
            _word(one.rank_changed),
            _word(one.cluster_changed),
            "–" if one.swaps is None else str(one.swaps),
            "–" if one.largest_move is None else text_formatting.format_rank(one.largest_move),
            one.mover or "–",
        )
        for one in changes
    )
    return Table(headings, sides, rows)


def _word(changed: bool | None) -> str:
    return "–" if changed is None else "changed" if changed else "same"


CSV = ("group", "what", "rank_changed", "cluster_changed", "both", "swaps", "largest_move", "mover", "order_after")
ORIGIN = ("why", "campaign", "data_version", "recipe", "recipe_hash", "seed")


def make_csv_rows(view: RobustnessView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per change."""
    campaign, version = next(iter(view.campaigns.items()))
    origin = (campaign, version, view.recipe, view.recipe_hash, view.seed)
    return (*CSV, *ORIGIN), [(*make_change_csv_cells(one), one.why, *origin) for one in view.changes]


def make_change_csv_cells(change: ScoreChangeEffectView) -> tuple[Cell, ...]:
    """Return all values of a change."""
    after = None if change.after is None else " ".join(change.after.systems)
    figures = (
        change.rank_changed,
        change.cluster_changed,
        change.both,
        change.swaps,
        change.largest_move,
        change.mover,
    )
    return (change.group, change.what, *figures, after)


def make_caption(view: RobustnessView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    return (
        "Every change is made in the raw scores, before raters are normalized, and compared with the ranking of the "
        "same systems without it; systems that a change affects are in neither ranking. "
        f"Recipe {view.recipe} (normalization {view.normalize}, test {view.test}), data version {version}, "
        f"seed {view.seed}, method {view.method_version}."
    )
