"""A server that a command runs in the background, on a loopback port; it ends with the command in any case."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

import httpx

from app.cli.serving import service, web
from app.domain.errors import Unavailable

ANSWER_WITHIN, LOOK_EVERY, SAY_EVERY = 2.0, 0.05, 10.0  # seconds
END_WITHIN = 10.0


class ServerNotStarted(Unavailable):
    """The server did not start."""


@contextmanager
def serve_in_child_process(url: str, role: str | None, listener: socket.socket) -> Iterator[SpawnProcess]:
    """Serve a database on a listening socket in a separate process, from its readiness to the end of the block.

    Raises ServerNotStarted.
    """
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(url, role, listener), daemon=True)
    process.start()
    try:
        _wait_until_ready(service.format_socket_origin(listener), process)
        yield process
    finally:
        process.terminate()
        process.join(END_WITHIN)
        if process.is_alive():
            process.kill()


@contextmanager
def serve_on_free_port(url: str, role: str | None) -> Iterator[str]:
    """Start a server on a free loopback port, and yield its origin. Raises ServerNotStarted."""
    with service.open_listening_socket("127.0.0.1", 0) as listener, serve_in_child_process(url, role, listener):
        yield service.format_socket_origin(listener)


def _serve(url: str, role: str | None, listener: socket.socket) -> None:
    """Serve in the child process, with warnings only, because the command has output of its own."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["PLUMBLINE_DATABASE_URL"] = url
    os.environ["PLUMBLINE_DATABASE_ROLE"] = role or ""
    # A client whose credential is refused is told so; here the client is the command itself.
    web.LOGGING["loggers"] = {name: {**one, "level": "WARNING"} for name, one in web.LOGGING["loggers"].items()}
    web.LOGGING["loggers"]["plumbline.access"] = {"level": "ERROR"}
    web.serve_requests(listener)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _wait_until_ready(origin: str, process: SpawnProcess) -> None:
    """Wait as long as the machine needs, reporting the reason at times. Raises ServerNotStarted if the process ends."""
    begun, say_at = time.monotonic(), SAY_EVERY
    while process.is_alive():
        why = _not_ready(origin)
        if not why:
            return
        waited = time.monotonic() - begun
        if waited >= say_at:
            say_at += SAY_EVERY
            print(f"plumbline: waiting for the server for {waited:.0f} s: {why}", file=sys.stderr)  # noqa: T201  (this is the command line)
        time.sleep(LOOK_EVERY)
    raise ServerNotStarted(f"{origin}: its process ended with exit code {process.exitcode}")


def _not_ready(origin: str) -> str:
    """Return why a server is not ready, as far as it says; empty if it is ready."""
    try:
        answer = httpx.get(f"{origin}/readyz", timeout=ANSWER_WITHIN)
        return "" if answer.status_code == httpx.codes.OK else str(answer.json()["title"])
    except (httpx.TransportError, ValueError, KeyError):
        return "its process is still starting"
