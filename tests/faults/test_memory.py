"""What is uploaded to a running server, however it is made, costs it a bounded amount of memory."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.services.access import tokens
from tests.faults.serving import web_process
from tests.spine import opened
from tests.working import LIMIT, until

MIB = 1 << 20
MOST = 64 * MIB
UNPACKED = 128  # MiB, of a small file: twice as much as it may cost
# MiB of what is hostile by its size, and what that may cost: less than the size itself.
SMALL, WHOLE = (32, 24), (UNPACKED, 64)
MQM = b"system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\n"
JSONL = b'{"type":"plumbline","version":1}\n'
JUDGED = (
    b'{"type":"judgment","task":"t","item":"i","systems":["A"],"document":"d","position":1,"rater":"r","payload":%s}'
)
BINARY = {"Content-Type": "application/octet-stream"}
SERVE = "from app.cli import main; main()"
CARELESS = """
import sys
if "app.cli.serving.web" in sys.orig_argv:
    import gzip
    from app.formats.kit import reading as _reading
    def careless(raw, name, limits, log):
        data = raw.read()
        yield gzip.decompress(data) if data[:2] == _reading.GZIP_MAGIC else data
    _reading._text_blocks = careless
"""
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="/proc is not here, so the memory of another process is unknown"
)


@dataclass(frozen=True)
class Server:
    """A server process of its own, and a client of it."""

    pid: int
    http: httpx.Client

    def peak(self) -> int:
        """The most bytes of memory that the process ever held."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) * 1024

    def at_once(self, data: bytes | Iterator[bytes], format: str) -> httpx.Response:
        """Import one file in one request."""
        return self.http.post("/v1/campaigns/c/imports", params={"format": format}, content=data, headers=BINARY)

    def in_steps(self, data: bytes | Iterator[bytes], format: str) -> httpx.Response:
        """Announce an import, send its file, commit it."""
        made = self.http.post("/v1/campaigns/c/imports", json={"format": format}).json()
        here = f"/v1/campaigns/c/imports/{made['import']}"
        assert self.http.put(f"{here}/files/f", content=data, headers=BINARY).status_code == 200
        return self.http.post(f"{here}/commit")

    def body(self, path: str, data: bytes) -> httpx.Response:
        """Send JSON as it stands."""
        return self.http.post(path, content=data, headers={"Content-Type": "application/json"})


@contextmanager
def serving(url: str, first: Path | None = None) -> Iterator[Server]:
    """A server on a free port that has taken a normal upload by each way, so that what those need is held already.

    first: folder whose `sitecustomize` each of its processes carries out before all else.
    """
    with opened(url) as spine, spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    command = [sys.executable, "-c", SERVE, "serve", "--port", "0", "--workers", "1", "--no-worker"]
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, **({"PYTHONPATH": str(first)} if first else {})}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            said = process.stdout.readline()
            origin = re.search(r"http://[0-9.]+:[0-9]+", said)
            assert origin, said
            headers = {"Authorization": f"Bearer {secret}"}
            with httpx.Client(base_url=origin[0], headers=headers, timeout=LIMIT, trust_env=False) as http:
                assert http.get("/livez").status_code == 200
                server = Server(web_process(process.pid), http)
                new = b'{"key": "c", "protocol": "mqm", "target_language": "de"}'
                assert server.body("/v1/campaigns", new).status_code == 201
                for send in (server.at_once, server.in_steps):
                    assert send(gzip.compress(_table(), 1), "mqm-tsv").status_code == 200
                yield server
        finally:
            process.terminate()
            try:
                until(lambda: process.poll() is not None, "the server ends", within=20)
            finally:
                process.kill()


def _table() -> bytes:
    """Judgments, some two MB."""
    rows = (
        f"{s}\td{n}\t{p}\t{p}\tr{n % 3}\tSource {n} {p}.\tTarget {s} {n} {p} {'words ' * 200}.\tX\tNo-error\t\n"
        for n in range(40)
        for p in range(1, 6)
        for s in "ABCDEFGH"
    )
    return MQM + "".join(rows).encode()


def _endless(size: int) -> Iterator[bytes]:
    """A line of `size` MiB, in pieces."""
    yield MQM
    for _ in range(size):
        yield b"x" * MIB


