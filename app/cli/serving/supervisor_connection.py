"""The connection of the supervisor and a process that it keeps: heartbeats one way, states of all parts the other way.

Each end notices when the other is gone, however it went.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from app.web.supervision import PartStates


class ConnectionToSupervisor:
    """The end of the process that is kept. told: called with how all parts are. alone: once the supervisor is gone."""

    def __init__(self, descriptor: int, *, told: Callable[[PartStates], None], alone: Callable[[], None]) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._told, self._alone = told, alone
        threading.Thread(target=self._listen, name="line", daemon=True).start()

    def send_heartbeat(self) -> None:
        """Give a sign of life; the first says that the process is ready. Never waits, never fails."""
        with suppress(OSError):  # nobody listens: it is busy, or gone, which the thread notices
            self._socket.send(b".", socket.MSG_DONTWAIT)

    def _listen(self) -> None:
        with suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                self._told(json.loads(line))
        self._alone()


class ConnectionToProcess:
    """The supervisor's end. child_descriptor: the descriptor to pass on, closed here once the process has it."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(0)

    @property
    def child_descriptor(self) -> int:
        """The descriptor of the other end."""
        return self._theirs.fileno()

    def close_inherited_end(self) -> None:
        """The process has its end: ours notices when it is gone."""
        self._theirs.close()

    def has_new_heartbeat(self) -> bool:
        """Whether a sign of life has come since the last question."""
        alive = False
        with suppress(OSError):
            while self._ours.recv(4096):
                alive = True
        return alive

    def send_part_states(self, parts: PartStates) -> None:
        """Send the states of all parts; a process that does not listen misses them."""
        with suppress(OSError):
            self._ours.send(json.dumps(parts).encode() + b"\n")

    def close(self) -> None:
        """Hang up."""
        self._ours.close()
        self._theirs.close()
