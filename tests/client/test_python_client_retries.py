"""What the Python client sends again, and what it never does; jobs and downloads that go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from plumbline_client import Client, JobError, NotPlumbline, Problem, RetryPolicy, ServerUnreachable
from plumbline_client.retries import NO_RETRIES

Handler = Callable[[httpx.Request], httpx.Response]
AT_ONCE = RetryPolicy(tries=4, first=0)
CAMPAIGN = {
    **dict.fromkeys(("key", "name", "protocol", "state", "basis"), "x"),
    **dict.fromkeys(("series", "source_language", "target_language")),
    **dict.fromkeys(("protocol_version", "settings_version", "data_version"), 1),
    "options": {},
    "settings": {},
    "created_at": "2026-11-20T12:00:00Z",
}
JOB: dict[str, Any] = {
    "job": "j_1",
    "kind": "ranking",
    "state": "running",
    "done": 1,
    "total": 3,
    "seconds": 1.0,
    "waiting": None,
    "report": None,
    "error": None,
}
LINK = {"rater": "r1", "link": "https://x/#token=y", "expires_at": "2026-11-20T12:00:00Z"}


def problem(status: int, *, kind: str = "unavailable", **headers: str) -> httpx.Response:
    body = {
        "type": f"urn:plumbline:problem:{kind}",
        "title": "The server is busy",
        "status": status,
        "detail": "Ask again.",
        "instance": "r_1",
        "errors": [{"loc": ["body", "segments", 2], "msg": "must be text"}],
    }
    return httpx.Response(status, json=body, headers={"content-type": "application/problem+json", **headers})


class Server:
    """Answers in turn, the last one for ever; an exception is raised instead. Keeps what was asked."""

    def __init__(self, *answers: httpx.Response | Exception | Handler) -> None:
        self.answers, self.asked = list(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    def client(self, retries: RetryPolicy = AT_ONCE) -> Client:
        http = httpx.Client(transport=httpx.MockTransport(self), base_url="http://plumbline.test")
        return Client(http=http, token="plb_x", retries=retries)


BROKEN = httpx.ReadError("the connection broke")
UNSENT = httpx.ConnectError("nobody there")
READ: Callable[[Client], object] = lambda client: client.campaign("x").info()  # noqa: E731
LINKED: Callable[[Client], object] = lambda client: client.campaign("x").link("r1")  # noqa: E731
OPENED: Callable[[Client], object] = lambda client: client.campaign("x").open()  # noqa: E731


@pytest.mark.parametrize("first", [BROKEN, UNSENT, problem(503, **{"Retry-After": "0"}), problem(429)])
@pytest.mark.parametrize(("ask", "body"), [(READ, CAMPAIGN), (LINKED, LINK)])
def test_what_may_be_repeated_is_sent_again_under_the_same_key(
    ask: Callable[[Client], object], body: Any, first: Any
) -> None:
    server = Server(first, first, httpx.Response(200, json=body))
    ask(server.client())
    assert len(server.asked) == 3
    assert len({request.headers.get("Idempotency-Key") for request in server.asked}) == 1


@pytest.mark.parametrize(
    ("first", "sent"), [(BROKEN, 1), (problem(503, **{"Retry-After": "0"}), 1), (UNSENT, 2), (problem(429), 2)]
)
def test_what_may_not_be_repeated_is_sent_again_only_if_it_was_not_carried_out(first: Any, sent: int) -> None:
    server = Server(first, httpx.Response(200, json=CAMPAIGN))
    try:
        OPENED(server.client())
    except (ServerUnreachable, Problem):
        assert sent == 1
    assert len(server.asked) == sent


def test_two_requests_have_two_keys() -> None:
    server = Server(httpx.Response(201, json=LINK))
    LINKED(client := server.client())
    LINKED(client)
    assert len({request.headers["Idempotency-Key"] for request in server.asked}) == 2


def test_it_gives_up_after_so_many_tries_and_says_what_the_server_said() -> None:
    server = Server(problem(503, **{"Retry-After": "0"}))
    with pytest.raises(Problem) as refused:
        READ(server.client())
    assert len(server.asked) == AT_ONCE.tries
    assert str(refused.value) == "503 The server is busy: Ask again. (body.segments.2: must be text)"
    assert (refused.value.kind, refused.value.request_id, refused.value.retry_after) == ("unavailable", "r_1", 0)
    broken = Server(BROKEN)
    with pytest.raises(ServerUnreachable, match=r"plumbline\.test.*the connection broke"):
        READ(broken.client(NO_RETRIES))
    assert len(broken.asked) == 1


def test_a_longer_wait_than_it_has_patience_for_is_raised_at_once() -> None:
    server = Server(problem(503, **{"Retry-After": "3600"}))
    with pytest.raises(Problem):
        READ(server.client())
    assert len(server.asked) == 1


def test_pauses_grow_and_follow_the_server() -> None:
    policy = RetryPolicy(tries=9, first=1, longest=8)
    pauses = [policy.pause_after_error(BROKEN, n, repeatable=True) or 0 for n in range(1, 8)]
    assert all(low <= pause <= 2 * low for pause, low in zip(pauses, (0.5, 1, 2, 4, 4, 4, 4), strict=True))
    assert policy.pause_after_answer(problem(503, **{"Retry-After": "60"}), 1, repeatable=True) == 60
    assert policy.pause_after_answer(problem(422), 1, repeatable=True) is None


def test_another_program_is_told_from_plumbline() -> None:
    with pytest.raises(NotPlumbline, match="answers 502"):
        READ(Server(httpx.Response(502, text="<html>Bad gateway")).client())
    with pytest.raises(NotPlumbline, match="does not answer as Plumbline does"):
        READ(Server(httpx.Response(200, text="<html>Sign on")).client())


def running(**changes: Any) -> httpx.Response:
    status = 202 if "state" not in changes else 200
    return httpx.Response(status, json={**JOB, **changes}, headers={"Retry-After": "0"})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at a job only each second here."""
    monkeypatch.setattr("plumbline_client.sync.jobs.LOOK_EVERY", 0.0)


