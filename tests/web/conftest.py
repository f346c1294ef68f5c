"""A real server on loopback in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp

from app.main import create_app
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.http_protocol import LimitedHttpProtocol
from tests.patience import patient
from tests.spine import fresh
from tests.working import until as wait_until

Address = tuple[str, int]
Serving = Callable[..., AbstractContextManager[Address]]
ENDS_WITHIN = 15  # seconds, but for those in which the machine stands still; two of them for what is under way


@contextmanager
def serve(app: ASGIApp, http: type = LimitedHttpProtocol, lifespan: str = "on") -> Iterator[Address]:
    """Serve an application over a protocol; its address."""
    config = uvicorn.Config(
        app, http=http, log_config=None, access_log=False, ws="none", lifespan=lifespan, proxy_headers=False
    )
    config.timeout_graceful_shutdown = 2
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until = time.monotonic() + 60
            while not server.started and time.monotonic() < until:
                time.sleep(0.01)
            assert server.started
            yield listener.getsockname()
        finally:
            server.should_exit = True
            wait_until(lambda: not thread.is_alive(), "the server ends", within=ENDS_WITHIN)


@contextmanager
def one_database(postgres: embedded.EmbeddedServer, template: str) -> Iterator[Database]:
    """A database that the tests of a file share, by a pool of two connections."""
    with fresh(postgres, template) as spine:
        handle = Database(spine.url, size=2, role="plumbline_app")
        yield handle
        handle.close()


@pytest.fixture
def serving() -> Serving:
    """Serve an application over a protocol and give its address."""
    return serve


@pytest.fixture(scope="module")
def patience() -> Iterator[None]:
    """For tests of something else than how soon a service gives up."""
    with patient():
        yield


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database under the serving role, with few connections."""
    handle = Database(database_url, size=2, role="plumbline_app")
    yield handle
    handle.close()


@pytest.fixture
def make_app(database: Database) -> Callable[..., ASGIApp]:
    """The application with some options changed."""
    return lambda **changes: create_app(database, ServiceOptions(**changes))
