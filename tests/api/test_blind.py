"""Nothing that a rater's credential can fetch names a system, a role, a control or another's score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.protocols import ALL
from app.storage import tasks
from app.storage.db import Database
from tests.api.access_rows import EXPECTED
from tests.api.protocol_families import FIRSTS
from tests.collecting import Collecting, collect

PLANTED = {
    "system": "plantedSystemName",
    "another system": "plantedOtherSystem",
    "document": "plantedDocument",
    "reference": "plantedReferenceName",
    "variant": "plantedVariantName",
    "prefill": "plantedPrefillName",
    "team": "plantedTeam",
    "rater": "plantedColleague",
    "lab": "plantedLab",
    "item": "plantedItemKey",
    "task": "plantedTaskKey",
}
SCORE_OF_ANOTHER = 61.803398875
KEYS = {"role", "roles", "system", "systems", "variant", "control", "credits", "accepted", "surplus_from", "group"}
NAMES = {"basis", "name", "protocol"}  # of a basis and of a protocol, which happen to be called like roles
ROLES = {"rating", "repeat", "reference", "degraded", "calibration"}
OWN = {"public", "any", "rater", "own page"}  # what a rater's credential may open, as access_rows.py has it
PLANT = """
UPDATE systems SET key = CASE key WHEN 'sysA' THEN 'plantedSystemName' ELSE 'plantedOtherSystem' || id END,
       name = 'plantedSystemName', lab = 'plantedLab';
UPDATE documents SET key = 'plantedDocument' || id, name = 'plantedDocument';
UPDATE tasks SET key = 'plantedTaskKey' || id;
UPDATE items SET key = 'plantedItemKey' || id;
INSERT INTO reference_texts (campaign_id, segment_id, name, text)
    SELECT campaign_id, id, 'plantedReferenceName', 'Ein Text, der anders ist.' FROM segments WHERE {with_reference};
INSERT INTO variants (campaign_id, output_id, kind, name, text)
    SELECT campaign_id, id, 'degraded', 'plantedVariantName', 'Worte durcheinander hier' FROM outputs;
INSERT INTO variants (campaign_id, output_id, kind, name, spans)
    SELECT campaign_id, id, 'prefill', 'plantedPrefillName',
           '[{{"side": "target", "start": 0, "end": 4, "severity": "minor", "prefill": "p1"}}]' FROM outputs;
UPDATE items SET role = 3, variant = 'plantedVariantName' WHERE position = 2;
UPDATE items SET role = 2, reference = 'plantedReferenceName' WHERE position = 3 AND {with_reference};
UPDATE items SET role = 1, of_item_id = (SELECT min(id) FROM items x WHERE x.task_id = items.task_id)
    WHERE position = 4;
UPDATE items SET prefill = 'plantedPrefillName' WHERE {with_prefill} AND reference IS NULL;
"""


@dataclass
class Seen:
    """Everything that a rater was answered."""

    client: httpx.Client
    headers: dict[str, str]
    texts: list[str] = field(default_factory=list)
    told: list[object] = field(default_factory=list)

    def send(self, method: str, url: str, body: object = None) -> httpx.Response:
        answer = self.client.request(method, url, headers=self.headers, **({"json": body} if body is not None else {}))
        self.texts.append(answer.text + json.dumps(dict(answer.headers)))
        if answer.status_code == 200 and ("/tasks/" in url or "/lease" in url):
            self.told.append(answer.json())
        return answer

    def leaks(self) -> Iterator[str]:
        for text in self.texts:
            for what, name in {**PLANTED, "score": str(SCORE_OF_ANOTHER)}.items():
                if name in text:
                    yield f"{what}: {text[:200]}"
        for told in self.told:
            yield from _revealing(told)


def _revealing(told: object, name: str = "") -> Iterator[str]:
    """Members that speak of roles and systems, and values that are roles."""
    if isinstance(told, dict):
        for key, value in told.items():
            if key in KEYS:
                yield f"a member {key}"
            yield from _revealing(value, key)
    elif isinstance(told, list):
        for value in told:
            yield from _revealing(value, name)
    elif told in ROLES and name not in NAMES:
        yield f"{name} is {told}"


def planted(database: Database, protocol: str) -> Collecting:
    """A campaign of this protocol, with names that must not be seen, and with a colleague's score."""
    one = ALL[protocol]
    live = collect(
        database,
        key=f"blind-{protocol}"[:64].replace("_", "-"),
        protocol=protocol,
        systems=("sysA", "sysB", "sysC", "sysD"),
        raters=("r1", "plantedColleague"),
        documents=1,
        ratings=2,
        options=one.examples[0].options,
        basis=one.bases[0],
    )
    similar = one.hides_source and one.bases[0] != "source"
    with psycopg.connect(database.url) as db:
        db.execute(
            PLANT.format(
                with_reference="false" if similar else "true", with_prefill="true" if one.accepts_prefill else "false"
            ).encode()
        )
        db.execute(
            """INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version)
               SELECT i.campaign_id, i.id, g.id, r.id, 1, jsonb_build_object('score', %s::float8), 1
               FROM items i JOIN segments g ON g.document_id = i.document_id
               JOIN raters r ON r.campaign_id = i.campaign_id AND r.key = 'plantedColleague'""",
            (SCORE_OF_ANOTHER,),
        )
    return live


