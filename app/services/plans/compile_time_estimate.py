"""How long compiling a plan is expected to take, estimated from its size. Long compilations become jobs."""

from __future__ import annotations

from app.design.design_choices import Design
from app.design.entropy import RESTARTS
from app.reports.inputs.expected_time import AT_ONCE
from app.services.plans.plan_input import PlanInput

# Seconds on a shared processor: twice the processor time of compiling, checking, forecasting, hashing and packing.
# Processor seconds measured with designs like those of `benchmarks.plans`: 180 documents of 15 systems .2 to .5, 500 of
# 30 systems .9 to 2.4, 1,000 of 30 systems 3.5 to 5. If each segment is an item, 200 documents of 30 systems take 4.9.
_AN_OUTPUT, _A_RATING = 1.2e-4, 5e-5
# Seconds per group each time that groups are dealt to reach an entropy. An unreachable entropy is given up only after
# all tries, and only then is it known to be unreachable. Measured: 48 s for 6,000 groups, .5 s for 60.
_A_TRY = 8e-5


def is_compilation_slow(design: Design, material: PlanInput) -> bool:
    """Return whether compiling is expected to take long enough for a job."""
    return estimate_compile_seconds(design, material) > AT_ONCE


def estimate_compile_seconds(design: Design, material: PlanInput) -> float:
    """Estimate the seconds to compile a plan and its report, from counts alone; reading and storing come in addition.

    >>> from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
    >>> def of(documents: int, systems: int, **design: int) -> float:
    ...     texts = TestSet(tuple(DocumentToPlan(f"d{n}", (9,) * 5) for n in range(documents)), {})
    ...     compared = tuple(System(f"s{n}") for n in range(systems))
    ...     there = PlanInput(texts, compared, (Rater("r"),), frozenset(), {}, {}, {}, frozenset())
    ...     return round(estimate_compile_seconds(Design(**design), there), 1)
    >>> of(180, 15), of(500, 30), of(1000, 30), of(1000, 30, ratings_per_item=2)
    (0.5, 2.5, 5.1, 6.6)
    """
    stretches = _stretches(design, material)
    outputs = stretches * len(design.systems or material.systems)
    twice = design.overlap.share * (design.overlap.ratings_per_item - design.ratings_per_item) if design.overlap else 0
    controls = design.controls.bad_reference + design.controls.repeat + design.controls.reference
    ratings = outputs * (design.ratings_per_item + twice) * (1 + controls)
    seconds = _AN_OUTPUT * outputs + _A_RATING * ratings
    if design.balance.kind == "entropy":
        seconds += _A_TRY * RESTARTS * (stretches if design.grouping == "psxs" else outputs)
    return seconds


def _stretches(design: Design, material: PlanInput) -> float:
    """Return the number of dealt stretches: all, named or sampled documents, or their segments if these are items."""
    there = material.test_set.documents
    chosen = len(design.documents.keys) if design.documents.keys is not None else design.documents.sample
    documents = min(len(there), len(there) if chosen is None else chosen)
    segments = sum(document.n_segments for document in there) if design.has_single_segment_items else len(there)
    return documents * segments / max(1, len(there))
