"""The connection between the supervisor and one of its processes: heartbeats one way, states of all parts back.

Each end notices when the other is gone, for whatever reason.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from app.web.service_part_states import PartStates


class ConnectionToSupervisor:
    """The process's end. told: called with the states of all parts. alone: called once the supervisor is gone."""

    def __init__(self, descriptor: int, *, told: Callable[[PartStates], None], alone: Callable[[], None]) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._told, self._alone = told, alone
        threading.Thread(target=self._listen, name="line", daemon=True).start()

    def send_heartbeat(self) -> None:
        """Send a heartbeat; the first one says that the process is ready. Never waits, never fails."""
        with suppress(OSError):  # the supervisor is busy, or gone, which the thread notices
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
        """Close our copy of the other end, which the process now has, so that we notice when the process is gone."""
        self._theirs.close()

    def has_new_heartbeat(self) -> bool:
        """Tell whether a heartbeat has come since the last call."""
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
        """Close the connection."""
        self._ours.close()
        self._theirs.close()