def everything(seen: Seen, live: Collecting, app: FastAPI, refused: slice = slice(None)) -> dict[str, Any]:
    """Fetch and send all that the credential can.

    refused: which to read of the addresses that raters are refused, whatever the protocol; where it is all, what is no
    judgment is sent to each segment, otherwise to the first of each item.
    """
    task: dict[str, Any] = seen.send("POST", f"/v1/campaigns/{live.key}/lease").json()["task"]
    url = f"/v1/tasks/{task['task']}"
    payload = ALL[task["protocol"]["name"]].examples[0].payload.model_dump(mode="json")
    seen.send("GET", url)
    for item in range(1, 6):
        for segment in (1, 2, 3):
            seen.send("PUT", f"{url}/judgments/{item}/{segment}", payload)
            if segment == 1 or refused == slice(None):
                seen.send("PUT", f"{url}/judgments/{item}/{segment}", {"protocol": "nobody"})
        seen.send("PUT", f"{url}/judgments/{item}", payload)
    seen.send("PUT", f"{url}/judgments/screens/1", {"protocol": "da", "preference": [[1], [2]]})
    seen.send("POST", f"{url}/judgments", [{"item": 1, "segment": 1, "payload": payload}])
    seen.send("POST", f"{url}/heartbeat", {"events": [{"session": "s", "seq": 1, "kind": "focus", "at_ms": 5}]})
    seen.send("POST", f"{url}/flags", {"reason": "technical", "item": 1})
    seen.send("POST", f"{url}/submit")
    routes = [route for route in app.routes if isinstance(route, APIRoute) and "GET" in (route.methods or ())]
    own = [route for route in routes if EXPECTED[f"GET {route.path_format}"] in OWN]
    for route in own + [route for route in routes if route not in own][refused]:
        path = route.path_format.format(**dict.fromkeys(route.param_convertors, "x"))
        if not path.startswith(("/v1/protocols", "/docs", "/openapi", "/assets", "/v1/recipes")):
            seen.send("GET", path.replace("/v1/campaigns/x", f"/v1/campaigns/{live.key}").replace("/v1/tasks/x", url))
    return task


@pytest.mark.parametrize("protocol", FIRSTS)
def test_a_rater_sees_no_system_role_control_or_foreign_score(
    protocol: str, anonymous: httpx.Client, database: Database, app: FastAPI
) -> None:
    """What raters are refused is asked under one protocol each, in turn."""
    in_turn = slice(FIRSTS.index(protocol), None, len(FIRSTS))
    see_nothing_foreign(protocol, anonymous, database, app, in_turn)


@pytest.mark.soak
@pytest.mark.parametrize("protocol", sorted(ALL))
def test_a_rater_of_any_protocol_sees_nothing_foreign_at_any_address(
    protocol: str, anonymous: httpx.Client, database: Database, app: FastAPI
) -> None:
    see_nothing_foreign(protocol, anonymous, database, app, slice(None))


def see_nothing_foreign(
    protocol: str, anonymous: httpx.Client, database: Database, app: FastAPI, refused: slice
) -> None:
    live = planted(database, protocol)
    seen = Seen(anonymous, live.auth("r1"))
    task = everything(seen, live, app, refused)
    assert len(task["items"]) == 4
    assert len(seen.texts) > 30
    assert not list(seen.leaks())
    if ALL[protocol].hides_source:
        for item in task["items"]:
            for segment in item["segments"]:
                assert (segment["source"], segment["text"], segment["sha256"]) == (None, None, None)
                assert [text["label"] for text in segment["texts"]] == ["Text 1", "Text 2"]
                assert {text["side"] for text in segment["texts"]} == {None}
        firsts = [item["segments"][0]["texts"][0]["text"] for item in task["items"]]
        assert len({first == firsts[0] for first in firsts}) == 2  # the order is drawn for each item
    else:
        texts = [item["segments"][0]["text"] for item in task["items"]]
        assert texts[1] == "Worte durcheinander hier"
        assert texts[2] == "Ein Text, der anders ist."


@pytest.mark.soak
def test_an_answer_that_names_a_system_is_caught(
    anonymous: httpx.Client, database: Database, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the same with the name of the variant in front of its text."""
    monkeypatch.setattr(tasks, "_TEXTS", tasks._TEXTS.replace("THEN v.text", "THEN i.variant || v.text"))
    live = planted(database, "da")
    seen = Seen(anonymous, live.auth("r1"))
    everything(seen, live, app)
    assert any(leak.startswith("variant") for leak in seen.leaks())
