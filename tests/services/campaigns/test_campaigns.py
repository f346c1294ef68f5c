"""Campaigns: made with checked fields, found by key, listed by code point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from app.domain.errors import Conflict, Invalid, NotFound
from app.reports.inputs import campaign
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.storage.db import Session
from tests.services.data.test_imports import MQM, judgment, lines
from tests.spine import Spine, opened


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def make(spine: Spine, key: str, **other: Any) -> campaign.CampaignInfo:
    with spine.database.transaction() as session:
        return campaigns.create_campaign(session, NewCampaign(**{"key": key, "protocol": "da", **other}), actor="test")


def test_a_new_campaign_is_a_draft_without_data(spine: Spine) -> None:
    made = make(spine, "c", source_language="en", target_language="zh-Hans")
    assert (made.state, made.data_version, made.documents_known, made.name) == ("draft", 0, True, "c")
    with spine.database.transaction() as session:
        assert campaigns.get_campaign(session, "c") == made


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"key": "a b"}, ("key",)),
        ({"key": ""}, ("key",)),
        ({"key": "x" * 129}, ("key",)),
        ({"protocol": "nope"}, ("protocol",)),
        ({"basis": "mood"}, ("basis",)),
        ({"source_language": "e"}, ("source_language",)),
        ({"target_language": "de\n"}, ("target_language",)),
        ({"options": {"colour": 1}}, ("options", "colour")),
        ({"options": {"scale": "log"}}, ("options", "scale")),
        ({"options": {"weights": 3}}, ("options", "weights")),
        ({"protocol": "mqm", "options": {"weights": {}}}, ("options", "weights")),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_made(
    spine: Spine, wrong: dict[str, Any], place: tuple[str, ...]
) -> None:
    with pytest.raises(Invalid) as refused:
        make(spine, **{"key": "c", **wrong})
    assert place in [found.loc for found in refused.value.places]
    assert spine.counts()["campaigns"] == 0


def test_a_key_is_taken_once(spine: Spine) -> None:
    make(spine, "c")
    with pytest.raises(Conflict):
        make(spine, "c")


def test_pages_follow_code_points(spine: Spine) -> None:
    for key in ("b", "B", "a", "~", "1"):
        make(spine, key)
    with spine.database.transaction() as session:
        first = campaigns.list_campaigns(session, after=None, limit=3, only=None)
        rest = campaigns.list_campaigns(session, after=(None, first[-1].key), limit=3, only=None)
        assert [c.key for c in first + rest] == ["1", "B", "a", "b", "~"]
        assert [c.key for c in campaigns.list_campaigns(session, after=None, limit=9, only="a")] == ["a"]
        with pytest.raises(NotFound):
            campaigns.list_campaigns(session, after=None, limit=9, only="nobody")


def test_a_list_may_have_what_is_closed_at_its_end(spine: Spine) -> None:
    for key in ("a", "b", "c", "d"):
        make(spine, key)
    with psycopg.connect(spine.url) as connection:
        connection.execute("UPDATE campaigns SET state = 'closed' WHERE key IN ('a', 'c')")
    with spine.database.transaction() as session:
        for limit in (1, 2, 3, 4):
            found: list[CampaignInfo] = []
            while shown := closed_last(session, found[-1] if found else None, limit):
                found += shown
            assert [one.key for one in found] == ["b", "d", "a", "c"]
        gone = campaigns.list_campaigns(session, after=("open", "aa"), limit=9, only=None, sort="closed")
        assert [one.key for one in gone] == ["b", "d", "a", "c"]
        assert [c.key for c in campaigns.list_campaigns(session, after=None, limit=9, only="c", sort="closed")] == ["c"]


def closed_last(session: Session, seen: CampaignInfo | None, limit: int) -> list[CampaignInfo]:
    after = campaigns.make_campaign_cursor(seen, "closed") if seen else None
    return campaigns.list_campaigns(session, after=after, limit=limit, only=None, sort="closed")


def test_none_is_passed_over_that_is_closed_between_two_pages_nor_what_follows_it(spine: Spine) -> None:
    for key in ("a", "b", "c", "d"):
        make(spine, key)
    with spine.database.transaction() as session:
        close = text("UPDATE campaigns SET state = 'closed' WHERE key = :key")
        session.execute(close, {"key": "a"})
        for ended, read in (("a", "bcda"), ("b", "bcdab"), ("c", "bdac")):
            seen = closed_last(session, None, 1)
            with session.begin_nested() as meanwhile:
                session.execute(close, {"key": ended})
                while shown := closed_last(session, seen[-1], 1):
                    seen += shown
                meanwhile.rollback()
            assert "".join(one.key for one in seen) == read


def test_what_the_files_say_is_taken_over_before_the_first_judgment_only(spine: Spine) -> None:
    make(spine, "c")
    said = {"type": "campaign", "protocol": "da", "basis": "reference", "options": {"scale": "z"}}
    spine.take("c", "jsonl", lines(said, judgment(score=-2.5)))
    with spine.database.transaction() as session:
        found = campaigns.get_campaign(session, "c")
    assert (found.basis, found.options) == ("reference", {"scale": "z"})
    before = spine.counts()
    with pytest.raises(Conflict, match="basis"):
        spine.take("c", "jsonl", lines({**said, "basis": "source"}))
    assert spine.counts() == before


def test_a_campaign_with_its_own_table_of_weights_scores_by_it(spine: Spine) -> None:
    make(spine, "own", protocol="mqm", options={"weights": {"Minor": 2, "Major": 3}})
    spine.take("own", "mqm-tsv", MQM.encode())
    spine.take("again", "jsonl", spine.export("own"))
    for key in ("own", "again"):
        scores = {row["system"]: row["score"] for row in spine.rank(key, "google-mqm")["systems"]}
        assert scores == {"A": 2.0, "B": pytest.approx(2 + 9 / 14)}
