"""What a campaign file of Pearmut cannot mean here is refused by its place, before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.errors import Invalid
from app.services.pearmut import rules
from app.services.pearmut.campaign_file import parse_campaign_file
from tests.pearmut.campaigns import CHECK, TUTORIAL, campaign


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("protocol", ["cESA"], ("info", "protocol")),
        ("protocol", {}, ("info", "protocol")),
        ("seed", {}, ("info", "seed")),
        ("seed", [1], ("info", "seed")),
        ("special_tokens", 7, ("info", "special_tokens")),
        ("special_tokens", [None], ("info", "special_tokens")),
        ("users", [{"user_id": "a", "token_pass": 5}], ("info", "users", 0, "token_pass")),
        ("users", [{"user_id": "a", "token_fail": "x" * 100_000}], ("info", "users", 0, "token_fail")),
    ],
)
def test_a_setting_of_another_kind_is_refused_by_its_place(name: str, value: object, place: tuple[object, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_campaign_file(campaign(info={name: value}))
    assert [one.loc for one in refused.value.places] == [place]


@pytest.mark.parametrize(
    ("rule", "at"),
    [
        ({"score": [None, "a"]}, ("score",)),
        ({"score": [1]}, ("score",)),
        ({"score": "80"}, ("score",)),
        ({"error_spans": 5}, ("error_spans",)),
        ({"error_spans": [7]}, ("error_spans",)),
        ({"error_spans": [{"start_i": {}}]}, ("error_spans", 0, "start_i")),
    ],
)
def test_a_rule_of_another_kind_is_refused_and_holds_nothing_against_anybody(
    rule: dict[str, Any], at: tuple[object, ...]
) -> None:
    item = {**CHECK[0], "validation": {"Best": rule}}
    for checks in ({"data": [[item]]}, {"data_random": [[item]], "info": {"data_random_prob": 0.5}}):
        with pytest.raises(Invalid) as refused:
            parse_campaign_file(campaign(**checks))
        assert refused.value.places[0].loc[-len(at) - 2 :] == ("validation", "Best", *at)
    # A campaign that was loaded before it was refused: the answer is taken.
    said = {"Best": {"score": 5, "error_spans": [{"start_i": 0, "end_i": 1}]}}
    assert rules.evaluate_item_rules([item], [said]) in ([True], [False])


def test_what_pearmut_itself_writes_is_read() -> None:
    checks = {"data": [TUTORIAL], "data_random": [CHECK], "info": {"data_random_prob": 0.5, "seed": 1.5}}
    assert len(parse_campaign_file(campaign(**checks)).tasks) == 1
