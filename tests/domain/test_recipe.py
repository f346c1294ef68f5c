"""Recipes from options and JSON: strict, told by name and place, and the same after a round trip."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.domain.recipe import (
    CHECKED_AGAINST,
    NAMED,
    ExclusionTarget,
    Recipe,
    ScoringChoice,
    apply_query_options_to_recipe,
    parse_recipe_json,
)
from app.domain.recipe_field_parsing import parse_recipe_field

RECOMMENDED, WMT_DA, GOOGLE_MQM = NAMED["recommended"], NAMED["wmt-da"], NAMED["google-mqm"]

MARKED = Recipe(
    name="mine",
    scoring=ScoringChoice("spans", "wmt24", 25.0),
    exclude=(ExclusionTarget("rater", "r1"), ExclusionTarget("system", "Online-W")),
    permutations=500,
    alpha=0.01,
)


@pytest.mark.parametrize("recipe", [*NAMED.values(), MARKED], ids=lambda r: r.name)
def test_a_recipe_is_the_same_after_a_round_trip_through_json(recipe: Recipe) -> None:
    assert parse_recipe_json(json.loads(json.dumps(recipe.as_json()))) == recipe


@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "normalize": st.sampled_from(["auto", "none", "mean", "center", "error", "error_rate", "z"]),
            "moments": st.sampled_from(["ratings", "all", "calibration"]),
            "test": st.sampled_from(["permutation", "rank_sum", "welch", "none"]),
            "unit": st.sampled_from(["document", "segment"]),
            "alternative": st.sampled_from(["two-sided", "greater"]),
            "alpha": st.floats(1e-6, 0.5).map(repr),
            "seed": st.integers(0, 2**63 - 1).map(str),
            "permutations": st.integers(100, 10**6).map(str) | st.just("auto"),
            "inclusive": st.sampled_from(["true", "false"]),
            "exclude": st.sampled_from(["system:a", "rater:b,document:c", "task:t"]),
            "scoring": st.sampled_from(
                ["score", "spans", "spans:wmt24", "spans::25", "spans:wmt24:5.5", "criterion:tone"]
            ),
        },
    )
)
def test_what_options_make_survives_a_round_trip(options: dict[str, str]) -> None:
    recipe = apply_query_options_to_recipe(RECOMMENDED, {name: [value] for name, value in options.items()})
    again = parse_recipe_json({**json.loads(json.dumps(recipe.as_json())), "hash": recipe.hash})
    assert again == recipe


def test_an_option_replaces_one_field_and_the_name_says_which() -> None:
    recipe = apply_query_options_to_recipe(WMT_DA, {"clusters": ["paper"], "alpha": ["0.01"]})
    assert recipe == replace(WMT_DA, name="wmt-da+alpha+clusters", clusters="paper", alpha=0.01)


def test_options_that_change_nothing_keep_the_name() -> None:
    assert (
        apply_query_options_to_recipe(WMT_DA, {"clusters": ["wmt21"], "recipe": ["wmt-da"], "as_of": ["3"]}) == WMT_DA
    )


def test_naming_a_test_asks_for_that_test_and_no_other() -> None:
    assert RECOMMENDED.fallback
    assert not apply_query_options_to_recipe(RECOMMENDED, {"test": ["permutation"]}).fallback
    assert apply_query_options_to_recipe(RECOMMENDED, {"alpha": ["0.01"]}).fallback


def test_naming_a_test_drops_what_belonged_to_the_earlier_one() -> None:
    signed = apply_query_options_to_recipe(
        WMT_DA, {"test": ["signed_rank"], "zero_method": ["pratt"], "method": ["exact"]}
    )
    assert (signed.correction, signed.zero_method, signed.method) == (False, "pratt", "exact")
    assert apply_query_options_to_recipe(WMT_DA, {"test": ["signed_rank"], "correction": ["true"]}).correction
    matched = apply_query_options_to_recipe(WMT_DA, {"matched_only": ["true"]})
    for base in (signed, matched):
        again = apply_query_options_to_recipe(base, {"test": ["welch"]})
        plain = (again.correction, again.zero_method, again.method, again.matched_only)
        assert plain == (True, "wilcox", "auto", False)
        assert parse_recipe_json(again.as_json()) == again


def test_every_named_recipe_says_what_it_was_checked_against() -> None:
    assert list(CHECKED_AGAINST) == list(NAMED)
    assert all(CHECKED_AGAINST.values())


def test_exclusions_may_be_repeated_or_listed() -> None:
    expected = (ExclusionTarget("rater", "r1"), ExclusionTarget("system", "a"), ExclusionTarget("system", "b"))
    assert apply_query_options_to_recipe(WMT_DA, {"exclude": ["system:b,rater:r1", "system:a"]}).exclude == expected


def test_scoring_takes_a_profile_and_a_cap() -> None:
    assert apply_query_options_to_recipe(WMT_DA, {"scoring": ["spans:wmt24:25"]}).scoring == ScoringChoice(
        "spans", "wmt24", 25.0
    )
    assert apply_query_options_to_recipe(WMT_DA, {"scoring": ["spans"]}).scoring == ScoringChoice("spans")


REFUSED_OPTIONS = [
    ("alpha", "nan"),
    ("alpha", "1e999"),
    ("alpha", "0"),
    ("alpha", "0.6"),
    ("alpha", "0_1"),
    ("alpha", "٠.١"),
    ("alpha", " 0.05"),
    ("alpha", ""),
    ("seed", "-1"),
    ("seed", str(2**63)),
    ("seed", "1.5"),
    ("seed", "9" * 5000),
    ("permutations", "99"),
    ("permutations", "1000001"),
    ("permutations", "NaN"),
    ("test", "signed rank"),
    ("zero_method", "drop"),
    ("method", "fast"),
    ("test", "PERMUTATION"),
    ("clusters", "wmt23"),
    ("aggregate", "mode"),
    ("moments", "controls"),
    ("inclusive", "yes"),
    ("exclude", "system"),
    ("exclude", "system:"),
    ("exclude", "planet:mars"),
    ("exclude", "system:\x00"),
    ("roles", "boss"),
    ("scoring", "wmt24"),
    ("scoring", "score:wmt24"),
    ("scoring", "criterion"),
    ("scoring", "criterion:a b"),
    ("scoring", "spans:a b"),
    ("scoring", "spans::-1"),
    ("scoring", "spans::1e999"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED_OPTIONS, ids=lambda v: repr(v)[:30])
def test_an_impossible_value_is_refused_at_its_place(name: str, value: str) -> None:
    with pytest.raises(Invalid) as caught:
        apply_query_options_to_recipe(RECOMMENDED, {name: [value]})
    assert [place.loc for place in caught.value.places] == [("query", name)]


def test_all_faults_are_told_at_once_with_what_is_allowed() -> None:
    with pytest.raises(Invalid) as caught:
        apply_query_options_to_recipe(RECOMMENDED, {"adjust": ["tukey"], "alpha": ["x"], "sd0": ["drop"]})
    assert [(place.loc, place.msg) for place in caught.value.places] == [
        (("query", "adjust"), "must be one of none, holm, bh, maxT"),
        (("query", "alpha"), "must be a number"),
    ]


@pytest.mark.parametrize("name", ["filters"])
def test_the_word_for_all_that_chooses_rows_is_refused_with_the_choices_that_do(name: str) -> None:
    for refuse in (
        lambda: apply_query_options_to_recipe(RECOMMENDED, {name: ["x"]}),
        lambda: parse_recipe_json({"name": "mine", name: {}}),
    ):
        with pytest.raises(Invalid, match=r"filters: .*roles, accepted_only, exclude and standing"):
            refuse()


@pytest.mark.parametrize("name", ["cs", "ht", "cs_ht"])
def test_calibration_between_language_pairs_is_refused_by_name(name: str) -> None:
    with pytest.raises(Invalid, match=r"must be raw in a ranking.*comparison of campaigns `xsts`"):
        apply_query_options_to_recipe(NAMED["nllb-xsts"], {"calibration": [name]})
    assert apply_query_options_to_recipe(NAMED["nllb-xsts"], {"calibration": ["raw"]}) == NAMED["nllb-xsts"]


def test_an_unknown_option_is_refused_without_repeating_what_was_sent() -> None:
    with pytest.raises(Invalid) as caught:
        apply_query_options_to_recipe(RECOMMENDED, {"\ud800<b>": ["1"], "alhpa": ["1"]})
    assert [place.loc for place in caught.value.places] == [("query", "(name)"), ("query", "alhpa")]
    assert "<b>" not in caught.value.detail


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(Invalid, match="give it once"):
        apply_query_options_to_recipe(RECOMMENDED, {"alpha": ["0.05", "0.01"]})


@pytest.mark.parametrize(
    ("base", "options", "place"),
    [
        (GOOGLE_MQM, {"alternative": ["two-sided"]}, ("query", "alternative")),
        (GOOGLE_MQM, {"unit": ["document"]}, ("query", "unit")),
        (WMT_DA, {"test": ["rank_sum_legacy"], "alternative": ["two-sided"]}, ("query", "alternative")),
        (GOOGLE_MQM, {"matched_only": ["true"]}, ("query", "matched_only")),
        (GOOGLE_MQM, {"correction": ["false"]}, ("query", "correction")),
        (RECOMMENDED, {"test": ["rank_sum_legacy"]}, ("query", "test")),
        (WMT_DA, {"adjust": ["maxT"]}, ("query", "adjust")),
        (RECOMMENDED, {"adjust": ["maxT"], "alternative": ["greater"]}, ("query", "adjust")),
        (RECOMMENDED, {"test": ["stouffer"]}, ("query", "test")),
        (NAMED["wmt24-esa"], {"alternative": ["greater"]}, ("query", "alternative")),
        (RECOMMENDED, {"zero_method": ["pratt"]}, ("query", "zero_method")),
        (WMT_DA, {"method": ["exact"]}, ("query", "method")),
    ],
)
def test_contradictory_combinations_are_refused(
    base: Recipe, options: dict[str, list[str]], place: tuple[str, str]
) -> None:
    with pytest.raises(Invalid) as caught:
        apply_query_options_to_recipe(base, options)
    assert caught.value.places[0].loc == place


def test_a_body_may_leave_out_what_is_as_in_the_recipe_it_names() -> None:
    assert parse_recipe_json({"name": "wmt-da"}) == WMT_DA
    assert parse_recipe_json({"name": "wmt-da", "alpha": 0.01}).name == "wmt-da+alpha"
    assert parse_recipe_json({"alpha": 0.01}) == replace(RECOMMENDED, name="custom", alpha=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", "0.05"),
        ("alpha", True),
        ("alpha", 10**400),
        ("alpha", float("nan")),
        ("seed", 1.0),
        ("seed", None),
        ("permutations", 1e4),
        ("inclusive", 1),
        ("test", ["marot"]),
        ("test", {}),
        ("exclude", "system:a"),
        ("exclude", [1]),
        ("exclude", ["system:a"] * 1001),
        ("roles", []),
        ("scoring", "spans"),
        ("scoring", {"from": "spans", "cap": 10**400}),
        ("scoring", {"from": "spans", "cap": float("nan")}),
        ("scoring", {"from": ["spans"]}),
        ("scoring", {"from": "spans", "more": 1}),
        ("scoring", {"from": "spans", "profile": 3}),
        ("name", 7),
        ("name", "a b"),
        ("name", ""),
        ("hash", "sha256:0"),
        ("filters", {}),
        ("colour", "red"),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_a_wrong_type_or_value_in_a_body_is_refused_at_its_place(name: str, value: object) -> None:
    with pytest.raises(Invalid) as caught:
        parse_recipe_json({name: value})
    assert [place.loc for place in caught.value.places] == [("body", name)]


def test_every_field_of_a_recipe_can_be_read() -> None:
    plain = MARKED.as_json()
    for field in fields(Recipe):
        if field.name != "name":
            assert parse_recipe_field(field.name, plain[field.name]) == getattr(MARKED, field.name)


def test_the_hash_covers_every_choice_but_the_name() -> None:
    assert replace(WMT_DA, name="other").hash == WMT_DA.hash
    assert replace(WMT_DA, seed=1).hash != WMT_DA.hash
