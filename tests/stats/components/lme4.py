"""A model's rows and terms as R's lme4 takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.stats.components.observations import ModelObservations

GROUPS: Final[Mapping[str, str]] = {
    "rater": "rater",
    "doc": "document",
    "segment": "segment",
    "doc_system": "document:system",
    "segment_system": "segment:system",
    "rater_system": "rater:system",
    "rater_doc": "rater:document",
    "rater_segment": "rater:segment",
    "rater_doc_system": "rater:document:system",
}
"""Each random term of ours as a grouping of lme4."""
FACTORS: Final = 'for (k in c("system", "rater", "document", "segment")) d[[k]] <- factor(d[[k]])'
LENIENT: Final = 'check.nobs.vs.nlev = "ignore", check.nobs.vs.rankZ = "ignore", check.nobs.vs.nRE = "ignore"'
"""For `lmerControl`: a term may have as many levels as there are rows, as ours may."""


def formula(terms: Sequence[str]) -> str:
    """Systems fixed, these terms random."""
    return " + ".join(["score ~ 0 + system", *(f"(1 | {GROUPS[term]})" for term in terms)])


def variances(terms: Sequence[str]) -> str:
    """Of the fit `m`: the variance of each term and of the residual, as an expression."""
    named = ", ".join(f'"{GROUPS[term]}"' for term in terms)
    return f'with(as.data.frame(VarCorr(m)), vcov[match(c({named}, "Residual"), grp)])'


def columns(rows: ModelObservations) -> dict[str, Sequence[object]]:
    """The data frame."""
    return {
        "system": rows.system.tolist(),
        "rater": rows.rater.tolist(),
        "document": rows.document.tolist(),
        "segment": rows.segment.tolist(),
        "score": rows.score.tolist(),
    }