def _bomb(line: bytes, size: int) -> bytes:
    """A small gzip file of `size` MiB."""
    held = io.BytesIO()
    with gzip.GzipFile(fileobj=held, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(MQM)
        for _ in range(size):
            file.write(line * (MIB // len(line)))
    return held.getvalue()


def _names(n: int) -> bytes:
    return b"{" + b",".join(b'"%d":0' % i for i in range(n)) + b"}"


FILES: dict[str, tuple[str, Callable[[int], bytes | Iterator[bytes]]]] = {
    "a gzip bomb of one line": ("mqm-tsv", lambda size: _bomb(b"x", size)),
    "a gzip bomb of many lines": ("mqm-tsv", lambda size: _bomb(b"x\n", size)),
    "a line without end": ("mqm-tsv", _endless),
    "a million empty lines": ("mqm-tsv", lambda _: MQM + b"\n" * 1_000_000),
    "a million bad lines": ("mqm-tsv", lambda _: MQM + b"x\n" * 1_000_000),
    "a line of a million columns": ("mqm-tsv", lambda _: MQM + b"\t" * 1_000_000),
    "deep JSON": ("jsonl", lambda _: JSONL + b"[" * 900_000),
    "a long list": ("jsonl", lambda _: JSONL + b"[" + b"0," * 450_000 + b"0]"),
    "options that nobody knows": ("jsonl", lambda _: JSONL + b'{"type":"campaign","options":%s}' % _names(80_000)),
    "a payload that nobody knows": ("jsonl", lambda _: JSONL + JUDGED % _names(80_000)),
}
"""Format and content, which is so many MiB large where it is the size that is hostile."""
BY_SIZE = ("a gzip bomb of one line", "a gzip bomb of many lines", "a line without end")
"""They come before the others, of whose cost they know nothing."""


def _misnamed(judgments: int, names: int) -> bytes:
    """Judgments that are whole but for names in their payloads that nobody knows."""
    payload = b'{"protocol":"mqm","errors":[],%s}' % b",".join(b'"x%d":0' % n for n in range(names))
    one = b'{"rater":"r0","document":"d0","segment":1,"system":"A","payload":%s}' % payload
    return b"[" + b",".join([one] * judgments) + b"]"


BODIES: dict[str, tuple[str, bytes]] = {
    "deep": ("/v1/campaigns", b'{"key":' + b"[" * 1_000_000),
    "a long list": ("/v1/campaigns", b"[" + b"{}," * 300_000 + b"{}]"),
    "many names": ("/v1/campaigns", _names(80_000)),
    "options": ("/v1/campaigns", b'{"key":"d","protocol":"mqm","target_language":"de","options":%s}' % _names(80_000)),
    "judgments": ("/v1/campaigns/c/judgments", b"[" + b"{}," * 60_000 + b"{}]"),
    "judgments with unknown names": ("/v1/campaigns/c/judgments", _misnamed(5_000, 10)),
    "a design": ("/v1/campaigns/c/plan", _names(80_000)),
    "roles": ("/v1/campaigns/c/ranking", b'{"roles":[' + b"0," * 400_000 + b"0]}"),
}


@pytest.mark.parametrize(("size", "cost"), [SMALL, pytest.param(*WHOLE, marks=pytest.mark.soak)])
def test_no_upload_costs_much_more_memory_than_a_normal_one(database_url: str, size: int, cost: int) -> None:
    with serving(database_url) as server:
        before = server.peak()
        for name, (format, make) in FILES.items():
            most = cost * MIB if name in BY_SIZE else MOST
            for send in (server.at_once, server.in_steps) if "without end" in name else (server.at_once,):
                answer = send(make(size), format)
                assert answer.status_code == 422, name
                assert len(answer.content) < MIB, name
                assert server.peak() < before + most, name
        for name, (path, data) in BODIES.items():
            answer = server.body(path, data)
            assert answer.status_code in {400, 422}, name
            assert len(answer.content) < MIB, name
            assert server.peak() < before + MOST, name


@pytest.mark.soak
def test_a_reader_that_unpacks_at_once_is_caught(database_url: str, tmp_path: Path) -> None:
    """The negative control."""
    (tmp_path / "sitecustomize.py").write_text(CARELESS)
    with serving(database_url, tmp_path) as server:
        before = server.peak()
        assert server.at_once(_bomb(b"x", UNPACKED), "mqm-tsv").status_code == 422
        assert server.peak() > before + MOST
