"""The report on agreement as tables for people and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.reports.agreement.view import (
    AgreementStatistic,
    AgreementView,
    LevelAgreementView,
    RaterPairLine,
    RaterSelfAgreement,
)
from app.reports.kit import text_formatting
from app.reports.kit.report import TableSection
from app.reports.kit.table import Cell, Table
from app.reports.kit.table_making import make_table

PLACES = 3
NAMES = {
    "kappa": "κ with tolerance, closed-form chance agreement",
    "kappa_pooled": "κ with tolerance, chance agreement from the scores",
    "alpha_interval": "Krippendorff's α, interval",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_ratio": "Krippendorff's α, ratio",
    "alpha_nominal": "Krippendorff's α, nominal",
    "mean_pearson": "Pearson, mean of rater pairs",
    "tau_single_documents": "Kendall's τ of rankings, single documents",
    "tau_all_documents": "Kendall's τ of rankings, all shared documents",
    "mean_difference": "mean absolute difference of two raters",
    "icc_1": "ICC(1)",
    "icc_a1": "ICC(A,1)",
    "icc_c1": "ICC(C,1)",
    "icc_k": "ICC(k), mean over raters",
    "icc_ak": "ICC(A,k), mean over raters",
    "icc_ck": "ICC(C,k), mean over raters",
    "fleiss": "Fleiss' κ",
    "weighted_kappa": "weighted κ, quadratic, pooled margins",
    "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2, quadratic",
}
LEVEL_NAMES = {"segments": "Segments", "documents": "Documents", "averaged": "Means of segments by document"}
SPAN_NAMES = {
    "character_f1": "F1 of characters, by severity",
    "overlap": "marks that overlap a mark by the other rater",
    "same_severity": "of these, with the same severity",
    "same_category": "of these, with the same category",
}
OWN_NAMES = {
    "repeats": "the same output, rated again",
    "same_output": "identical output of two systems",
    "same_output_other_rater": "identical output, two raters",
}


def label_statistic(statistic: AgreementStatistic) -> str:
    """Return the name of a coefficient with its tolerance, in words."""
    name = NAMES.get(statistic.statistic, statistic.statistic)
    return name if statistic.tolerance is None else f"{name}, t = {statistic.tolerance:g}"


def make_tables(view: AgreementView) -> Sequence[TableSection]:
    """Make tables of coefficients by level, of agreement by length, rater pairs, self-agreement and marked spans."""
    shown: list[TableSection] = []
    for level in view.levels:
        shown.append(TableSection(_level_title(level), _statistics(view, level), frozenset()))
        if len(level.by_length) > 1:
            shown.append(
                TableSection(f"{LEVEL_NAMES[level.level]}, by length of the document", _lengths(level), frozenset())
            )
    if view.pairs:
        shown.append(TableSection("Pairs of raters", _pairs(view.pairs), frozenset({0, 1})))
    if view.own:
        shown.append(TableSection("Consistency of each rater", _intra_rater_table(view.own), frozenset({1})))
    if view.spans:
        shown.append(TableSection("Marked errors", _spans(view), frozenset()))
    return shown


def _level_title(level: LevelAgreementView) -> str:
    counts = [
        text_formatting.pluralize(level.n_units, "unit"),
        text_formatting.pluralize(level.n_pairs, "pair"),
        text_formatting.pluralize(level.n_raters, "rater"),
        text_formatting.pluralize(level.n_documents, "document"),
    ]
    single = f"; {text_formatting.pluralize(level.n_single, 'unit')} with one rater left out" if level.n_single else ""
    return f"{LEVEL_NAMES[level.level]}: {', '.join(counts)}{single}"


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def _statistics(view: AgreementView, level: LevelAgreementView) -> Table:
    ends = f"{view.interval_level:.0%} interval"
    heads = ("Coefficient", "Value", ends, "Expected", "Observed", "Chance", "Landis & Koch")
    rows = [
        (
            label_statistic(one),
            _figure(one.value),
            text_formatting.format_interval(one.interval, PLACES),
            _figure(one.expected),
            _figure(one.observed),
            _figure(one.chance),
            one.word or "–",
        )
        for one in level.statistics
    ]
    return make_table(heads, rows)


def _lengths(level: LevelAgreementView) -> Table:
    t = level.by_length[0].tolerance
    name = "κ" if t is None else f"κ, t = {t:g}"
    heads = ("Segments of the document", "Units", "Pairs", name, "α, interval", "Mean difference")
    rows = [
        (
            one.segments,
            f"{one.n_units:,}",
            f"{one.n_pairs:,}",
            _figure(one.kappa),
            _figure(one.alpha),
            _figure(one.absolute),
        )
        for one in level.by_length
    ]
    return make_table(heads, rows)


def _pairs(pairs: Sequence[RaterPairLine]) -> Table:
    heads = ("Rater", "Rater", "Units", "Documents", "Pearson", "τ-b", "τ single", "τ all", "Difference")
    ordered = any(one.kappa is not None for one in pairs)
    rows = []
    for pair in pairs:
        taus = (pair.tau_b, pair.tau_single_documents, pair.tau_all_documents)
        cells = [*map(text_formatting.make_printable, pair.rater), f"{pair.n_units:,}", f"{pair.n_documents:,}"]
        cells += [_figure(pair.pearson), *map(_figure, taus), _figure(pair.absolute)]
        rows.append((*cells, _figure(pair.kappa), _figure(pair.weighted_kappa)) if ordered else tuple(cells))
    return make_table((*heads, "κ", "Weighted κ") if ordered else heads, rows, n_left_columns=2)


def _intra_rater_table(lines: Sequence[RaterSelfAgreement]) -> Table:
    heads = (
        "Ratings of",
        "Rater",
        "Pairs",
        "Difference",
        "Equal",
        f"Within {lines[0].tolerance:g}",
        "κ",
        "Pearson",
        "τ-b",
    )
    rows = [
        (
            OWN_NAMES[one.what],
            "all" if one.rater is None else text_formatting.make_printable(one.rater),
            f"{one.n:,}",
            *map(_figure, (one.absolute, one.identical, one.within, one.kappa, one.pearson, one.tau_b)),
        )
        for one in lines
    ]
    return make_table(heads, rows, n_left_columns=2)


def _spans(view: AgreementView) -> Table:
    figures = view.spans.figures if view.spans else []
    rows = [
        (SPAN_NAMES[one.statistic], _figure(one.value), text_formatting.format_interval(one.interval, PLACES))
        for one in figures
    ]
    return make_table(("Figure", "Value", f"{view.interval_level:.0%} interval"), rows)


CSV = (
    *("what", "level", "statistic", "tolerance", "value", "interval_low", "interval_high", "expected", "observed"),
    *("chance", "n_units", "n_pairs", "rater", "other_rater", "campaign", "data_version"),
)
NONE: tuple[Cell, ...] = (None, None)


def make_csv_rows(view: AgreementView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure: of levels, lengths, pairs of raters, raters with themselves, and marked spans."""
    campaign, version = next(iter(view.campaigns.items()))
    return CSV, [(*row, campaign, version) for row in _rows(view)]


