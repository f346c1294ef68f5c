"""A campaign planned, opened and judged by simulated raters, through the routes that any front-end uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import httpx

from app import protocols
from app.design.design_choices import ControlRules
from app.protocols.base import ProtocolOptions
from app.services.access import tokens
from app.simulation import (
    CampaignRaterForms,
    HandInTask,
    OutputForSimulation,
    SendJudgment,
    SimulatedRater,
    generate_session_actions,
    make_rater_model_template,
    parse_task,
)
from app.simulation.rater_model_template import CampaignForSimulation
from app.simulation.session import SendHeartbeat, SendPreference
from app.simulation.task_view import DisplayedTask
from app.storage.db import Database

SYSTEMS = ("sysA", "sysB")
DOCUMENTS = ("d1", "d2", "d3")
RATERS = ("r1", "r2", "r3")
REFERENCE = "refA"
CAPACITY = 1000
"""Items; more than there are, so that a plan can weigh raters by it and nobody runs out."""
KINDS = tuple(sorted(one.name for one in fields(ControlRules) if one.default == 0.0))
"""Kinds of control items, by the members of a design that say how many there are."""
CONTROLS: Mapping[str, dict[str, object]] = {kind: {"rate": 0.15} for kind in KINDS}


def options_for(name: str) -> dict[str, object]:
    """The options of the first example, with everything asked that can be asked."""
    protocol = protocols.get_protocol(name)
    declared: type[ProtocolOptions] = protocol.options
    asked = {"document_score": True, "preference": "ranking"}
    extra = {member: value for member, value in asked.items() if member in declared.model_fields}
    return {**protocol.examples[0].options, **extra}


def ok(answer: httpx.Response) -> Any:
    """The body of what went well."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json() if answer.content else None


def text_of(system: str, document: str, position: int) -> str:
    """An output; on the first segment of the first document all systems wrote the same."""
    who = "all" if (document, position) == ("d1", 1) else system
    return f"The text of {who} for {document} has a place {position} and some more words."