def test_a_job_is_followed_to_its_report() -> None:
    done = running(state="done", done=3)
    server = Server(running(), running(state="running", done=2), done, httpx.Response(200, json={"systems": []}))
    looks: list[int] = []
    report = server.client().campaign("x").reports.ranking(on_progress=lambda job: looks.append(job.done))
    assert (dict(report), looks) == ({"systems": []}, [2, 3])
    assert [request.url.path for request in server.asked] == [
        "/v1/campaigns/x/ranking",
        "/v1/jobs/j_1",
        "/v1/jobs/j_1",
        "/v1/jobs/j_1/report",
    ]


def test_a_job_that_fails_or_is_cancelled_says_so() -> None:
    fault = {"title": "Invalid", "detail": "there is nothing to rank", "errors": []}
    server = Server(running(), running(state="failed", error=fault))
    with pytest.raises(JobError, match="j_1 failed: there is nothing to rank"):
        server.client().campaign("x").reports.get("power")
    started = Server(running())
    job = started.client().campaign("x").reports.start("power")
    assert (type(job).__name__, started.asked[0].headers["Prefer"]) == ("Job", "wait=0")
    cancelled = Server(running(state="cancelled"))
    assert cancelled.client().jobs.cancel("j_1").ended
    assert cancelled.asked[0].method == "DELETE"


def test_who_waits_no_longer_leaves_the_job_alone() -> None:
    server = Server(running())
    with pytest.raises(TimeoutError, match="it goes on"):
        server.client().campaign("x").reports.get("power", timeout=-1)
    assert "DELETE" not in {request.method for request in server.asked}


def test_a_plan_that_takes_long_is_asked_for_again_under_its_key() -> None:
    plan = {"campaign": "x", "plan": 1, "hash": "h", "seed": 1, "design": {}, "report": {}}
    server = Server(running(), running(state="done"), httpx.Response(201, json=plan))
    assert server.client().campaign("x").plan({"seed": 1}).plan == 1
    first, _, again = server.asked
    assert (first.method, first.headers["Idempotency-Key"]) == (again.method, again.headers["Idempotency-Key"])
    changing = Server(*[running(), running(state="done")] * 9)
    with pytest.raises(JobError, match="changes faster"):
        changing.client().campaign("x").plan({"seed": 1})


@pytest.mark.parametrize(("ending", "option"), [("csv", "table"), ("svg", "picture")])
def test_a_file_that_takes_long_has_the_table_or_picture_that_was_asked_for(
    tmp_path: Path, ending: str, option: str
) -> None:
    queued = running(campaigns={"x": 4})
    server = Server(queued, running(state="done"), queued, running(state="done"), httpx.Response(200, text="pairs"))
    reports, file = server.client().campaign("x").reports, tmp_path / f"pairs.{ending}"
    reports.save("ranking", file, recipe="google-mqm", **{option: "pairs"})
    assert file.read_text() == "pairs"
    first, _, again, _, last = [(request.url.path, dict(request.url.params)) for request in server.asked]
    assert first == (f"/v1/campaigns/x/ranking.{ending}", {"recipe": "google-mqm", option: "pairs"})
    assert again == last == (first[0], {**first[1], "as_of": "4"})
    changing = Server(*[running(), running(state="done")] * 9)
    with pytest.raises(JobError, match="changes faster"):
        changing.client().campaign("x").reports.save("ranking", file)


