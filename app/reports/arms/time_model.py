"""The mixed model of time in the report on arms: fitted to judgments, listed as effects, and shown in a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from app.reports.agreement.view import Interval
from app.reports.arms.judgments import JudgmentsByCondition
from app.reports.kit import text_formatting
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Table
from app.stats.arms.time_model import EffectOnLogSeconds, JudgmentTimeModel, TimeModelObservations, fit_time_model
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import RatingLevel

COVARIATES = {
    "words": "twice as many source words",
    "errors": "each marked error",
    "position": "ten segments later in the document",
    "practice": "a hundred earlier judgments",
}
TERMS = {"rater": "rater", "rater_condition": "rater × condition", "document": "document", "residual": "rest"}


class ArmTimeEffect(FrozenFiniteResultModel):
    """One effect in the mixed model of log time, others being equal."""

    what: str = Field(description="condition, words, errors, position or practice.")
    arm: str | None = Field(description="Name of the condition, which is compared with the first.")
    estimate: float = Field(description="Effect on log seconds; for words the exponent: 1 means proportional to them.")
    error: float
    factor: float = Field(description="Factor on the time; for words, per doubling.")
    interval: Interval | None = Field(description="95 % interval of the factor.")
    p_value: float | None
    degrees: int | None = Field(description="Degrees of freedom of Student's t; null for the normal distribution.")


class ArmTimeModel(FrozenFiniteResultModel):
    """What makes judging take longer: a mixed model fitted by REML to timed judgments of segments."""

    n: int
    n_raters: int
    n_documents: int
    effects: list[ArmTimeEffect]
    sd: dict[str, float] = Field(description="SD of each random term and of the residual, on log seconds.")
    left_out: dict[str, str] = Field(description="What is not in the model, and why.")
    converged: bool


def fit_arm_time_model(conditions: JudgmentsByCondition, order: Sequence[int]) -> ArmTimeModel | str:
    """Fit the model with the first condition of the order as reference; return the reason if it cannot be fitted."""
    fitted = fit_time_model(_make_judgment_times(conditions, order))
    if isinstance(fitted, str):
        return fitted
    names = [conditions.names[i].name for i in order]
    return ArmTimeModel(
        n=fitted.n,
        n_raters=fitted.raters,
        n_documents=fitted.documents,
        effects=[_line(one, names) for one in fitted.effects],
        sd=fitted.sd,
        left_out=_left_out(fitted, names),
        converged=fitted.converged,
    )


def _make_judgment_times(conditions: JudgmentsByCondition, order: Sequence[int]) -> TimeModelObservations:
    work, rows = conditions.work, conditions.work.rows
    keep = mask_first_rows_of_judgments(rows) & (rows.kind == RatingLevel.SEGMENT) & (np.nan_to_num(work.seconds) > 0)
    place = np.empty(max(len(order), 1), dtype=np.int32)
    place[list(order)] = np.arange(len(order))
    errors = rows.n_errors[keep].astype(np.float64)
    return TimeModelObservations(
        seconds=work.seconds[keep],
        rater=rows.rater[keep],
        document=rows.document[keep],
        condition=place[conditions.condition[keep]],
        words=work.words[keep],
        errors=np.where(errors < 0, np.nan, errors),
        position=rows.labels.segment_position[rows.segment[keep]],
        at=conditions.events.submitted[keep],
    )


def _line(effect: EffectOnLogSeconds, names: Sequence[str]) -> ArmTimeEffect:
    ends = effect.interval
    doubled = effect.what == "words"
    return ArmTimeEffect(
        what=effect.what,
        arm=names[effect.condition] if effect.condition >= 0 else None,
        estimate=effect.estimate,
        error=effect.error,
        factor=2.0**effect.estimate if doubled else effect.factor,
        interval=(2.0 ** ends[0], 2.0 ** ends[1]) if doubled and ends is not None else ends,
        p_value=effect.p_value,
        degrees=effect.degrees,
    )


def _left_out(fitted: JudgmentTimeModel, names: Sequence[str]) -> dict[str, str]:
    """Translate the reasons for omitted effects: name the arm where a whole condition is omitted."""
    reasons = {}
    for what, why in fitted.left_out:
        kind, _, code = what.partition(" ")
        reasons[f"{kind} {names[int(code)]}" if code else what] = why
    return reasons


def make_time_model_table(model: ArmTimeModel | None) -> Table:
    """Make one row per effect and per random term."""
    heads = ("Effect on time", "Factor", "95 % interval", "p", "Degrees of freedom")
    effects = () if model is None else tuple(_row(one) for one in model.effects)
    spread = () if model is None else tuple(_random_term_row(term, sd) for term, sd in model.sd.items())
    return Table(heads, ("left", "right", "left", "right", "right"), (*effects, *spread))


def _row(effect: ArmTimeEffect) -> tuple[str, ...]:
    name = f"condition {effect.arm}" if effect.what == "condition" else COVARIATES[effect.what]
    degrees = "–" if effect.degrees is None else f"{effect.degrees:,}"
    return (
        name,
        text_formatting.format_number(effect.factor, 2),
        text_formatting.format_interval(effect.interval, 2),
        text_formatting.format_p_value(effect.p_value),
        degrees,
    )


def _random_term_row(term: str, sd: float) -> tuple[str, ...]:
    """Describe a random term by the factor on time that one SD makes."""
    return (f"one SD of {TERMS[term]}", text_formatting.format_number(float(np.exp(sd)), 2), "–", "–", "–")
