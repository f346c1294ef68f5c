"""Whether post-edits and direct scores of the same outputs agree, and where they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.reports.inputs.campaign import find_campaign_protocol
from app.reports.inputs.post_edits import (
    PostEdits,
    PostEditsOptions,
    find_post_edit_widget,
    load_post_edits,
    unpack_segment_edit_chunks,
)
from app.reports.inputs.recipe_input import RecipeAndSeedOptions
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.postediting_da import score_comparison
from app.reports.postediting_da.charts import plot_mean_correlations, plot_score_edit_rate_scatter
from app.reports.postediting_da.view import (
    MEASURES,
    MeanCorrelation,
    PosteditingDAView,
    ReferenceBiasView,
    ScoredCampaign,
    ScoreEditRateCorrelations,
    ScoreEditRatePoints,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.stats.plain_values import number_or_none
from app.stats.postediting import score_relation
from app.stats.postediting.edit_matrix import OutputReferenceEditMatrix
from app.stats.postediting.operations import Tokenization
from app.stats.postediting.score_relation import Rule
from app.storage import post_edits
from app.storage.db import Session

NO_CAMPAIGN = "none of these campaigns collects post-edits; name one that does"
NO_SCORES = "only post-edits were named; name a campaign of direct scores too"
NOTHING_SHARED = "{0} scores no output of a segment that was post-edited; give the same outputs the same keys and text"
MOST_POINTS = 3_000


class PosteditingDAOptions(PostEditsOptions):
    """How scores are derived, and which disagreements are listed."""

    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "wmt-da", description="How scores are filtered and normalized; default: z by rater.", examples=["wmt-da"]
    )
    rule: Rule = Field(
        "median", description="How groups are formed (few and many, low and high): medians, outer thirds, residuals."
    )
    most: int = Field(100, ge=0, le=1_000, description="Number of disagreements to list.", examples=[100])


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: PosteditingDAOptions
) -> ReportComputation[PosteditingDAView]:
    ours = [one for one in snapshots if find_post_edit_widget(find_campaign_protocol(one.campaign)) is not None]
    if len(ours) > 1:
        what = "at most one of them can be of post-edits"
        raise Invalid("the question does not fit the campaigns", places=(Place(("query", "campaigns"), what),))
    if not ours:
        return make_undivided_computation(lambda: _make_empty_view(snapshots, options))
    edits = PostEditsOptions(**options.model_dump(include=set(PostEditsOptions.model_fields)))
    postediting = load_post_edits(session, ours[0], edits)
    recipe = RecipeAndSeedOptions(recipe=options.recipe)
    others = [
        score_comparison.load_direct_scores(session, one, recipe, postediting.outputs)
        for one in snapshots
        if one is not ours[0]
    ]
    sources = post_edits.load_source_texts(session, ours[0].campaign_id)
    if not postediting.texts:
        return make_undivided_computation(lambda: _view(snapshots, postediting, others, sources, options, []))
    return ReportComputation(
        postediting.n_chunks,
        postediting.compute_chunk,
        lambda done: _view(snapshots, postediting, others, sources, options, unpack_segment_edit_chunks(done)),
    )


def _make_empty_view(snapshots: tuple[CampaignSnapshot, ...], options: PosteditingDAOptions) -> PosteditingDAView:
    return PosteditingDAView(
        campaigns={one.campaign.key: one.version for one in snapshots},
        data_hash="sha256:" + hashlib.sha256(b"").hexdigest(),
        basis=_bases(snapshots),
        warnings=[NO_CAMPAIGN],
        post_edits=None,
        tokens=Tokenization(cased=options.case, normalized=options.normalized).signature,
        reference=None,
        recipe=options.recipe,
        scored=[],
        correlations=[],
        means=[],
        bias=None,
        rule=options.rule,
        compared_with=None,
        n_few_edits=0,
        n_many_edits=0,
        conflicts=[],
        scatter=[],
    )


def _bases(snapshots: tuple[CampaignSnapshot, ...]) -> str:
    return ", ".join(sorted({one.campaign.basis for one in snapshots}))


def _view(
    snapshots: tuple[CampaignSnapshot, ...],
    postediting: PostEdits,
    others: Sequence[score_comparison.CampaignScoresByOutput],
    sources: Mapping[tuple[str, int], str],
    options: PosteditingDAOptions,
    segments: Sequence[OutputReferenceEditMatrix],
) -> PosteditingDAView:
    lines = {
        one.snapshot.campaign.key: score_comparison.join_edit_rates_and_scores(postediting, segments, one)
        for one in others
    }
    each = [
        line for key, ones in lines.items() for line in score_comparison.make_score_edit_rate_correlations(key, ones)
    ]
    means = [mean for key in lines for mean in _mean_correlations(key, [one for one in each if one.campaign == key])]
    looked = _compared_with(others, lines)
    findings = (
        score_comparison.find_score_post_edit_disagreements(lines[looked], options.rule) if looked is not None else []
    )
    return PosteditingDAView(
        campaigns={one.campaign.key: one.version for one in snapshots},
        data_hash=" ".join([postediting.data_hash, *(one.data_hash for one in others)]),
        basis=_bases(snapshots),
        dropped=_list_dropped_rows(postediting, others),
        warnings=_warnings(postediting, others, lines),
        post_edits=postediting.snapshot.campaign.key,
        tokens=postediting.tokens.signature,
        reference=postediting.reference,
        recipe=options.recipe,
        scored=[_make_scored_campaign(one, lines[one.snapshot.campaign.key]) for one in others],
        correlations=each,
        means=means,
        bias=_bias(others, means),
        rule=options.rule,
        compared_with=looked,
        n_few_edits=sum(one.few_edits for one in findings),
        n_many_edits=sum(not one.few_edits for one in findings),
        conflicts=[
            score_comparison.describe_score_post_edit_conflict(postediting, segments, sources, one)
            for one in findings[: options.most]
        ],
        scatter=_scatter(lines[looked]) if looked is not None else [],
    )


def _make_scored_campaign(
    campaign: score_comparison.CampaignScoresByOutput, lines: Sequence[score_comparison.EditRatesAndScores]
) -> ScoredCampaign:
    return ScoredCampaign(
        campaign=campaign.snapshot.campaign.key,
        protocol=campaign.snapshot.campaign.protocol,
        basis=campaign.snapshot.campaign.basis,
        unit=campaign.unit,
        turned=campaign.negated,
        n_outputs=sum(len(line.at) for line in lines),
        n_ratings=campaign.n_ratings,
    )


def _mean_correlations(campaign: str, lines: Sequence[ScoreEditRateCorrelations]) -> list[MeanCorrelation]:
    n = np.array([one.n for one in lines], dtype=np.float64)
    means = []
    for measure in MEASURES:
        r = np.array([np.nan if (v := getattr(one, measure)) is None else v for one in lines], dtype=np.float64)
        means.append(
            MeanCorrelation(
                campaign=campaign,
                measure=measure,
                n_systems=int(np.isfinite(r).sum()),
                fisher=number_or_none(score_relation.compute_fisher_mean_correlation(r)),
                weighted=number_or_none(score_relation.compute_fisher_mean_correlation(r, n)),
            )
        )
    return means


def _compared_with(
    others: Sequence[score_comparison.CampaignScoresByOutput],
    lines: Mapping[str, Sequence[score_comparison.EditRatesAndScores]],
) -> str | None:
    """Return the campaign used for conflicts: source-based if possible, because references do not bias its scores."""
    usable = [one.snapshot.campaign for one in others if lines[one.snapshot.campaign.key]]
    return next((one.key for one in usable if one.basis == "source"), usable[0].key if usable else None)


def _bias(
    others: Sequence[score_comparison.CampaignScoresByOutput], means: Sequence[MeanCorrelation]
) -> ReferenceBiasView | None:
    by_basis: dict[str, str] = {}
    for campaign in others:
        by_basis.setdefault(campaign.snapshot.campaign.basis, campaign.snapshot.campaign.key)
    source, reference = by_basis.get("source"), by_basis.get("reference")
    if source is None or reference is None:
        return None
    r = {(one.campaign, one.measure): np.nan if one.fisher is None else one.fisher for one in means}
    pulled = score_relation.compute_reference_bias(
        (r[source, "mter"], r[source, "ter_external"]), (r[reference, "mter"], r[reference, "ter_external"])
    )
    return ReferenceBiasView(
        source_based=source,
        reference_based=reference,
        mter=number_or_none(pulled.mter),
        ter_external=number_or_none(pulled.external),
    )


def _list_dropped_rows(
    postediting: PostEdits, others: Sequence[score_comparison.CampaignScoresByOutput]
) -> list[dict[str, Any]]:
    dropped = [{**one, "campaign": postediting.snapshot.campaign.key} for one in postediting.dropped]
    for other in others:
        key = other.snapshot.campaign.key
        dropped += [{**one, "campaign": key} for one in other.dropped]
        if other.different:
            dropped.append(
                {"reason": "output of another text than the one post-edited", "n": other.different, "campaign": key}
            )
    return dropped


def _warnings(
    postediting: PostEdits,
    others: Sequence[score_comparison.CampaignScoresByOutput],
    lines: Mapping[str, Sequence[score_comparison.EditRatesAndScores]],
) -> list[str]:
    warnings = list(postediting.warnings)
    if not others:
        warnings.append(NO_SCORES)
    if postediting.texts:
        warnings += [NOTHING_SHARED.format(key) for key, ones in lines.items() if not ones]
    if turned := [one.snapshot.campaign.key for one in others if one.negated]:
        warnings.append(f"penalties are negated so that higher is better: {', '.join(turned)}")
    few = sorted({line.system for ones in lines.values() for line in ones if len(line.at) < score_relation.FEWEST})
    if few:
        warnings.append(
            f"systems with fewer than {score_relation.FEWEST} shared segments have no correlation; have more of the "
            f"post-edited segments scored: {', '.join(few)}"
        )
    flat = sorted({line.system for ones in lines.values() for line in ones if _is_flat(line)} - set(few))
    if flat:
        warnings.append(
            "systems with constant edit rates or scores have no correlation; have more of their segments edited and "
            f"scored: {', '.join(flat)}"
        )
    return warnings


def _is_flat(line: score_comparison.EditRatesAndScores) -> bool:
    known = [rates[np.isfinite(rates)] for rates in line.rates.values()]
    return len(line.at) > 0 and not (np.ptp(line.score) and any(np.ptp(rates) for rates in known if rates.size))


def _scatter(lines: Sequence[score_comparison.EditRatesAndScores]) -> list[ScoreEditRatePoints]:
    """Return at most the permitted number of points, spread evenly over the segments."""
    step = max(1, -(-sum(len(line.at) for line in lines) // MOST_POINTS))
    plots = []
    for line in lines:
        known = np.flatnonzero(np.isfinite(line.rates["mter"]))[::step]
        points = zip(line.rates["mter"][known].tolist(), line.score[known].tolist(), strict=True)
        r = number_or_none(score_relation.correlate_rates_and_scores(line.rates["mter"], line.score))
        plots.append(ScoreEditRatePoints(system=line.system, r=r, points=list(points)))
    return plots


EXAMPLE: dict[str, Any] = {
    "campaigns": {"nlde-pe": 12, "nlde-da": 4},
    "data_hash": "sha256:" + "5e" * 32 + " sha256:" + "5f" * 32,
    "basis": "source",
    "post_edits": "nlde-pe",
    "tokens": "nrefs:1|case:mixed|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0|unit:word",
    "reference": "ref",
    "recipe": "wmt-da",
    "scored": [
        {
            "campaign": "nlde-da",
            "protocol": "da",
            "basis": "source",
            "unit": "z",
            "turned": False,
            "n_outputs": 5427,
            "n_ratings": 10854,
        }
    ],
    "correlations": [
        {"campaign": "nlde-da", "system": "ZS.lab3", "n": 603, "mter": -0.58, "hter": -0.49, "ter_external": -0.19}
    ],
    "means": [{"campaign": "nlde-da", "measure": "mter", "n_systems": 9, "fisher": -0.5466, "weighted": -0.5466}],
    "bias": None,
    "rule": "median",
    "compared_with": "nlde-da",
    "n_few_edits": 1,
    "n_many_edits": 0,
    "conflicts": [
        {
            "system": "ZS.lab3",
            "document": "talk1",
            "segment": 7,
            "what": "few edits, low score",
            "mter": 14.4,
            "score": -1.2,
            "raw": 31.0,
            "residual": -2.4,
            "source": "Hij is niet gekomen.",
            "output": "Er ist gekommen.",
            "closest": "Er ist nicht gekommen.",
            "closest_of": "ZS.lab3",
            "tags": ["very short", "critical errors counted"],
        }
    ],
    "scatter": [{"system": "ZS.lab3", "r": -0.58, "points": [[14.4, -1.2]]}],
}
REPORT: Report[PosteditingDAOptions, PosteditingDAView] = Report(
    name="postediting_da",
    title="Post-edits and direct scores",
    summary="Correlation of edits with scores by system, the effect of a reference on scores, and disagreements.",
    options=PosteditingDAOptions,
    result=PosteditingDAView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_mean_correlations, "scatter": plot_score_edit_rate_scatter},
    caption=make_caption,
    over="campaigns",
    long=True,
)
