"""The application asked in the thread of the test: as the framework's test client does it, without changing threads.

That client hands each request to a thread of its own and back, several times; for some ten thousand requests it is most
of what they cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest
from anyio import to_thread
from fastapi import FastAPI
from httpx._transports import asgi
from starlette.types import Receive, Scope, Send

CONNECTS_WITHIN = 60.0  # seconds
# At each request httpx would look on the disk whether it runs under trio, which is not installed.
asgi.create_event = asyncio.Event  # type: ignore[assignment]


class Direct(httpx.BaseTransport):
    """Asks the application and waits; what it does not handle becomes its 500, not the test's exception."""

    def __init__(self, app: FastAPI, loop: asyncio.AbstractEventLoop, state: dict[str, object]) -> None:
        async def started(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "state": dict(state)}, receive, send)

        self.loop = loop
        self.asked = httpx.ASGITransport(started, raise_app_exceptions=False, client=("testclient", 50000))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, answered whole."""
        return self.loop.run_until_complete(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self.asked.handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers.raw, content=await answer.aread())


@contextmanager
def asking(app: FastAPI) -> Iterator[httpx.Client]:
    """A client of the running application, which it starts and stops."""
    loop = asyncio.new_event_loop()
    keeper = _keeping_threads(loop)
    lifespan = app.router.lifespan_context(app)
    state = dict(loop.run_until_complete(lifespan.__aenter__()) or {})
    # Between requests the loop stands still, and with it a connection that has only begun: Postgres would wait a minute
    # for it to say who it is, and every `DROP DATABASE` with it.
    loop.run_until_complete(app.state.judging.recorder._pool.wait(CONNECTS_WITHIN))
    try:
        with httpx.Client(
            transport=Direct(app, loop, state), base_url="http://testserver", follow_redirects=True
        ) as client:
            yield client
    finally:
        loop.run_until_complete(lifespan.__aexit__(None, None, None))
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(keeper)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[httpx.Client]:
    """A client without a credential, for files whose tests ask one thing at a time; in place of that of `conftest`."""
    with asking(app) as client:
        yield client


def _keeping_threads(loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    """Begin what the threads of the handlers end with; else each request, a run of its own, would start new ones.

    The framework binds them to the first thing that the loop was told to run until it is complete.
    """

    async def keep() -> None:
        await to_thread.run_sync(int)
        loop.stop()
        await loop.create_future()

    keeper = loop.create_task(keep())
    with suppress(RuntimeError):  # stopped before it is complete, as it should be
        loop.run_until_complete(keeper)
    return keeper
