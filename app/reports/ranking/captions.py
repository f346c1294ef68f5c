"""A ranking in words for people: the recipe, the counts, the direction."""

from __future__ import annotations

from app.reports.kit.text_formatting import make_sentence, pluralize
from app.reports.ranking.view import RankingView, RecipeSummary

_NORMALIZED = {
    "none": "scores as given",
    "mean": "scores scaled to the mean of each rater",
    "center": "scores centred by rater",
    "error": "scores scaled by the error counts of each rater",
    "error_rate": "scores scaled by the error rate of each rater",
    "z": "z-scores by rater",
    "auto": "normalization chosen by the data",
}
_TESTS = {
    "permutation": "paired permutation test",
    "marot": "Marot's randomization test",
    "rank_sum": "rank-sum test",
    "rank_sum_legacy": "rank-sum test (half the two-sided p)",
    "welch": "Welch's t-test",
    "wmt26_bootstrap": "BCa bootstrap of the mean difference, paired or unpaired",
    "none": "no test",
}
_ADJUSTED = {"none": "no adjustment for multiple pairs", "holm": "Holm", "bh": "Benjamini–Hochberg"}
HUMANS_COUNT = "human translations are ranked too, and p-values are adjusted for the pairs that include them"
"""A note on rankings with adjusted p-values that include human translations."""
_LANGUAGE_ARROW = "→"


def describe_recipe(recipe: RecipeSummary) -> str:
    """Describe the choices of a recipe in clauses."""
    parts = [_NORMALIZED.get(recipe.normalize, recipe.normalize)]
    if recipe.test == "none":
        parts.append("no test")
    else:
        sides = "one-sided" if recipe.alternative == "greater" else "two-sided"
        parts.append(f"{_TESTS.get(recipe.test, recipe.test)} over {recipe.unit}s, {sides}")
        relation = "≤" if recipe.inclusive else "<"
        adjusted = _ADJUSTED.get(recipe.adjust, recipe.adjust)
        parts.append(f"significant at p {relation} {recipe.alpha:g}, {adjusted}")
    parts.append(f"{recipe.clusters} clusters" if recipe.clusters != "none" else "no clusters")
    if recipe.exclude:
        parts.append(f"without {', '.join(recipe.exclude)}")
    return "; ".join(parts)


def describe_data_counts(view: RankingView) -> str:
    """Describe the amount of data behind a ranking."""
    parts = [pluralize(len(view.systems), "system"), pluralize(view.n_ratings, "rating")]
    segments = {s.n_segments for s in view.systems}
    documents = {s.n_documents for s in view.systems if s.n_documents is not None}
    for numbers, noun in ((segments, "segment"), (documents, "document")):
        if len(numbers) == 1:
            parts.append(pluralize(numbers.pop(), noun))
        elif numbers:
            parts.append(f"{min(numbers):,}–{max(numbers):,} {noun}s a system")
    return ", ".join(parts)


def describe_provenance(view: RankingView) -> str:
    """Describe what is needed to reproduce a ranking."""
    return f"data version {view.data_version}, seed {view.seed}, method {view.method_version}"


def make_caption(view: RankingView) -> str:
    """Return recipe, counts and origin as sentences below a table or a picture."""
    recipe = f"Recipe {view.recipe.name}: {describe_recipe(view.recipe)}."
    humans = [make_sentence(HUMANS_COUNT)] if HUMANS_COUNT in view.notes else []
    return " ".join(
        (recipe, *humans, make_sentence(describe_data_counts(view)), make_sentence(describe_provenance(view)))
    )


def make_ranking_title(view: RankingView) -> str:
    """Return the campaign, with its languages if they are known."""
    if view.source_language and view.target_language:
        return f"{view.campaign} ({view.source_language} {_LANGUAGE_ARROW} {view.target_language})"
    return view.campaign


def describe_score_direction(view: RankingView) -> str:
    """Say which direction is better."""
    return "higher is better" if view.higher_is_better else "lower is better"


def describe_score(view: RankingView) -> str:
    """Describe the score for a heading."""
    protocol = (view.protocol or "").replace("_", "+").upper()
    return f"{protocol} score".strip() if view.unit == "raw" else f"{protocol} {view.unit}-score".strip()
