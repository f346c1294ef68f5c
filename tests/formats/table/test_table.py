"""Any delimited file through a column map."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, DocumentRecord, OutputRow, RaterRow, SegmentRow
from tests.formats.conftest import Found, Parts, Read

MAP: dict[str, Any] = {
    "delimiter": ";",
    "quoting": True,
    "protocol": "xsts",
    "columns": {
        "system": "model",
        "document": "text",
        "position": "n",
        "rater": "who",
        "score": "points",
        "type": "kind",
        "source": "src",
        "target": "out",
        "domain": "topic",
    },
    "constants": {"source_language": "en", "target_language": "sw"},
    "types": {"": "rating", "again": "repeat", "anchor": "calibration"},
    "leave_out": [{"column": "skip", "reason": "pilot"}, {"column": "who", "values": ["test"], "reason": "trials"}],
    "keep": ["note"],
}
HEADER = "model;text;n;who;points;kind;src;out;topic;skip;note"
ROWS = (
    "A;d1;1;r1;5;;Good dog;Mbwa mzuri;news;;",
    'A;d1;2;r1;3;;"Bad; dog";"Mbwa ""mbaya""";news;;unsure',
    "A;d1;1;r2;4;anchor;Good dog;Mbwa mzuri;news;;",
    "A;d1;1;test;4;;Good dog;Mbwa mzuri;news;;",
    "A;d1;1;r3;4;;Good dog;Mbwa mzuri;news;x;",
)


def through(read: Read, columns: object, *rows: str, header: str = HEADER) -> Found:
    text = columns if isinstance(columns, str) else json.dumps(columns, indent=1)
    files = {"map.json": text.encode(), "table.csv": "\n".join([header, *rows]).encode()}
    return read("table", files, map="map.json")


def changed(**values: object) -> dict[str, Any]:
    return {k: v for k, v in {**MAP, **values}.items() if v is not None}


def test_columns_become_judgments_texts_roles_and_what_is_kept(read: Read) -> None:
    found = through(read, MAP, *ROWS)
    head = found.of(CampaignRow)[0]
    assert (head.protocol, head.source_language, head.target_language) == ("xsts", "en", "sw")
    assert [(j.rater, j.position, j.payload["score"], j.role, j.meta) for j in found.judgments] == [
        ("r1", 1, 5.0, "rating", None),
        ("r2", 1, 4.0, "calibration", None),
        ("r1", 2, 3.0, "rating", {"note": "unsure"}),
    ]
    assert [(s.position, s.source) for s in found.of(SegmentRow)] == [(1, "Good dog"), (2, "Bad; dog")]
    assert [(o.position, o.text) for o in found.of(OutputRow)] == [(1, "Mbwa mzuri"), (2, 'Mbwa "mbaya"')]
    assert [(d.key, d.domain) for d in found.of(DocumentRecord)] == [("d1", "news")]
    assert found.log.dropped == {"pilot": 1, "trials": 1}


def test_white_space_at_the_ends_of_texts_is_taken_off_and_counted(read: Read) -> None:
    found = through(read, MAP, "A;d1;1;r1;5;; Good dog;Mbwa mzuri ;news;;")
    assert found.of(SegmentRow)[0].source == "Good dog"
    assert found.of(OutputRow)[0].text == "Mbwa mzuri"
    assert found.log.repaired == {"white space at the ends of a text": 2}


def test_a_second_answer_is_a_revision_or_a_repeat_as_the_map_says(read: Read) -> None:
    columns = changed(columns={**MAP["columns"], "ended": "note"}, keep=[])
    rows = ("A;d1;1;r1;5;;s;t;;;200", "A;d1;1;r1;2;;s;t;;;100")
    revised = through(read, columns, *rows).judgments
    assert [j.payload["score"] for j in revised] == [2.0, 5.0]
    assert len({j.item for j in revised}) == 1
    repeated = through(read, {**columns, "again": "repeat"}, *rows).judgments
    assert [(j.payload["score"], j.role) for j in repeated] == [(2.0, "rating"), (5.0, "repeat")]
    assert len({j.item for j in repeated}) == 2


