"""Files that hold several campaigns: one stream of records each, whatever the order of the rows."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable

import pytest

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, JudgmentRow
from tests.formats.conftest import NOWHERE, Found, Parts, Read, Write

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


MQM_HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"


def mqm(document: str, rater: str, languages: str = "") -> str:
    source, _, target = languages.partition("-")
    pair = {"evaluation": {"source_language": source, "target_language": target}} if languages else {}
    cells = ("A", document, "1", "1", rater, "s", "t", "Style", "Minor", json.dumps(pair) if pair else "")
    return "\t".join(cells)


def split_mqm(parts: Parts, *rows: str, split: str = "language_pair") -> dict[str, Found]:
    return parts("mqm-tsv", {"f": "\n".join([MQM_HEADER, *rows]).encode()}, split=split)


def test_one_row_of_a_document_says_its_language_pair(parts: Parts) -> None:
    rows = [mqm("d1", "r1"), mqm("d1", "r2", "en-de"), mqm("d2", "r1", "en-cs")]
    found = split_mqm(parts, *rows)
    assert {name: len(part.judgments) for name, part in found.items()} == {"en-cs": 1, "en-de": 2}
    assert [part.of(CampaignRow)[0].target_language for part in found.values()] == ["cs", "de"]
    again = split_mqm(parts, *reversed(rows))
    assert [len(part.judgments) for part in again.values()] == [1, 2]
    assert list(split_mqm(parts, mqm("d1", "r1", "en-de"), mqm("d2", "r1"))) == ["en-de"]
    assert list(split_mqm(parts, mqm("d1", "r1"), split="protocol")) == ["mqm"]


def test_a_name_of_a_human_translation_is_missed_where_no_part_has_it(parts: Parts) -> None:
    rows = [mqm("d1", "r1", "en-de"), mqm("d2", "r1", "en-cs").replace("A", "ref", 1)]
    data = {"f": "\n".join([MQM_HEADER, *rows]).encode()}
    found = parts("mqm-tsv", data, split="language_pair", human="ref,reff")
    assert list(found) == ["en-cs", "en-de"]
    assert found["en-de"].log.notes == {
        "judgments of ref, a human translation as the options say": 1,
        "no system is called reff, a human translation as the options say": 1,
    }


def test_a_document_whose_language_pair_is_unclear_is_named(parts: Parts) -> None:
    with pytest.raises(Invalid, match="d3 names no language pair, and there are several: en-cs, en-de"):
        split_mqm(parts, mqm("d1", "r1", "en-de"), mqm("d2", "r1", "en-cs"), mqm("d3", "r1"))
    with pytest.raises(Invalid, match="d1 is of several language pairs: en-cs, en-de") as refused:
        split_mqm(parts, mqm("d1", "r1", "en-de"), mqm("d1", "r2", "en-cs"))
    assert [place.loc for place in refused.value.places] == [("f", 3), ("f", 2)]
    with pytest.raises(Invalid, match="several language pairs in one import: en-cs, en-de"):
        split_mqm(parts, mqm("d1", "r1", "en-de"), mqm("d2", "r1", "en-cs"), split="protocol")


def test_two_exports_put_together_can_be_split_again(parts: Parts, write: Write) -> None:
    exports = []
    for target in ("de", "cs"):
        head = CampaignRow(NOWHERE, protocol="mqm", source_language="en", target_language=target)
        payload = {"protocol": "mqm", "errors": []}
        places = [(f"{target}{n}", position) for n in (1, 2) for position in (1, 2)]
        judged = [JudgmentRow(NOWHERE, "r", f"A:{d}", ("A",), d, p, "r", payload) for d, p in places]
        exports.append(write("mqm-tsv", [head, *judged]).decode().splitlines()[1:])
    found = split_mqm(parts, *exports[0], *exports[1])
    assert {name: len(part.judgments) for name, part in found.items()} == {"en-cs": 4, "en-de": 4}


def test_a_bad_split_or_another_option_is_refused(parts: Parts, read: Read) -> None:
    with pytest.raises(Invalid, match="must be one of language_pair, protocol, not 'rater'"):
        split_mqm(parts, mqm("d1", "r1"), split="rater")
    with pytest.raises(Invalid, match="takes no option 'weights'"):
        read("mqm-tsv", {"f": f"{MQM_HEADER}\n{mqm('d1', 'r1')}".encode()}, weights="wmt24")
    with pytest.raises(Invalid, match="make several campaigns"):
        read("mqm-tsv", {"f": f"{MQM_HEADER}\n{mqm('d1', 'r1')}".encode()}, split="language_pair")
