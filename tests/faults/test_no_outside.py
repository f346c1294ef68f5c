"""Import, ranking and serving connect to nowhere but the database, with no network and with a watch on sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.services.data.test_imports import MQM
from tests.spine import PLUMBLINE, opened
from tests.working import LIMIT

# Runs where there is no network but an own loopback: the core path, and an attempt to get out.
INSIDE = """
import fcntl, os, re, socket, struct, subprocess, sys, tempfile, time
import httpx
from app import cli
plumbline, table = sys.argv[1:]
with socket.socket() as up:
    fcntl.ioctl(up, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
except OSError as error:
    print("outside:", error.errno)
def run(*words):
    sys.argv[1:] = words
    sys.stdout.flush()
    out = os.dup(1)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        try:
            cli.main()
        except SystemExit as ended:
            assert not ended.code, ended.code
        finally:
            sys.stdout.flush()
            os.dup2(out, 1)
        said.seek(0)
        return said.read()
run("import", "c", "--format", "mqm-tsv", table)
near = run("rank", "c", "--recipe", "google-mqm", "--json")
made = run("token", "create", "--role", "admin").decode()
token = re.search(r"plb_\\S+", made)[0]
command = [plumbline, "serve", "--port", "0", "--no-worker"]
def served():
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            origin = re.search(r"http://[0-9.]+:[0-9]+", server.stdout.readline())[0]
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
            far = httpx.get(f"{origin}/v1/campaigns/c/ranking?recipe=google-mqm", headers=headers, timeout=120)
            picture = httpx.get(f"{origin}/v1/campaigns/c/ranking.svg?recipe=google-mqm", headers=headers, timeout=120)
            print("same:", far.content.strip() == near.strip(), picture.status_code)
        finally:
            told = time.monotonic()
            server.terminate()
            server.wait(60)
    return time.monotonic() - told
print("ends in time:", any(served() < 20 for _ in range(3)))  # once: a pause of the machine is no fault of ours
"""
NETWORK_IS_UNREACHABLE = 101
_seen: list[object] = []
_watching: list[bool] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event in {"socket.connect", "socket.sendto", "socket.getaddrinfo"}:
        _seen.append(arguments)


@contextmanager
def watched() -> Iterator[list[object]]:
    """Every connection that this process makes by Python's sockets, and every name that it looks up."""
    if not hasattr(sys, "_plumbline_watch"):
        sys.addaudithook(_note)  # for good; it does nothing while nobody watches
        sys._plumbline_watch = True
    _seen.clear()
    _watching.append(True)
    try:
        yield _seen
    finally:
        _watching.clear()


def test_the_core_path_works_where_there_is_no_network(database_url: str, tmp_path: Path) -> None:
    # A user who is root only within the namespace may not reach the database's folder, so this is the second choice.
    ways = (["unshare", "-n"], ["unshare", "-n", "-r"])
    works = [way for way in ways if not subprocess.run([*way, "true"], capture_output=True, timeout=LIMIT).returncode]
    if not works:
        pytest.skip("this kernel gives us no network namespace")
    alone = works[0]
    table = tmp_path / "c.tsv"
    table.write_text(MQM)
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": database_url}
    command = [*alone, sys.executable, "-c", INSIDE, str(PLUMBLINE), str(table)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * LIMIT)
    assert answer.returncode == 0, answer.stderr
    said = answer.stdout.splitlines()
    assert said[0] == f"outside: {NETWORK_IS_UNREACHABLE}", "negative control: there is no way out"
    assert set(said[1:-1]) == {"same: True 200"}
    assert said[-1] == "ends in time: True"


def test_no_socket_of_this_process_is_connected_to_anywhere(database_url: str) -> None:
    with opened(database_url) as spine, watched() as seen:
        spine.take("c", "mqm-tsv", MQM.encode())
        spine.rank("c", "recommended")
        spine.export("c")
        assert seen == []
        with socket.socket() as control, pytest.raises(OSError, match=r"refused|unreachable"):
            control.connect(("127.0.0.1", 1))
        assert len(seen) == 1, "negative control: a connection is seen"
