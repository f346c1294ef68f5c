"""Campaigns and logs as they are written for Pearmut: what it reads, and what comes back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.formats.base import Record
from tests.formats.conftest import Read
from tests.formats.pearmut.program import ADD_EXISTING, PearmutProgram
from tests.formats.trees import contents, tree

INFO = {"protocol": "cESA", "special_tokens": ["[missing]", "[instructions fault]"]}
TEXTS = {"A": "Eins.\n<b>Zwei</b> 😀", "B": "eins"}
ALIKE = [
    [{"item_id": "d_#_0", "src": "One.", "tgt": TEXTS, "instructions": "<b>Formal!</b>", "domain": "news"}],
    [{"item_id": "e_#_0", "src": "Two.", "tgt": {"A": "Zwei.", "B": "zwei"}}],
]
UNLIKE = [ALIKE[0], [{"item_id": "e_#_0", "src": "Two.", "tgt": {"A": "Zwei.", "C": "zwei"}}]]
LENGTH = len(TEXTS["A"].encode("utf-16-le")) // 2
ANSWERS: dict[str, dict[str, object]] = {
    "A": {
        "score": 75,
        "error_spans": [
            {"start_i": 6, "end_i": 11, "severity": "minor", "category": None},
            {"start_i": LENGTH, "end_i": LENGTH, "severity": "major", "category": None},
            {"start_i": LENGTH + 1, "end_i": LENGTH + 1, "severity": "minor", "category": None},
        ],
        "textfield": None,
    },
    "B": {"score": 0, "error_spans": [], "textfield": "no German"},
}


def line(user: str, item_i: int, document: Sequence[object], answers: Mapping[str, object]) -> dict[str, object]:
    actions = [{"action": "load", "time": 100.0 + item_i}, {"action": "submit", "time": 160.0 + item_i}]
    return {"user_id": user, "item_i": item_i, "annotation": [answers], "item": document, "actions": actions}


def written(read: Read, data: Sequence[Any], *lines: object, lost: Counter[str] | None = None) -> dict[str, Any]:
    """A campaign with a log, read and written again: the files, by name."""
    files = {
        "c.json": json.dumps({"campaign_id": "talks", "info": INFO, "data": data}).encode(),
        **({"c.jsonl": "".join(f"{json.dumps(one)}\n" for one in lines).encode()} if lines else {}),
    }
    records: list[Record] = read("pearmut", files).records
    return {name: json.loads(body) for name, body in tree("pearmut", contents(records), lost).items()}


def test_answers_by_cesa_come_out_as_they_were_logged(read: Read) -> None:
    lost = Counter[str]()

    files = written(read, ALIKE, line("ann", 0, ALIKE[0], ANSWERS), lost=lost)

    (entry,) = files["annotations.json"]["talks"]
    assert entry == line("ann", 0, ALIKE[0], ANSWERS)
    assert files["campaign.json"]["info"] == {"assignment": "dynamic", **INFO}
    assert files["campaign.json"]["data"] == ALIKE
    assert not lost


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"slider_colors": True}, {"slider_colors": True}),
        ({"slider_colors": False}, {"slider_colors": False}),
        ({"slider_colors": "blue"}, {}),
        ({}, {}),
    ],
)
def test_colours_of_sliders_are_read_and_written_as_the_campaign_has_them(read, said, told):
    given = {"c.json": json.dumps({"campaign_id": "talks", "info": {**INFO, **said}, "data": ALIKE}).encode()}
    found = read("pearmut", given)
    info = json.loads(tree("pearmut", contents(found.records))["campaign.json"])["info"]
    assert info == {"assignment": "dynamic", **INFO, **told}
    assert any("slider_colors" in what for what in found.log.dropped) is (bool(said) and not told)


def test_what_is_written_is_read_again_as_it_was(read: Read) -> None:
    first = written(read, UNLIKE, line("ann", 0, UNLIKE[0], ANSWERS), line("bob", 1, UNLIKE[1], {"C": ANSWERS["B"]}))
    records = read("pearmut", {name: json.dumps(body).encode() for name, body in first.items()}).records

    again = {name: json.loads(body) for name, body in tree("pearmut", contents(records)).items()}

    assert again == first


def test_progress_says_of_each_model_who_judged_it_where_all_documents_have_the_same(read: Read) -> None:
    only = {"A": ANSWERS["A"]}

    files = written(read, ALIKE, line("ann", 0, ALIKE[0], ANSWERS), line("bob", 1, ALIKE[1], only))

    progress = files["progress.json"]["talks"]
    assert [one["user_id"] for one in files["annotations.json"]["talks"]] == ["ann", "bob"]
    assert files["annotations.json"]["talks"][1]["item"][0]["tgt"] == {"A": "Zwei."}
    assert progress["ann"]["progress"] == [
        {"A": "completed", "B": "completed"},
        {"A": "completed_foreign", "B": None},
    ]
    assert progress["bob"]["progress"] == [
        {"A": "completed_foreign", "B": "completed_foreign"},
        {"A": "completed", "B": None},
    ]
    assert (progress["ann"]["time_start"], progress["ann"]["time_end"], progress["ann"]["time"]) == (100, 160, 60)
    assert progress["ann"]["url"] == "annotate?campaign_id=talks&user_id=ann"


def test_documents_with_different_systems_are_one_stream_of_whole_documents(read: Read) -> None:
    files = written(read, UNLIKE, line("ann", 0, UNLIKE[0], ANSWERS), line("bob", 1, UNLIKE[1], {"A": ANSWERS["A"]}))

    assert files["campaign.json"]["info"]["assignment"] == "single-stream"
    assert {user: one["progress"] for user, one in files["progress.json"]["talks"].items()} == {
        "ann": ["completed", "completed_foreign"],
        "bob": ["completed_foreign", "completed"],
    }
    answers = files["annotations.json"]["talks"][1]["annotation"][0]
    assert list(answers) == ["A", "C"]
    assert answers["C"] == {"score": None, "error_spans": [], "textfield": None, "unanswered": True}


def test_a_campaign_that_nobody_judged_has_neither_log_nor_progress(read: Read) -> None:
    assert set(written(read, ALIKE)) == {"campaign.json"}


def test_a_model_is_not_called_by_a_number_alone(read: Read) -> None:
    lost = Counter[str]()

    files = written(read, [[{"item_id": "d_#_0", "tgt": {"1": "x", "B2": "y"}}]], lost=lost)

    assert files["campaign.json"]["data"][0][0]["tgt"] == {"_1": "x", "B2": "y"}
    assert sum(lost.values()) == 1


@pytest.mark.soak
@pytest.mark.parametrize("data", [ALIKE, UNLIKE], ids=["alike", "unlike"])
def test_the_real_program_takes_campaigns_and_judged_work(read: Read, tmp_path: Path, data: list[Any]) -> None:
    lines = [line("ann", 0, data[0], ANSWERS), line("bob", 1, data[1], {"A": ANSWERS["A"]})]
    pearmut = PearmutProgram(tmp_path)
    pearmut.write({name: json.dumps(body).encode() for name, body in written(read, data, *lines).items()})

    assert "annotate?campaign_id=talks" in pearmut.run("add", "campaign.json")
    assert "Successfully imported campaign talks" in pearmut.run(*ADD_EXISTING)
    assert json.loads(pearmut.log("talks").splitlines()[0])["annotation"] == [ANSWERS]


@pytest.mark.parametrize("protocol", ["MQM", "DA", "ESA"])
def test_what_the_protocol_does_not_ask_comes_out_as_it_was_logged(read: Read, protocol: str) -> None:
    mark = {"start_i": 0, "end_i": 3, "severity": "minor", "category": "Style/Unidiomatic style"}
    said = {"A": {"score": 40, "error_spans": [mark], "textfield": "Besser."}, "B": ANSWERS["B"]}
    entry = {**line("ann", 0, ALIKE[0], said), "comment": "Hard."}
    campaign = {"campaign_id": "talks", "info": {"protocol": protocol}, "data": ALIKE}
    files = {"c.json": json.dumps(campaign).encode(), "c.jsonl": json.dumps(entry).encode()}
    lost = Counter[str]()

    out = tree("pearmut", contents(read("pearmut", files).records), lost)

    assert json.loads(out["annotations.json"])["talks"] == [entry]
    assert not lost
