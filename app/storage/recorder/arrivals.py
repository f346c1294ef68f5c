"""Whether a flush gains by waiting a moment: only where other raters are about to send something as well.

A commit costs almost the same for one answer as for sixteen, and raters who think seldom meet in one by chance. Where a
campaign's raters are so many that some send something within the wait, a flush waits for them.
"""

from __future__ import annotations

import time
from collections import deque

RECENT = 12
"""Arrivals that are looked at."""
ENOUGH = 10
"""Members with whom a flush waits no longer. Fewer than RECENT: raters who each wait for an answer before they send the
next one are waited for only where so many come back."""


class RecentAnswerSenders:
    """Who sent the last few answers of a campaign, and when.

    wait: seconds that a flush may wait. It does where the last RECENT came from as many raters, one in each such time.
    So whoever works alone waits for nobody, nor do a few programs that send one answer after the other.
    """

    __slots__ = ("_last", "wait")

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self._last: deque[tuple[float, str]] = deque(maxlen=RECENT)

    def record(self, actor: str) -> None:
        """Somebody has sent something."""
        self._last.append((time.monotonic(), actor))

    @property
    def expects_more_soon(self) -> bool:
        """Whether others are about to come."""
        last = self._last
        if len(last) < RECENT or time.monotonic() - last[0][0] > RECENT * self.wait:
            return False
        return len({actor for _, actor in last}) == RECENT
