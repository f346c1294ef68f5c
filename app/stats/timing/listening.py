"""What a rater has heard or watched of a file, computed by the server from the activity log, not claimed by the page.

A stretch is heard from one event of a page to the next if playing continued between them: the position in the file
moved forward, by no more than twice the time that passed, as at double speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

PLAYING = frozenset({"media_play", "media_heard", "media_seek"})
"""Events after which playing may go on."""
HEARD = frozenset({"media_heard", "media_pause", "media_ended"})
"""Events at which playing has continued until then."""
FASTEST = 2.0
SLACK = 1000  # ms: tolerance between two events of a page, and at the end of a file
UNHEARD = 0.02
"""Share of a file that may be missing between stretches."""


@dataclass(frozen=True, slots=True)
class PlaybackEvent:
    """An event of a page about a file.

    at_ms: by the browser's clock. media_ms: the position in the file. received_at: when the server received it.
    """

    session: str
    kind: str
    at_ms: int
    media_ms: int
    received_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HeardIntervals:
    """What was heard of a file: start and end positions in milliseconds, in order of time."""

    intervals: tuple[tuple[int, int], ...] = ()

    @property
    def total_ms(self) -> int:
        """Total time heard; a part heard twice counts twice."""
        return sum(end - start for start, end in self.intervals)

    def covers_whole_file(self, duration_ms: int) -> bool:
        """Return whether every part was heard once, up to the end."""
        heard, reached = 0, 0
        for start, end in sorted(self.intervals):
            heard += max(0, end - max(start, reached))
            reached = max(reached, end)
        return reached >= duration_ms - SLACK and heard >= duration_ms * (1 - UNHEARD) - SLACK

    def are_plays_used_up(self, duration_ms: int, plays: int) -> bool:
        """Return whether the file was heard for as long as `plays` plays take."""
        return self.total_ms >= plays * duration_ms - SLACK / 2


def find_heard_intervals(events: Iterable[PlaybackEvent]) -> HeardIntervals:
    """Return what was heard of one file according to its events, which are in the order of each page.

    >>> events = PlaybackEvent("s", "media_play", 0, 0), PlaybackEvent("s", "media_ended", 3000, 3000)
    >>> heard = find_heard_intervals(events)
    >>> heard.total_ms, heard.covers_whole_file(3000), heard.covers_whole_file(9000)
    (3000, True, False)
    """
    return HeardIntervals(tuple((start, end) for start, end, _ in iterate_heard_intervals(events)))


def iterate_heard_intervals(events: Iterable[PlaybackEvent]) -> Iterator[tuple[int, int, PlaybackEvent]]:
    """Yield the heard intervals of one file, each with the event at which it begins."""
    last: dict[str, PlaybackEvent] = {}
    for event in events:
        before = last.get(event.session)
        if before is not None and before.kind in PLAYING and event.kind in HEARD:
            moved, passed = event.media_ms - before.media_ms, event.at_ms - before.at_ms
            if 0 < moved <= FASTEST * passed + SLACK:
                yield before.media_ms, event.media_ms, before
        last[event.session] = event
