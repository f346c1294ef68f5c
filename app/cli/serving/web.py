"""A web process: answers requests on a listening socket, with or without a supervisor.

python -m app.cli.serving.web LINE LISTENER APPLICATION [ENVIRONMENT]    # descriptors: of the connection to the
                                                                         # supervisor, of the listening socket, and of a
                                                                         # pipe with additions to the environment

The supervisor imports this module to start the process, so code that answers requests is imported only when needed.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import socket
import sys
from typing import TYPE_CHECKING, Any

from app.cli.serving.supervisor_connection import ConnectionToSupervisor
from app.config import Settings

if TYPE_CHECKING:
    import uvicorn

FACTORY = "app.main:create_app_from_environment"
PEARMUT = "app.main:create_pearmut_app_from_environment"
GRACE = 8  # seconds for requests under way to finish
BEAT_EVERY = 1  # seconds
KEEP_ALIVE = 75  # seconds; longer than the 20 s between a page's heartbeats, and than a proxy's own limit
SWITCH = 0.0005  # seconds after which a computing thread yields to the event loop, which asks after every system call
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "app.web.logs.JsonLineFormatter"}},
    "handlers": {"err": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
    "loggers": {name: {"handlers": ["err"], "level": "INFO"} for name in ("uvicorn", "plumbline")},
}


def make_uvicorn_config(factory: str = FACTORY, **more: Any) -> uvicorn.Config:
    """Configure the server. factory: makes the application. more: further settings for uvicorn."""
    import uvicorn

    from app.web.http_protocol import LimitedHttpProtocol

    _allow_files()
    proxies = Settings.load().trusted_proxies
    return uvicorn.Config(
        factory,
        factory=True,
        http=LimitedHttpProtocol,
        access_log=False,
        log_config=LOGGING,
        server_header=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        **more,
    )


def _allow_files() -> None:
    """Allow as many connections as the system permits, up to our own limit."""
    from app.web.http_protocol import MOST_FILES, LimitedHttpProtocol, get_open_file_limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    LimitedHttpProtocol.idle.most = get_open_file_limit() // 2


def serve_requests(listener: socket.socket) -> None:
    """Answer requests until told to stop, without a supervisor."""
    _server().run(sockets=[listener])


def _server(factory: str = FACTORY, **more: Any) -> uvicorn.Server:
    """Make the server without garbage collection, a fifth of the start; the application turns it on again."""
    import uvicorn

    gc.disable()
    return uvicorn.Server(make_uvicorn_config(factory, **more))


def _log_no_threads() -> None:
    """Omit unused fields from log records (one per request): threads, processes, callers."""
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = ""  # as the documentation of `logging` says; otherwise it searches the stack for the caller


def _await_environment(descriptor: int) -> None:
    """Import the application meanwhile; exit if no environment comes, because the supervisor has then ended."""
    gc.disable()
    from app import api, main  # noqa: F401

    api.find_routers()
    with os.fdopen(descriptor, "rb") as pipe:
        given = pipe.read()
    if not given:
        os._exit(1)
    os.environ.update(json.loads(given))


def main(
    supervisor_descriptor: int, listener_descriptor: int, factory: str, environment_descriptor: int | None = None
) -> None:
    """Answer requests until told to stop. The event loop sends the heartbeats, which show that it still answers."""
    sys.setswitchinterval(SWITCH)
    _log_no_threads()
    from app.web import service_part_states

    ends = ConnectionToSupervisor(
        supervisor_descriptor, told=service_part_states.set_service_part_states, alone=lambda: os._exit(1)
    )

    if environment_descriptor is not None:
        _await_environment(environment_descriptor)

    async def beat() -> None:
        ends.send_heartbeat()

    with socket.socket(fileno=listener_descriptor) as ours:
        _server(factory, callback_notify=beat, timeout_notify=BEAT_EVERY - 0.5).run(sockets=[ours])


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `app.cli.main` says
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:5]))
