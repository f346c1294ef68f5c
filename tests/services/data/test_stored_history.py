"""What is stored answers for its version: nothing slips in beside it, and scores are standardised once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from tests.services.data.test_imports import judgment, lines
from tests.spine import Spine, opened

ROWS = [
    judgment(
        system,
        document,
        score + 7 * (system == "B") + ord(rater[-1]),
        rater=rater,
        task=f"t-{rater}",
        item=f"{system}:{document}",
    )
    for rater in ("r1", "r2")
    for document, score in (("d1", 10), ("d2", 20), ("d3", 35))
    for system in "AB"
]


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.mark.parametrize("systems", [["A", "B"], ["A", "C"], ["B"]])
def test_a_stored_item_keeps_the_systems_that_it_credits(spine: Spine, systems: list[str]) -> None:
    spine.take("c", "jsonl", lines(*ROWS))
    before, counts = spine.body("c", "wmt-da"), spine.counts()
    again = [{**row, "systems": systems} for row in ROWS if row["item"] == "A:d1"]
    with pytest.raises(Invalid) as refused:
        spine.take("c", "jsonl", lines(*again))
    assert refused.value.places
    assert spine.counts() == counts
    assert spine.body("c", "wmt-da") == before


def test_an_item_of_several_systems_is_stored_once_for_each(spine: Spine) -> None:
    spine.take(
        "c", "jsonl", lines(*({**row, "systems": ["A", "Z"]} if row["systems"] == ["A"] else row for row in ROWS))
    )
    scores = {row["system"]: row["raw"] for row in spine.rank("c", "wmt-da")["systems"]}
    assert scores["A"] == scores["Z"] != scores["B"]


def test_standardised_scores_are_not_standardised_again(spine: Spine) -> None:
    header = "HITId WorkerId Input.src Input.trg Input.item hit sys_id rid type sid score time\n"
    rows = [
        f"h{w} w{w} cs en ad 1 {system} {n} SYSTEM {n} {z} 1\n"
        for w in (1, 2)
        for n in range(1, 9)
        for system, z in (("A", 0.5 * n / w), ("B", -0.3 * n))
    ]
    spine.take("z", "wmt-da", (header + "".join(rows)).encode(), options={"scale": "z"})
    for normalize in ("z", "center"):
        with pytest.raises(Invalid, match="normalize=none"):
            spine.rank("z", "wmt-da", normalize=normalize)
    assert spine.rank("z", "wmt-da", normalize="none")["recipe"]["normalize"] == "none"
    assert spine.rank("z", "recommended")["recipe"]["normalize"] == "none"