def test_two_files_of_one_name_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    files = [tmp_path / folder / "out.txt" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    server = Server(httpx.Response(200, json={"items": [], "next": None}))
    data = server.client().campaign("x").data
    with pytest.raises(ValueError, match=r"are both named out\.txt"):
        data.import_files("jsonl", files)
    with pytest.raises(ValueError, match=r"are both named out\.txt"):
        data.send_files("i_1", files)
    assert server.asked == []


def test_an_upload_waits_longer_each_time_while_the_server_examines_an_earlier_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "talk.wav"
    file.write_bytes(b"sound")
    under_way = {"upload": "u_1", "name": "talk.wav", "size": 5, "offset": 5, "media": None}
    stored = {"name": "talk.wav", "kind": "audio", "media_type": "audio/wav", "size": 5, "sha256": "0"}
    stored |= {"duration_ms": 1, "width": None, "height": None}
    listed, told = httpx.Response(200, json={"uploads": [under_way]}), httpx.Response(200, json=under_way)
    busy = problem(409, kind="upload-busy")
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    whole = httpx.Response(200, json={**under_way, "media": stored})
    server = Server(listed, *[busy, told] * 3, whole)
    patient = RetryPolicy(tries=4, first=1, longest=8)
    assert server.client(patient).campaign("x").data.upload_media(file).name == "talk.wav"
    assert all(low <= pause <= 2 * low for pause, low in zip(pauses, (0.5, 1, 2), strict=True))
    with pytest.raises(Problem, match="409"):
        Server(listed, *[busy, told] * 4).client(patient).campaign("x").data.upload_media(file)
    taken = Server(listed, problem(409, kind="media-name-taken"))
    with pytest.raises(Problem, match="409"):
        taken.client(patient).campaign("x").data.upload_media(file)
    assert len(taken.asked) == 2


class Breaking(httpx.SyncByteStream):
    """A body that ends in the middle."""

    def __iter__(self) -> Any:
        yield b"half of"
        raise httpx.ReadError("the connection broke")


def test_a_download_that_breaks_starts_again_and_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text("before")
    broken = Server(lambda _: httpx.Response(200, stream=Breaking()))
    with pytest.raises(ServerUnreachable):
        broken.client().campaign("x").data.export("jsonl", path)
    assert (path.read_text(), len(broken.asked), list(tmp_path.iterdir())) == ("before", AT_ONCE.tries, [path])
    server = Server(lambda _: httpx.Response(200, stream=Breaking()), problem(503), httpx.Response(200, text="whole"))
    server.client().campaign("x").data.export("jsonl", path)
    assert (path.read_text(), len(server.asked)) == ("whole", 3)
    with pytest.raises(Problem):
        Server(problem(404)).client().campaign("x").data.export("nothing", path)
    assert path.read_text() == "whole"


def test_lists_are_read_page_after_page() -> None:
    def page(request: httpx.Request) -> httpx.Response:
        first = "cursor" not in request.url.params
        return httpx.Response(200, json={"items": [CAMPAIGN], "next": "c1" if first else None})

    server = Server(page)
    assert len(list(server.client().campaigns(state="open"))) == 2
    assert [dict(request.url.params) for request in server.asked] == [
        {"limit": "200", "state": "open"},
        {"limit": "200", "state": "open", "cursor": "c1"},
    ]


def test_a_front_end_says_for_whom_it_acts_and_which_answer_it_saw() -> None:
    task = {"task": "t_1", "campaign": "x", "protocol": {}, "presentation": "document", "state": "leased"}
    task |= {"leased_until": None, "words": None, "screens": [], "items": [], "missing": []}
    server = Server(httpx.Response(200, json={"task": task}), httpx.Response(200, json={"revision": 3}))
    http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://plumbline.test")
    client = Client(http=http, token="plb_x", rater="anna", retries=AT_ONCE)
    for held in client.tasks("x"):
        assert held.judge(1, None, {"protocol": "da", "score": 3}, seen=2).revision == 3
        break
    _, judged = server.asked
    assert judged.url.path == "/v1/tasks/t_1/judgments/1"
    assert (judged.headers["Plumbline-Rater"], judged.headers["If-Match"]) == ("anna", '"2"')
    assert json.loads(judged.content) == {"protocol": "da", "score": 3}
