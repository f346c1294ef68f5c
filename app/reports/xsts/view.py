"""The comparison of language pairs on one scale, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell, Table
from app.reports.kit.table_making import make_table
from app.stats.calibration.calibration_lines import METHODS, Method

IN_WORDS: dict[Method, str] = {
    "raw": "raw",
    "cs": "calibration set",
    "ht": "human translations",
    "cs_ht": "both fixed points",
}
PLACES = 3
ATTRIBUTES = ("family", "script", "word_order", "morphology", "training_size")


class CalibrationEquation(FrozenFiniteResultModel):
    """x′ = slope·x + intercept."""

    method: Method
    slope: float | None
    intercept: float | None
    why: str | None = Field(None, description="Why the method gives no result here.")


class RaterFixedPoints(FrozenFiniteResultModel):
    """One rater's own fixed points, where scores are moved by rater."""

    rater: str
    campaign: str
    consensus: float | None
    anchors: float | None
    human: float | None
    moved: bool = Field(description="False if a fixed point is missing or two are in reverse order; scores then stay.")


class LanguageDirectionView(FrozenFiniteResultModel):
    """One campaign: a language pair in one direction, and its fixed points."""

    campaign: str
    source_language: str | None
    target_language: str | None
    language: str = Field(description="Language of the raters: campaigns of one language share c_l.")
    consensus: float | None = Field(description="C: mean agreed score of the calibration pairs that were judged.")
    c: float | None = Field(description="c_l: mean over the same pairs of the median over raters.")
    n_pairs: int = Field(description="Calibration pairs that raters of the language judged.")
    share_of_set: float | None = Field(description="Share of the pairs that any of these campaigns judged or added.")
    h: float | None = Field(description="h_l: mean of medians of the human references of this direction.")
    n_human: int = Field(description="Outputs of human references that were judged.")
    n_raters: int
    lines: list[CalibrationEquation]
    attributes: dict[str, str | float] = Field(description="Attributes of the language, from the campaign's settings.")
    automatic: float | None = Field(description="Automatic score of the direction, as it was given.")


class CalibratedScoreView(FrozenFiniteResultModel):
    """A system's score under one method."""

    method: Method
    value: float | None
    interval: tuple[float, float] | None
    rank: int | None = Field(description="Rank among the systems of all campaigns; 1 is the best.")
    why: str | None = None


class XstsSystemView(FrozenFiniteResultModel):
    """One system of one campaign."""

    campaign: str
    system: str
    n_units: int
    n_ratings: int
    scores: list[CalibratedScoreView]

    def score_under_method(self, method: Method) -> CalibratedScoreView:
        """Return the score under a method."""
        return next(one for one in self.scores if one.method == method)


class AutomaticScoreCorrelation(FrozenFiniteResultModel):
    """How scores under one method follow an automatic score over language pairs."""

    method: Method
    directions: str = Field(description="all, or those into or out of the language that all campaigns share.")
    n: int
    pearson: float | None
    r_squared: float | None
    split_half: float | None = Field(description="Mean R² on the held-out half of a regression on the other half.")
    error: float | None = Field(description="Monte-Carlo standard error of the split-half figure.")
    why: str | None = None


class XstsView(ReportHeader):
    """Systems of several language pairs on one scale."""

    method: Method = Field(description="Method by which the systems are sorted; all four are given.")
    by: str = Field(description="language: one line per language pair; rater: one line per rater, before medians.")
    target: float | None = Field(description="H: the score that human references should have.")
    target_from: str
    pivot: str | None = Field(description="Language that all campaigns share, if there is one.")
    higher_is_better: bool
    draws: int
    level: float
    seed: int
    directions: list[LanguageDirectionView]
    systems: list[XstsSystemView] = Field(description="Best first; those without a score are last.")
    raters: list[RaterFixedPoints]
    external: list[AutomaticScoreCorrelation]


def format_score(value: float | None) -> str:
    """Format a score."""
    return text_formatting.format_number(value, PLACES)


def label_system(view: XstsView, system: XstsSystemView) -> str:
    """Return the label of a campaign's system; the campaign alone if it has only one."""
    alone = sum(other.campaign == system.campaign for other in view.systems) == 1
    return system.campaign if alone else f"{system.campaign} {system.system}"


def make_tables(view: XstsView) -> Sequence[TableSection]:
    """Make tables of scores, of fixed points, of plausibility, and of correlations with the automatic score."""
    shown = []
    if view.systems:
        shown.append(TableSection("Systems on one scale", _scores(view), frozenset({0, 1})))
    shown.append(TableSection("Fixed points", _points(view)))
    if view.systems and any(one.attributes or one.automatic is not None for one in view.directions):
        shown.append(TableSection("Order of languages by each method", _plausible(view), frozenset({1})))
    if view.external:
        shown.append(TableSection("Correlation with the automatic score", _external(view), frozenset()))
    return shown