def test_protocols_of_a_column_make_one_campaign_each(read: Read, parts: Parts) -> None:
    columns = changed(
        protocol=None,
        columns={**MAP["columns"], "protocol": "topic"},
        protocols={"five": {"protocol": "xsts"}, "four": {"protocol": "xsts", "options": {"points": 4}}},
    )
    rows = [row.replace(";news;", ";four;") if n else row.replace(";news;", ";five;") for n, row in enumerate(ROWS)]
    with pytest.raises(Invalid, match="several protocols in one import: five, four"):
        through(read, columns, *rows)
    files = {"m": json.dumps(columns).encode(), "t": "\n".join([HEADER, *rows]).encode()}
    found = parts("table", files, map="m", split="protocol")
    assert {name: len(part.judgments) for name, part in found.items()} == {"five": 1, "four": 2}
    assert found["four"].of(CampaignRow)[0].options == {"points": 4}


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "valid dictionary|object|instance"),
        (changed(columns={"system": "model"}), "rater must be there"),
        (changed(columns={**MAP["columns"], "mood": "note"}), "Input should be"),
        (changed(protocol="telepathy"), "no protocol"),
        (changed(protocol="esa"), "esa needs errors"),
        (changed(protocol="rating"), "criteria: rating needs at least one"),
        (changed(protocol="rating", criteria={"tone": 3}), "valid string"),
        (changed(criteria={"tone": "note"}), "xsts has one score"),
        (changed(protocol=None), "either protocol"),
        (changed(rows="errors"), "severity must be there"),
        (changed(surprise=1), "Extra inputs"),
        (changed(delimiter="::"), "Input should be"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused(read: Read, columns: object, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        through(read, columns, *ROWS)


@pytest.mark.parametrize("name", ["no-such.json", ""])
def test_a_map_must_be_built_in_or_among_the_files(read: Read, name: str) -> None:
    with pytest.raises(Invalid, match="sxs-mqm, esa-annotations"):
        read("table", {"a": b"x", "b": b"y"}, map=name)


def test_a_missing_column_is_named(read: Read) -> None:
    with pytest.raises(Invalid, match="the header lacks points") as refused:
        through(read, MAP, *ROWS, header=HEADER.replace("points", "stars"))
    assert refused.value.places[0].loc == ("table.csv", 1)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("A;d1;0;r1;5;;s;t;;;", "whole number from 1"),
        ("A;d1;1;;5;;s;t;;;", "the rater is empty"),
        (";d1;1;r1;5;;s;t;;;", "the system is empty"),
        ("A;;1;r1;5;;s;t;;;", "the document is empty"),
        ("A;d1;1;r1;NaN;;s;t;;;", "not a number"),
        ("A;d1;1;r1;;;s;t;;;", "the score is empty"),
        ("A;d1;1;r1;5;huh;s;t;;;", "unknown type 'huh'"),
        ("A;d1;1;r1;5", "5 columns where 11 are needed"),
        ('A;d1;1;r1;5;;"s;t;;;', "double quote"),
        (f"{'A' * 1001};d1;1;r1;5;;s;t;;;", "more than 1000 characters"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(read: Read, bad: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        through(read, MAP, "B;d9;1;r1;5;;s;t;;;", bad)
    (place,) = refused.value.places
    assert place.loc == ("table.csv", 3)
    assert reason in place.msg


def test_texts_of_a_file_of_their_own_join_the_judgments_by_position(read: Read) -> None:
    columns = {
        "protocol": "da",
        "columns": {"system": "s", "document": "d", "position": "n", "rater": "r", "score": "x", "person": "p"},
        "texts": {"system": "s", "position": "n", "source": "source", "target": "target"},
    }
    files = {
        "m": json.dumps(columns).encode(),
        "t": b"s\tn\tsource\ttarget\nA\t7\tGood dog\tGuter Hund\nA\t8\tnobody\tjudged",
        "j": b"s\td\tn\tr\tx\tp\nA\td1\t7\tr1\t50\tann\n",
    }
    found = read("table", files, map="m")
    assert [(o.document, o.position, o.text) for o in found.of(OutputRow)] == [("d1", 7, "Guter Hund")]
    assert [s.source for s in found.of(SegmentRow)] == ["Good dog"]
    assert [(r.key, r.person) for r in found.of(RaterRow)] == [("r1", "ann")]
    assert found.log.dropped == {"texts of segments that nobody judged": 1}


def test_rows_that_are_errors_are_one_judgment_an_output(read: Read) -> None:
    header = "system\tline\tdomain\tdoc\trater\tcategory\tseverity\tweight\tstart\tend\tis_source_error"
    rows = [
        "A\t0\tnews\td1\tr1\taccuracy/omission\tmajor\t5\t2\t4\t1",
        "A\t0\tnews\td1\tr1\tfluency/grammar\tminor\t1\t0\t1\t0",
        "A\t1\tnews\td1\tr1\tno-error\tno-error\t0\t\t\t",
    ]
    found = read("table", "\n".join([header, *rows]).encode(), map="mqm-spans")
    first, second = found.judgments
    assert (first.position, second.position) == (1, 2)
    assert second.payload["errors"] == []
    assert first.payload["errors"] == [
        {
            "severity": "major",
            "side": "source",
            "start": 2,
            "end": 4,
            "category": "accuracy/omission",
            "omission": True,
        },
        {"severity": "minor", "start": 0, "end": 1, "category": "fluency/grammar"},
    ]
    assert not found.of(OutputRow)


@pytest.mark.parametrize("place", ["4\t2\t0", "x\t2\t0", "-1\t2\t0", "1\t\t0"])
def test_a_span_that_is_none_is_a_bad_line(read: Read, place: str) -> None:
    header = "system\tline\tdomain\tdoc\trater\tcategory\tseverity\tweight\tstart\tend\tis_source_error"
    with pytest.raises(Invalid) as refused:
        read("table", f"{header}\nA\t0\tnews\td1\tr1\tx\tmajor\t5\t{place}".encode(), map="mqm-spans")
    assert "are no span" in refused.value.places[0].msg


RATED = {
    "delimiter": ",",
    "protocol": "rating",
    "options": {
        "criteria": [
            {"name": "fluency", "minimum": 1, "maximum": 5},
            {"name": "invented", "minimum": 0, "maximum": 9, "higher_is_better": False},
        ]
    },
    "columns": {"system": "model", "document": "text", "position": "n", "rater": "who"},
    "criteria": {"fluency": "Fluency (1-5)", "invented": "facts"},
}
CRITERIA_HEADER = "model,text,n,who,Fluency (1-5),facts"


def test_several_score_columns_are_the_criteria_of_one_judgment(read: Read) -> None:
    found = through(read, RATED, "A,d1,1,r1,5,0", "B,d1,1,r1,2.0,3", header=CRITERIA_HEADER)
    assert found.of(CampaignRow)[0].options == RATED["options"]
    assert [j.payload for j in found.judgments] == [
        {"protocol": "rating", "scores": {"fluency": 5.0, "invented": 0.0}},
        {"protocol": "rating", "scores": {"fluency": 2.0, "invented": 3.0}},
    ]


def test_an_empty_criterion_is_left_out_and_a_row_without_any_is_a_bad_line(read: Read) -> None:
    (judgment,) = through(read, RATED, "A,d1,1,r1,,4", header=CRITERIA_HEADER).judgments
    assert judgment.payload["scores"] == {"invented": 4.0}
    for bad, why in (("A,d1,1,r1,,", "the score is empty"), ("A,d1,1,r1,5,x", "invented: not a number: 'x'")):
        with pytest.raises(Invalid) as refused:
            through(read, RATED, bad, header=CRITERIA_HEADER)
        assert refused.value.places[0].msg == why
    with pytest.raises(Invalid, match="the header lacks facts"):
        through(read, RATED, "A,d1,1,r1,5", header=CRITERIA_HEADER.removesuffix(",facts"))


ERRORS = {
    "protocols": {"plain": {"protocol": "mqm"}, "strict": {"protocol": "mqm", "options": {"weights": "wmt24"}}},
    "rows": "errors",
    "columns": {
        "system": "system",
        "document": "doc",
        "position": "n",
        "rater": "who",
        "severity": "how",
        "protocol": "way",
        "target_language": "into",
    },
    "constants": {"source_language": "en"},
}
ERROR_HEADER = "system\tdoc\tn\twho\thow\tway\tinto"
ERROR_ROWS = (
    "A\td1\t1\tr1\tminor\tplain\tde",
    "A\td1\t1\tr1\tmajor\tplain\tde",
    "A\td1\t1\tr2\tno-error\tplain\tcs",
)


def test_rows_that_are_errors_are_split_by_language_pair_whatever_their_order(parts: Parts) -> None:
    files = {"m": json.dumps(ERRORS).encode(), "t": "\n".join([ERROR_HEADER, *ERROR_ROWS]).encode()}
    found = parts("table", files, map="m", split="language_pair")
    assert {name: [len(j.payload["errors"]) for j in part.judgments] for name, part in found.items()} == {
        "en-cs": [0],
        "en-de": [2],
    }
    assert [part.of(CampaignRow)[0].target_language for part in found.values()] == ["cs", "de"]
    files["t"] = "\n".join([ERROR_HEADER, *reversed(ERROR_ROWS)]).encode()
    again = parts("table", files, map="m", split="language_pair")
    assert [[j.payload for j in part.judgments] for part in again.values()] == [
        [j.payload for j in part.judgments] for part in found.values()
    ]


def test_rows_that_are_errors_are_split_by_protocol_and_must_be(read: Read, parts: Parts) -> None:
    rows = [ERROR_ROWS[0], ERROR_ROWS[1].replace("plain", "strict")]
    with pytest.raises(Invalid, match="several protocols in one import: plain, strict"):
        through(read, ERRORS, *rows, header=ERROR_HEADER)
    with pytest.raises(Invalid, match="several language pairs in one import: en-cs, en-de"):
        through(read, ERRORS, *ERROR_ROWS, header=ERROR_HEADER)
    files = {"m": json.dumps(ERRORS).encode(), "t": "\n".join([ERROR_HEADER, *rows]).encode()}
    found = parts("table", files, map="m", split="protocol")
    assert {name: part.of(CampaignRow)[0].options for name, part in found.items()} == {
        "plain": None,
        "strict": {"weights": "wmt24"},
    }


def test_columns_that_the_map_does_not_name_are_counted(read: Read) -> None:
    named = {"system": "model", "document": "text", "position": "n", "rater": "who", "score": "points"}
    told = json.dumps({"delimiter": ",", "protocol": "da", "columns": named}).encode()
    files = {"map.json": told, "a.csv": b"model,text,n,who,points,mood,age\nA,d,1,r,50,glad,7\n"}

    found = read("table", files, map="map.json")

    assert found.log.dropped == {
        "columns that nothing is read from: age": 1,
        "columns that nothing is read from: mood": 1,
    }
