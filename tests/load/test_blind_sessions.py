"""A whole session of a rater, by every protocol, and not one planted name in anything that the rater can fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx
import pytest

from app import protocols
from app.client.campaign_client import CampaignClient
from app.main import create_app
from app.protocols.base import ProtocolOptions, parse_scoring_options
from app.services.tasks import tasks
from app.simulation import (
    CampaignRaterForms,
    HandInTask,
    SendJudgment,
    SimulatedRater,
    generate_session_actions,
    make_rater_model_template,
    parse_task,
)
from app.simulation.session import SendHeartbeat, SendPreference
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.load.server import Served, serving
from tests.spine import fresh

MARK = "qx7"  # begins every name that no rater may come across
SYSTEMS = tuple(f"{MARK}system-{n}" for n in range(2))
DOCUMENTS = tuple(f"{MARK}document-{n}" for n in range(2))
# Members of an answer that would say whose a text is, why it is shown, or what others think of it.
TELLING = frozenset(
    {"system", "systems", "role", "credits", "control", "variant", "of", "group", "bucket", "seed", "propensity"}
    | {"domain", "document"}
)
PARAMETER = re.compile(r"\{(\w+)\}")
CONTROLS = {
    "bad_reference": {"rate": 0.2, "method": "word_mixing"},
    "repeat": {"rate": 0.1, "min_distance": 1},
    "reference": {"rate": 0.1},
}
# One of each kind of form and of texts; the others differ from one of them in scales, categories and names.
EACH_KIND = (
    "back_translation",
    "custom",
    "da_document",
    "esa",
    "mqm",
    "mqm_reannotation",
    "postedit",
    "rating",
    "xsts",
)


class Told(AssertionError):
    """A rater was told what they must not know."""


@dataclass
class Eye:
    """A rater's front-end that keeps everything it is sent."""

    client: httpx.Client
    secret: str
    bodies: list[tuple[str, str]] = field(default_factory=list)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """One request; what came stays for the look at the end."""
        given = {"Authorization": f"Bearer {self.secret}", **headers}
        answer = self.client.request(method, path, json=body, headers=given)
        self.bodies.append((f"{method} {path}", f"{answer.status_code} {dict(answer.headers)}\n{answer.text}"))
        return answer

    def check(self) -> None:
        """Raise Told where anything holds a planted name."""
        for request, body in self.bodies:
            if MARK in body:
                at = body.index(MARK)
                raise Told(f"{request}: {body[max(at - 60, 0) : at + 60]!r}")


def check_members(value: object, where: str) -> None:
    """Raise Told where a member of an answer tells. Payloads are the rater's own."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in TELLING:
                raise Told(f"{where}.{key}")
            if key != "payload":
                check_members(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            check_members(inner, f"{where}[]")


@dataclass(frozen=True)
class Place:
    """A server, the database behind it, and a client of it."""

    served: Served
    url: str
    client: httpx.Client

    def eye(self, managed: CampaignClient, rater: str) -> Eye:
        """A rater's front-end, under a new link."""
        return Eye(self.client, managed.renew_rater_tokens((rater,))[rater])


@pytest.fixture(scope="module")
def place(postgres, migrated_template) -> Iterator[Place]:
    with (
        fresh(postgres, migrated_template) as spine,
        serving(spine.url) as found,
        httpx.Client(base_url=found.url, timeout=120) as client,
    ):
        yield Place(found, spine.url, client)


def options_for(name: str) -> dict[str, object]:
    """The options of the first example, with everything asked that can be asked."""
    protocol = protocols.get_protocol(name)
    declared: type[ProtocolOptions] = protocol.options
    extra: dict[str, object] = {}
    if "document_score" in declared.model_fields:
        extra["document_score"] = True
    if "preference" in declared.model_fields:
        extra["preference"] = "ranking"
    return {**protocol.examples[0].options, **extra}


def segment(d: int, s: int) -> dict[str, object]:
    """A source with a reference and something known of it, both named."""
    references = {f"{MARK}ref": f"Hier ist der Satz {d} {s}."}
    return {"source": f"Here is sentence {d} {s}.", "references": references, "meta": {f"{MARK}m": f"{MARK}v"}}


def campaign(served: Served, name: str, *, key: str = "") -> CampaignClient:
    """A campaign in which everything that has a name bears the mark, but for its key and its raters."""
    protocol = protocols.get_protocol(name)
    managed = served.managed(key or f"c-{name.replace('_', '-')}")
    write, path = managed.remote.send_change, managed.campaign_path
    body = {"protocol": name, "options": options_for(name), "basis": protocol.bases[0], "target_language": "de"}
    settings = {"note": f"{MARK}settings"} | ({"prefill": "default"} if protocol.accepts_prefill else {})
    write("POST", "/v1/campaigns", {}, {"key": managed.campaign, "name": "A campaign", **body, "settings": settings})
    asked = parse_scoring_options(protocol, options_for(name))
    for n, system in enumerate(SYSTEMS):
        named = {"name": f"{MARK}n", "lab": f"{MARK}lab", "tags": [f"{MARK}tag"]}
        write("PUT", f"{path}/systems/{system}", {}, {**named, "kind": "mt" if n else "human"})
    for d, document in enumerate(DOCUMENTS):
        named = {"name": f"{MARK}d", "domain": f"{MARK}domain", "position": d + 1}
        write("PUT", f"{path}/documents/{document}", {}, {**named, "segments": [segment(d, s) for s in range(2)]})
        for n, system in enumerate(SYSTEMS):
            severity = protocols.list_known_severities(protocol, asked)[-1]
            span = {"start": 0, "end": 4, "severity": severity, "prefill": "p1"}
            outputs: dict[str, object] = {"segments": [f"Text {d} {s} in Fassung {n} steht hier." for s in range(2)]}
            if protocol.accepts_prefill:
                outputs["prefill"] = [[span]] * 2
            write("PUT", f"{path}/systems/{system}/outputs/{document}", {}, outputs)
    for rater in ("r1", "r2"):
        managed.enrol_rater(rater, {"attributes": {f"{MARK}attribute": f"{MARK}a"}} if rater == "r2" else {})
    columns = 2 if protocol.contrastive else 1
    design = {"grouping": "psxs", "ratings_per_item": 2, "controls": CONTROLS, "task": {"columns": columns}, "seed": 3}
    managed.compile_and_freeze_plan(design)
    managed.change_campaign_state("open")
    return managed