def _rows(view: AgreementView) -> Iterator[tuple[Cell, ...]]:
    for level in view.levels:
        yield from _level_rows(level)
    for pair in view.pairs:
        figures = pair.model_dump(exclude={"rater", "n_units", "n_documents"})
        for name, value in figures.items():
            yield ("pair", None, name, None, value, *NONE, None, None, None, pair.n_units, None, *pair.rater)
    for own in view.own:
        figures = own.model_dump(include={"absolute", "identical", "within", "kappa", "pearson", "tau_b"})
        for name, value in figures.items():
            t = own.tolerance if name in {"within", "kappa"} else None
            yield (own.what, None, name, t, value, *NONE, None, None, None, None, own.n, own.rater, None)
    for figure in view.spans.figures if view.spans else ():
        n = view.spans.n_pairs if view.spans else None
        head = ("marks", None, figure.statistic, None, figure.value)
        yield (*head, *(figure.interval or NONE), None, None, None, None, n, *NONE)


def _level_rows(level: LevelAgreementView) -> Iterator[tuple[Cell, ...]]:
    counts = (level.n_units, level.n_pairs)
    for s in level.statistics:
        figures = (s.value, *(s.interval or NONE), s.expected, s.observed, s.chance)
        yield ("coefficient", level.level, s.statistic, s.tolerance, *figures, *counts, *NONE)
    for line in level.by_length:
        for name, value in (("kappa", line.kappa), ("alpha_interval", line.alpha), ("mean_difference", line.absolute)):
            t = line.tolerance if name == "kappa" else None
            empty = (*NONE, None, None, None)
            yield (f"length {line.segments}", level.level, name, t, value, *empty, line.n_units, line.n_pairs, *NONE)


def make_caption(view: AgreementView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    chance = (
        f"the chance agreement of two uniform scores on {view.chance_levels} values"
        if view.chance_levels
        else "the chance agreement of the observed scores"
    )
    drawn = (
        f"intervals from {view.draws:,} draws of documents (seed {view.seed})" if view.draws else "no intervals drawn"
    )
    return (
        f"Each pair of raters of a unit counts once; κ is relative to {chance}; {drawn}. Expected: the "
        "value under a mixed "
        f"model of units and raters, fitted to the same scores. Data version {version}, method {view.method_version}."
    )
