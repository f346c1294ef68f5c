"""Language pairs as they are laid beside each other: the question, whose campaigns are pooled, and what cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.source.calibration import Pair, Parted, ScoredAsked, judged, namesakes, rater_names
from app.reports.source.raw_ratings import Drawn
from app.stats.calibration import across
from app.stats.calibration.across import LanguagePairRatings
from app.stats.calibration.lines import Method

LANGUAGE = r"^[A-Za-z0-9-]{1,35}$"
MISFIT = "the campaigns do not fit together"


class XstsAsked(ScoredAsked, Drawn):
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
class Laid:
    """Campaigns beside each other. languages, groups, ready: of each campaign its language, the campaigns of that, and
    what was judged. n_pairs: calibration pairs of all. target: H.
    """

    pivot: str | None
    languages: Sequence[str]
    groups: Sequence[Sequence[Parted]]
    ready: Sequence[LanguagePairRatings]
    n_pairs: int
    target: float | None


def check_together(parts: Sequence[Parted], asked: XstsAsked) -> None:
    """Raise Invalid where no scale can be shared, or none has the pivot that is asked for."""
    if len({one.sign for one in parts}) > 1 or len({one.ratings.scale for one in parts}) > 1:
        what = "these campaigns do not use the same scale"
        raise Invalid(MISFIT, places=(Place(("query", "campaigns"), what),))
    if asked.pivot is not None and not any(asked.pivot in _languages(one) for one in parts):
        what = "none of these campaigns has that language on either side"
        raise Invalid(MISFIT, places=(Place(("query", "pivot"), what),))


def laid_of(parts: Sequence[Parted], asked: XstsAsked) -> Laid:
    """Pool the calibration items of each language, and take H where none is asked for from these directions."""
    pivot, pairs = pivot_of(parts, asked.pivot), dict[Pair, int]()
    languages = [_language(one, pivot, asked.pool) for one in parts]
    groups = [[other for other, own in zip(parts, languages, strict=True) if own == mine] for mine in languages]
    ready = [judged(one, group, pairs, asked.repeats)[0] for one, group in zip(parts, groups, strict=True)]
    target = asked.target if asked.target is not None else across.target_of(ready)
    return Laid(pivot, languages, groups, ready, len(pairs), target)


def check_points(laid: Laid, asked: XstsAsked) -> None:
    """Fixed points that stand the wrong way round are an error where they are asked for (decisions, §8)."""
    if asked.method != "cs_ht":
        return
    widths = {one.name: across.points(one, laid.target).width for one in laid.ready}
    if wrong := [name for name, width in widths.items() if width is not None and width <= 0]:
        what = f"human references scored no better than the calibration set in {', '.join(wrong)}, so no line fits both"
        what += ": leave out these campaigns, or use method=cs, ht or raw"
        raise Invalid(MISFIT, places=(Place(("query", "method"), what),))


def pivot_of(parts: Sequence[Parted], asked: str | None) -> str | None:
    """The language that every campaign has on one side, None where there is none or both are."""
    if asked is not None:
        return asked
    counts = Counter(language for one in parts for language in set(_languages(one)))
    shared = [language for language, n in counts.items() if n == len(parts)]
    return shared[0] if len(shared) == 1 and len(parts) > 1 else None


def _languages(part: Parted) -> tuple[str, ...]:
    campaign = part.ratings.about.campaign
    return tuple(x for x in (campaign.source_language, campaign.target_language) if x)


def _language(part: Parted, pivot: str | None, pool: str) -> str:
    """Whose raters judged: the language beside the shared one, both where none is shared."""
    languages = _languages(part)
    others = sorted(language for language in languages if language != pivot)
    return part.key if pool == "campaign" or not others else "-".join(others)


def told_namesakes(laid: Laid) -> list[str]:
    """Raters of one key in campaigns that are pooled: told, because who they are decides what is pooled."""
    groups = dict(zip(laid.languages, laid.groups, strict=True))
    return [
        f"{language}: raters with the same key in several campaigns count as different people because their accounts "
        f"are not linked: {rater_names(keys)}"
        for language, group in groups.items()
        if (keys := namesakes(group))
    ]
