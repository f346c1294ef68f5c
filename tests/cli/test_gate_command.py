"""What goes wrong with `plumbline gate` ends with 2: 1 says that the claim does not hold, and a merge depends on it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.cli import gate
from app.reports.gate.report import EXAMPLE
from tests.cli.conftest import Command

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
ASKED = ("gate", "ende", "--candidate", "new", "--baseline", "old", "--server", "http://127.0.0.1:1")
PAGE = b"<!doctype html><title>Sign on</title>"
DOES_NOT_HOLD = json.dumps({**EXAMPLE, "holds": False, "verdict": "worse"}).encode()


def answering(monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, **headers: str) -> None:
    """Whatever is asked over HTTP, this is the answer."""
    answer = partial(httpx.Response, status, content=body, headers=headers)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: answer())


@contextmanager
def writing_to(
    descriptor: int, monkeypatch: pytest.MonkeyPatch, *, buffered: bool, encoding: str = "utf-8"
) -> Iterator[None]:
    """Standard output is this file; closing it writes what is still held back, as the end of a process does."""
    raw = os.fdopen(descriptor, "wb", buffering=-1 if buffered else 0)
    with monkeypatch.context() as patch, io.TextIOWrapper(raw, encoding=encoding, write_through=not buffered) as out:
        patch.setattr(sys, "stdout", out)
        yield


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, PAGE, {}),
        (200, b"\xff\xfe", {}),
        (200, b"null", {}),
        (200, b'{"holds": true, "verdict": "better"}', {}),
        (202, PAGE, {}),
        (202, PAGE, {"Location": "/v1/jobs/1"}),
        (202, b"[]", {"Location": "/v1/jobs/1"}),
        (202, b"{}", {"Location": "/v1/jobs/1"}),
    ],
)
def test_what_is_not_a_gates_answer_is_an_error_in_one_clear_line(
    command: Command, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, headers: dict[str, str]
) -> None:
    answering(monkeypatch, status, body, **headers)
    done = command(NOWHERE, *ASKED)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "plumbline: the server's response is not the result of a gate: http://127.0.0.1:1: something in front of it "
        "may have answered, such as a sign-on page\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here, the disk that is always full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("shape", [(), ("--json",), ("--markdown",)])
def test_an_answer_that_cannot_be_written_is_an_error_and_not_a_verdict(
    command: Command, monkeypatch: pytest.MonkeyPatch, shape: tuple[str, ...], buffered: bool
) -> None:
    answering(monkeypatch, 200, DOES_NOT_HOLD)
    written = command(NOWHERE, *ASKED, *shape)
    assert written.returncode == 1, "the control: the claim does not hold"
    assert b"new" in written.stdout
    with writing_to(os.open("/dev/full", os.O_WRONLY), monkeypatch, buffered=buffered):
        full = command(NOWHERE, *ASKED, *shape)
    assert full.returncode == 2
    assert full.stderr == b"plumbline: the result cannot be written: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    with writing_to(writer, monkeypatch, buffered=buffered):
        unread = command(NOWHERE, *ASKED, *shape)
    assert unread.returncode == 2
    assert unread.stderr == b"plumbline: the result cannot be written: Broken pipe\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_a_claim_that_holds_ends_with_zero_whatever_signs_standard_output_knows(
    command: Command, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    answering(monkeypatch, 200, json.dumps({**EXAMPLE, "warnings": ["p ≥ 0.1 für Übung"]}).encode())
    with writing_to(os.dup(1), monkeypatch, buffered=True, encoding=encoding):
        done = command(NOWHERE, *ASKED)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding)
    assert "new against old" in shown
    assert "Warning: p ≥ 0.1 für Übung".encode(encoding, "replace").decode(encoding) in shown


@pytest.mark.parametrize(
    "error", [RuntimeError("unforeseen"), OSError(28, "no space"), EOFError(), BrokenPipeError(32)]
)
def test_what_nobody_foresaw_ends_with_two_and_its_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> object:
        raise error

    monkeypatch.setattr(gate, "render_report", fails)
    answering(monkeypatch, 200, DOES_NOT_HOLD)
    done = command(NOWHERE, *ASKED, "--markdown")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" in done.stderr
    assert type(error).__name__.encode() in done.stderr
