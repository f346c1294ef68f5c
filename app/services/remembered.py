"""Answers made of stored reports, remembered by this process for as long as what they rest on has the same mark."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from app.services.access.tokens import prefix_of
from app.storage.recorder import cache_version
from app.storage.recorder.cache_version import Asked
from app.storage.recorder.judgments import Connection
from app.storage.recorder.recorder import Recorder

LARGEST = 1 << 20  # bytes of one answer
MOST = 32 << 20  # bytes of all
BESIDE = 2048  # bytes that an answer takes beside its body
Key = bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it was given. body: None where only its ETag and headers are known."""

    mark: str
    etag: str
    headers: tuple[tuple[str, str], ...]
    media_type: str | None = None
    body: bytes | None = None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return BESIDE + len(self.body or b"")


class Remembered:
    """The answers, those least lately used given up first. most: bytes of all of them."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.size = 0
        self._known: OrderedDict[Key, Answer] = OrderedDict()

    def find(self, key: Key, mark: str) -> Answer | None:
        """The answer to a request, where it was given under the same mark."""
        found = self._known.get(key)
        if found is None or found.mark != mark:
            return None
        self._known.move_to_end(key)
        return found

    def known(self, key: Key) -> Answer | None:
        """The answer that a request had, under whichever mark."""
        return self._known.get(key)

    def keep(self, key: Key, answer: Answer) -> bool:
        """Remember an answer; False for one that is too large, or without a body in place of the same one with it."""
        before = self._known.get(key)
        if answer.size > BESIDE + LARGEST or (before and before.mark == answer.mark and before.body is not None):
            return False
        self.size += answer.size - (self._known.pop(key).size if before else 0)
        self._known[key] = answer
        while self.size > self.most:
            self.size -= self._known.popitem(last=False)[1].size
        return True


def key_of(*parts: bytes) -> Key:
    """What tells a request from every other; whoever holds it cannot tell what was sent."""
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


def asked(secret: str, campaign: str, *, names: bool, key: Key, known: str) -> Asked | None:
    """What the mark of a campaign is asked with by who sends a token's secret; None where there can be none.

    known: the mark under which this process knows the answer, '' for none.
    """
    prefix = prefix_of(secret)
    return None if prefix is None else Asked(prefix, campaign, names, key, known)


async def mark(recorder: Recorder, asked: Asked) -> tuple[str, bytes | None] | None:
    """The mark, and the answer that another process kept under it where this one does not know it; None: no mark.

    It does not say that the secret is right: whoever looks for an answer names the secret as well, in its key.

    Raises Unavailable.
    """

    async def ask(connection: Connection) -> tuple[str, bytes | None] | None:
        return await cache_version.mark(connection, asked)

    return await recorder.run(ask, at_once=True)
