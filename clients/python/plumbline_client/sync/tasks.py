# Made from ../aio/tasks.py by make_sync.py; change that.
"""Tasks of a rater: lease, judge, hand in."""

from __future__ import annotations

from collections.abc import Iterable

from plumbline_client.calls import Call, Json, path, quote_revision
from plumbline_client.models import HandedIn, Receipt, TaskContent
from plumbline_client.sync.transport import Transport


class Task:
    """A task that the rater holds. content: as it was when it was leased or last read."""

    def __init__(self, transport: Transport, content: TaskContent) -> None:
        self._transport, self.content = transport, content
        self.ended = False

    @property
    def id(self) -> str:
        """Its opaque id."""
        return self.content.task

    def refresh(self) -> TaskContent:
        """Read it again, with all answers so far."""
        self.content = self._transport.ask(TaskContent, Call("GET", path("tasks", self.id)))
        return self.content

    def judge(self, item: int, segment: int | None, payload: Json, *, seen: int | None = None) -> Receipt:
        """Answer for a segment, or for the document as a whole (None). When this returns, the answer is on disk.

        seen: the revision that the answer replaces (0: none yet); without it the last answer wins.
        """
        address = (item,) if segment is None else (item, segment)
        return self._put(address, payload, seen)

    def compare(self, screen: int, payload: Json, *, seen: int | None = None) -> Receipt:
        """Compare the outputs that a screen shows side by side."""
        return self._put(("screens", screen), payload, seen)

    def judge_many(self, judgments: Iterable[Json]) -> list[Receipt]:
        """Store many answers, all of them or none: `{"item": 1, "segment": 2, "payload": {…}}`."""
        call = Call("POST", path("tasks", self.id, "judgments"), body=list(judgments), repeats="safe")
        stored = (self._transport.send(call)).json()["judgments"]
        return [Receipt.model_validate(receipt) for receipt in stored]

    def heartbeat(self, events: Iterable[Json] = ()) -> None:
        """Keep the lease, and record activity for paid hours."""
        call = Call("POST", path("tasks", self.id, "heartbeat"), body={"events": list(events)}, repeats="safe")
        self._transport.send(call)

    def flag(self, **fields: object) -> None:
        """Report a problem with an item."""
        self._transport.send(Call("POST", path("tasks", self.id, "flags"), body=fields, repeats="keyed"))

    def hand_in(self) -> str:
        """Hand it in; the completion code. Raises Problem (409) whose places name every judgment that is missing."""
        handed_in = self._transport.ask(HandedIn, Call("POST", path("tasks", self.id, "submit"), repeats="safe"))
        self.ended = True
        return handed_in.completion_code

    def release(self) -> None:
        """Give it back; what was judged is kept."""
        self._transport.send(Call("POST", path("tasks", self.id, "release")))
        self.ended = True

    def _put(self, address: tuple[str | int, ...], payload: Json, seen: int | None) -> Receipt:
        here = path("tasks", self.id, "judgments", *address)
        return self._transport.ask(Receipt, Call("PUT", here, body=payload, headers=quote_revision(seen)))
