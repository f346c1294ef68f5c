"""The Python client against the application in process: from texts to judgments, and from judgments to a ranking."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import plumbline_client
import pytest
from fastapi import FastAPI
from plumbline_client import AsyncClient, Client, Problem, RetryPolicy, UploadChanged, models
from plumbline_client.sync import data as sync_data
from sqlalchemy import text

from app.services.access import tokens
from app.services.jobs import rankings
from app.services.media.media_settings import MediaSettings
from app.storage.db import Database
from app.storage.media.stores import FolderMediaStore
from tests.api.conftest import MQM
from tests.described import resolved
from tests.media_files import make_pdf, make_png
from tests.working import draining

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
OPENAPI = json.loads((ROOT / "openapi.json").read_text(encoding="utf-8"))
SCORES = {"A": 90, "B": 60}
DESIGN = {"seed": 3, "overlap": None, "task": {"max_segments": 2}}
# Models whose schema has another name in the document.
SCHEMAS = {
    "CampaignInfo": "CampaignOut",
    "ImportFile": "FileOut",
    "ImportReport": "ImportReport",
    "Invitation": "CreatedInvitationOut",
    "Link": "RaterLinkOut",
    "Completion": "TaskWithCompletionCodeOut",
    "Batch": "ManagedTaskOut",
    "BatchItem": "ManagedTaskItemOut",
    "Receipt": "JudgmentReceiptOut",
    "HandedIn": "HandedInTaskOut",
    "Me": "Me",
    "Version": "Version",
    "Missing": "MissingJudgmentOut",
    "Progress": "Progress",
    "TaskContent": "TaskOut",
    "ShownSegment": "ShownSegmentOut",
    "ShownItem": "ShownItemOut",
    "JobFault": "JobError",
    "Gate": "GateView",
    "Replication": "ReplicationView",
    "Page": "Page_CampaignOut_",
}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests do not count."""
    for name in ("PLUMBLINE_SERVER", "PLUMBLINE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def app(make_app: Callable[..., FastAPI], tmp_path: Path) -> FastAPI:
    """The application with a folder for media."""
    folder = tmp_path / "media"
    return make_app(media=MediaSettings(FolderMediaStore(folder), folder / "parts"))


@pytest.fixture
def plumbline(anonymous: httpx.Client, secret: Callable[..., str]) -> Client:
    """The client of an admin."""
    return Client(http=anonymous, token=secret())


@pytest.fixture
def rater_token(database: Database) -> Callable[[str, str], str]:
    """Make a token of a rater."""

    def make(campaign: str, rater: str) -> str:
        with database.transaction() as session:
            return tokens.issue_token(session, role="rater", campaign=campaign, rater=rater).secret

    return make


@pytest.fixture
def requests(anonymous: httpx.Client) -> list[httpx.Request]:
    """Everything that is sent."""
    sent: list[httpx.Request] = []
    anonymous.event_hooks = {"request": [sent.append], "response": []}
    return sent


def write_ratings(folder: Path, name: str = "ratings.tsv") -> Path:
    path = folder / name
    path.write_text(MQM, encoding="utf-8")
    return path


def operation_of(request: httpx.Request) -> dict[str, Any]:
    """What the document says of a request; its method and the parameters of its address are there."""
    path = request.url.path
    fitting = [
        template
        for template in OPENAPI["paths"]
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", re.escape(template).replace(r"\{", "{").replace(r"\}", "}")), path)
    ]
    known = [at for at in fitting if request.method.lower() in OPENAPI["paths"][at]]
    # The one with the fewest places to fill in is meant.
    template = min(
        known or [pytest.fail(f"{request.method} {path} is not in the document")], key=lambda at: at.count("{")
    )
    described: dict[str, Any] = OPENAPI["paths"][template][request.method.lower()]
    shared = OPENAPI["paths"][template].get("parameters", [])
    parameters = [
        OPENAPI["components"]["parameters"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        for one in [*shared, *described.get("parameters", [])]
    ]
    return {**described, "parameters": {(one["in"], one["name"]) for one in parameters}}


def check_requests(requests: list[httpx.Request]) -> None:
    """Each is described: its parameters too. A key goes with those that take one, and only with them."""
    for request in requests:
        parameters = operation_of(request)["parameters"]
        unknown = [name for name in request.url.params if ("query", name) not in parameters]
        assert not unknown, (request.method, request.url)
        keyed = ("header", "Idempotency-Key") in parameters
        assert ("Idempotency-Key" in request.headers) == keyed, (request.method, request.url)


def test_the_client_that_waits_is_made_from_the_one_that_is_awaited() -> None:
    spec = importlib.util.spec_from_file_location("make_sync", PACKAGE / "make_sync.py")
    assert spec is not None
    assert spec.loader is not None
    make_sync = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_sync)
    modules = make_sync.sync_modules()
    assert {path.name for path in modules} == {path.name for path in (PACKAGE / "plumbline_client/sync").glob("*.py")}
    assert [path.name for path, text in modules.items() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize(
    "model",
    [one for one in vars(models).values() if isinstance(one, type) and issubclass(one, models.Answer)],
    ids=lambda one: one.__name__,
)
def test_every_field_of_a_model_is_in_the_document(model: type[models.Answer]) -> None:
    if model is models.Answer:
        return
    schema = resolved(OPENAPI, OPENAPI["components"]["schemas"][SCHEMAS.get(model.__name__, f"{model.__name__}Out")])
    names = {field.alias or name: field for name, field in model.model_fields.items()}
    assert set(names) <= set(schema["properties"])
    required = {name for name, field in names.items() if field.is_required()}
    assert required <= set(schema.get("required", [])), model


def test_from_a_file_of_judgments_to_ranking_gate_and_export(
    plumbline: Client, tmp_path: Path, requests: list[httpx.Request]
) -> None:
    campaign = plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
    assert campaign.data.import_files("mqm-tsv", [write_ratings(tmp_path)], dry_run=True).dry_run
    report = campaign.data.import_files("mqm-tsv", [write_ratings(tmp_path)])
    assert report.stored["judgments"] == 12
    seen = []
    ranking = campaign.reports.ranking(recipe="google-mqm", on_progress=seen.append)
    assert [row["system"] for row in ranking["systems"]] == ["C", "B", "A"]
    assert {"systems", "pairs"} <= set(ranking.tables)
    frame = ranking.frame("systems")
    assert list(frame["system"]) == ["C", "B", "A"]
    assert frame["score"].is_monotonic_decreasing or frame["score"].is_monotonic_increasing
    with pytest.raises(KeyError, match="no table nothing; it has"):
        ranking.frame("nothing")
    gate = campaign.reports.gate("C", "A", claim="better")
    assert (gate.holds, gate.exit_status) in {(True, 0), (False, 1), (False, 3)}
    assert gate.exit_status == 3 or gate.verdict not in ("no_data", "inconclusive")
    campaign.reports.save("ranking", tmp_path / "ranking.csv", recipe="google-mqm")
    assert (tmp_path / "ranking.csv").read_text(encoding="utf-8").count("\n") >= 3
    with pytest.raises(ValueError, match=r"no \.docx file"):
        campaign.reports.save("ranking", tmp_path / "ranking.docx")
    assert len(list(campaign.data.judgments())) == 12
    exported = campaign.data.export("jsonl", tmp_path / "wmt.jsonl")
    assert exported.read_bytes().count(b"\n") > 12
    assert isinstance(campaign.data.losses("csv"), dict)
    assert [one.key for one in plumbline.campaigns()] == ["wmt"]
    check_requests(requests)


def test_an_import_that_broke_off_goes_on_and_sends_no_file_twice(
    plumbline: Client, tmp_path: Path, requests: list[httpx.Request]
) -> None:
    campaign = plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
    first, second = write_ratings(tmp_path, "a.tsv"), tmp_path / "b.tsv"
    second.write_text(MQM.replace("news.1", "news.2"), encoding="utf-8")
    begun = campaign.data.begin_import("mqm-tsv")
    campaign.data.send_files(begun.id, [first])
    other = tmp_path / "other" / "a.tsv"
    other.parent.mkdir()
    other.write_text(MQM.replace("news.1", "news.3"), encoding="utf-8")
    with pytest.raises(UploadChanged, match=r"another a\.tsv"):
        campaign.data.send_files(begun.id, [other])
    report = campaign.data.import_files("mqm-tsv", [first, second])
    assert report.stored["judgments"] == 24
    assert [one.url.path.rpartition("/")[2] for one in requests if one.method == "PUT"] == ["a.tsv", "b.tsv"]
    assert campaign.data.commit_import(begun.id).stored == report.stored
    check_requests(requests)


def test_a_refusal_says_where_in_the_file(plumbline: Client, tmp_path: Path) -> None:
    campaign = plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
    bad = tmp_path / "bad.tsv"
    bad.write_text(MQM + "one\ttwo\n", encoding="utf-8")
    with pytest.raises(Problem) as refused:
        campaign.data.import_files("mqm-tsv", [bad])
    assert refused.value.status == 422
    assert ("bad.tsv", 14) in [place.loc[:2] for place in refused.value.places]
    assert "bad.tsv.14: " in str(refused.value)
    assert refused.value.request_id.startswith("r_")
    with pytest.raises(Problem) as unknown:
        plumbline.campaign("nobody").info()
    assert (unknown.value.status, unknown.value.kind) == (404, "campaign-not-found")


def test_large_media_go_in_parts_and_go_on_after_a_break(
    plumbline: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: list[httpx.Request]
) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(make_png())
    size = picture.stat().st_size
    parts = iter([0, 1])

    def read_part(path: Path, offset: int) -> bytes:
        if next(parts, 2) == 1:
            raise KeyboardInterrupt
        return path.read_bytes()[offset : offset + size // 3]

    monkeypatch.setattr(sync_data, "read_part", read_part)
    campaign = plumbline.create_campaign("speech", protocol="da", target_language="de")
    with pytest.raises(KeyboardInterrupt):
        campaign.data.upload_media(picture)
    media = campaign.data.upload_media(picture)
    assert (media.name, media.size) == ("picture.png", size)
    offsets = [int(one.headers["Upload-Offset"]) for one in requests if one.method == "PATCH"]
    assert offsets == sorted(set(offsets))
    assert len(offsets) == 4
    assert [one.name for one in campaign.data.media()] == ["picture.png"]
    check_requests(requests)


@pytest.mark.parametrize(
    ("name", "content", "sent"),
    [("picture.png", make_png(), 1), ("page.pdf", make_pdf(), 2)],
    ids=["picture", "page"],
)
def test_media_whose_last_answer_is_lost_are_stored_all_the_same(
    anonymous: httpx.Client, secret: Callable[..., str], tmp_path: Path, name: str, content: bytes, sent: int
) -> None:
    """A page is stored as its picture, with another hash than was sent: only sending it anew tells that it is there."""
    file, answers = tmp_path / name, list[bytes]()

    def lose(answer: httpx.Response) -> None:
        if answer.request.method == "PATCH":
            answers.append(answer.read())
            if len(answers) == 1:
                raise httpx.ReadError("the connection broke")

    file.write_bytes(content)
    plumbline = Client(http=anonymous, token=secret(), retries=RetryPolicy(first=0))
    campaign = plumbline.create_campaign("speech", protocol="da", target_language="de")
    anonymous.event_hooks = {"request": [], "response": [lose]}
    media = campaign.data.upload_media(file)
    assert media.sha256 == json.loads(answers[0])["media"]["sha256"]
    assert len(answers) == sent
    assert list(campaign.data.media()) == [media]
    assert anonymous.get("/v1/campaigns/speech/media-uploads").json() == {"uploads": []}


def test_media_that_are_refused_say_why_although_the_answer_is_lost(
    anonymous: httpx.Client, secret: Callable[..., str], tmp_path: Path
) -> None:
    file, answers = tmp_path / "talk.wav", list[int]()

    def lose(answer: httpx.Response) -> None:
        if answer.request.method == "PATCH":
            answers.append(answer.status_code)
            if len(answers) == 1:
                raise httpx.ReadError("the connection broke")

    file.write_bytes(b"no sound at all")
    plumbline = Client(http=anonymous, token=secret(), retries=RetryPolicy(first=0))
    campaign = plumbline.create_campaign("speech", protocol="da", target_language="de")
    anonymous.event_hooks = {"request": [], "response": [lose]}
    with pytest.raises(Problem) as refused:
        campaign.data.upload_media(file)
    assert (refused.value.status, refused.value.kind, answers) == (422, "media-not-taken", [422, 422])


def test_a_table_that_takes_long_is_the_one_asked_for_although_the_data_have_moved_on(
    plumbline: Client,
    database: Database,
    tmp_path: Path,
    requests: list[httpx.Request],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
    campaign.data.import_files("mqm-tsv", [write_ratings(tmp_path)])
    campaign.reports.save("ranking", tmp_path / "before.csv", table="pairs")
    with database.transaction() as session:
        session.execute(text("DELETE FROM reports"))
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    monkeypatch.setattr("app.api.kit.job_responses.MOST_WAITING", 0)
    monkeypatch.setattr("plumbline_client.sync.jobs.LOOK_EVERY", 0.05)
    looks: list[str] = []

    def exclude_meanwhile(job: models.Job) -> None:
        if not looks:
            campaign.exclude("document", "news.1", "late")
        looks.append(job.job)

    with draining(database):
        campaign.reports.save("ranking", tmp_path / "pairs.csv", table="pairs", on_progress=exclude_meanwhile)
    assert len(set(looks)) == 1
    assert (tmp_path / "pairs.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()
    assert (tmp_path / "pairs.csv").read_text(encoding="utf-8").startswith("better,worse,")
    check_requests(requests)


def set_up(plumbline: Client, key: str = "live") -> Any:
    campaign = plumbline.create_campaign(key, protocol="da", target_language="de")
    for system in SCORES:
        campaign.data.put_system(system, kind="mt")
    for n in range(1, 5):
        campaign.data.put_document(f"d{n}", [{"source": f"Source {n}."}, {"source": "And more."}], position=n)
        for system in SCORES:
            campaign.data.put_outputs(system, f"d{n}", [f"{system} says {n}.", f"{system} goes on."])
    for rater in ("r1", "r2"):
        assert campaign.enrol(rater, languages=["de"]).state == "active"
    return campaign


def test_from_texts_to_judgments(
    plumbline: Client, anonymous: httpx.Client, rater_token: Callable[[str, str], str], requests: list[httpx.Request]
) -> None:
    campaign = set_up(plumbline)
    campaign.put_guidelines(en="Read first.")
    assert campaign.preview_plan(DESIGN).plan is None
    assert campaign.plan(DESIGN).plan == 1
    assert campaign.current_plan().seed == 3
    assert campaign.link("r1", days=2).rater == "r1"
    assert campaign.change(name="Live").name == "Live"
    assert campaign.open().state == "open"
    assert {one.key for one in campaign.raters()} == {"r1", "r2"}
    admin = anonymous.headers["Authorization"]
    codes = []
    for key in ("r1", "r2"):
        rater = Client(http=anonymous, token=rater_token("live", key))
        assert rater.me().rater == key
        for task in rater.tasks("live"):
            with pytest.raises(Problem) as missing:
                task.hand_in()
            assert missing.value.status == 409
            assert len(missing.value.places) == sum(len(item.segments) for item in task.content.items)
            for item in task.content.items:
                for segment in item.segments[:1]:
                    payload = {"protocol": "da", "score": SCORES[(segment.text or "")[0]]}
                    assert task.judge(item.item, segment.segment, payload, seen=0).revision == 1
                rest = [
                    {"item": item.item, "segment": one.segment, "payload": {"protocol": "da", "score": 50}}
                    for one in item.segments[1:]
                ]
                assert len(task.judge_many(rest)) == len(rest)
            task.heartbeat()
            assert task.refresh().missing == []
            codes.append(task.hand_in())
        assert rater.lease("live").why == "finished"
    anonymous.headers["Authorization"] = admin
    assert campaign.progress().share == 1
    assert sorted(one.code for one in campaign.completions()) == sorted(codes)
    assert {one.state for one in campaign.tasks()} == {"handed_in"}
    assert campaign.preview_exclusion("rater", "r2", "late")["n_ratings_before"] == 16
    exclusion = campaign.exclude("rater", "r2", "late")
    assert campaign.lift_exclusion(exclusion.exclusion, "not so late").key == "r2"
    assert [one.exclusion for one in campaign.exclusions()] == [exclusion.exclusion]
    assert campaign.invite(3, platform="prolific").count == 3
    assert campaign.close().state == "closed"
    check_requests(requests)


def test_the_awaited_client_does_the_same(app: FastAPI, secret: Callable[..., str], tmp_path: Path) -> None:
    token = secret()

    async def rank() -> list[str]:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as http,
            AsyncClient(http=http, token=token) as plumbline,
        ):
            campaign = await plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
            await campaign.data.import_files("mqm-tsv", [write_ratings(tmp_path)])
            ranking = await campaign.reports.ranking(recipe="google-mqm")
            await campaign.data.export("jsonl", tmp_path / "wmt.jsonl")
            assert [one.key async for one in plumbline.campaigns()] == ["wmt"]
            return [row["system"] for row in ranking["systems"]]

    assert asyncio.run(rank()) == ["C", "B", "A"]
    assert (tmp_path / "wmt.jsonl").stat().st_size > 100


def test_the_package_names_all_that_it_offers() -> None:
    assert sorted(plumbline_client.__all__) == plumbline_client.__all__
    assert all(hasattr(plumbline_client, name) for name in plumbline_client.__all__)
