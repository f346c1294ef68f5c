"""One example of each protocol, sent as a judgment, comes to its score in a ranking."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.domain.errors import Invalid
from app.protocols import ALL
from app.protocols.base import JudgedTexts, Protocol, WorkedExample, parse_scoring_options
from app.stats.scoring import resolve_weight_profile

EVERY = [pytest.param(protocol, id=name) for name, protocol in ALL.items()]
NEED_TEXTS = [
    pytest.param(p, id=name)
    for name, p in ALL.items()
    if p.get_requested_measure(parse_scoring_options(p, p.examples[0].options)).needs_text
]
DOCUMENTS = 8
RANKING = {"recipe": "srp-paper", "permutations": "100"}


_numbers = itertools.count(1)


def sendable(protocol: Protocol[Any]) -> WorkedExample[Any]:
    """The last example that scores without its texts, as judgments sent by name are; the last says most."""
    for example in reversed(protocol.examples):
        options = replace(
            parse_scoring_options(protocol, example.options), profile=resolve_weight_profile(example.profile)
        )
        try:
            protocol.score(example.payload, JudgedTexts(), options)
        except Invalid:
            continue
        return example
    raise AssertionError(f"no example of {protocol.name} scores without its texts")


@pytest.fixture
def campaign() -> str:
    """A key that no campaign has yet."""
    return f"campaign{next(_numbers)}"


def send(admin: httpx.Client, campaign: str, protocol: Protocol[Any], example: WorkedExample[Any]) -> httpx.Response:
    """A campaign in which one rater says of two systems what the example says."""
    options: dict[str, object] = dict(example.options)
    if "weights" in protocol.options.model_fields:
        options["weights"] = example.profile
    said = {"key": campaign, "protocol": protocol.name, "basis": protocol.bases[0], "options": options}
    made = admin.post("/v1/campaigns", json=said)
    assert made.status_code == 201, made.text
    judgments = [
        {
            "rater": "rater1",
            "document": f"news.{n}",
            "segment": None if protocol.level == "document" else 1,
            "system": system,
            "payload": example.payload.model_dump(mode="json"),
        }
        for system in ("A", "B")
        for n in range(DOCUMENTS)
    ]
    return admin.post(f"/v1/campaigns/{campaign}/judgments", json=judgments, params={"declare": "true"})


@pytest.mark.parametrize("protocol", EVERY)
def test_an_example_that_is_sent_is_stored_as_it_is_and_ranks_by_the_score_it_states(
    admin: httpx.Client, campaign: str, protocol: Protocol[Any]
) -> None:
    example = sendable(protocol)
    sent = send(admin, campaign, protocol, example)
    assert (sent.status_code, sent.json().get("judgments")) == (200, 2 * DOCUMENTS), sent.text

    exported = admin.get(f"/v1/campaigns/{campaign}/exports/jsonl").text.splitlines()
    payloads = [line["payload"] for line in map(json.loads, exported) if "payload" in line]
    assert len(payloads) == 2 * DOCUMENTS
    assert all(protocol.payload.model_validate(payload) == example.payload for payload in payloads)

    if not protocol.ranks or protocol.level != "segment":
        return
    ranked = admin.get(f"/v1/campaigns/{campaign}/ranking", params=RANKING)
    assert ranked.status_code == 200, ranked.text
    assert ranked.json()["higher_is_better"] is protocol.higher_is_better
    found = {line["system"]: line["score"] for line in ranked.json()["systems"]}
    assert found == pytest.approx({"A": example.score, "B": example.score}, abs=1e-9)


def outputs(text: str) -> str:
    """A file of ours with that text for every output judged."""
    rows = [{"type": "plumbline", "version": 1}]
    rows += [
        {"type": "output", "system": system, "document": f"news.{n}", "position": 1, "text": text}
        for system in ("A", "B")
        for n in range(DOCUMENTS)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("protocol", NEED_TEXTS)
def test_every_number_of_a_judgment_ranks_once_the_outputs_are_known(
    admin: httpx.Client, campaign: str, protocol: Protocol[Any]
) -> None:
    example = sendable(protocol)
    send(admin, campaign, protocol, example)
    taken = admin.post(f"/v1/campaigns/{campaign}/imports", params={"format": "jsonl"}, content=outputs(example.output))
    assert taken.status_code < 300, taken.text
    options = parse_scoring_options(protocol, example.options)
    for measure in protocol.list_judgment_measures(options)[1:]:
        ranked = admin.get(
            f"/v1/campaigns/{campaign}/ranking", params={**RANKING, "scoring": f"criterion:{measure.name}"}
        )
        assert ranked.status_code == 200, ranked.text
        known = protocol.score(example.payload, example.judged_texts, replace(options, measure=measure.name)).score
        assert ranked.json()["systems"][0]["score"] == pytest.approx(known, abs=1e-9)
        assert ranked.json()["higher_is_better"] is measure.higher_is_better


@pytest.mark.parametrize("protocol", NEED_TEXTS)
def test_a_number_that_needs_the_output_is_refused_where_that_is_unknown(
    admin: httpx.Client, campaign: str, protocol: Protocol[Any]
) -> None:
    told = send(admin, campaign, protocol, protocol.examples[0])
    assert told.status_code == 422
    assert told.json()["errors"][0]["loc"] == ["body", 0, "payload", "text"]
