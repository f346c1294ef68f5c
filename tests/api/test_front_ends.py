"""What a front-end of somebody else meets: places in errors, receipts, filters, and a task that was given back."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from app.domain.errors import Invalid
from app.protocols import ALL
from app.protocols.base import parse_scoring_options
from app.protocols.kit.forms import check_answer, make_rater_form
from app.protocols.widgets import SpansWidget
from app.web.pagination import make_cursor
from tests.collecting import Collecting, collect

RECEIPT = {"score", "revision", "kept", "leased_until"}


@pytest.fixture
def live(database: Any) -> Collecting:
    return collect(database, raters=("r1", "r2"), documents=2, segments=2)


def lease(client: httpx.Client, live: Collecting, rater: str) -> str:
    held: str = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]["task"]
    return held


def test_a_missing_protocol_names_its_place_and_all_receipts_have_one_form(
    anonymous: httpx.Client, live: Collecting
) -> None:
    held, auth = lease(anonymous, live, "r1"), live.auth("r1")
    here = f"/v1/tasks/{held}/judgments"
    for payload in ({"score": 5}, {"score": 5, "protocol": "nope"}, {}):
        one = anonymous.put(f"{here}/1/1", json=payload, headers=auth)
        assert (one.status_code, one.json()["errors"][0]["loc"]) == (422, ["body", "protocol"]), one.text
        many = anonymous.post(here, json=[{"item": 1, "segment": 1, "payload": payload}], headers=auth)
        assert many.json()["errors"][0]["loc"] == ["body", 0, "payload", "protocol"], many.text
    said = {"protocol": "da", "score": 5}
    first = anonymous.put(f"{here}/1/1", json=said, headers=auth).json()
    (second,) = anonymous.post(here, json=[{"item": 1, "segment": 2, "payload": said}], headers=auth).json()[
        "judgments"
    ]
    assert set(first) == set(second) == RECEIPT


def test_many_at_once_answer_for_documents_too(anonymous: httpx.Client, database: Any) -> None:
    live = collect(database, protocol="da_document", raters=("r1",), documents=1, segments=2)
    held, auth = lease(anonymous, live, "r1"), live.auth("r1")
    payload = {"protocol": "da_document", "score": 5}
    items = range(1, 1 + len(anonymous.get(f"/v1/tasks/{held}", headers=auth).json()["items"]))
    sent = [{"item": item, "segment": None, "payload": payload} for item in items]
    many = anonymous.post(f"/v1/tasks/{held}/judgments", json=sent, headers=auth)
    assert [one["revision"] for one in many.json()["judgments"]] == [1] * len(sent)
    assert anonymous.post(f"/v1/tasks/{held}/submit", headers=auth).status_code == 200


@pytest.fixture
def beside(database: Any) -> Collecting:
    """One screen of two columns of two segments, with a question about the columns."""
    return collect(
        database,
        raters=("r1", "r2"),
        documents=1,
        segments=2,
        columns=2,
        options={"preference": "ranking"},
        presentation="side_by_side",
    )


def of_columns(*groups: list[int], **more: Any) -> dict[str, Any]:
    return {"screen": 1, "payload": {"protocol": "da", "preference": list(groups)}, **more}


def of_segments(score: float, **more: Any) -> list[dict[str, Any]]:
    places = [(item, segment) for item in (1, 2) for segment in (1, 2)]
    payload = {"protocol": "da", "score": score}
    return [{"item": item, "segment": segment, "payload": payload, **more} for item, segment in places]


def test_many_at_once_answer_for_the_columns_of_a_screen_and_all_or_none_are_stored(
    anonymous: httpx.Client, beside: Collecting
) -> None:
    held, auth = lease(anonymous, beside, "r1"), beside.auth("r1")
    here = f"/v1/tasks/{held}/judgments"

    def many(*sent: dict[str, Any]) -> httpx.Response:
        return anonymous.post(here, json=sent, headers=auth)

    def compared() -> Any:
        return anonymous.get(f"/v1/tasks/{held}", headers=auth).json()["screens"][0]["judgment"]

    def judged() -> list[Any]:
        items = anonymous.get(f"/v1/tasks/{held}", headers=auth).json()["items"]
        return [segment["judgment"] for item in items for segment in item["segments"]]

    for wrong, loc in (
        (of_columns([1]), ["body", 4, "payload", "preference"]),
        (of_columns([1], [2], screen=2), ["body", 4, "screen"]),
        (of_columns([1], [2], screen=0), ["body", 4, "screen"]),
        (of_columns([1], [2], item=1), ["body", 4, "item"]),
        ({**of_columns(), "payload": {"protocol": "da", "score": 5}}, ["body", 4, "payload", "preference"]),
        ({"payload": {"protocol": "da", "score": 5}}, ["body", 4, "item"]),
        ({"item": 1, "payload": {"protocol": "da", "score": 5}}, ["body", 4, "segment"]),
        (of_columns([1], [2], payload={"preference": [[1], [2]]}), ["body", 4, "payload", "protocol"]),
    ):
        refused = many(*of_segments(5), wrong)
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, loc), refused.text
    twice = many(of_columns([1], [2]), of_columns([2], [1]))
    assert twice.json()["errors"] == [{"loc": ["body", 1], "msg": "answers the same as number 0"}]
    stale = many(*of_segments(5), of_columns([1], [2], if_match=1))
    assert stale.status_code == 412, stale.text
    assert (compared(), judged()) == (None, [None] * 4)

    stored = many(of_columns([1], [2], if_match=0), *of_segments(5, if_match=0))
    assert stored.status_code == 200, stored.text
    assert [set(one) for one in stored.json()["judgments"]] == [RECEIPT] * 5
    assert [(one["score"], one["revision"]) for one in stored.json()["judgments"]] == [(None, 1), *[(5.0, 1)] * 4]
    assert many(of_columns([1], [2], if_match=0), *of_segments(5, if_match=0)).json() == stored.json()
    assert many(of_columns([2], [1], if_match=0), *of_segments(6)).status_code == 412
    assert [one["payload"]["score"] for one in judged()] == [5] * 4
    (changed,) = many(of_columns([2], [1], if_match=1)).json()["judgments"]
    assert (changed["revision"], compared()["payload"]["preference"]) == (2, [[2], [1]])
    whole = anonymous.post(f"/v1/tasks/{held}/submit", headers=auth)
    assert whole.status_code == 200, whole.text
    assert many(of_columns([1], [2])).status_code == 409


def test_screens_that_come_after_the_lease_ran_out_or_was_given_back_follow_the_rules_of_segments(
    anonymous: httpx.Client, beside: Collecting, database_url: str
) -> None:
    held, auth = lease(anonymous, beside, "r1"), beside.auth("r1")
    here = f"/v1/tasks/{held}/judgments"
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE tasks SET leased_until = now() - interval '1 hour' WHERE state = 'leased'")
        db.execute("UPDATE tasks SET state = 'free', rater_id = NULL, leased_until = NULL WHERE state = 'leased'")
        db.execute("UPDATE leases SET ended_at = now(), ended_how = 'expired'")
    late = anonymous.post(here, json=[of_columns([1], [2]), *of_segments(5)], headers=auth)
    assert late.status_code == 200, late.text
    assert {one["kept"] for one in late.json()["judgments"]} == {None}
    assert all(one["leased_until"] for one in late.json()["judgments"])
    assert anonymous.post(f"/v1/tasks/{held}/release", headers=auth).status_code == 204
    back = anonymous.post(here, json=[of_columns([2], [1])], headers=auth)
    assert back.status_code == 409
    assert "Lease a task again" in back.json()["title"]
    again = anonymous.post(here, json=[of_columns([1], [2])], headers=auth)
    assert again.json()["judgments"][0]["revision"] == 1


def test_who_gave_a_task_back_is_told_to_lease_and_a_replay_stays_harmless(
    anonymous: httpx.Client, live: Collecting
) -> None:
    held, auth = lease(anonymous, live, "r1"), live.auth("r1")
    here = f"/v1/tasks/{held}/judgments"
    said = {"protocol": "da", "score": 5}
    assert anonymous.put(f"{here}/1/1", json=said, headers=auth).status_code == 200
    assert anonymous.post(f"/v1/tasks/{held}/release", headers=auth).status_code == 204
    late = anonymous.put(f"{here}/1/2", json=said, headers=auth)
    assert late.status_code == 409, late.text
    assert "Lease a task again" in late.json()["title"]
    many = anonymous.post(here, json=[{"item": 1, "segment": 2, "payload": said}], headers=auth)
    assert many.status_code == 409
    assert anonymous.put(f"{here}/1/1", json=said, headers=auth).json()["revision"] == 1
    while (again := lease(anonymous, live, "r1")) != held:  # whoever leases it again goes on
        assert anonymous.post(f"/v1/tasks/{again}/release", headers=auth).status_code == 204
    assert anonymous.put(f"{here}/1/2", json=said, headers=auth).status_code == 200


def test_campaigns_are_filtered_and_a_cursor_that_never_was_is_refused(admin: httpx.Client) -> None:
    made = [
        {"key": "a", "protocol": "da", "name": "TED talks", "target_language": "de", "series": "s"},
        {"key": "b", "protocol": "esa", "source_language": "en", "target_language": "de"},
        {"key": "ted-2", "protocol": "esa", "source_language": "en", "target_language": "fr"},
    ]
    for one in made:
        assert admin.post("/v1/campaigns", json=one).status_code == 201

    def keys(**query: str) -> list[str]:
        return [one["key"] for one in admin.get("/v1/campaigns", params=query).json()["items"]]

    assert keys() == ["a", "b", "ted-2"]
    assert keys(name="tEd") == ["a", "ted-2"]
    assert keys(name="%") == []
    assert keys(protocol="esa") == ["b", "ted-2"]
    assert keys(protocol="esa", target_language="de", source_language="en") == ["b"]
    assert keys(series="s") == ["a"]
    assert (keys(state="draft"), keys(state="open")) == (["a", "b", "ted-2"], [])
    assert keys(protocol="esa", cursor=make_cursor("b")) == ["ted-2"]
    refused = admin.get("/v1/campaigns", params={"cursor": "never"})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "cursor"])
    assert admin.get("/v1/campaigns", params={"state": "nope"}).status_code == 422


def test_a_refused_severity_lists_exactly_those_that_the_form_offers() -> None:
    seen = 0
    for protocol in ALL.values():
        for example in protocol.examples:
            options = parse_scoring_options(protocol, example.options)
            form = make_rater_form(protocol, options, basis=protocol.bases[0], level=protocol.level)
            for widget in form.widgets:
                spans = getattr(example.payload, widget.field, ()) if isinstance(widget, SpansWidget) else ()
                if not spans or not isinstance(widget, SpansWidget):
                    continue
                wrong = (spans[0].model_copy(update={"severity": "terrible"}), *spans[1:])
                payload = example.payload.model_copy(update={widget.field: wrong})
                with pytest.raises(Invalid) as caught:
                    check_answer(protocol, payload, example.judged_texts, options, form)
                told = [place.msg for place in caught.value.places if place.loc[-1] == "severity"]
                assert told == [f"must be one of {', '.join(widget.severities)}"], protocol.name
                seen += 1
    assert seen >= 5
