"""What a rater has heard or watched of a file, from the log of activity: the server's own account, not the page's word.

A stretch is heard from one event of a page to the next, where playing went on between them: the place in the file moved
forward, and by no more than twice the time that passed, as at double speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.storage.db import Session
from app.storage.media import rows

PLAYING = frozenset({"media_play", "media_heard", "media_seek"})
"""Events after which playing may go on."""
HEARD = frozenset({"media_heard", "media_pause", "media_ended"})
"""Events up to which it went on."""
FASTEST = 2.0
SLACK = 1000  # ms: between two events of a page, and at the end of a file
UNHEARD = 0.02
"""Share of a file that may be missing, between stretches."""


@dataclass(frozen=True, slots=True)
class PlayEvent:
    """An event of a page about a file. at_ms: by the browser's clock. media_ms: the place in the file."""

    session: str
    kind: str
    at_ms: int
    media_ms: int


@dataclass(frozen=True, slots=True)
class HeardStretches:
    """What was heard of a file: places from and to, in milliseconds, in the order of time."""

    stretches: tuple[tuple[int, int], ...] = ()

    @property
    def total_ms(self) -> int:
        """All that was heard, what was heard twice counted twice."""
        return sum(end - start for start, end in self.stretches)

    def is_whole(self, duration_ms: int) -> bool:
        """Whether every part was heard once, up to the end."""
        heard, reached = 0, 0
        for start, end in sorted(self.stretches):
            heard += max(0, end - max(start, reached))
            reached = max(reached, end)
        return reached >= duration_ms - SLACK and heard >= duration_ms * (1 - UNHEARD) - SLACK

    def is_used_up(self, duration_ms: int, plays: int) -> bool:
        """Whether it was heard for as long as so many plays take."""
        return self.total_ms >= plays * duration_ms - SLACK / 2


def find_heard_stretches(events: Iterable[PlayEvent]) -> HeardStretches:
    """What events about one file, in the order of each page, say was heard.

    >>> heard = find_heard_stretches([PlayEvent("s", "media_play", 0, 0), PlayEvent("s", "media_ended", 3000, 3000)])
    >>> heard.total_ms, heard.is_whole(3000), heard.is_whole(9000)
    (3000, True, False)
    """
    stretches = []
    last: dict[str, PlayEvent] = {}
    for event in events:
        before = last.get(event.session)
        if before is not None and before.kind in PLAYING and event.kind in HEARD:
            moved, passed = event.media_ms - before.media_ms, event.at_ms - before.at_ms
            if 0 < moved <= FASTEST * passed + SLACK:
                stretches.append((before.media_ms, event.media_ms))
        last[event.session] = event
    return HeardStretches(tuple(stretches))


def load_heard_stretches(
    session: Session, campaign_id: int, task_id: int, rater_id: int, media: Sequence[str]
) -> dict[str, HeardStretches]:
    """What a rater has heard of some files in a task, by their ids."""
    events: dict[str, list[PlayEvent]] = {public_id: [] for public_id in media}
    for row in rows.load_play_events(session, campaign_id, task_id, rater_id):
        if row.media in events:
            events[row.media].append(PlayEvent(row.session, row.kind, row.at_ms, row.media_ms))
    return {public_id: find_heard_stretches(of) for public_id, of in events.items()}
