"""Files that hold several campaigns: one stream of records each, whatever the order of the rows."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

import pytest

from app.domain.errors import Invalid
from app.formats._base import CampaignRow
from tests.formats.conftest import Parts, Read

HEADER = "HITId WorkerId Input.src Input.trg Input.item hit sys_id rid type sid score time"
ROWS = (
    "h1 w1 cs en ad 1 A 7 SYSTEM d.1 55 10",
    "h1 w1 cs en ad 1 B 7 SYSTEM d.1 65 10",
    "h2 w1 de en ad 1 A 8 SYSTEM d.1 75 10",
)


def table(*rows: str) -> dict[str, bytes]:
    return {"file": "\n".join([HEADER, *rows]).encode()}


def test_each_language_pair_is_a_campaign_of_its_own(parts: Parts) -> None:
    found = parts("wmt-da", table(*ROWS), split="language_pair")
    assert {name: [j.payload["score"] for j in part.judgments] for name, part in found.items()} == {
        "cs-en": [55.0, 65.0],
        "de-en": [75.0],
    }
    assert [part.of(CampaignRow)[0].source_language for part in found.values()] == ["cs", "de"]
    shuffled = parts("wmt-da", table(*reversed(ROWS)), split="language_pair")
    assert {n: p.plain for n, p in shuffled.items()} == {n: p.plain for n, p in found.items()}


def test_without_the_option_several_pairs_are_an_error_that_names_it(read: Read) -> None:
    with pytest.raises(Invalid, match="split=language_pair") as refused:
        read("wmt-da", table(*ROWS))
    assert "cs-en, de-en" in refused.value.detail


def test_a_bad_line_of_any_part_spoils_all_of_them(parts: Parts) -> None:
    with pytest.raises(Invalid) as refused:
        parts("wmt-da", table(*ROWS, "h3 w1 zz en ad 1 A 8 SYSTEM d.1 101 10"), split="language_pair")
    assert refused.value.places[0].loc == ("file", 5)


@pytest.mark.parametrize("split", ["protocol", "rater", ""])
def test_a_split_that_makes_no_sense_is_refused(parts: Parts, split: str) -> None:
    with pytest.raises(Invalid, match="only language_pair"):
        parts("wmt-da", table(*ROWS), split=split)


def test_one_pair_split_is_that_pair_read_alone(read: Read, parts: Parts, data: Callable[[str], bytes]) -> None:
    bn, hi = (gzip.decompress(data(f"da_wikipedia2021_{pair}/ad-latest.csv.gz")) for pair in ("bn-hi", "hi-bn"))
    header, *rows = bn.splitlines()[:1500] + hi.splitlines()[1:1500]
    random.Random(3).shuffle(rows)
    found = parts("wmt-da", {"both": b"\n".join([header, *rows])}, split="language_pair")
    assert found["bn-hi"].plain == read("wmt-da", b"\n".join(bn.splitlines()[:1500])).plain
    assert found["hi-bn"].plain == read("wmt-da", b"\n".join(hi.splitlines()[:1500])).plain
