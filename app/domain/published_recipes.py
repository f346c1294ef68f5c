"""The named recipes of published practice (docs/statistics.md lists their sources)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.domain.recipe_choices import ScoringChoice
from app.domain.recipe_definition import Recipe

NAMED: Mapping[str, Recipe] = MappingProxyType(
    {
        r.name: r
        for r in (
            Recipe(
                name="wmt-da",
                normalize="z",
                moments="all",
                repeats="pool",
                unit="segment",
                test="rank_sum",
                alternative="greater",
                clusters="wmt21",
            ),
            Recipe(
                name="google-mqm",
                scoring=ScoringChoice(source="spans"),
                unit="segment",
                test="marot",
                alternative="greater",
                permutations=10_000,
                clusters="strict",
            ),
            Recipe(
                name="wmt22",
                normalize="z",
                moments="all",
                sd0="zero",
                repeats="pool",
                unit="segment",
                test="rank_sum",
                alternative="greater",
                matched_only=True,
                require_mean=True,
                clusters="wmt22",
            ),
            Recipe(
                name="wmt24-esa",
                roles=("rating",),
                repeats="latest",
                aggregate="macro_domain",
                unit="segment",
                test="stouffer",
                correction=False,
                clusters="wmt24",
            ),
            Recipe(
                name="wmt25",
                roles=("rating",),
                repeats="separate",
                aggregate="macro_domain",
                unit="segment",
                test="signed_rank",
                alternative="greater",
                correction=False,
                clusters="wmt25",
            ),
            Recipe(
                name="wmt26",
                roles=("rating",),
                unit="segment",
                implausible_raters="drop",
                test="wmt26_bootstrap",
                alternative="greater",
                clusters="wmt26",
            ),
            Recipe(
                name="nllb-xsts",
                roles=("rating",),
                aggregate="median",
                test="bootstrap",
                clusters="none",
                interval="percentile",
                fallback=True,
            ),
            Recipe(
                name="srp-paper",
                roles=("rating",),
                test="permutation",
                permutations=500,
                inclusive=True,
                clusters="strict",
            ),
            Recipe(
                name="recommended",
                standing=True,
                normalize="auto",
                adjust="holm",
                inclusive=True,
                rank_sets=True,
                fallback=True,
            ),
        )
    }
)

CHECKED_AGAINST: Mapping[str, str] = MappingProxyType(
    {
        "wmt-da": "WMT21 wikipedia bn-hi, hi-bn (raw, z, N, p, clusters) and newstest2021 cs-en (raw, z, N, clusters)",
        "google-mqm": "MQM of TED 2021 en-de: all system means and segment averages, but not the p-values",
        "wmt22": "the cluster rule on WMT21 wikipedia bn-hi, hi-bn; the other steps follow the description",
        "wmt24-esa": "ESA campaigns on WMT23 en-de with aggregate=mean and test=signed_rank (means, p, wins, chains), "
        "but not the macro mean and Stouffer's method",
        "wmt25": "no published figures; the recipe follows the description",
        "wmt26": (
            "claims about pairs are the same as with SciPy's BCa interval with the same draws; "
            "the other steps follow the description"
        ),
        "nllb-xsts": "no published figures; the recipe follows the description; the comparison `xsts` calibrates "
        "language pairs",
        "srp-paper": "a worked example of document permutation and explicit assignments of side-by-side MQM; "
        "the paper states no p-values",
        "recommended": "worked examples of document permutation, Holm and intervals; no publication uses all of it",
    }
)