def sit(eye: Eye, forms: CampaignRaterForms, mind: SimulatedRater, path: str) -> int:
    """Go through every task that there is, looking at everything on the way; how many tasks."""
    for n in range(50):
        told = eye.send("POST", f"{path}/lease").json()
        check_members(told, "lease")
        if told["task"] is None:
            assert told["why"] == "finished"
            return n
        task = parse_task(told["task"])
        here = f"/v1/tasks/{task.task}"
        assert not any(one["judgment"] for item in told["task"]["items"] for one in item["segments"])
        acts, came = generate_session_actions(mind, task, forms, page=f"p{n}"), None
        while True:
            try:
                act = acts.send(came)
            except StopIteration:
                break
            came = None
            match act:
                case SendJudgment():
                    where = f"{here}/judgments/{act.item}" + (f"/{act.segment}" if act.segment else "")
                    answer = eye.send("PUT", where, act.payload, **{"If-Match": f'"{act.seen}"'})
                    assert answer.status_code == 200, answer.text
                    came = answer.json()["revision"]
                case SendPreference():
                    eye.send("PUT", f"{here}/judgments/screens/{act.screen}", act.payload)
                case SendHeartbeat():
                    eye.send("POST", f"{here}/heartbeat", {"events": list(act.events)})
                case HandInTask():
                    assert eye.send("POST", f"{here}/submit").status_code == 200
        check_members(eye.send("GET", here).json(), "task")
    raise AssertionError("the tasks do not end")


def session(place: Place, name: str) -> Eye:
    """What the second of two raters is sent, after the first has judged everything that both are given."""
    managed = campaign(place.served, name)
    planted = make_rater_model_template(
        managed.fetch_campaign_for_simulation(), managed.fetch_outputs_for_simulation(), ("r1", "r2"), seed=1
    )
    forms = CampaignRaterForms.from_rater_model(planted)
    for rater in ("r2", "r1"):
        eye = place.eye(managed, rater)
        assert sit(eye, forms, SimulatedRater.from_rater_model(planted, rater), managed.campaign_path) > 0
    for path in (
        "/v1/me",
        "/v1/me/export",
        "/v1/me/completions",
        "/v1/me/consent",
        f"{managed.campaign_path}/guidelines",
    ):
        eye.send("GET", path)
    return eye


@pytest.mark.parametrize(
    "name",
    [name if name in EACH_KIND else pytest.param(name, marks=pytest.mark.soak) for name in sorted(protocols.ALL)],
)
def test_a_whole_session_names_no_system_no_role_and_nobody_elses_answer(place, name):
    eye = session(place, name)

    eye.check()
    assert len(eye.bodies) > 10


def test_every_address_that_there_is_tells_a_rater_nothing(place):
    """All routes that can be read, pages included, with the names that a rater would have to guess."""
    managed = campaign(place.served, "esa", key="addresses")
    database = Database(place.url, size=2, role="plumbline_app")
    app = create_app(database, ServiceOptions())
    database.close()
    paths = {route.path for route in app.routes if "GET" in (getattr(route, "methods", None) or ())}
    eye = place.eye(managed, "r1")
    known = {"campaign": managed.campaign, "rater": "r2"}
    allowed = 0
    for path in sorted(paths):
        filled = PARAMETER.sub(lambda part: known.get(part[1], "1"), path.replace(":path", ""))
        allowed += eye.send("GET", filled).status_code == httpx.codes.OK

    eye.check()
    assert len(paths) > 40
    assert 3 < allowed < len(paths)


def test_a_task_that_named_its_system_would_be_found_out(place, monkeypatch):
    """The control: what shows a text says whose it is."""
    honest = tasks.list_shown_texts

    def telling(*args: object, **given: object):
        first, *rest = honest(*args, **given)
        return (type(first)(f"{first.label} by {SYSTEMS[0]}", first.text, first.side), *rest)

    monkeypatch.setattr(tasks, "list_shown_texts", telling)
    managed = campaign(place.served, "da", key="telling")
    eye = place.eye(managed, "r1")
    told = eye.send("POST", f"{managed.campaign_path}/lease").json()

    with pytest.raises(Told):
        eye.check()
    with pytest.raises(Told):
        check_members({**told, "task": {**told["task"], "items": [{"role": "degraded"}]}}, "lease")
