"""Campaigns that rate by several criteria: each can be ranked by its name, with its own direction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.errors import Invalid
from tests.spine import Spine, opened

PLAIN = {"normalize": "none", "test": "none", "clusters": "none"}
OPTIONS = {
    "criteria": [
        {"name": "fluency", "minimum": 1, "maximum": 5},
        {"name": "invented", "minimum": 0, "maximum": 9, "higher_is_better": False},
    ]
}


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def file(**scores: Any) -> bytes:
    records: list[dict[str, Any]] = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "rating", "basis": "none", "options": OPTIONS},
    ]
    for n, (fluency, invented) in enumerate(((5, 3), (4, 0), (2, 1), (3, 0))):
        records.append(
            {
                "type": "judgment",
                "task": "t",
                "item": f"i{n}",
                "systems": ["AB"[n % 2]],
                "document": f"d{n // 2}",
                "position": 1,
                "rater": "r",
                "payload": {"protocol": "rating", "scores": {"fluency": fluency, "invented": invented, **scores}},
            }
        )
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_the_first_criterion_ranks_and_the_others_do_by_name(spine: Spine) -> None:
    spine.take("summaries", "jsonl", file())
    first = spine.rank("summaries", "recommended", **PLAIN)
    named = spine.rank("summaries", "recommended", scoring="criterion:fluency", **PLAIN)
    other = spine.rank("summaries", "recommended", scoring="criterion:invented", **PLAIN)
    means = [{row["system"]: row["raw"] for row in ranking["systems"]} for ranking in (first, named, other)]
    assert means == [{"A": 3.5, "B": 3.5}, {"A": 3.5, "B": 3.5}, {"A": 2.0, "B": 0.0}]
    assert [ranking["higher_is_better"] for ranking in (first, named, other)] == [True, True, False]
    assert [row["system"] for row in other["systems"]] == ["B", "A"]


def test_an_unknown_criterion_is_refused_and_those_there_are_are_named(spine: Spine) -> None:
    spine.take("summaries", "jsonl", file())
    with pytest.raises(Invalid) as refused:
        spine.rank("summaries", "recommended", scoring="criterion:tone", **PLAIN)
    assert "fluency, invented" in refused.value.places[0].msg


def test_a_score_that_no_criterion_asks_for_is_a_bad_line(spine: Spine) -> None:
    with pytest.raises(Invalid) as refused:
        spine.take("summaries", "jsonl", file(tone=1))
    assert len(refused.value.places) == 4
    assert "no such criterion" in refused.value.places[0].msg


def test_ratings_come_out_as_they_went_in(spine: Spine) -> None:
    spine.take("summaries", "jsonl", file())
    once = spine.export("summaries")
    spine.take("again", "jsonl", once)
    assert spine.export("again") == once


def test_a_table_with_a_column_for_each_criterion_is_ranked_by_each(spine: Spine) -> None:
    columns = {
        "delimiter": ",",
        "protocol": "rating",
        "options": OPTIONS,
        "columns": {"system": "model", "document": "text", "position": "n", "rater": "who"},
        "criteria": {"fluency": "Fluency", "invented": "Facts"},
    }
    rows = [f"{system},d{d},1,r1,{4 + (system == 'A')},{2 * (system == 'A')}" for system in "AB" for d in range(3)]
    table = "\n".join(["model,text,n,who,Fluency,Facts", *rows]).encode()

    files = {"map.json": json.dumps(columns).encode(), "table.csv": table}
    spine.take("sheets", "table", files, options={"map": "map.json"})

    fluency = spine.rank("sheets", "recommended", scoring="criterion:fluency", **PLAIN)
    invented = spine.rank("sheets", "recommended", scoring="criterion:invented", **PLAIN)
    assert [(row["system"], row["raw"]) for row in fluency["systems"]] == [("A", 5.0), ("B", 4.0)]
    assert [(row["system"], row["raw"]) for row in invented["systems"]] == [("B", 0.0), ("A", 2.0)]
