"""What protocols say of themselves and others act on: numbers that need texts, bases, texts that rank nothing."""

from __future__ import annotations

import json

import httpx
import pytest

from app.protocols import ALL
from tests.protocols.test_post_to_ranking import DOCUMENTS, NEED_TEXTS, RANKING, send

SYSTEMS = ("A", "B")


@pytest.mark.parametrize("protocol", NEED_TEXTS)
def test_a_number_that_needs_the_output_ranks_where_outputs_came_before_the_judgments(
    admin: httpx.Client, protocol: object
) -> None:
    one = ALL[protocol.name]
    example = one.examples[1]
    assert admin.post("/v1/campaigns", json={"key": "texts", "protocol": one.name}).status_code == 201
    rows: list[dict[str, object]] = [{"type": "plumbline", "version": 1}]
    rows += [{"type": "system", "key": system, "name": system} for system in SYSTEMS]
    rows += [{"type": "document", "key": f"news.{n}", "name": f"news.{n}"} for n in range(DOCUMENTS)]
    places = [{"system": system, "document": f"news.{n}"} for system in SYSTEMS for n in range(DOCUMENTS)]
    rows += [{"type": "output", **place, "position": 1, "text": example.output} for place in places]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    taken = admin.post("/v1/campaigns/texts/imports", params={"format": "jsonl"}, content=content)
    assert taken.status_code < 300, taken.text
    payload = example.payload.model_dump(mode="json")
    judgments = [{**place, "rater": "r", "segment": 1, "payload": payload} for place in places]
    sent = admin.post("/v1/campaigns/texts/judgments", json=judgments, params={"declare": "true"})
    assert sent.status_code == 200, sent.text
    ranked = admin.get("/v1/campaigns/texts/ranking", params=RANKING).json()
    assert [line["score"] for line in ranked["systems"]] == pytest.approx([example.score] * 2, abs=1e-9)


@pytest.mark.parametrize("name", [name for name, protocol in ALL.items() if not protocol.ranks])
def test_what_ranks_nothing_is_stored_and_not_ranked(admin: httpx.Client, name: str) -> None:
    assert send(admin, "nothing", ALL[name], ALL[name].examples[0]).status_code == 200
    told = admin.get("/v1/campaigns/nothing/ranking", params=RANKING)
    assert (told.status_code, "rank nothing" in told.text) == (422, True)


@pytest.mark.parametrize("name", [name for name, protocol in ALL.items() if "source" not in protocol.bases])
def test_a_campaign_on_a_basis_that_its_protocol_does_not_have_is_refused(admin: httpx.Client, name: str) -> None:
    told = admin.post("/v1/campaigns", json={"key": "basis", "protocol": name, "basis": "source"})
    assert told.status_code == 422
    assert told.json()["errors"][0]["loc"][-1] == "basis"


@pytest.mark.parametrize("name", [name for name, protocol in ALL.items() if protocol.level == "document"])
def test_scores_of_whole_documents_rank_where_nothing_else_is_asked(admin: httpx.Client, name: str) -> None:
    example = ALL[name].examples[1]
    assert send(admin, "whole", ALL[name], example).status_code == 200
    ranked = admin.get("/v1/campaigns/whole/ranking", params=RANKING)
    assert ranked.status_code == 200, ranked.text
    assert [line["score"] for line in ranked.json()["systems"]] == pytest.approx([example.score] * 2, abs=1e-9)
