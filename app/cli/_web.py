"""A web process: answers requests on a listening socket, under the supervisor's eyes or by itself.

python -m app.cli._web LINE LISTENER    # the descriptors of the line and of the listening socket
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import uvicorn

from app.cli._line import Line
from app.web.protocol import BoundedProtocol

FACTORY = "app.main:from_environment"
GRACE = 8  # seconds that requests under way have to finish
BEAT_EVERY = 1  # seconds
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "app.web.logs.JsonLines"}},
    "handlers": {"err": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
    "loggers": {name: {"handlers": ["err"], "level": "INFO"} for name in ("uvicorn", "plumbline")},
}


def config(**more: Any) -> uvicorn.Config:
    """How requests are answered. more: what else uvicorn is told."""
    return uvicorn.Config(
        FACTORY,
        factory=True,
        http=BoundedProtocol,
        access_log=False,
        log_config=LOGGING,
        server_header=False,
        ws="none",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE,
        **more,
    )


def answer(listener: socket.socket) -> None:
    """Answer requests until told to stop, with nobody who looks after it."""
    uvicorn.Server(config()).run(sockets=[listener])


def main(line: int, listener: int) -> None:
    """Answer requests until told to stop. The event loop gives the signs of life: who hears them is answered."""
    from app.web import parts

    ends = Line(line, told=parts.hear, alone=lambda: os._exit(1))

    async def beat() -> None:
        ends.beat()

    with socket.socket(fileno=listener) as ours:
        uvicorn.Server(config(callback_notify=beat, timeout_notify=BEAT_EVERY - 0.5)).run(sockets=[ours])


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `app.cli.main` says
    main(*map(int, sys.argv[1:3]))
