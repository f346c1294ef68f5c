"""Designs from JSON: defaults, what a structure fixes, and every wrong place named."""

from __future__ import annotations

from typing import Any

import pytest

from app.design.design_choices import Arm, BalanceRule, CalibrationRules, ControlRules, Design, OverlapRules, TaskRules
from app.design.parse import parse_design
from app.domain.errors import Invalid

WHOLE: dict[str, Any] = {
    "grouping": "psxs",
    "structure": "free",
    "balance": {"entropy": 0.8},
    "unit": "segments",
    "even_out": False,
    "ratings_per_item": 1,
    "overlap": {"share": 0.15, "ratings_per_item": 2},
    "buckets": {"raters_per_bucket": 3},
    "systems": None,
    "documents": None,
    "task": {
        "max_segments": 100,
        "max_items": None,
        "max_words": None,
        "split_documents": "never",
        "shuffle": "systems",
        "columns": 1,
    },
    "arms": [{"name": "a", "presentation": "segment", "prefill": None}, {"name": "b"}],
    "cross": "raters",
    "controls": {
        "bad_reference": {"rate": 0.12, "method": "rotation"},
        "repeat": {"rate": 0.1, "min_distance": 30},
        "reference": {"rate": 0.1},
    },
    "calibration": {"set": "xsts-v1", "sample": 200, "placement": "spread"},
    "share_duplicates": True,
    "seed": 1,
}


def test_the_design_of_the_contract_is_read_whole() -> None:
    design = parse_design(WHOLE)
    assert design.balance == BalanceRule("entropy", 0.8)
    assert design.overlap == OverlapRules(0.15, 2)
    assert design.buckets.raters_per_bucket == 3
    assert design.arms == (Arm("a", "segment"), Arm("b"))
    assert design.controls == ControlRules(0.12, "rotation", 0.1, 30, 0.1)
    assert design.calibration == CalibrationRules("xsts-v1", 200, None, "spread")
    assert (design.unit, design.cross, design.seed) == ("segments", "raters", 1)


def test_the_default_design_is_what_riley_et_al_recommend() -> None:
    """Riley et al. 2024, §3; the overlap is our own default."""
    assert parse_design({}) == Design(overlap=OverlapRules(0.15, 2))
    assert parse_design({"overlap": None}).overlap is None
    assert parse_design({"ratings_per_item": 2}).overlap is None


@pytest.mark.parametrize(
    ("structure", "grouping", "task", "controls"),
    [
        (
            "sr_dc",
            "system_balanced",
            TaskRules(None, 100, shuffle="items"),
            ControlRules(0.1, repeat=0.1, reference=0.1),
        ),
        ("sr_plus_dc", "none", TaskRules(shuffle="items"), ControlRules(0.1, repeat=0.1, reference=0.1)),
        ("alternate_2018", "psxs", TaskRules(None, 100, shuffle="items"), ControlRules(0.1)),
        ("latin_square", "psxs", TaskRules(), ControlRules()),
    ],
)
def test_a_structure_fixes_the_grouping_and_fills_in_the_rest(
    structure: str, grouping: str, task: TaskRules, controls: ControlRules
) -> None:
    design = parse_design({"structure": structure})
    assert (design.grouping, design.task, design.controls) == (grouping, task, controls)


@pytest.mark.parametrize(
    ("wrong", "loc", "says"),
    [
        ({"structure": "sr_dc", "grouping": "psxs"}, ("grouping",), "fixes the grouping"),
        ({"grouping": "pairs"}, ("grouping",), "must be one of psxs, system_balanced, none"),
        ({"balance": {"entropy": 1.2}}, ("balance",), "from 0 to 1"),
        ({"balance": {"entropy": True}}, ("balance",), "from 0 to 1"),
        ({"balance": {"capacity": False}}, ("balance",), "must be"),
        ({"ratings_per_item": 0}, ("ratings_per_item",), "whole number from 1"),
        ({"ratings_per_item": True}, ("ratings_per_item",), "whole number"),
        ({"ratings_per_item": 2, "overlap": {"ratings_per_item": 2}}, ("overlap", "ratings_per_item"), "above"),
        ({"overlap": {"share": float("nan")}}, ("overlap", "share"), "from 0 to 1"),
        ({"buckets": {"auto": True, "raters_per_bucket": 3}}, ("buckets", "raters_per_bucket"), "not both"),
        ({"buckets": {"explicit": []}}, ("buckets", "explicit"), "at least one"),
        ({"buckets": {"explicit": [{"raters": ["a"]}]}}, ("buckets", "explicit", 0, "name"), "is needed"),
        ({"systems": ["a", "a"]}, ("systems",), "twice"),
        ({"documents": {"sample": 0}}, ("documents",), "must be null"),
        ({"task": {"max_segments": -1}}, ("task", "max_segments"), "whole number"),
        ({"task": {"columns": 13}}, ("task", "columns"), "from 1 to 12"),
        ({"grouping": "none", "task": {"columns": 2}}, ("task", "columns"), "psxs"),
        (
            {"task": {"max_segments": None, "split_documents": "over_max_segments"}},
            ("task", "split_documents"),
            "needs",
        ),
        ({"structure": "sr_plus_dc", "task": {"max_segments": None}}, ("task", "max_segments"), "fills tasks up to it"),
        ({"even_out": True, "balance": {"capacity": True}}, ("even_out",), "only with balance full"),
        ({"arms": [{"name": "a"}]}, ("arms",), "at least two"),
        ({"arms": [{"name": "a"}, {"name": "a"}]}, ("arms",), "each name once"),
        (
            {"task": {"columns": 2}, "controls": {"reference": {"rate": 0.26}}},
            ("controls", "reference", "rate"),
            "with 2 columns a rate of 0.25 is the most",
        ),
        ({"controls": {"repeat": {"rate": 0.3}, "reference": {"rate": 0.3}}}, ("controls",), "0.5"),
        ({"controls": {"mix": "70:10:10:10", "repeat": {}}}, ("controls", "repeat"), "mix gives"),
        ({"structure": "alternate_2018", "controls": {"repeat": {}}}, ("controls",), "only controls"),
        ({"structure": "latin_square", "ratings_per_item": 2}, ("ratings_per_item",), "leave it out"),
        ({"calibration": {}}, ("calibration",), "either set or common_items"),
        ({"seed": -1}, ("seed",), "whole number from 0"),
        ({"colour": "blue"}, ("colour",), "unknown; known are"),
        ({"task": {"max": 3}}, ("task", "max"), "unknown"),
        ([], (), "must be an object"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(wrong: object, loc: tuple[str | int, ...], says: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_design(wrong, loc=("body",))
    places = {place.loc: place.msg for place in refused.value.places}
    assert says in places["body", *loc]


@pytest.mark.parametrize(("columns", "rate"), [(1, 0.5), (2, 0.25), (5, 0.1)])
def test_references_may_stand_on_every_second_screen_and_no_oftener(columns: int, rate: float) -> None:
    design = {"grouping": "psxs", "task": {"columns": columns}, "controls": {"reference": {"rate": rate}}}
    assert parse_design(design).controls.reference == rate
    with pytest.raises(Invalid):
        parse_design({**design, "controls": {"reference": {"rate": rate + 0.01}}})


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        parse_design({"unit": "pages", "even_out": 1, "task": {"shuffle": "all"}})
    assert {place.loc for place in refused.value.places} == {("unit",), ("even_out",), ("task", "shuffle")}
