"""The report on post-edits beside direct scores, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.kit.table_making import make_table_from_columns

PLACES = 4
MEASURES = ("mter", "hter", "ter_external")
NAMES = {"mter": "mTER", "hter": "HTER", "ter_external": "TER external"}


class ScoredCampaign(FrozenResultModel):
    """A campaign whose scores are compared with the post-edits."""

    campaign: str
    protocol: str
    basis: str
    unit: str = Field(description="Unit into which the recipe converts the scores, such as z.")
    turned: bool = Field(description="Whether penalties were reversed so that higher is better.")
    n_outputs: int = Field(description="Scored outputs of segments that were post-edited.")
    n_ratings: int


class ScoreEditRateCorrelations(FrozenResultModel):
    """Pearson over the segments of one system, of scores with rates of edits; negative where both agree."""

    campaign: str
    system: str
    n: int
    mter: float | None
    hter: float | None
    ter_external: float | None


class MeanCorrelation(FrozenResultModel):
    """Means over systems by Fisher's z."""

    campaign: str
    measure: str
    n_systems: int
    fisher: float | None
    weighted: float | None = Field(description="Mean weighted by each system's segments minus 3.")


class ReferenceBiasView(FrozenResultModel):
    """What showing a reference does to scores; above 0 both say that scores follow it."""

    source_based: str
    reference_based: str
    mter: float | None = Field(description="|r(source, mTER)| − |r(reference, mTER)|.")
    ter_external: float | None = Field(description="|r(reference, TER external)| − |r(source, TER external)|.")


class ScorePostEditConflict(FrozenResultModel):
    """An output that post-edits and scores disagree about."""

    system: str
    document: str
    segment: int
    what: Literal["few edits, low score", "many edits, high score"]
    mter: float
    score: float = Field(description="Score in the recipe's unit, higher is better.")
    raw: float = Field(description="Score as given, higher is better.")
    residual: float = Field(description="Residual of the score given mTER, in SDs of the system.")
    source: str | None
    output: str
    closest: str = Field(description="The closest post-edit.")
    closest_of: str = Field(description="System from whose output it was made.")
    tags: list[str] = Field(description="Possible explanations.")


class ScoreEditRatePoints(FrozenResultModel):
    """Outputs of one system: mTER and score of each, at most a few thousand in all."""

    system: str
    r: float | None
    points: list[tuple[float, float]]


class PosteditingDAView(ReportHeader):
    """Post-edits beside direct scores."""

    post_edits: str | None = Field(description="Campaign with the post-edits.")
    tokens: str
    reference: str | None
    recipe: str
    scored: list[ScoredCampaign]
    correlations: list[ScoreEditRateCorrelations]
    means: list[MeanCorrelation]
    bias: ReferenceBiasView | None = Field(description="Null without a source-based and a reference-based campaign.")
    rule: str
    compared_with: str | None = Field(description="Campaign whose scores are compared for conflicts.")
    n_few_edits: int = Field(description="Outputs with few edits and a low score.")
    n_many_edits: int
    conflicts: list[ScorePostEditConflict] = Field(
        description="Sorted by distance from the line of their system, farthest first."
    )
    scatter: list[ScoreEditRatePoints]


def make_tables(view: PosteditingDAView) -> Sequence[TableSection]:
    """Make tables of means, of systems, of the reference's effect, and of disagreements."""
    shown = [
        TableSection("Correlations, means over systems", _mean_table(view)),
        TableSection("Correlations by system", _systems(view), frozenset({0, 1})),
    ]
    if view.bias is not None:
        heads: list[tuple[str, Alignment]] = [("Indicator", "left"), ("Value", "right")]
        rows = [
            ("|r(source, mTER)| − |r(reference, mTER)|", text_formatting.format_number(view.bias.mter, PLACES)),
            (
                "|r(reference, TER ext.)| − |r(source, TER ext.)|",
                text_formatting.format_number(view.bias.ter_external, PLACES),
            ),
        ]
        shown.append(TableSection("Reference bias", make_table_from_columns(heads, rows), frozenset()))
    if view.conflicts:
        shown.append(TableSection("Segments to inspect", _conflicts(view), frozenset({0, 1})))
    return shown


def _mean_table(view: PosteditingDAView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Scores of", "left"), ("Correlated with", "left"), ("Systems", "right")]
    heads += [("Fisher mean", "right"), ("Weighted", "right")]
    rows = [
        (
            *(one.campaign, NAMES[one.measure], str(one.n_systems)),
            *(text_formatting.format_number(one.fisher, PLACES), text_formatting.format_number(one.weighted, PLACES)),
        )
        for one in view.means
    ]
    return make_table_from_columns(heads, rows)


def _systems(view: PosteditingDAView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Scores of", "left"), ("System", "left"), ("Segments", "right")]
    heads += [(NAMES[name], "right") for name in MEASURES]
    rows = [
        (
            *(one.campaign, one.system, f"{one.n:,}"),
            *(text_formatting.format_number(getattr(one, name), PLACES) for name in MEASURES),
        )
        for one in view.correlations
    ]
    return make_table_from_columns(heads, rows)


def _conflicts(view: PosteditingDAView) -> Table:
    heads: list[tuple[str, Alignment]] = [("System", "left"), ("Document", "left"), ("Segment", "right")]
    heads += [("Conflict", "left"), ("mTER", "right"), ("Score", "right"), ("As given", "right"), ("Tags", "left")]
    heads += [("Output", "left"), ("Closest post-edit", "left")]
    rows = [
        (
            *(one.system, one.document, str(one.segment), one.what, text_formatting.format_number(one.mter, 1)),
            *(
                text_formatting.format_number(one.score, 2),
                text_formatting.format_number(one.raw, 1),
                ", ".join(one.tags) or "–",
            ),
            *(one.output, one.closest),
        )
        for one in view.conflicts
    ]
    return make_table_from_columns(heads, rows)


CSV = ("campaign", "system", "n", *MEASURES, "recipe", "tokenization", "post_edits")


def make_csv_rows(view: PosteditingDAView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per campaign and system."""
    origin = (view.recipe, view.tokens, view.post_edits)
    return CSV, [
        (one.campaign, one.system, one.n, *(getattr(one, name) for name in MEASURES), *origin)
        for one in view.correlations
    ]


def make_caption(view: PosteditingDAView) -> str:
    """Say what the figures are and which data they come from."""
    data = ", ".join(f"{key} version {version}" for key, version in view.campaigns.items())
    return (
        f"Post-edits of {view.post_edits or 'no campaign'} and scores under recipe {view.recipe} ({data}). Pearson "
        "over the segments of each system, higher scores are better; means over systems by Fisher's z; TER "
        "by sacrebleu "
        f"({view.tokens}); method {view.method_version}."
    )
