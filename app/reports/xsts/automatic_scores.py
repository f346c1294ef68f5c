"""Automatic scores beside calibrated ones: where they come from, and how well each method correlates with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from app.domain.errors import Invalid, Place
from app.reports.inputs.calibration import CampaignCalibrationSplit
from app.reports.xsts.view import AutomaticScoreCorrelation, XstsView
from app.stats.calibration.calibration_lines import METHODS, Method
from app.stats.calibration.external_correlation import correlate_over_language_pairs


def collect_automatic_scores_by_campaign(
    campaigns: Sequence[CampaignCalibrationSplit], stated_scores: str
) -> dict[str, float]:
    """Return the automatic score of each campaign: as given, else `automatic_score` from its settings.

    Raises Invalid for anything but CAMPAIGN=SCORE with a requested campaign.
    """
    stored = {one.campaign_key: one.ratings.snapshot.campaign.settings.get("automatic_score") for one in campaigns}
    scores = {key: float(value) for key, value in stored.items() if isinstance(value, int | float) and isfinite(value)}
    for text in filter(None, (part.strip() for part in stated_scores.split(","))):
        key, _, score = text.partition("=")
        if key not in stored:
            raise _invalid_scores(f"{key} is none of these campaigns")
        scores[key] = _number(score)
    return scores


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _invalid_scores(f"{text} is not a number") from None
    if not isfinite(value):
        raise _invalid_scores(f"{text} is not a number")
    return value


def _invalid_scores(what: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", "automatic"), what),))


def correlate_with_automatic_scores(view: XstsView, seed: int) -> list[AutomaticScoreCorrelation]:
    """Correlate each method with the automatic score: into the shared language, out of it, and both.

    The score of a direction is the mean over its systems. The result is empty if no automatic score is known.
    """
    automatic = {one.campaign: one.automatic for one in view.directions if one.automatic is not None}
    if not automatic:
        return []
    groups = {"all": {one.campaign for one in view.directions}}
    if view.pivot is not None:
        groups[f"into {view.pivot}"] = {o.campaign for o in view.directions if o.target_language == view.pivot}
        groups[f"out of {view.pivot}"] = {o.campaign for o in view.directions if o.source_language == view.pivot}
    shown = []
    for name, members in groups.items():
        for method in METHODS:
            values = _means_by_campaign(view, method, members & set(automatic))
            shown.append(_external_line(method, name, values, automatic, seed))
    return shown


def _means_by_campaign(view: XstsView, method: Method, members: set[str]) -> dict[str, float]:
    values_by_campaign: dict[str, list[float]] = {}
    for system in view.systems:
        value = system.score_under_method(method).value
        if system.campaign in members and value is not None:
            values_by_campaign.setdefault(system.campaign, []).append(value)
    return {key: float(np.mean(values)) for key, values in sorted(values_by_campaign.items())}


def _external_line(
    method: Method, name: str, values: Mapping[str, float], automatic: Mapping[str, float], seed: int
) -> AutomaticScoreCorrelation:
    x, y = np.array([automatic[key] for key in values]), np.array(list(values.values()))
    fit = correlate_over_language_pairs(x, y, rng=np.random.default_rng([seed, 3]))
    return AutomaticScoreCorrelation(
        method=method,
        directions=name,
        n=fit.n,
        pearson=fit.pearson,
        r_squared=fit.r_squared,
        split_half=fit.split_half,
        error=fit.error,
        why=fit.why,
    )
