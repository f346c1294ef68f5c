"""A command that begins a server of its own waits as long as the machine needs, and says what for."""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.context import SpawnProcess
from time import sleep

import pytest

from app.cli.serving import background_server

ANSWERS = [503, 503, 200]


class Slow(BaseHTTPRequestHandler):
    """Not ready twice, then ready."""

    def do_GET(self) -> None:
        status = self.server.left.pop(0)  # type: ignore[attr-defined]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b'{"title": "The database cannot be reached"}')

    def log_message(self, *_: object) -> None:
        """Nothing: the test reads what the command says."""


@pytest.fixture
def process() -> Iterator[SpawnProcess]:
    found = multiprocessing.get_context("spawn").Process(target=sleep, args=(600,))
    found.start()
    yield found
    found.kill()
    found.join()


def test_it_says_what_it_waits_for_until_the_server_is_ready(
    process: SpawnProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(background_server, "SAY_EVERY", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setattr(background_server, "ANSWER_WITHIN", 0.2)
        ended = threading.Timer(0.7, process.kill)
        ended.start()
        with pytest.raises(background_server.ServerNotStarted, match="ended with exit code -9"):
            background_server._wait_until_ready(nowhere, process)
    assert "its process is still starting" in capsys.readouterr().err


def test_it_goes_on_once_the_server_is_ready(
    process: SpawnProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(background_server, "SAY_EVERY", 0.0)
    server = HTTPServer(("127.0.0.1", 0), Slow)
    server.left = list(ANSWERS)  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        background_server._wait_until_ready(f"http://127.0.0.1:{server.server_port}", process)
    finally:
        server.shutdown()
        server.server_close()
    assert capsys.readouterr().err.count("The database cannot be reached") == 2
