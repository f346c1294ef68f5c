"""How long a plan is expected to take to compile, from the size of what it is for: what takes long is a job."""

from __future__ import annotations

from app.design.design import Design
from app.services.expected_time import AT_ONCE
from app.services.plan_material import Material

# Of one processor that another wants as well: twice the processor time of compiling, checking, forecasting, hashing and
# packing. Measured with the designs of `benchmarks.plans` and others of their kind, processor seconds: 6,000 outputs
# .3 to .9, 15,000 .9 to 2.4.
_AN_OUTPUT, _A_RATING = 1.2e-4, 5e-5
_A_TRY = 1e-6  # of an output and rater, at an entropy


def takes_long(design: Design, material: Material) -> bool:
    """Whether compiling is expected to be worth a job."""
    return seconds_to_compile(design, material) > AT_ONCE


def seconds_to_compile(design: Design, material: Material) -> float:
    """With the report, from counts alone; reading and storing come on top of it, whoever compiles.

    >>> from app.design.values import Document, Rater, System, TestSet
    >>> nobody: dict[str, int] = {}
    >>> def of(documents: int, systems: int, raters: int, **design: int) -> float:
    ...     texts = TestSet(tuple(Document(f"d{n}", (9,)) for n in range(documents)), {})
    ...     who, what = tuple(Rater(f"r{n}") for n in range(raters)), tuple(System(f"s{n}") for n in range(systems))
    ...     there = Material(texts, what, who, frozenset(), nobody, nobody, nobody, frozenset())
    ...     return round(seconds_to_compile(Design(**design), there), 1)
    >>> of(180, 15, 7), of(500, 30, 50), of(1000, 30, 100), of(1000, 30, 100, ratings_per_item=2)
    (0.5, 2.6, 5.1, 6.6)
    """
    outputs = _documents(design, material) * len(design.systems or material.systems)
    extra = design.overlap.share * (design.overlap.ratings_per_item - 1) if design.overlap else 0.0
    ratings = outputs * (design.ratings_per_item + extra)
    seconds = _AN_OUTPUT * outputs + _A_RATING * ratings * (1 + _controls(design))
    if design.balance.kind == "entropy":
        seconds += _A_TRY * ratings * len(material.raters)
    return seconds


def _documents(design: Design, material: Material) -> int:
    """Those that are dealt: all, those that are named, or as many as are drawn."""
    there = len(material.test_set.documents)
    return min(there, len(design.documents.keys or ()) or there)


def _controls(design: Design) -> float:
    """Control items for each rating."""
    asked = design.controls.bad_reference + design.controls.repeat + design.controls.reference
    return float(asked)
