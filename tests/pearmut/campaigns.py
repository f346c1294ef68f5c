"""Campaigns as Pearmut takes them, for tests, and an annotator who answers as its page does."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from app.services.data import exports
from app.storage.db import Database

DOCUMENTS = [
    [
        {
            "item_id": f"{name}_#_{n}",
            "src": f"Source {name} {n}.",
            "tgt": {"Best": f"Gut {name} {n}.", "Worst": f"Übel {n}"},
        }
        for n in range(2)
    ]
    for name in ("news", "talk", "blog")
]
FORM = [
    {"text": "Which language did you grow up with?", "form": "string"},
    {"text": "Years abroad", "form": "number"},
    {"text": "Thank you.", "form": None},
]
TUTORIAL = [
    {
        "src": "Try it.",
        "tgt": {"Best": "Gut.", "Worst": "Schlecht."},
        "validation": {
            "Best": {"score": [80, 100], "score_greaterthan": "Worst", "warning": "Best is better."},
            "Worst": {
                "error_spans": [{"start_i": [0, 2], "end_i": [6, 9], "severity": "major"}],
                "warning": "Mark it.",
            },
        },
    }
]
CHECK = [{"src": "Check.", "tgt": {"Best": "Ja."}, "validation": {"Best": {"score": [0, 10]}}}]


def campaign(**changes: Any) -> dict[str, Any]:
    """Three documents of two systems by cESA for two users, one list for all."""
    info = {"assignment": "single-stream", "protocol": "cESA", "users": ["ann", "bob"], "seed": 1}
    base = {"campaign_id": "wmt pilot", "info": info, "data": DOCUMENTS}
    given = copy.deepcopy({**base, **changes})
    given["info"] = {**info, **changes.get("info", {})}
    return given


def judged_once(database: Database, key: str) -> int:
    """How many outputs were judged, each by one judgment of a rater that was never revised."""
    lines = b"".join(exports.export_campaign(database, key, "jsonl")).splitlines()
    judged = [line for line in map(json.loads, lines) if line["type"] == "judgment"]
    outputs = {(one["rater"], *one["systems"], one["document"], one["position"]) for one in judged}
    assert len(outputs) == len(judged)
    assert {one["revision"] for one in judged} == {1}
    return len(outputs)


class Annotator:
    """One user's page: sends what the real one sends."""

    def __init__(self, client: httpx.Client, campaign_id: str, user_id: str) -> None:
        self.client, self._who = client, {"campaign_id": campaign_id, "user_id": user_id}

    def ask(self) -> httpx.Response:
        """Ask what comes next."""
        return self.client.post("/get-next-item", json=self._who)

    def next(self) -> dict[str, Any]:
        """What comes next; it must come."""
        answer = self.ask()
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    def item(self, place: int | str) -> httpx.Response:
        """Ask for one item."""
        return self.client.post("/get-i-item", json={**self._who, "item_i": place})

    def send(self, shown: Mapping[str, Any], annotation: Sequence[object], **more: Any) -> httpx.Response:
        """Answer what was shown. more: members of the payload, such as actions."""
        actions = [{"time": 1000.0, "action": "load"}, {"time": 1030.0, "action": "submit"}]
        payload = {"annotation": annotation, "actions": actions, "item": shown["payload"], **more}
        return self.client.post(
            "/log-response", json={**self._who, "item_i": shown["info"]["item_i"], "payload": payload}
        )

    def judge(self, shown: Mapping[str, Any], score: float = 75, **more: Any) -> list[dict[str, Any]]:
        """Give every output of a document a score; what was sent."""
        annotation = [
            {model: {"score": score, "error_spans": [], "textfield": None} for model in item["tgt"]}
            for item in shown["payload"]
        ]
        answer = self.send(shown, annotation, **more)
        assert (answer.status_code, answer.json()) == (200, "ok")
        return annotation