@dataclass(frozen=True)
class Rehearsed:
    """A campaign, as its manager's client sees it. client: under the manager's credential."""

    client: httpx.Client
    database: Database
    key: str
    protocol: str

    @property
    def path(self) -> str:
        """Where its routes begin."""
        return f"/v1/campaigns/{self.key}"

    def set_up(self, *, options: Mapping[str, object] | None = None, languages: bool = True) -> None:
        """The campaign with its texts and raters: a draft."""
        protocol = protocols.get_protocol(self.protocol)
        made: dict[str, object] = {
            "key": self.key,
            "protocol": self.protocol,
            "options": options_for(self.protocol) if options is None else dict(options),
            "basis": protocol.bases[0],
        }
        made |= {"source_language": "en", "target_language": "de"} if languages else {}
        made |= {"settings": {"prefill": "default"}} if protocol.accepts_prefill else {}
        ok(self.client.post("/v1/campaigns", json=made))
        for n, system in enumerate(SYSTEMS):
            ok(self.client.put(f"{self.path}/systems/{system}", json={"kind": "human" if n else "mt"}))
        for d, document in enumerate(DOCUMENTS, 1):
            segments = [
                {"source": f"Source {d} {s} is here.", "references": {REFERENCE: f"Reference {d} {s} stands here."}}
                for s in (1, 2)
            ]
            ok(self.client.put(f"{self.path}/documents/{document}", json={"position": d, "segments": segments}))
            for system in SYSTEMS:
                outputs: dict[str, object] = {"segments": [text_of(system, document, s) for s in (1, 2)]}
                if protocol.accepts_prefill:
                    span = {"start": 0, "end": 4, "severity": "minor", "prefill": "p1"}
                    outputs["prefill"] = [[span], [span]]
                ok(self.client.put(f"{self.path}/systems/{system}/outputs/{document}", json=outputs))
        for rater in RATERS:
            said = {"attributes": {"note": rater}, "capacity": CAPACITY}
            ok(self.client.put(f"{self.path}/raters/{rater}", json=said))

    def open(self, design: Mapping[str, object]) -> None:
        """Plan and open."""
        ok(self.client.post(f"{self.path}/plan", json={"seed": 3, "overlap": None, **design}))
        ok(self.client.post(f"{self.path}/open"))

    def put_rater(self, rater: str, **said: object) -> None:
        """Change what is known of a rater."""
        seen = self.client.get(f"{self.path}/raters/{rater}").headers["ETag"]
        ok(self.client.put(f"{self.path}/raters/{rater}", json=said, headers={"If-Match": seen}))

    def judge(self, rater: str, *, most: int | None = None) -> int:
        """Let a rater judge all that there is, or that many segments, handing nothing in after that; how many."""
        session = self._session(rater)
        planted = [OutputForSimulation(s, d, p, text_of(s, d, p)) for s in SYSTEMS for d in DOCUMENTS for p in (1, 2)]
        view = ok(self.client.get(self.path))
        about = CampaignForSimulation(self.key, self.protocol, view["options"], view["basis"])
        model = make_rater_model_template(about, planted, RATERS, seed=1)
        mind, forms = SimulatedRater.from_rater_model(model, rater), CampaignRaterForms.from_rater_model(model)
        while most is None or mind.judged < most:
            told = ok(self.client.post(f"{self.path}/lease", headers=session))["task"]
            if told is None:
                break
            self._sit(mind, forms, parse_task(told), session, most)
        return mind.judged

    def _session(self, rater: str) -> dict[str, str]:
        """The header of a rater."""
        with self.database.transaction() as opened:
            secret = tokens.issue_token(opened, role="rater", campaign=self.key, rater=rater).secret
        return {"Authorization": f"Bearer {secret}"}

    def act(self, rater: str, path: str) -> None:
        """Post something without a body as a rater does."""
        ok(self.client.post(path, headers=self._session(rater)))

    def say_again(self, rater: str, task: str, said: Collection[Mapping[str, Any]]) -> None:
        """Lease a task that was reopened, and say everything as it was said. said: as the manager sees it."""
        session = self._session(rater)
        assert ok(self.client.post(f"{self.path}/lease", headers=session))["task"]["task"] == task
        of_item: dict[int, list[int]] = {}  # an item may begin in the middle of its document
        for one in said:
            of_item.setdefault(one["item"], []).extend([one["segment"]] if one["segment"] else [])
        for one in said:
            segment = f"/{sorted(of_item[one['item']]).index(one['segment']) + 1}" if one["segment"] else ""
            where = f"/v1/tasks/{task}/judgments/{one['item']}{segment}"
            body = {"protocol": self.protocol, **one["payload"]}
            ok(self.client.put(where, json=body, headers={**session, "If-Match": f'"{one["revision"]}"'}))
        ok(self.client.post(f"/v1/tasks/{task}/submit", headers=session))

    def tasks(self, **query: str) -> list[str]:
        """The names of tasks, as the manager sees them; of few enough for one page."""
        page = ok(self.client.get(f"{self.path}/tasks", params={"limit": "200", **query}))
        assert page["next"] is None
        return [one["task"] for one in page["items"]]

    def _sit(
        self,
        mind: SimulatedRater,
        forms: CampaignRaterForms,
        task: DisplayedTask,
        session: dict[str, str],
        most: int | None,
    ) -> None:
        acts, came, here = (
            generate_session_actions(mind, task, forms, page=f"p{mind.judged}"),
            None,
            f"/v1/tasks/{task.task}",
        )
        while most is None or mind.judged < most:
            try:
                act = acts.send(came)
            except StopIteration:
                return
            came = None
            match act:
                case SendJudgment():
                    where = f"{here}/judgments/{act.item}" + (f"/{act.segment}" if act.segment else "")
                    seen = {**session, "If-Match": f'"{act.seen}"'}
                    came = ok(self.client.put(where, json=act.payload, headers=seen))["revision"]
                case SendPreference():
                    ok(self.client.put(f"{here}/judgments/screens/{act.screen}", json=act.payload, headers=session))
                case SendHeartbeat():
                    ok(self.client.post(f"{here}/heartbeat", json={"events": list(act.events)}, headers=session))
                case HandInTask():
                    ok(self.client.post(f"{here}/submit", headers=session))

    def judgments(self, **query: str) -> Iterator[dict[str, Any]]:
        """What the manager sees of every judgment."""
        asked = {"limit": "200", **query}
        while True:
            page = ok(self.client.get(f"{self.path}/judgments", params=asked))
            yield from page["items"]
            if page["next"] is None:
                return
            asked["cursor"] = page["next"]
