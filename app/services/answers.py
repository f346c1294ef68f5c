"""Answers made of stored reports, put where every process finds them: after they were sent, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import time
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import app
from app.domain.errors import AppError
from app.services.remembered import Answer
from app.storage.recorder import shared_answers
from app.storage.recorder.cache_version import Asked
from app.storage.recorder.judgments import Connection
from app.storage.recorder.recorder import Recorder

WAITING = 8 << 20  # bytes of answers that wait to be kept
A_WHILE = 60.0  # seconds: as often as a worker sweeps
MOST_A_WHILE = 64 << 20  # bytes that a process keeps in a while, so that the table is bounded between two sweeps
FULL = 2 * shared_answers.MOST  # bytes of all processes beyond which nothing is kept: nobody sweeps
PAUSE = 10.0  # seconds without an attempt, after one that failed
END_WITHIN = 5.0  # seconds for what is under way as the service stops
log = logging.getLogger("plumbline.answers")


@cache
def build() -> bytes:
    """What tells this program from every other version of it, which may answer the same question otherwise.

    The packages beside it count as well, as they draw and compute.
    """
    digest = hashlib.sha256(fingerprint(Path(str(app.__file__)).parent))
    for name, version in sorted({(one.name, one.version) for one in distributions()}):
        digest.update(f"{name} {version}\0".encode())
    return digest.digest()


def fingerprint(folder: Path) -> bytes:
    """SHA-256 of the names and contents of all modules in a folder; without sources, what nothing else ever has."""
    digest = hashlib.sha256()
    files = sorted(folder.rglob("*.py"))
    for file in files:
        digest.update(f"{file.relative_to(folder)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.digest() if files else os.urandom(digest.digest_size)


def packed(answer: Answer) -> bytes:
    """An answer as it is stored: a line with its ETag, media type and headers, then its body."""
    line = [answer.etag, answer.media_type, answer.body is not None, answer.headers]
    return json.dumps(line, separators=(",", ":")).encode() + b"\n" + (answer.body or b"")


def unpacked(mark: str, sent: bytes) -> Answer:
    """The answer that was stored under a mark."""
    line, _, body = sent.partition(b"\n")
    etag, media_type, whole, headers = json.loads(line)
    return Answer(mark, etag, tuple((name, value) for name, value in headers), media_type, body if whole else None)


class Keeper:
    """Keeps answers one after the other, as fast as the database takes them; what is too much is let go."""

    def __init__(self, recorder: Recorder) -> None:
        build()
        self._recorder = recorder
        self._waiting: dict[bytes, tuple[Asked, Answer]] = {}
        self._size = 0
        self._task: asyncio.Task[None] | None = None
        self._failed: float | None = None
        self._since, self._spent = time.monotonic(), 0
        self._has_room: bool | None = None

    def put(self, asked: Asked, answer: Answer) -> None:
        """Have an answer kept, later; never waits, never raises."""
        now = time.monotonic()
        if self._failed is not None and now < self._failed + PAUSE:
            return
        if now > self._since + A_WHILE:
            self._since, self._spent, self._has_room = now, 0, None
        if self._size + answer.size > WAITING or self._spent + answer.size > MOST_A_WHILE:
            return
        self._take(asked.key)
        self._waiting[asked.key] = (asked, answer)
        self._size += answer.size
        self._spent += answer.size
        if self._task is None:
            self._task = asyncio.create_task(self._drain())

    async def settle(self) -> None:
        """Wait until nothing waits to be kept."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Let go of what waits; what is under way is finished, where that does not take long."""
        self._let_go()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=END_WITHIN)

    def _take(self, key: bytes) -> tuple[Asked, Answer] | None:
        """What waits under a key, which then does not wait any more."""
        found = self._waiting.pop(key, None)
        self._size -= found[1].size if found else 0
        return found

    def _let_go(self) -> None:
        self._waiting.clear()
        self._size = 0

    async def _drain(self) -> None:
        try:
            while self._waiting:
                found = self._take(next(iter(self._waiting)))
                if found is not None:
                    await self._keep(*found)
        finally:
            self._task = None

    async def _keep(self, asked: Asked, answer: Answer) -> None:
        """Keep one; where that fails say so once, and do not try again for a while."""
        whole, sent = answer.body is not None, packed(answer)

        async def write(connection: Connection) -> None:
            if self._has_room is None:
                self._has_room = await shared_answers.size(connection) < FULL
            if self._has_room:
                await shared_answers.keep(connection, asked, mark=answer.mark, whole=whole, sent=sent)

        try:
            await self._recorder.run(write, at_once=True)
        except AppError as error:
            if self._failed is None:
                log.warning("answers are not kept for other processes: %s", error)
            self._failed = time.monotonic()
            self._let_go()
        else:
            self._failed = None
