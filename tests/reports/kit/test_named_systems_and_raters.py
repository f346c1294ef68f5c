"""What a question names is used, or refused: systems that there are not, and raters who did not rate everything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.reports import registry
from app.reports.kit import request, store
from app.storage import embedded
from tests.services.data.test_imports import MQM
from tests.spine import Spine, fresh


def campaign(shift: int, again: int = 0) -> bytes:
    """Ana scores four documents, segments and all; bo, who gives 40 more, only two of them.

    again: Ana scores all of the first document once more, so much higher.
    """
    records: list[dict[str, object]] = [
        {"type": "plumbline", "version": 1},
        {"type": "campaign", "protocol": "da_sqm"},
        {"type": "system", "key": "mt", "name": "mt", "kind": "mt"},
        {"type": "system", "key": f"human{shift}", "name": "human", "kind": "human"},
    ]
    for rater, documents, more in (("ana", 4, 0), ("bo", 2, 40)):
        for n in range(documents):
            records += [judged(rater, f"d{n}", place, 10 * n + more + shift) for place in (None, 1, 2)]
    records += [judged("ana", "d0", place, again, "repeat") for place in (None, 1, 2) if again]
    return "\n".join(map(json.dumps, records)).encode()


def judged(rater: str, document: str, place: int | None, score: int, role: str = "rating") -> dict[str, object]:
    """The document as a whole has the score, its segments one and two more."""
    return {
        "type": "judgment", "task": f"t-{rater}", "item": f"{document}-{role}", "position": place, "rater": rater,
        "systems": ["mt"], "document": document, "role": role,
        "payload": {"protocol": "da_sqm", "score": score + (place or 0)},
    }  # fmt: skip


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for key, shift in (("one", 0), ("two", 5)):
            found.take(key, "jsonl", campaign(shift))
        found.take("again", "jsonl", campaign(0, again=30))
        found.take("mqm", "mqm-tsv", MQM.encode())
        yield found


def report(spine: Spine, kind: str, campaign: str = "one", **query: str) -> dict[str, Any]:
    campaigns = ("one", "two") if kind.startswith("campaigns/") else (campaign,)
    of = registry.ALL[kind]
    asking = request.ReportRequest(of, campaigns, request.parse_report_options(of, query))
    view: dict[str, Any] = json.loads(store.find_or_compute_report(spine.database, asking).body)
    return view


def test_human_systems_that_no_compared_campaign_has_are_refused(spine: Spine) -> None:
    view = report(spine, "campaigns/robustness", humans="human0,human5", changes="references")
    assert [one["campaign"] for one in view["of_campaigns"]] == ["one", "two"]
    with pytest.raises(Invalid) as refused:
        report(spine, "campaigns/robustness", humans="human0,nobody", changes="references")
    (place,) = refused.value.places
    assert (place.loc, place.msg) == (("query", "humans"), "there is no system 'nobody'")


def test_campaigns_agree_by_raters_who_rated_everything_where_that_is_asked(spine: Spine) -> None:
    every = report(spine, "campaigns/agreement", bootstrap="0")
    complete = report(spine, "campaigns/agreement", bootstrap="0", raters="complete")
    assert [one["campaign"] for one in complete["dropped"]] == ["one", "two"]
    assert [[line["mean"] for line in view["each"]] for view in (every, complete)] == [
        [26.5, 31.5],
        [16.5, 21.5],
    ]
    means = [{line["campaign"]: line["n_raters"] for line in view["each"]} for view in (every, complete)]
    assert means == [{"one": 2, "two": 2}, {"one": 1, "two": 1}]


def test_document_scores_are_those_of_raters_who_rated_everything_where_that_is_asked(spine: Spine) -> None:
    assert report(spine, "campaign/document_scores", bootstrap="0")["n"] == 6
    complete = report(spine, "campaign/document_scores", bootstrap="0", raters="complete")
    assert complete["n"] == 4
    assert complete["dropped"] == [{"reason": "rater who did not rate every segment", "n": 6}]


@pytest.mark.parametrize(
    ("repeats", "counts"), [("latest", [31.5, 30.0]), ("first", [1.5, 0.0]), ("average", [16.5, 15.0])]
)
def test_of_a_document_scored_twice_counts_what_is_asked(spine: Spine, repeats: str, counts: list[float]) -> None:
    how = {"bootstrap": "0", "controls": "keep", "raters": "complete"}
    view = report(spine, "campaign/document_scores", "again", repeats=repeats, **how)
    assert view["n"] == 4
    assert counts in view["points"]
    assert report(spine, "campaign/document_scores", "again", **how)["points"][0] == [31.5, 30.0]


def test_a_forecast_takes_the_scoring_that_it_is_asked_for_and_refuses_what_is_none(spine: Spine) -> None:
    own, capped = (report(spine, "campaign/forecast", "mqm", studies="20", **more) for more in ({}, CAPPED))
    assert own["pairs"][0]["difference"] > capped["pairs"][0]["difference"] > 0
    assert (own["recipe"], capped["recipe"]) == ("recommended", "recommended+scoring")
    with pytest.raises(Invalid) as refused:
        report(spine, "campaign/forecast", "mqm", scoring="nothing")
    assert refused.value.places[0].loc == ("query", "scoring")


CAPPED = {"scoring": "spans:freitag2021:3"}
