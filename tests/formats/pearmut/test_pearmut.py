"""Campaigns of Pearmut become test sets, its logs judgments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, DocumentRecord, OutputRow, SegmentRow
from tests.formats.conftest import Read

TEXTS = {"A": "Eins.", "B B": "eins"}
ITEM = {"item_id": "news_###_a_###_0", "src": "One.", "ref": "1.", "tgt": TEXTS, "instructions": "Look."}
NEXT = {"item_id": "news_###_a_###_1", "src": "Two.", "tgt": {"A": "Zwei.", "B B": "zwei"}, "note": 3}
ASSIGNMENT = "settings (info) that have no place here: assignment"
CHECK = {**ITEM, "item_id": "c-0", "validation": {"A": {"score": [0, 10]}}}


def campaign(data: object, **more: object) -> bytes:
    return json.dumps({"info": {"protocol": "cESA", "assignment": "dynamic"}, "data": data, **more}, indent=1).encode()


def log(*entries: Mapping[str, object]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def answer(user: str, score: float, *, item_i: object = 0, **more: object) -> dict[str, object]:
    actions = [{"time": 1.5, "action": "load"}, {"time": 9, "action": "submit"}]
    given = [{"A": {"score": score, "error_spans": [], "textfield": None}}]
    return {"user_id": user, "item_i": item_i, "item": [ITEM], "annotation": given, "actions": actions, **more}


@pytest.mark.parametrize("data", [[[ITEM, NEXT]], [[[ITEM, NEXT]]], {"user-1": [[ITEM, NEXT]]}])
def test_documents_come_from_a_pool_from_tasks_and_from_users(read: Read, data: object) -> None:
    found = read("pearmut", campaign(data))

    assert [(r.document, r.position, r.source, r.references, r.meta) for r in found.of(SegmentRow)] == [
        (found.of(SegmentRow)[0].document, 1, "One.", {"ref": "1."}, {"instructions": "Look."}),
        (found.of(SegmentRow)[0].document, 2, "Two.", None, {"note": 3}),
    ]
    assert [r.name for r in found.of(DocumentRecord)] == ["news_###_a"]
    assert [r.text for r in found.of(OutputRow)] == ["Eins.", "eins", "Zwei.", "zwei"]
    assert found.of(CampaignRow)[0].protocol == "cesa"
    assert list(found.log.mapped["system"].values()) == ["B B"]


def test_checks_tutorials_and_forms_are_left_out(read: Read) -> None:
    form = {"text": "Your language?", "form": "string"}

    found = read("pearmut", campaign([[CHECK], [ITEM], [form]], data_welcome=[[form], [CHECK]]))

    assert {r.source for r in found.of(SegmentRow)} == {"One."}
    assert found.log.dropped == {"documents of tutorials, checks and forms": 4, ASSIGNMENT: 1}


def test_one_document_shown_with_other_models_is_one_document(read: Read) -> None:
    found = read("pearmut", campaign([[[{**ITEM, "tgt": {"A": "a"}}]], [[{**ITEM, "tgt": {"B": "b"}}]]]))

    assert {(r.system, r.document, r.position) for r in found.of(OutputRow)} == {
        (system, found.of(SegmentRow)[0].document, 1) for system in "AB"
    }


def test_documents_without_ids_are_told_apart_by_their_sources(read: Read) -> None:
    plain = {"src": "x", "tgt": {"A": "a"}}

    found = read("pearmut", campaign([[plain], [{**plain, "tgt": {"B": "b"}}], [{**plain, "src": "y"}]]))

    assert len({r.document for r in found.of(OutputRow)}) == 2


def test_errors_filled_in_beforehand_are_shown_with_their_output(read: Read) -> None:
    spans = {"A": [{"start_i": 0, "end_i": 3, "severity": "minor", "category": None}], "B B": []}

    found = read("pearmut", campaign([[{**ITEM, "error_spans": spans}]]))

    assert [r.prefill for r in found.of(OutputRow)] == [({"severity": "minor", "start": 0, "end": 4},), ()]


def test_ends_are_inclusive_and_the_end_of_the_text_is_missing(read: Read) -> None:
    spans = [
        {"start_i": 0, "end_i": 0, "severity": "minor", "category": "Accuracy/Addition"},
        {"start_i": 5, "end_i": 5, "severity": "major", "category": None},
        {"start_i": 6, "end_i": 6, "severity": None, "category": None},
        {"start_i": 3, "end_i": 8, "severity": "neutral", "category": None},
    ]
    entry = answer("u", 0, annotation=[{"A": {"score": 0, "error_spans": spans}}])

    found = read("pearmut", {"c.json": campaign([[ITEM]]), "c.jsonl": log(entry)})

    (judgment,) = found.judgments
    assert judgment.payload == {
        "protocol": "cesa",
        "errors": [
            {"severity": "minor", "category": "Accuracy/Addition", "start": 0, "end": 1},
            {"severity": "major", "omission": True},
            {"severity": "undecided", "note": "token 2 behind the text"},
            {"severity": "neutral", "start": 3, "end": 5},
        ],
        "score": 0.0,
    }
    assert judgment.submitted_at == datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)
    assert sum(found.log.repaired.values()) == 1


MARKED = [
    ("Erste Zeile.\nZweite Zeile falsch.\nDritte.", "falsch"),
    ("<p>Der Hund</p>\r\n<p>bellt <b>laut</b></p>", "laut"),
    ("😀 Ja.\n\n😀 Nein 👩‍🚀!", "👩‍🚀"),
    ("الكلب\nينبح بصوت عال", "ينبح"),
]


def place_on_the_page(text: str, marked: str) -> tuple[int, int]:
    """First and last `data-i` of what is marked, as the page of 1.1.6 numbers its characters: by the raw text."""
    start = len(text[: text.index(marked)].encode("utf-16-le")) // 2
    return start, start + len(marked.encode("utf-16-le")) // 2 - 1


@pytest.mark.parametrize(("text", "marked"), MARKED)
def test_what_was_marked_on_the_page_comes_back(read: Read, text: str, marked: str) -> None:
    start, end = place_on_the_page(text, marked)
    length = len(text.encode("utf-16-le")) // 2
    spans = [{"start_i": start, "end_i": end, "severity": "minor"}, {"start_i": length, "end_i": length}]
    item = {**ITEM, "tgt": {"A": text}}
    given = [{"A": {"score": 1, "error_spans": spans}}]

    found = read(
        "pearmut", {"c.json": campaign([[item]]), "c.jsonl": log(answer("u", 1, item=[item], annotation=given))}
    )

    mark, missing = found.judgments[0].payload["errors"]
    assert text[mark["start"] : mark["end"]] == marked
    assert missing == {"severity": "undecided", "omission": True}


@pytest.mark.parametrize(("version", "word"), [("1.1.4", "c"), ("1.1.5", "b"), ("1.2", "b"), (None, "b")])
def test_an_older_version_counted_no_line_ends(read: Read, version: str | None, word: str) -> None:
    item = {**ITEM, "tgt": {"A": "a\nbc"}}
    given = [{"A": {"score": 1, "error_spans": [{"start_i": 2, "end_i": 2, "severity": "minor"}]}}]
    files = {"c.json": campaign([[item]]), "c.jsonl": log(answer("u", 1, item=[item], annotation=given))}

    (error,) = read("pearmut", files, **({"pearmut": version} if version else {})).judgments[0].payload["errors"]

    assert "a\nbc"[error["start"] : error["end"]] == word


@pytest.mark.parametrize(
    ("tokens", "errors"),
    [
        (None, [{"omission": True}, {"note": "token 2 behind the text"}, {"note": "token 3 behind the text"}]),
        (["[MISSING]"], [{"omission": True}, {"note": "token 2 behind the text"}, {"note": "token 3 behind the text"}]),
        (
            ["[MISSING]", "[instructions fault]", "[other]"],
            [{"omission": True}, {"category": "Instructions fault"}, {"note": "token 3 behind the text"}],
        ),
        (
            ["[not followed: instructions]", "[missing]"],
            [{"category": "Instructions fault"}, {"omission": True}, {"note": "token 3 behind the text"}],
        ),
    ],
)
def test_special_tokens_say_what_is_wrong_with_an_output_as_a_whole(
    read: Read, tokens: list[str] | None, errors: list[dict[str, object]]
) -> None:
    info = {"protocol": "cESA", **({} if tokens is None else {"special_tokens": tokens})}
    spans = [{"start_i": n, "end_i": n, "severity": "major", "category": None} for n in (5, 6, 7)]
    files = {
        "c.json": json.dumps({"info": info, "data": [[ITEM]]}).encode(),
        "c.jsonl": log(answer("u", 1, annotation=[{"A": {"score": 1, "error_spans": spans}}])),
    }

    (judgment,) = read("pearmut", files).judgments

    assert judgment.payload["errors"] == [{"severity": "major", **error} for error in errors]


@pytest.mark.parametrize(
    ("info", "protocol"),
    [({}, "cesa"), ({"protocol": "XSTSRP"}, "da"), ({"protocol": "mqm"}, "mqm"), ({"protocol": "ESA"}, "esa")],
)
def test_what_pearmut_does_not_know_is_a_score_and_what_is_not_named_is_cesa(
    read: Read, info: dict[str, object], protocol: str
) -> None:
    found = read("pearmut", json.dumps({"info": info, "data": [[ITEM]]}).encode())

    assert [row.protocol for row in found.of(CampaignRow)] == [protocol]


def test_what_of_a_campaign_has_no_place_here_is_counted(read: Read) -> None:
    info = {"protocol": "ESA", "users": 3, "shuffle": False, "mine": 1, "ours": 2}
    body = json.dumps({"info": info, "data": [[ITEM]], "token": "0123456789", "comment": "x", "campaign_id": "c"})
    progress = {"c": {"ann": {"progress": [None], "time": 0}}, "d": {"bob": {"progress": []}}}

    found = read("pearmut", {"c.json": body.encode(), "progress.json": json.dumps(progress).encode()})

    assert found.log.dropped == {
        "settings (info) that have no place here: users": 1,
        "settings (info) that have no place here: shuffle": 1,
        "settings (info) that have no place here: others": 2,
        "members of the file that have no place here": 1,
        "users whose progress stands in a file of its own": 2,
    }


@pytest.mark.parametrize("version", ["", "new", "1", "1.1.5-beta", "1.1.1.1.1", "9" * 50])
def test_what_is_no_version_is_named(read: Read, version: str) -> None:
    with pytest.raises(Invalid, match="is no version"):
        read("pearmut", campaign([[ITEM]]), pearmut=version)


@pytest.mark.parametrize("first", ["user_id", "item_i", "item", "annotation", "actions"])
def test_a_line_may_begin_with_any_of_its_members(read: Read, first: str) -> None:
    line = answer("u", 1)
    ordered = {first: line[first], **line}

    found = read("pearmut", {"c.json": campaign([[ITEM]]), "c.jsonl": log(ordered, ordered)})

    assert [j.payload["score"] for j in found.judgments] == [1.0, 1.0]


@pytest.mark.parametrize("indent", [None, 1])
def test_logs_as_the_dashboard_lets_download_them(read: Read, indent: int | None) -> None:
    reset = {"user_id": "u", "item_i": 0, "annotation": "__RESET__"}
    logs = {"de": [answer("u", 1), reset, answer("u", 2)], "cs": [answer("u", 3, item_i=1)], "empty": []}
    files = {"c.json": campaign([[ITEM]]), "logs.json": json.dumps(logs, indent=indent).encode()}

    every, one = read("pearmut", files), read("pearmut", files, campaign="cs")

    assert sorted(j.payload["score"] for j in every.judgments) == [2.0, 3.0]
    assert [j.payload["score"] for j in one.judgments] == [3.0]
    assert one.log.dropped == {"lines of campaigns that were not asked for": 3, ASSIGNMENT: 1}


def test_campaigns_as_the_dashboard_lets_download_them(read: Read) -> None:
    first = {"campaign_id": "de", "info": {"protocol": "ESA"}, "data": [[ITEM]], "data_welcome": [[CHECK]]}
    second = {"data": {"u": [[NEXT]]}, "campaign_id": "cs", "info": {"protocol": "MQM"}, "token": "0123456789"}
    body = json.dumps([first, second]).encode()

    every, one = read("pearmut", body), read("pearmut", body, campaign="cs")

    assert [r.source for r in every.of(SegmentRow)] == ["One.", "Two."]
    assert every.log.dropped == {"documents of tutorials, checks and forms": 1}
    assert [r.source for r in one.of(SegmentRow)] == ["Two."]
    assert one.of(CampaignRow)[0].protocol == "mqm"
    assert one.log.dropped == {"campaigns that were not asked for": 1}


def test_places_of_an_older_version_are_utf_16_units_without_line_ends(read: Read) -> None:
    item = {**ITEM, "tgt": {"A": "a\n😀bc"}}
    spans = [
        {"start_i": 1, "end_i": 2, "severity": "minor"},  # the emoji
        {"start_i": 3, "end_i": 3, "severity": "minor"},  # b
        {"start_i": 0, "end_i": 1, "severity": "minor"},  # from a into the emoji
        {"start_i": 5, "end_i": 5, "severity": "minor"},  # [missing]
    ]
    entry = answer("u", 1, item=[item], annotation=[{"A": {"score": 1, "error_spans": spans}}])

    found = read("pearmut", {"c.json": campaign([[item]]), "c.jsonl": log(entry)}, pearmut="1.1.4")

    errors = found.judgments[0].payload["errors"]
    assert [(one.get("start"), one.get("end")) for one in errors] == [(2, 3), (3, 4), (0, 3), (None, None)]


def test_sliders_of_its_own_are_criteria(read: Read) -> None:
    sliders = [
        {"name": "Fluency", "min": 0, "max": 5, "step": 1},
        {"name": "Good tone", "min": 0, "max": 100, "step": 5},
    ]
    info = {"protocol": "DA", "sliders": sliders}
    given = [
        {"A": {"sliders": {"Fluency": 4, "Good tone": 85}, "error_spans": []}, "B B": {"sliders": {"Fluency": None}}}
    ]
    body = json.dumps({"info": info, "data": [[ITEM]]}).encode()

    found = read("pearmut", {"c.json": body, "c.jsonl": log(answer("u", 1, annotation=given))})

    (judgment,) = found.judgments
    criteria = found.of(CampaignRow)[0].options["criteria"]
    assert [one["name"] for one in criteria] == list(judgment.payload["scores"])
    assert list(judgment.payload["scores"].values()) == [4.0, 85.0]
    assert found.log.dropped == {"outputs without an answer": 1}


def test_a_reset_takes_back_what_its_user_answered_before(read: Read) -> None:
    reset = {"user_id": "u1", "item_i": 0, "annotation": "__RESET__"}
    entries = [answer("u1", 1), answer("u2", 2), answer("u1", 3, item_i=1), reset, answer("u1", 4)]

    found = read("pearmut", {"c.json": campaign([[ITEM]]), "c.jsonl": log(*entries)})

    assert sorted((j.rater, j.payload["score"]) for j in found.judgments) == [("u1", 3.0), ("u1", 4.0), ("u2", 2.0)]


def test_a_reset_of_nobody_in_particular_is_one_of_everybody(read: Read) -> None:
    reset = {"user_id": None, "item_i": 0, "annotation": "__RESET__"}

    entries = [answer("u1", 1), answer("u2", 2), reset, answer("u3", 3)]

    found = read("pearmut", {"c.json": campaign([[ITEM]]), "c.jsonl": log(*entries)})

    assert [j.rater for j in found.judgments] == ["u3"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"annotation": [{"C": {"score": 1}}]}, "C was not shown"),
        ({"annotation": [{"A": {"score": "x"}}]}, "must be a number"),
        ({"annotation": []}, "one entry for each item"),
        ({"item": None}, "list of items"),
        ({"user_id": None}, "user_id"),
        (
            {"annotation": [{"A": {"score": 1, "error_spans": [{"start_i": 3, "end_i": 1, "severity": "minor"}]}}]},
            "no span",
        ),
        ({"actions": [{"action": "load", "time": -1}]}, "Unix seconds"),
    ],
)
def test_a_bad_answer_is_named_by_file_and_line(read: Read, changed: dict[str, object], reason: str) -> None:
    files = {"c.json": campaign([[ITEM]]), "c.jsonl": log(answer("u", 1), answer("v", 1) | changed)}

    with pytest.raises(Invalid) as raised:
        read("pearmut", files)
    skipped = read("pearmut", files, skip=True)

    (place,) = raised.value.places
    assert place.loc == ("c.jsonl", 2)
    assert reason in place.msg
    assert len(skipped.judgments) == 1


def test_answers_to_checks_do_not_count(read: Read) -> None:
    entries = [answer("u", 1, item_i="welcome_0"), answer("u", 1, item=[CHECK]), answer("u", 2)]

    found = read("pearmut", {"c.json": campaign([[ITEM]]), "c.jsonl": log(*entries)})

    assert [j.payload["score"] for j in found.judgments] == [2.0]


def test_a_log_alone_must_say_by_what_it_judges(read: Read) -> None:
    with pytest.raises(Invalid, match="by what it judges"):
        read("pearmut", log(answer("u", 1)))


@pytest.mark.parametrize("items", [[{}], [{"tgt": {"A": 1}}], [{"tgt": ["x"]}], "x", [], [ITEM, ITEM]])
def test_a_bad_document_is_named_by_file_and_line(read: Read, items: object) -> None:
    with pytest.raises(Invalid) as raised:
        read("pearmut", {"c.json": campaign([[NEXT], items])})

    assert raised.value.places[0].loc[0] == "c.json"
    assert int(raised.value.places[0].loc[1]) > 6


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
DOCUMENTS = st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3), min_size=1, max_size=4)


@given(documents=DOCUMENTS)
def test_any_texts_come_through_but_for_white_space_at_their_ends(
    read: Read, documents: list[list[tuple[str, str]]]
) -> None:
    data = [
        [{"item_id": f"d{n}-{i}", "src": source, "tgt": {"A": text}} for i, (source, text) in enumerate(items)]
        for n, items in enumerate(documents)
    ]

    found = read("pearmut", campaign(data))

    expected = [(f"d{n}", i, s.strip(), t.strip()) for n, d in enumerate(documents) for i, (s, t) in enumerate(d, 1)]
    segments = {(r.document, r.position): r.source for r in found.of(SegmentRow)}
    assert [(r.document, r.position, segments[r.document, r.position], r.text) for r in found.of(OutputRow)] == expected


def test_what_the_protocol_does_not_ask_is_kept_and_what_nothing_keeps_is_counted(read: Read) -> None:
    mark = {"start_i": 0, "end_i": 1, "severity": "minor", "category": "Style/Other", "mine": 1}
    said = {"score": 0, "error_spans": [mark], "textfield": "x", "sliders": None, "time": 3}
    moves = [{"time": 2, "action": "mouse_moved"}, {"time": 3, "action": "score"}]
    first = answer("u", 1, annotation=[{"A": said}], comment="Hard.", validations=[True], device="phone")
    entry = {**first, "actions": [*first["actions"], *moves]}

    by_mqm = read("pearmut", {"c.json": _by("MQM"), "c.jsonl": log(entry)})
    by_da = read("pearmut", {"c.json": _by("DA"), "c.jsonl": log(entry)})

    assert by_mqm.judgments[0].meta == {"comment": "Hard.", "score": 0, "textfield": "x"}
    assert by_da.judgments[0].meta == {"comment": "Hard.", "error_spans": [mark], "textfield": "x"}
    assert by_mqm.log.dropped == {
        "actions on the page but the first load and the last hand-in": 2,
        "results of checks in lines of the log": 1,
        "members of lines, answers and errors that Pearmut does not have": 3,
    }


def _by(protocol: str) -> bytes:
    return json.dumps({"info": {"protocol": protocol}, "data": [[ITEM]]}).encode()
