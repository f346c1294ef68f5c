"""What a plan is expected to take depends on how much is dealt, not on how much there is."""

from __future__ import annotations

import pytest

from app.design.design_choices import BalanceRule, ControlRules, Design, DocumentSelection
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.services.plans.compile_time_estimate import estimate_compile_seconds, is_compilation_slow
from app.services.plans.plan_input import PlanInput


def of(documents: int, systems: int = 30) -> PlanInput:
    """Documents of five segments."""
    texts = TestSet(tuple(DocumentToPlan(f"d{n}", (9,) * 5) for n in range(documents)), {})
    compared = tuple(System(f"s{n}") for n in range(systems))
    return PlanInput(texts, compared, (Rater("r"),), frozenset(), {}, {}, {}, frozenset())


@pytest.mark.parametrize(
    ("part", "of_all"),
    [
        (Design(documents=DocumentSelection(sample=100)), 400),
        (Design(documents=DocumentSelection(keys=tuple(f"d{n}" for n in range(100)))), 400),
        (Design(systems=("s1", "s2", "s3")), 40),
    ],
)
def test_what_a_design_leaves_out_takes_no_time(part: Design, of_all: int) -> None:
    if part.systems is None:
        assert estimate_compile_seconds(part, of(of_all)) == pytest.approx(estimate_compile_seconds(Design(), of(100)))
    else:
        assert estimate_compile_seconds(part, of(of_all)) == pytest.approx(
            estimate_compile_seconds(Design(), of(of_all, 3))
        )


def test_ratings_controls_and_single_segments_take_more() -> None:
    there, plain = of(200), estimate_compile_seconds(Design(), of(200))
    more = [
        Design(ratings_per_item=3),
        Design(controls=ControlRules(bad_reference=0.1)),
        parse_design({"structure": "sr_dc"}),
        parse_design({}),  # a share is rated twice
    ]
    assert [estimate_compile_seconds(design, there) > plain for design in more] == [True] * 4
    assert estimate_compile_seconds(more[2], there) > 4 * plain


def test_campaigns_of_a_usual_size_are_compiled_at_once_and_those_of_many_documents_by_a_job() -> None:
    assert [is_compilation_slow(parse_design({}), of(n)) for n in (180, 500, 1000)] == [False, False, True]


def test_an_entropy_that_may_not_be_reached_counts_with_all_its_tries() -> None:
    by_documents, by_outputs = (Design(grouping=g, balance=BalanceRule("entropy", 0.7)) for g in ("psxs", "none"))
    assert (is_compilation_slow(by_documents, of(200)), is_compilation_slow(by_outputs, of(200))) == (False, True)
    assert not is_compilation_slow(by_outputs, of(20, 5))
