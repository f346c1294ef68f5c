"""Language pairs side by side: the options, which campaigns are pooled, and which cannot be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.inputs.calibration import (
    CampaignCalibrationSplit,
    Pair,
    ScoreSelectionOptions,
    find_unlinked_shared_rater_keys,
    format_raters_for_warning,
    make_language_pair_ratings,
)
from app.reports.inputs.raw_ratings import BootstrapOptions
from app.stats.calibration import language_pairs
from app.stats.calibration.calibration_lines import Method
from app.stats.calibration.language_pairs import LanguagePairRatings

LANGUAGE = r"^[A-Za-z0-9-]{1,35}$"
MISFIT = "the campaigns do not fit together"


class XstsOptions(ScoreSelectionOptions, BootstrapOptions):
    """How language pairs are brought to one scale."""

    method: Method = Field(
        "cs_ht", description="The column by which systems are sorted; the other three are also shown."
    )
    target: Annotated[float, Field(ge=-1e6, le=1e6)] | None = Field(
        None, description="H, the target score of human references; default: their mean over these directions."
    )
    by: Literal["language", "rater"] = Field("language", description="One line per language pair, or one per rater.")
    pool: Literal["language", "campaign"] = Field(
        "language",
        description="Pool the calibration items of all campaigns of one language, or use each campaign's own.",
    )
    pivot: Annotated[str, StringConstraints(pattern=LANGUAGE)] | None = Field(
        None, description="The language common to all pairs; detected automatically if there is only one."
    )
    automatic: Annotated[str, StringConstraints(max_length=4_000)] = Field(
        "",
        description="Automatic scores as CAMPAIGN=SCORE, separated by commas; default: from the campaigns' settings.",
    )


@dataclass(frozen=True, slots=True)
class CampaignsByLanguage:
    """Campaigns side by side.

    languages, groups, ready: for each campaign its language, the campaigns of that language, and the judged ratings.
    n_pairs: calibration pairs of all campaigns. target: H.
    """

    pivot: str | None
    languages: Sequence[str]
    groups: Sequence[Sequence[CampaignCalibrationSplit]]
    ready: Sequence[LanguagePairRatings]
    n_pairs: int
    target: float | None


def check_shared_scale(campaigns: Sequence[CampaignCalibrationSplit], options: XstsOptions) -> None:
    """Raise Invalid if the campaigns cannot share a scale, or none of them has the requested pivot."""
    if len({one.better_sign for one in campaigns}) > 1 or len({one.ratings.scale for one in campaigns}) > 1:
        what = "these campaigns do not use the same scale"
        raise Invalid(MISFIT, places=(Place(("query", "campaigns"), what),))
    if options.pivot is not None and not any(options.pivot in _languages(one) for one in campaigns):
        what = "none of these campaigns has that language on either side"
        raise Invalid(MISFIT, places=(Place(("query", "pivot"), what),))


def pool_calibration_by_language(
    campaigns: Sequence[CampaignCalibrationSplit], options: XstsOptions
) -> CampaignsByLanguage:
    """Pool the calibration items of each language, and compute H from these directions if none is given."""
    pivot, pairs = find_shared_language(campaigns, options.pivot), dict[Pair, int]()
    languages = [_language(one, pivot, options.pool) for one in campaigns]
    groups = [[other for other, own in zip(campaigns, languages, strict=True) if own == mine] for mine in languages]
    ready = [
        make_language_pair_ratings(one, group, pairs, options.repeats)[0]
        for one, group in zip(campaigns, groups, strict=True)
    ]
    target = options.target if options.target is not None else language_pairs.compute_default_calibration_target(ready)
    return CampaignsByLanguage(pivot, languages, groups, ready, len(pairs), target)


def check_fixed_point_order(grouped: CampaignsByLanguage, options: XstsOptions) -> None:
    """Raise Invalid if the requested method needs fixed points that are in the wrong order."""
    if options.method != "cs_ht":
        return
    widths = {
        one.name: language_pairs.compute_language_pair_fixed_points(one, grouped.target).distance
        for one in grouped.ready
    }
    if wrong := [name for name, width in widths.items() if width is not None and width <= 0]:
        what = f"human references scored no better than the calibration set in {', '.join(wrong)}, so no line fits both"
        what += ": leave out these campaigns, or use method=cs, ht or raw"
        raise Invalid(MISFIT, places=(Place(("query", "method"), what),))


def find_shared_language(campaigns: Sequence[CampaignCalibrationSplit], pivot: str | None) -> str | None:
    """Return the one language that every campaign has on a side; None if there is none or more than one."""
    if pivot is not None:
        return pivot
    counts = Counter(language for one in campaigns for language in set(_languages(one)))
    shared = [language for language, n in counts.items() if n == len(campaigns)]
    return shared[0] if len(shared) == 1 and len(campaigns) > 1 else None


def _languages(part: CampaignCalibrationSplit) -> tuple[str, ...]:
    campaign = part.ratings.snapshot.campaign
    return tuple(x for x in (campaign.source_language, campaign.target_language) if x)


def _language(part: CampaignCalibrationSplit, pivot: str | None, pool: str) -> str:
    """Return the language of the raters who judged: the one beside the shared language, or both if none is shared."""
    languages = _languages(part)
    others = sorted(language for language in languages if language != pivot)
    return part.campaign_key if pool == "campaign" or not others else "-".join(others)


def list_unlinked_shared_rater_key_warnings(grouped: CampaignsByLanguage) -> list[str]:
    """Warn of pooled campaigns with raters of the same key, because the identity of raters decides what is pooled."""
    groups = dict(zip(grouped.languages, grouped.groups, strict=True))
    return [
        f"{language}: raters with the same key in several campaigns count as different people because their accounts "
        f"are not linked; link those of one person: {format_raters_for_warning(keys)}"
        for language, group in groups.items()
        if (keys := find_unlinked_shared_rater_keys(group))
    ]
