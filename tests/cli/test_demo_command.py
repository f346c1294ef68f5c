"""`plumbline demo`: judges a campaign over HTTP, prints its ranking, then serves it where it says, to whom it says."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from app.demo import GUEST, PLANTED_ORDER
from tests.patience import soon
from tests.spine import fresh
from tests.working import LIMIT, until

# A line of the report on stability: documents, SRP, its error, significant pairs per study, studies that find none.
STUDIED = re.compile(r"^ +(\d+) +([01]\.\d{3}) +0\.\d{3} +(\d+\.\d) +(\d+) %", re.MULTILINE)
ENDS_WITHIN = 10  # seconds, with the worker beside it
GONE_ON_WITH = "The demo campaign already exists in the database"
COMMAND = [sys.executable, "-c", "from app.cli import main; main()", "demo"]


@pytest.fixture(scope="module")
def environment(postgres, migrated_template):
    """One database for all: what is judged once stays judged, so that only the first demo takes its time."""
    with fresh(postgres, migrated_template) as spine:
        yield {**os.environ, "PLUMBLINE_DATABASE_URL": spine.url, "PLUMBLINE_PORT": "0", "COLUMNS": "100"}


@contextmanager
def running(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command at work; stopped at the end, whatever happened."""
    process = subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def printed(process: subprocess.Popen[str], label: str, *, never: str = "\0", seen: list[str] | None = None) -> str:
    """What stands behind a label in the output, as soon as it is there. never: what no line before it begins with.

    seen: gets the lines before it.
    """
    assert process.stdout is not None
    for line in process.stdout:
        assert not line.startswith(never)
        if seen is not None:
            seen.append(line)
        if line.startswith(label):
            return line.removeprefix(label).strip()
    raise AssertionError(f"{label} was never printed")


def test_exit_stops_after_judging_over_http_with_the_ranking_in_the_planted_order_and_its_stability(
    environment, command, monkeypatch
):
    monkeypatch.setenv("PLUMBLINE_PORT", environment["PLUMBLINE_PORT"])
    done = command(environment["PLUMBLINE_DATABASE_URL"], "demo", "--exit")
    out, err = done.stdout.decode(), done.stderr.decode()

    assert done.returncode == 0, err
    places = [re.search(rf"^ +\d+ +\d+ +{name}\b", out, re.MULTILINE).start() for name in PLANTED_ORDER]
    assert places == sorted(places)
    kept, of = map(int, re.search(r"Conformance: (\d+) of (\d+) checks hold", out).groups())
    assert kept == of > 30
    assert int(re.search(r"Judged over HTTP: (\d+) judgments", out)[1]) > 1000
    assert [int(documents) for documents, *_ in STUDIED.findall(out)] == [6, 7, 8] * 2
    for _, srp, pairs, vacuous in STUDIED.findall(out):
        assert 0.95 < float(srp) <= 1
        assert float(pairs) > 10  # of 28: studies that claim nothing would be stable, too
        assert vacuous == "0"
    assert out.index("pSxS") < out.index("No grouping")
    assert "As its manager" not in out
    assert GONE_ON_WITH not in out
    assert "a credential was refused" not in err  # by a check that tries just that


def web_processes(demo: int) -> set[int]:
    """The processes of a demo that answer."""
    running = set()
    for child in psutil.Process(demo).children():
        with suppress(psutil.NoSuchProcess):  # it has ended, and the demo has not looked yet
            if "app.cli.serving.web" in child.cmdline():
                running.add(child.pid)
    return running


@pytest.fixture
def judged(environment, command, monkeypatch):
    """The database, in which the demo is judged by now."""
    url = environment["PLUMBLINE_DATABASE_URL"]
    if command(url, "rank", "demo").returncode:
        monkeypatch.setenv("PLUMBLINE_PORT", environment["PLUMBLINE_PORT"])
        assert command(url, "demo", "--exit").returncode == 0
    return url


