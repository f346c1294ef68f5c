"""`plumbline demo`: prints a ranking, then serves it where it says, to whom it says."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from app.services.demo import PLANTED_ORDER

COMMAND = [sys.executable, "-c", "from app.cli import main; main()", "demo"]


@pytest.fixture
def environment(database_url):
    return {**os.environ, "PLUMBLINE_DATABASE_URL": database_url, "PLUMBLINE_PORT": "0", "COLUMNS": "100"}


@contextmanager
def running(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command at work; stopped at the end, whatever happened."""
    process = subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def printed(process: subprocess.Popen[str], label: str) -> str:
    """What stands behind a label in the output, as soon as it is there."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(label):
            return line.removeprefix(label).strip()
    raise AssertionError(f"{label} was never printed")


def test_exit_stops_after_printing_the_ranking_in_the_planted_order(environment):
    done = subprocess.run([*COMMAND, "--exit"], env=environment, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    places = [re.search(rf"^ +\d+ +\d+ +{name}\b", done.stdout, re.MULTILINE).start() for name in PLANTED_ORDER]
    assert places == sorted(places)
    assert "Sign in" not in done.stdout


def test_the_printed_link_opens_the_printed_page_and_only_this_campaign(environment):
    with running(environment) as process:
        page = printed(process, "Ranking: ")
        origin, _, fragment = printed(process, "Sign in: ").partition("/#token=")
        secret, _, following = fragment.partition("&next=")
        with httpx.Client(base_url=origin, transport=httpx.HTTPTransport(retries=20)) as browser:
            assert browser.post("/v1/session", json={"token": secret}).status_code == 201
            assert f"{origin}{following}" == page
            assert PLANTED_ORDER[0] in browser.get(following, headers={"Accept": "text/html"}).text
            me = browser.get("/v1/me").json()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0

    assert (me["role"], me["campaign"]) == ("manager", "demo")
    assert me["expires_at"] is not None


def test_a_taken_port_is_no_obstacle(environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running({**environment, "PLUMBLINE_PORT": str(port)}) as process:
            assert not printed(process, "Ranking: ").startswith(f"http://127.0.0.1:{port}/")