def _scores(view: XstsView) -> Table:
    words = [text_formatting.make_sentence(IN_WORDS[m]).rstrip(".") for m in METHODS]
    heads = ("Campaign", "System", "Rank", *words, f"{view.level:.0%} interval", "Outputs")
    rows = []
    for system in view.systems:
        main = system.score_under_method(view.method)
        values = (format_score(system.score_under_method(m).value) for m in METHODS)
        rank = "–" if main.rank is None else str(main.rank)
        rows.append(
            (
                system.campaign,
                system.system,
                rank,
                *values,
                text_formatting.format_interval(main.interval, PLACES),
                f"{system.n_units:,}",
            )
        )
    return make_table(heads, rows, 2)


def _points(view: XstsView) -> Table:
    heads = ("Campaign", "Languages", "C", "c", "Pairs", "h", "References", "Slope", "Intercept")
    rows = []
    for direction in view.directions:
        both = next(line for line in direction.lines if line.method == view.method)
        languages = f"{direction.source_language or '?'} → {direction.target_language or '?'}"
        points = (
            format_score(direction.consensus),
            format_score(direction.c),
            f"{direction.n_pairs:,}",
            format_score(direction.h),
            f"{direction.n_human:,}",
        )
        rows.append((direction.campaign, languages, *points, format_score(both.slope), format_score(both.intercept)))
    return make_table(heads, rows, 2)


def _plausible(view: XstsView) -> Table:
    words = [name.replace("_", " ").capitalize() for name in ATTRIBUTES]
    heads = ("Rank", "Campaign", *words, "Automatic", *(IN_WORDS[m].capitalize() for m in METHODS))
    of = {one.campaign: one for one in view.directions}
    rows = []
    for system in view.systems:
        where, main = of[system.campaign], system.score_under_method(view.method)
        attributes = (str(where.attributes.get(name, "–")) for name in ATTRIBUTES)
        ranks = ("–" if (r := system.score_under_method(m).rank) is None else str(r) for m in METHODS)
        automatic = text_formatting.format_number(where.automatic, 2)
        rows.append(
            ("–" if main.rank is None else str(main.rank), label_system(view, system), *attributes, automatic, *ranks)
        )
    return make_table(heads, rows, 2 + len(ATTRIBUTES))


def _external(view: XstsView) -> Table:
    heads = ("Method", "Directions", "n", "Pearson", "R²", "Split-half R²", "±")
    rows = []
    for line in view.external:
        figures = map(format_score, (line.pearson, line.r_squared, line.split_half))
        error = text_formatting.format_number(line.error, 4)
        rows.append((IN_WORDS[line.method], line.directions, str(line.n), *figures, error))
    return make_table(heads, rows, 2)


CSV = (
    *("campaign", "system", "method", "value", "interval_low", "interval_high", "rank", "n_units", "n_ratings"),
    *("slope", "intercept", "consensus", "c", "n_pairs", "h", "n_human", "target", "automatic", "why"),
)


def make_csv_rows(view: XstsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per system and method."""
    return CSV, list(_rows(view))


def _rows(view: XstsView) -> Iterator[tuple[Cell, ...]]:
    of = {one.campaign: one for one in view.directions}
    for system in view.systems:
        where = of[system.campaign]
        for score, line in zip(system.scores, where.lines, strict=True):
            ends: tuple[Cell, Cell] = score.interval or (None, None)
            head = (
                system.campaign,
                system.system,
                score.method,
                score.value,
                *ends,
                score.rank,
                system.n_units,
                system.n_ratings,
            )
            points = (where.consensus, where.c, where.n_pairs, where.h, where.n_human, view.target, where.automatic)
            yield (*head, line.slope, line.intercept, *points, score.why)


def make_caption(view: XstsView) -> str:
    """Say what the figures are and which data they come from."""
    versions = ", ".join(f"{key} at {version}" for key, version in view.campaigns.items())
    target = "no target" if view.target is None else f"H {format_score(view.target)} ({view.target_from})"
    drawn = f"{view.draws:,} draws of documents and calibration pairs" if view.draws else "no intervals"
    return (
        f"Mean over outputs of the median over raters; lines by {view.by}; {target}; {drawn}. "
        f"Data versions: {versions}; seed {view.seed}, method {view.method_version}."
    )
