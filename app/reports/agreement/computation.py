"""The steps from loaded ratings to the report on agreement: the plan, chunks of bootstrap draws, and the view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from app.domain.errors import Invalid, Place
from app.reports.agreement.coefficients import (
    MOST_LEFT_OUT,
    WITH_WORDS,
    AgreementCoefficientEstimator,
    CoefficientSettings,
    LevelAgreementInput,
    compute_closed_form_chance_agreement,
    make_weighted_rater_pair_counter,
)
from app.reports.agreement.view import (
    AgreementByDocumentLengthLine,
    AgreementStatistic,
    AgreementVarianceComponents,
    AgreementView,
    CompleteBlockView,
    Interval,
    LevelAgreementView,
    RaterPairLine,
    RaterSelfAgreement,
    SpanAgreementLine,
    SpanAgreementView,
)
from app.reports.inputs.raw_ratings import NOTHING, UNKNOWN_DOCUMENTS, RawRatings
from app.reports.kit import text_formatting
from app.stats.agreement import alpha, bootstrap, kappa, pairs, rankings, self_agreement, spans
from app.stats.agreement.kappa_labels import landis_koch_label
from app.stats.agreement.units import ValuesByUnit
from app.stats.document_lengths import LENGTHS, format_segment_count_range, mask_lengths_within
from app.stats.plain_values import interval_or_none, number_or_none
from app.stats.ratings import Codes, Floats

DRAWS_A_CHUNK = 100
MOST_LINES = 2_000
FEW_DOCUMENTS = 10
ONE_RATER = "no text was rated by two raters, so agreement cannot be estimated; have some texts rated twice"


def count_bootstrap_chunks(units: Iterable[ValuesByUnit], draws: int) -> int:
    """Return the number of chunks of draws; 0 if nothing was rated twice."""
    return -(-draws // DRAWS_A_CHUNK) if any(one.with_two_or_more_values().n_units for one in units) else 0


@dataclass(frozen=True, slots=True)
class AgreementBootstrap:
    """Everything that is bootstrapped: the units, which define the documents, and their statistics, by owner."""

    owners: tuple[tuple[ValuesByUnit, tuple[Any, ...]], ...]
    draws: int
    seed: int

    def compute_chunk(self, number: int) -> bytes:
        """Return the draws of one chunk, with all statistics side by side."""
        n = min(DRAWS_A_CHUNK, self.draws - number * DRAWS_A_CHUNK)
        draws = [
            bootstrap.evaluate_statistics_in_draws(
                ones, bootstrap.bootstrap_document_counts(units, n, seed=self.seed, chunk=number)
            )
            for units, ones in self.owners
        ]
        return np.hstack(draws).astype("<f8").tobytes()

    def compute_intervals(self, chunks: Sequence[bytes], level: float) -> list[list[Interval | None]]:
        """Return the interval of every statistic, by owner; None without draws."""
        sizes = [len(ones) for _, ones in self.owners]
        if not chunks or not any(sizes):
            return [[None] * size for size in sizes]
        values = np.vstack([np.frombuffer(part, dtype="<f8").reshape(-1, sum(sizes)) for part in chunks])
        ends = [interval_or_none(*bootstrap.percentile_interval(column, level)) for column in values.T]
        at = np.cumsum([0, *sizes])
        return [ends[a:b] for a, b in pairwise(at.tolist())]


@dataclass(frozen=True, slots=True)
class SpanAgreementInput:
    """Input of the statistics on the agreement of marked errors."""

    marked: spans.MarkedJudgments
    characters: spans.CharacterOverlaps
    of: dict[str, Any]


def make_span_agreement_input(marked: spans.MarkedJudgments) -> SpanAgreementInput | None:
    """Return the input of span statistics; None if no text was judged twice or none of these texts has a mark."""
    characters = spans.count_character_overlaps(marked)
    if not characters.first.size or not marked.row.size:
        return None
    of = {
        "character_f1": spans.character_f1(marked, characters),
        **spans.mark_overlap_shares(spans.count_mark_overlaps(marked)),
    }
    return SpanAgreementInput(marked, characters, of)


def make_level_agreement_view(
    level_input: LevelAgreementInput,
    intervals: Sequence[Interval | None],
    settings: CoefficientSettings,
    length: Codes,
    interval_level: float | None,
) -> LevelAgreementView:
    """Make the view of one level."""
    units, size = level_input.units, level_input.units.n_values_by_unit()
    block, model = level_input.block, level_input.components
    return LevelAgreementView(
        level=level_input.level,
        n_units=units.n_units,
        n_single=level_input.n_single,
        n_values=units.value.size,
        n_pairs=int((size * (size - 1) // 2).sum()),
        n_raters=np.unique(units.rater).size,
        n_documents=np.unique(units.document).size,
        categories=level_input.categories,
        statistics=[
            make_agreement_statistic(one, ends, units, interval_level)
            for one, ends in zip(level_input.statistics, intervals, strict=True)
        ],
        by_length=_by_length(level_input, settings, length),
        components=model
        and AgreementVarianceComponents(
            unit=float(model.unit), rater=float(model.rater), residual=float(model.residual)
        ),
        block=block and CompleteBlockView(n_units=block.units.n_units, rater=list(block.raters)),
    )


def make_agreement_statistic(
    coefficient: AgreementCoefficientEstimator, ends: Interval | None, units: ValuesByUnit, interval_level: float | None
) -> AgreementStatistic:
    """Make the view of one coefficient. interval_level: None if no intervals are requested."""
    value = number_or_none(float(coefficient.estimate(units.equal_document_weights())[0]))
    if coefficient.jackknife and interval_level is not None:
        raters, documents = np.unique(units.rater).size, np.unique(units.document).size
        few = documents * raters * (raters - 1) // 2 <= MOST_LEFT_OUT
        ends = (
            interval_or_none(*bootstrap.jackknife_interval(coefficient.estimate, units, interval_level))
            if few
            else None
        )
    return AgreementStatistic(
        statistic=coefficient.key,
        tolerance=coefficient.tolerance,
        value=value,
        interval=ends if value is not None else None,
        expected=None if coefficient.expected is None else number_or_none(coefficient.expected),
        observed=None
        if coefficient.observed is None
        else number_or_none(float(coefficient.observed(units.equal_document_weights())[0])),
        chance=coefficient.chance,
        word=landis_koch_label(value) if value is not None and coefficient.key in WITH_WORDS else None,
    )


def _by_length(
    level_input: LevelAgreementInput, settings: CoefficientSettings, length: Codes
) -> list[AgreementByDocumentLengthLine]:
    """Return agreement by length, for buckets that have units, at the main tolerance (15 on a slider)."""
    units = level_input.units
    if not units.n_units:
        return []
    t = choose_main_tolerance(settings)
    chance = None if t is None else compute_closed_form_chance_agreement(settings, t)
    of = {one.key: one.estimate for one in level_input.statistics if one.tolerance is None}
    of_kappa = None if t is None else kappa.tolerance_kappa(units, t, chance=chance)
    count, lines = make_weighted_rater_pair_counter(units), []
    for low, high in LENGTHS:
        inside = mask_lengths_within(length, low, high)
        weights = inside[None, :].astype(np.float64)
        n = int(inside[units.document].sum())
        if n:
            lines.append(
                AgreementByDocumentLengthLine(
                    segments=format_segment_count_range(low, high),
                    n_units=n,
                    n_pairs=int(count(weights)),
                    tolerance=t,
                    kappa=None if of_kappa is None else number_or_none(float(of_kappa(weights)[0])),
                    alpha=number_or_none(float(alpha.krippendorff_alpha(units, "interval")(weights)[0])),
                    absolute=number_or_none(float(of["mean_difference"](weights)[0])),
                )
            )
    return lines


def choose_main_tolerance(settings: CoefficientSettings) -> float | None:
    """Return 15 if it is among the tolerances (G: one of the most reasonable), else the middle one."""
    ts = settings.tolerances
    return None if not ts else 15.0 if 15.0 in ts else ts[len(ts) // 2]


def list_rater_pair_agreements(
    level_input: LevelAgreementInput, categories: tuple[ValuesByUnit, int] | None
) -> tuple[list[RaterPairLine], list[str]]:
    """Return the rater pairs and a note of what was left out; if there are too many, keep those that share most."""
    units = level_input.units
    if pairs.has_too_many_value_pairs(units):
        return [], [pairs.TOO_MANY_PAIRS]
    rater_pairs = pairs.compare_rater_pairs(units)
    sorted_out = {} if categories is None else _categorical(*categories)
    ranked = rankings.compare_rater_rankings(units) if level_input.level == "segments" else {}
    lines = [_pair_line(one, ranked, sorted_out) for one in rater_pairs]
    if len(lines) <= MOST_LINES:
        return lines, []
    most = sorted(lines, key=lambda line: (-line.n_units, line.rater))[:MOST_LINES]
    warning = f"{len(lines) - MOST_LINES} rater pairs with the fewest shared units are not listed; means include them"
    return sorted(most, key=lambda line: line.rater), [warning]


def _categorical(units: ValuesByUnit, n: int) -> dict[tuple[str, str], pairs.RaterPairAgreement]:
    return {(one.first, one.second): one for one in pairs.compare_rater_pairs(units, levels=n)}


def _pair_line(
    pair: pairs.RaterPairAgreement,
    ranked: dict[tuple[str, str], rankings.RaterPairKendallTau],
    categorical: dict[tuple[str, str], pairs.RaterPairAgreement],
) -> RaterPairLine:
    key = (pair.first, pair.second)
    order, sorted_out = ranked.get(key), categorical.get(key)
    return RaterPairLine(
        rater=key,
        n_units=pair.n_units,
        n_documents=pair.n_documents,
        pearson=pair.pearson,
        tau_b=pair.tau_b,
        tau_single_documents=order and order.single,
        undefined_documents=order and order.undefined,
        tau_all_documents=order and order.shared,
        mean_difference=pair.mean_difference,
        absolute=pair.absolute,
        identical=pair.identical,
        kappa=sorted_out and sorted_out.kappa,
        weighted_kappa=sorted_out and sorted_out.weighted,
    )


def list_self_agreements(
    ratings: RawRatings, settings: CoefficientSettings, duplicate_systems: tuple[str, ...]
) -> tuple[list[RaterSelfAgreement], list[str]]:
    """Return self-agreement on repeats and on translations judged under several names, and a note of what was left out.

    Self-agreement on repeats is given by rater and overall.
    """
    t = choose_main_tolerance(settings)
    t = 0.0 if t is None else t
    chance = compute_closed_form_chance_agreement(settings, t)
    again = self_agreement.pair_consecutive_ratings(ratings.rows)
    names = ratings.rows.labels.raters
    lines = [_self_line("repeats", None, again, t, chance)]
    lines += [
        _self_line("repeats", names[code], again.where(again.rater == code), t, chance)
        for code in np.unique(again.rater).tolist()
    ]
    left_out = []
    for first, second in pairwise(look_up_system_codes(ratings, duplicate_systems)):
        own, between_raters = self_agreement.pair_ratings_of_duplicate_systems(ratings.rows, first, second)
        lines.append(_self_line("same_output", None, own, t, chance))
        if between_raters is None:
            left_out = [pairs.TOO_MANY_PAIRS]
        else:
            lines.append(_self_line("same_output_other_rater", None, between_raters, t, chance))
    return [line for line in lines if line is not None], left_out


def look_up_system_codes(ratings: RawRatings, keys: Sequence[str]) -> list[int]:
    """Return the codes of systems. Raises Invalid if a system does not exist."""
    systems = ratings.rows.labels.systems
    unknown = [key for key in keys if key not in systems]
    if unknown:
        what = f"there is no system {unknown[0]!r} here"
        raise Invalid("the query is not valid", places=(Place(("query", "same"), what),))
    return [systems.index(key) for key in keys]


def _self_line(
    what: Any, rater: str | None, again: self_agreement.RepeatRatingPairs, t: float, chance: float | None
) -> RaterSelfAgreement | None:
    agreement = self_agreement.compute_self_agreement(again, tolerance=t, chance=chance)
    if agreement is None:
        return None
    return RaterSelfAgreement(
        what=what,
        rater=rater,
        n=agreement.n,
        absolute=agreement.absolute,
        identical=agreement.identical,
        tolerance=t,
        within=agreement.within,
        kappa=agreement.kappa,
        pearson=agreement.pearson,
        tau_b=agreement.tau_b,
    )


def make_span_agreement_view(span_input: SpanAgreementInput, intervals: Sequence[Interval | None]) -> SpanAgreementView:
    """Make the view of agreement on marked errors."""
    once: Floats = np.ones((1, span_input.marked.n_documents))
    values = {name: number_or_none(float(of(once)[0])) for name, of in span_input.of.items()}
    empty = (span_input.characters.of_first == 0) & (span_input.characters.of_second == 0)
    return SpanAgreementView(
        n_pairs=span_input.characters.first.size,
        n_marks=span_input.marked.row.size,
        n_skipped=span_input.marked.skipped,
        n_both_empty=int(empty.sum()),
        figures=[
            SpanAgreementLine(statistic=name, value=values[name], interval=ends)
            for name, ends in zip(span_input.of, intervals, strict=True)
        ],
    )


def list_agreement_warnings(
    ratings: RawRatings, level_inputs: Sequence[LevelAgreementInput], settings: CoefficientSettings
) -> list[str]:
    """Return the warnings that readers of the report need."""
    if not len(ratings.rows):
        return [NOTHING]
    if not any(plan.units.n_units for plan in level_inputs):
        return [ONE_RATER]
    messages = []
    if not ratings.rows.documents_known:
        messages.append(UNKNOWN_DOCUMENTS)
    for plan in level_inputs:
        documents = np.unique(plan.units.document).size
        if 0 < documents < FEW_DOCUMENTS:
            messages.append(
                f"{plan.level}: only {text_formatting.pluralize(documents, 'document')}, so intervals are imprecise; "
                "have more documents rated by two raters"
            )
        missing = sorted(
            {one.key for one in plan.statistics if np.isnan(one.estimate(plan.units.equal_document_weights())[0])}
        )
        if missing:
            messages.append(
                f"{plan.level}: undefined for these scores, which are too few or too much alike: "
                f"{', '.join(missing)}; have more texts rated twice"
            )
    left = [
        t
        for t in settings.tolerances
        if settings.levels is not None and compute_closed_form_chance_agreement(settings, t) is None
    ]
    if left:
        messages.append(
            f"no two scores of the scale differ by more than {', '.join(f'{t:g}' for t in left)}, so κ is "
            "undefined there; choose a smaller tolerance"
        )
    return messages


def make_agreement_view(
    ratings: RawRatings,
    header_fields: dict[str, Any],
    levels: list[LevelAgreementView],
    pairs_found: list[RaterPairLine],
    self_agreements: list[RaterSelfAgreement],
    span_agreement: SpanAgreementView | None,
) -> AgreementView:
    """Make the view of the report."""
    return AgreementView(
        **ratings.report_header_fields,
        **header_fields,
        levels=levels,
        pairs=pairs_found,
        own=self_agreements,
        spans=span_agreement,
    )
