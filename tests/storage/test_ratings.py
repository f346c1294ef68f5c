"""Loading ratings: whatever the order in which rows were stored, the same data give the same ratings."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from app.reports.inputs import recipe_ratings, snapshot
from app.stats.ratings import COLUMNS, RatingLevel, Ratings
from app.storage import ratings
from tests.services.data.test_imports import judgment, lines, void
from tests.spine import Spine, chosen, opened

MONTHS = ((1, 50), (2, 60), (3, 50))


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def ratings_of(spine: Spine, campaign: str, version: int | None = None) -> Ratings:
    with spine.database.transaction() as session:
        return recipe_ratings.load_recipe_ratings(
            session, snapshot.load_snapshot(session, campaign, version), chosen("wmt-da", {})
        )


def repeated() -> list[dict[str, Any]]:
    """In one task the same output three times, as rating and as repeats, without a time that orders them."""
    shown = [("first", "rating", 60), ("again", "repeat", 20), ("third", "repeat", 20), ("fourth", "repeat", 45)]
    return [
        judgment(system, document, score + (system == "B"), item=f"{system}:{document}:{name}", role=role)
        for system in "AB"
        for document in ("d1", "d2")
        for name, role, score in shown
    ]


def same(one: Ratings, other: Ratings) -> bool:
    return one.labels.systems == other.labels.systems and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS
    )


def test_repeats_without_times_are_numbered_alike_whatever_came_first(spine: Spine) -> None:
    rows = repeated()
    spine.take("c0", "jsonl", lines(*rows))
    for seed in range(1, 6):
        random.Random(seed).shuffle(rows)
        for part in (rows[:5], rows[5:9], rows[9:]):
            spine.take(f"c{seed}", "jsonl", lines(*part))
        assert same(ratings_of(spine, f"c{seed}"), ratings_of(spine, "c0"))
        for repeats in ("average", "latest", "first", "pool"):
            ours, theirs = (spine.rank(key, "wmt-da", repeats=repeats) for key in (f"c{seed}", "c0"))
            assert (ours["systems"], ours["pairs"], ours["data_hash"]) == (
                theirs["systems"],
                theirs["pairs"],
                theirs["data_hash"],
            )


@pytest.mark.soak
def test_an_order_that_follows_insertion_would_be_seen(spine: Spine) -> None:
    """Negative control of the test above: numbered as they were stored, the repeats differ."""
    rows = repeated()
    orders = []
    for key in ("one", "two"):
        for row in rows:
            spine.take(key, "jsonl", lines(row))
        rows.reverse()
        orders.append(
            spine.ask(f"""SELECT i.key FROM judgments j JOIN items i ON i.id = j.item_id
            JOIN campaigns c ON c.id = j.campaign_id WHERE c.key = '{key}' ORDER BY j.id""")
        )
    assert orders[0] != orders[1]
    assert same(ratings_of(spine, "one"), ratings_of(spine, "two"))


def test_a_judgment_of_identical_outputs_is_one_judgment_in_several_rows(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(judgment(item="x", systems=["A", "B"]), judgment("C")))
    found = ratings_of(spine, "c")
    assert len(found) == 3
    assert found.judgment.tolist() == [0, 0, 1]


def test_a_score_of_a_whole_item_is_a_document_rating(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(judgment(), judgment(position=None, score=70)))
    found = ratings_of(spine, "c")
    assert sorted(zip(found.kind.tolist(), found.score.tolist(), strict=True)) == [
        (RatingLevel.SEGMENT, 50.0),
        (RatingLevel.DOCUMENT, 70.0),
    ]


def test_the_latest_revision_counts_at_every_version(spine: Spine) -> None:
    for score in (10, 20, 30):
        spine.take("c", "jsonl", lines(judgment(score=score), judgment("B")))
    spine.take("c", "jsonl", lines(void("B")))
    assert [ratings_of(spine, "c", version).score.tolist() for version in range(5)] == [
        [],
        [10.0, 50.0],
        [20.0, 50.0],
        [30.0, 50.0],
        [30.0],
    ]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1_000])
def test_ratings_are_the_same_in_blocks_of_any_size(spine: Spine, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    assert ratings.BLOCK * 56 < 2**30 / 4, "a block stays far from what Postgres allows a row"
    spine.take("c", "jsonl", lines(*repeated(), judgment("B", score=7)))
    spine.take("c", "jsonl", lines(judgment("A"), judgment("B", score=9)))
    spine.take("c", "jsonl", lines(void("A")))
    spine.take("other", "jsonl", lines(*repeated()))
    versions = (1, 2, 3)
    whole = [ratings_of(spine, "c", version) for version in versions]
    sizes = [one.score.size for one in whole]
    monkeypatch.setattr(ratings, "BLOCK", block)
    assert all(same(ratings_of(spine, "c", version), one) for version, one in zip(versions, whole, strict=True))
    assert sizes == [17, 18, 17]


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.soak)])
def test_the_latest_answer_by_its_time_counts_whatever_came_first(spine: Spine, step: int) -> None:
    """Also where the last answer repeats the first one, which then is no news to an import in order of time.

    step: each of the orders or every second, in which each answer comes first, second and third.
    """
    answers = [judgment(score=score, submitted_at=f"2026-0{month}-01T00:00:00Z") for month, score in MONTHS]
    for n, rows in enumerate(itertools.islice(itertools.permutations(answers), 0, None, step)):
        for row in rows:
            spine.take(f"c{n}", "jsonl", lines(row))
        assert ratings_of(spine, f"c{n}").score.tolist() == [50.0]
        spine.take(f"copy{n}", "jsonl", spine.export(f"c{n}"))
        assert spine.export(f"copy{n}") == spine.export(f"c{n}")
        assert ratings_of(spine, f"copy{n}").score.tolist() == [50.0]
        before = spine.counts()
        spine.take(f"c{n}", "jsonl", lines(*rows))
        assert spine.counts() == before


def test_where_an_answer_has_no_time_the_highest_revision_counts(spine: Spine) -> None:
    for other in ({"submitted_at": "2026-02-01T00:00:00Z"}, {}, {"submitted_at": "2026-01-01T00:00:00Z"}):
        spine.take("c", "jsonl", lines(judgment(score=len(spine.ask("SELECT id FROM judgments")), **other)))
    assert ratings_of(spine, "c").score.tolist() == [2.0]


def test_campaigns_do_not_see_each_other(spine: Spine) -> None:
    spine.take("one", "jsonl", lines(judgment(score=1)))
    spine.take("two", "jsonl", lines(judgment(score=2), judgment("Z", score=3)))
    assert ratings_of(spine, "one").score.tolist() == [1.0]
    assert ratings_of(spine, "one").labels.systems == ("A",)