@pytest.mark.parametrize("killing", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_second_demo_judges_nothing_again_and_its_links_open_its_page_and_only_this_campaign(
    judged, environment, killing
):
    """On the way: a taken port is no obstacle. killing: and who answers comes back when killed, as of `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        asked = {**environment, "PLUMBLINE_PORT": str(port)}
        assert soon(lambda: shown_again(asked, port, killing=killing), ENDS_WITHIN)


def shown_again(environment: dict[str, str], port: int, *, killing: bool) -> float:
    """Start a demo whose campaign is judged, open its links and end it; how many seconds that took.

    port: taken by somebody else. killing: who answers is killed before it ends.
    """
    with running(environment) as process:
        before: list[str] = []
        manager = printed(process, "As its manager: ", never="Judged over HTTP", seen=before)
        assert f"{PLANTED_ORDER[0]} (human)" in "".join(before)
        assert GONE_ON_WITH in "".join(before)
        origin, _, fragment = manager.partition("/#token=")
        assert not origin.startswith(f"http://127.0.0.1:{port}")
        secret, _, following = fragment.partition("&next=")
        guest = printed(process, "As a rater: ").partition("/#token=")[2]
        with httpx.Client(base_url=origin, transport=httpx.HTTPTransport(retries=20), timeout=LIMIT) as browser:
            assert browser.post("/v1/session", json={"token": secret}).status_code == 201
            assert following == "/campaigns/demo"
            assert PLANTED_ORDER[0] in browser.get(following, headers={"Accept": "text/html"}).text
            me = browser.get("/v1/me").json()
            rater = {"Authorization": f"Bearer {guest}"}
            work = httpx.post(f"{origin}/v1/campaigns/demo/lease", headers=rater, timeout=LIMIT).json()["task"]
            assert httpx.get(f"{origin}/v1/me", headers=rater, timeout=LIMIT).json()["rater"] == GUEST
        answering = web_processes(process.pid)
        assert answering
        if killing:
            for one in answering:
                os.kill(one, signal.SIGKILL)
            until(lambda: web_processes(process.pid) - answering, "another one is there")
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
        seconds = time.monotonic() - told

    assert (me["role"], me["campaign"]) == ("manager", "demo")
    assert me["expires_at"] is not None
    assert len(work["missing"]) > 8
    return seconds


def blocks(text: str) -> Iterator[list[str]]:
    """Lines of each indented block of a document, without what they are indented by."""
    for found in re.findall(r"(?:^ {4}.*\n)+", text, re.MULTILINE):
        yield [line[4:] for line in found.splitlines()]


def told(text: str) -> list[tuple[list[str], int, list[str]]]:
    """The commands of the tutorial in order: words, exit code that is told, and the lines that are quoted below."""
    found: list[tuple[list[str], int, list[str]]] = []
    for block in blocks(text):
        for line in block:
            if line.startswith("plumbline "):
                command, _, code = line.partition("# exit code ")
                found.append((shlex.split(command)[1:], int(code or 0), []))
            elif found:
                found[-1][2].append(line)
    return found


@pytest.mark.parametrize(
    "left_out",
    [pytest.param({"bundle"}, id="bundle"), pytest.param(set(), id="nothing", marks=pytest.mark.soak)],
)
def test_the_tutorial_shows_what_its_commands_say(judged, command, monkeypatch, tmp_path, left_out):
    """left_out: commands that make every figure again, which also other tests do."""
    text = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    steps = told(text)
    assert len(steps) >= 9
    assert sum(len(quoted) for _, _, quoted in steps) >= 15
    for words, code, quoted in steps:
        if words[0] in left_out:
            continue
        answer = command(judged, *words)
        assert answer.returncode == code, (words, answer.stderr)
        said = " ".join(answer.stdout.decode().split())
        missing = [line for line in quoted if " ".join(line.split()) not in said]
        assert (words, missing) == (words, [])
