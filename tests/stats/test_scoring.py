"""Weights and penalties: profiles as published, own tables, sums that no order changes."""

from __future__ import annotations

import pickle
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.stats.scoring import (
    PROFILES,
    WeightProfile,
    parse_weight_profile,
    resolve_weight_profile,
    sum_error_weights,
    weigh_error,
)

# Freitag et al. 2021, table of weights; Riley et al. 2024 §4.1
FREITAG = [
    ("Major", "Accuracy/Mistranslation", 5.0),
    ("minor", "accuracy/mistranslation", 1.0),
    ("MINOR", "Fluency/Punctuation", 0.1),
    ("Major", "Fluency/Punctuation", 5.0),
    ("Major", "Non-translation!", 25.0),
    ("Minor", "Non-translation!", 1.0),
    ("Neutral", "Style/Awkward", 0.0),
    ("Minor", None, 1.0),
    ("Minor", "Fluency / Punctuation / Comma", 0.1),
]
# WMT24: as before, but Source issue and Creative Reinterpretation 0; Critical as Major
WMT24 = [
    *FREITAG,
    ("Major", "Source issue", 0.0),
    ("Major", "Source_issue", 0.0),
    ("Minor", "Accuracy/Creative Reinterpretation", 0.0),
    ("Critical", "Accuracy/Omission", 5.0),
]
# ErrorSpanAnnotation scripts: a category that contains Punctuation weighs .1 whatever the severity
ESA = [
    ("major", "Fluency/Punctuation", 0.1),
    ("critical", "Linguistic conventions/punctuation", 0.1),
    ("critical", "Accuracy/Omission", 25.0),
    ("undecided", "", 0.0),
]


@pytest.mark.parametrize(
    ("profile", "severity", "category", "expected"),
    [(name, *row) for name, rows in (("freitag2021", FREITAG), ("wmt24", WMT24), ("esa-mqm", ESA)) for row in rows],
)
def test_a_profile_weighs_errors_as_published(
    profile: str, severity: str, category: str | None, expected: float
) -> None:
    assert weigh_error(resolve_weight_profile(profile), severity, category) == (expected, True)


def test_scores_are_stored_under_the_name_and_sixteen_digits_of_the_table() -> None:
    profile = resolve_weight_profile("freitag2021")
    assert profile.identity == f"freitag2021@{profile.digest[:16]}"
    assert len(profile.identity) == len("freitag2021@") + 16


def test_what_a_profile_does_not_know_weighs_nothing_and_is_reported() -> None:
    assert weigh_error(resolve_weight_profile("freitag2021"), "critical", "Accuracy/Omission") == (0.0, False)


def test_an_unknown_category_takes_the_weight_of_its_severity() -> None:
    assert weigh_error(resolve_weight_profile("freitag2021"), "major", "Nobody/knows/this") == (5.0, True)


def test_the_most_specific_pattern_wins() -> None:
    own = parse_weight_profile({"minor": 1, "minor/a": 2, "minor/a/b": 3})
    assert [weigh_error(own, "minor", c)[0] for c in (None, "x", "a", "a/x", "a/b", "a/b/c")] == [1, 1, 2, 2, 3, 3]


def test_a_lookup_is_the_same_when_it_is_remembered() -> None:
    profile = resolve_weight_profile("wmt24")
    assert weigh_error(profile, "Minor", "Style") == weigh_error(profile, "Minor", "Style") == (1.0, True)


@given(st.lists(st.sampled_from([0.1, 1.0, 5.0, 25.0, 0.3]), max_size=6))
def test_no_order_of_errors_changes_a_penalty(weights: list[float]) -> None:
    assert len({sum_error_weights(p) for p in permutations(weights)}) == 1


def test_a_cap_bounds_a_penalty_from_above_only() -> None:
    assert sum_error_weights([25.0, 5.0], cap=25.0) == 25.0
    assert sum_error_weights([0.1, 0.1], cap=25.0) == 0.2


def test_no_errors_are_no_penalty() -> None:
    assert sum_error_weights([]) == 0.0


def test_profiles_are_told_apart_by_their_tables_and_not_by_their_names() -> None:
    same = (
        parse_weight_profile({"MAJOR": 5, "minor": 1.0}, name="a"),
        parse_weight_profile({"minor": 1, "Major": 5.0}, name="b"),
    )
    assert same[0] == same[1]
    assert hash(same[0]) == hash(same[1])
    assert same[0].identity != same[1].identity
    assert len({p.digest for p in PROFILES.values()}) == len(PROFILES)


def test_a_profile_survives_the_way_to_another_process() -> None:
    sent: WeightProfile = pickle.loads(pickle.dumps(resolve_weight_profile("wmt24")))  # noqa: S301 (our own bytes)
    assert sent == resolve_weight_profile("wmt24")
    assert weigh_error(sent, "Major", "Source issue") == (0.0, True)


@pytest.mark.parametrize(
    ("table", "loc"),
    [
        ({}, ("weights",)),
        ({"major": -1}, ("weights", "major")),
        ({"major": float("nan")}, ("weights", "major")),
        ({"major": float("inf")}, ("weights", "major")),
        ({"major": True}, ("weights", "major")),
        ({"major": "5"}, ("weights", "major")),
        ({"major": 10**400}, ("weights", "major")),
        ({" ": 1}, ("weights", " ")),
        ({"/x": 1}, ("weights", "/x")),
        ({"m" * 400: 1}, ("weights", "m" * 400)),
        ({"Major": 5, "major ": 4}, ("weights", "major ")),
        ({f"minor/{i}": 1 for i in range(1001)}, ("weights",)),
    ],
)
def test_an_own_table_with_a_fault_is_refused_by_name(table: dict[str, object], loc: tuple[str, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_weight_profile(table)
    assert loc in [place.loc for place in refused.value.places]


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match=r"freitag2021.*wmt24"):
        resolve_weight_profile("google2021")


def test_a_profile_can_be_a_name_a_table_or_nothing() -> None:
    assert resolve_weight_profile(None).name == "freitag2021"
    assert resolve_weight_profile("esa-mqm").name == "esa-mqm"
    assert weigh_error(resolve_weight_profile({"major": 10}), "major", None) == (10.0, True)
