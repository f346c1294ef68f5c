"""What the components tell about a study: variance shares, and how far its scores generalize, now and if larger.

In generalizability theory, systems are the objects of measurement; documents and raters are sampled. A *relative*
decision ranks systems; an *absolute* decision compares a score with a fixed threshold.

Sources: Brennan 2001, *Generalizability Theory*; Bayerl & Paul 2007 (Computational Linguistics 33).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.components.fit import VarianceComponentsFit
from app.stats.components.terms import RESIDUAL, OmittedTerm
from app.stats.planning.power_and_cost import StudyLayout, VarianceComponents, compute_contrast_variance


@dataclass(frozen=True, slots=True)
class DecisionStudyReliability:
    """Reliability of the means of a study of this size.

    documents, ratings, raters: D documents, K raters per output, R raters in total. relative, absolute: error
    variances. generalizability: Eρ² = σ²_s/(σ²_s + relative). dependability: Φ = σ²_s/(σ²_s + absolute). Each is None
    if both its variances are 0.
    """

    documents: int
    ratings: int
    raters: int
    relative: float
    absolute: float
    generalizability: float | None
    dependability: float | None


def make_planning_components_from_fit(fitted: VarianceComponentsFit, *, source: str) -> VarianceComponents:
    """Convert the components of a fit to the planner's form; terms that are not in the model count as 0.

    The variance of an omitted term is contained in the term with which it is confounded. That is right for studies with
    the same number of ratings per item, but not for others. `assign_confounded_variance_to_systems` handles the
    consequences for systems.
    """
    return make_planning_components(assign_confounded_variance_to_systems(fitted, fitted.components), source=source)


def assign_confounded_variance_to_systems(
    fitted: VarianceComponentsFit, components: Mapping[str, float]
) -> dict[str, float]:
    """Move variance from a term without systems to the system term that is confounded with it.

    If every document has only one system, document × system is confounded with document and contained in it. Document
    effects are the same for all systems, so they would cancel in differences between systems, and no error would
    remain. So all of that variance counts as document × system. That is right for studies that assign documents in the
    same way, and too much if all systems are judged on each document.

    components : of the fit, or drawn from it.
    """
    variances = dict(components)
    for omitted in find_confounded_system_terms(fitted):
        moved = sum(variances.pop(term, 0.0) for term in omitted.within)
        variances[omitted.term] = variances.get(omitted.term, 0.0) + moved
    return variances


def find_confounded_system_terms(fitted: VarianceComponentsFit) -> tuple[OmittedTerm, ...]:
    """Find omitted system terms that are confounded with terms without systems; the first if several share the same."""
    terms: list[OmittedTerm] = []
    for omitted in fitted.left_out:
        plain = bool(omitted.within) and not any("system" in term or term == RESIDUAL for term in omitted.within)
        if "system" in omitted.term and plain and all(omitted.within != other.within for other in terms):
            terms.append(omitted)
    return tuple(terms)


def make_planning_components(components: Mapping[str, float], *, source: str = "given") -> VarianceComponents:
    """Convert components by name of the model's terms to the planner's form."""
    get = components.get
    return VarianceComponents(
        doc_system=get("doc_system", 0.0),
        segment_system=get("segment_system", 0.0),
        rater=get("rater", 0.0),
        rater_system=get("rater_system", 0.0),
        rater_doc=get("rater_doc", 0.0),
        rater_segment=get("rater_segment", 0.0),
        rater_doc_system=get("rater_doc_system", 0.0),
        residual=get(RESIDUAL, 0.0),
        source=source,
    )


def estimate_system_variance(fitted: VarianceComponentsFit) -> float:
    """Variance between systems without the error of their means: σ²_s, at least 0.

    Systems are fixed in the model, so this is the variance of the adjusted means minus half the mean variance of a
    contrast, which is the expected excess.
    """
    if len(fitted.means) < 2:
        return 0.0
    return max(0.0, float(fitted.means.var(ddof=1)) - fitted.typical_contrast_error() ** 2 / 2)


def compute_variance_shares(fitted: VarianceComponentsFit) -> Mapping[str, float]:
    """Each component as a share of the variance of a single rating; systems come first."""
    variances = {"system": estimate_system_variance(fitted), **fitted.components}
    total = sum(variances.values())
    return {term: value / total for term, value in variances.items()}


def estimate_reliability(
    components: Mapping[str, float], between: float, *, documents: int, segments: float, ratings: int, raters: int
) -> DecisionStudyReliability:
    """Reliability of a study in which the same K of R raters judge a document for all systems.

    components : variance of each term of `VarianceComponentsFit.components`. between : σ²_s.

    Relative: σ²_SD/D + σ²_sr/R + σ²_sdr/(DK) + σ²_e/(DKm), σ²_SD = σ²_ds + σ²_gs/m. Absolute adds σ²_D/D + σ²_r/R +
    σ²_RD/(DK), σ²_D = σ²_d + σ²_g/m, σ²_RD = σ²_rd + σ²_rg/m. With R = K every rater judges every document.

    >>> crossed = {"doc_system": 2.0, "rater_system": 1.0, "residual": 4.0, "doc": 3.0, "rater": 6.0}
    >>> found = estimate_reliability(crossed, 5.0, documents=10, segments=1, ratings=2, raters=2)
    >>> round(found.relative, 3), round(found.absolute, 3), round(found.generalizability, 3)
    (0.9, 4.2, 0.847)
    """
    get = components.get
    relative = (
        compute_contrast_variance(
            make_planning_components(components), StudyLayout(documents, segments, raters, ratings)
        )
        / 2
    )
    of_documents = (get("doc", 0.0) + get("segment", 0.0) / segments) / documents
    of_raters = (get("rater_doc", 0.0) + get("rater_segment", 0.0) / segments) / (documents * ratings)
    absolute = relative + of_documents + get("rater", 0.0) / raters + of_raters
    return DecisionStudyReliability(
        documents, ratings, raters, relative, absolute, _share(between, relative), _share(between, absolute)
    )


def _share(between: float, error: float) -> float | None:
    return between / (between + error) if between + error > 0 else None


def run_decision_studies(
    fitted: VarianceComponentsFit, *, documents: Sequence[int], ratings: Sequence[int], raters: int | None = None
) -> tuple[DecisionStudyReliability, ...]:
    """Run a D-study (Brennan 2001, ch. 4): the reliability of studies of all these sizes.

    Parameters
    ----------
    documents, ratings : sizes; every pair is evaluated. Ratings are per item. The number of segments per document is
        this study's mean.
    raters : in the pool; None takes this study's number. The pool is never smaller than the ratings per item.

    Returns
    -------
    One `DecisionStudyReliability` per size, ordered by ratings, then documents; its variances are in squared score
    units.
    """
    rows = fitted.rows
    segments = rows.n_segments / max(rows.n_sampled_units, 1)
    pool = raters or len(rows.raters)
    between, components = (
        estimate_system_variance(fitted),
        assign_confounded_variance_to_systems(fitted, fitted.components),
    )
    return tuple(
        estimate_reliability(components, between, documents=d, segments=segments, ratings=k, raters=max(pool, k))
        for k in ratings
        for d in documents
    )


def compute_mean_raters_per_item(fitted: VarianceComponentsFit) -> float:
    """Mean number of raters per output."""
    rows = fitted.rows
    outputs = np.unique(rows.segment * len(rows.systems) + rows.system).size
    return len(rows) / outputs
