"""The supervisor: keeps every part of the service running, and reports their states to the log and the processes.

Parts are started one after another, so that none takes the processor from the one before it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import NoReturn

from app.cli.serving.supervised_parts import SupervisedPart, SupervisedProcess
from app.domain.errors import Unavailable
from app.web.service_part_states import PartStates

LOOK_EVERY = 0.2  # seconds
TELL_EVERY = 5.0  # seconds; states are also sent without a change, in case a process missed them
log = logging.getLogger("plumbline.serve")


class SupervisedPartNotStarted(Unavailable):
    """The server did not start."""

    published = "NotStarted"


def supervise_parts(parts: Sequence[SupervisedPart]) -> NoReturn:
    """Keep the parts running until an exception of a signal handler says to stop.

    Raises SupervisedPartNotStarted if the first start of a part fails by itself, because another start would fail in
    the same way.
    """
    looked = told = time.monotonic()
    said: PartStates = {}
    while True:
        time.sleep(LOOK_EVERY)
        now = time.monotonic()
        seconds, looked = min(now - looked, 2 * LOOK_EVERY), now  # a pause of the supervisor itself does not count
        for part in parts:
            part.check_and_mend(
                seconds, may_start=not any(isinstance(one, SupervisedProcess) and one.is_starting for one in parts)
            )
            if isinstance(part, SupervisedProcess) and part.failed is not None:
                raise SupervisedPartNotStarted(f"{part.name} ended with exit code {part.failed}; the log says why")
        current = list_part_states(parts)
        if current != said or now - told >= TELL_EVERY:
            said, told = current, now
            for part in parts:
                part.notify_of_part_states(current)


def list_part_states(parts: Sequence[SupervisedPart]) -> dict[str, dict[str, str]]:
    """Return the state of each part."""
    return {part.name: {"state": part.condition.state, "reason": part.condition.reason} for part in parts}


def stop_service_parts(parts: Sequence[SupervisedPart], within: float) -> None:
    """Stop all parts at once; they have this many seconds together."""
    for part in parts:
        part.request_stop()
    until = time.monotonic() + within
    for part in parts:
        part.ensure_stopped_within(max(0.1, until - time.monotonic()))
