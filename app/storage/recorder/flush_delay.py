"""Decide whether a flush should wait a moment, because other raters are about to send something as well.

A commit costs almost the same for one answer as for sixteen. But raters who take time to think rarely send answers at
the same moment. If a campaign has so many raters that some of them send something within the waiting time, a flush
waits for them.
"""

from __future__ import annotations

import time
from collections import deque

RECENT = 12
"""Number of recent arrivals that `RecentAnswerSenders` uses."""
ENOUGH = 10
"""Number of waiting members at which a flush starts at once. It is below RECENT, so raters who each wait for a response
before they send their next answer are waited for only until this number has come back."""
ENOUGH_DURING_FLUSH = 5
"""Number of arrivals during a flush that fill the next one without any waiting. With a few programs that never pause,
waiting for more would leave the database idle while they wait for their responses: it cost a third of the rate."""


class RecentAnswerSenders:
    """The senders and times of the last few answers of a campaign.

    wait: seconds that a flush may wait. It waits only if the last RECENT answers came from RECENT different raters, on
    average at least one within each such time. So a rater who works alone never waits, and neither do a few programs
    that send one answer after the other. It does not wait either if enough of them arrive while a flush is written.
    flush_seconds: how long the last flush took.
    """

    __slots__ = ("_last", "flush_seconds", "wait")

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self.flush_seconds = 0.0
        self._last: deque[tuple[float, str]] = deque(maxlen=RECENT)

    def record(self, actor: str) -> None:
        """Note an arrival."""
        self._last.append((time.monotonic(), actor))

    @property
    def expects_more_soon(self) -> bool:
        """Whether it is worth waiting for what others are about to send."""
        last = self._last
        if len(last) < RECENT:
            return False
        gap = (time.monotonic() - last[0][0]) / RECENT
        if gap > self.wait or gap * ENOUGH_DURING_FLUSH < self.flush_seconds:
            return False
        return len({actor for _, actor in last}) == RECENT
