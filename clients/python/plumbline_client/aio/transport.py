"""Sending requests: retries, refusals, pages of lists, files in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx
from pydantic import BaseModel

from plumbline_client.answers import Busy, parse
from plumbline_client.calls import Call, Query
from plumbline_client.errors import ServerUnreachable, problem_of
from plumbline_client.files import PIECE, replacing
from plumbline_client.models import Json, Page
from plumbline_client.retries import RetryPolicy

PAGE = 200  # items
TIMEOUT = httpx.Timeout(10, read=600)  # seconds; a large import is read before it is answered
A = TypeVar("A", bound=BaseModel)


class AsyncTransport:
    """A server, a credential, and how patient one is with it."""

    def __init__(self, http: httpx.AsyncClient, policy: RetryPolicy) -> None:
        self.http, self.policy = http, policy

    async def send(self, call: Call, *, file: Path | None = None) -> httpx.Response:
        """The answer, its body read. file: the body, read anew at each attempt.

        Raises Problem, NotPlumbline, ServerUnreachable.
        """
        attempt = 1
        while True:
            options = call.options()
            if file is not None:
                options["content"] = file_pieces(file)
            try:
                answer = await self.http.request(call.method, call.path, **options)
            except httpx.TransportError as error:
                pause = self.policy.pause_after_error(error, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise unreachable(self.http, error) from error
            else:
                if answer.is_success:
                    return answer
                pause = self.policy.pause_after_answer(answer, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise problem_of(answer)
            attempt += 1
            await asyncio.sleep(pause)

    async def ask(self, model: type[A], call: Call, *, file: Path | None = None) -> A:
        """The answer as a model. Raises as `send`."""
        return parse(model, await self.send(call, file=file))

    async def items(self, path: str, query: Query | None = None) -> AsyncIterator[Json]:
        """Every item of a list, page after page. Raises as `send`."""
        cursor: str | int | None = None
        while True:
            call = Call("GET", path, {"limit": PAGE, **(query or {}), "cursor": cursor})
            page = await self.ask(Page, call)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def download(self, call: Call, path: Path) -> None:
        """Stream an answer to a file, which is there as a whole or not at all. Raises as `send`."""
        attempt = 1
        while True:
            try:
                with replacing(path) as content:
                    async with self._stream(call) as answer:
                        async for piece in answer.aiter_bytes(PIECE):
                            content.write(piece)
                return
            except httpx.TransportError as error:
                pause = self.policy.pause_after_error(error, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise unreachable(self.http, error) from error
            except Busy as busy:
                pause = self.policy.pause_after_answer(busy.answer, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise problem_of(busy.answer) from None
            attempt += 1
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def _stream(self, call: Call) -> AsyncIterator[httpx.Response]:
        async with self.http.stream(call.method, call.path, **call.options()) as answer:
            if not answer.is_success:
                await answer.aread()
                raise Busy(answer)
            yield answer


async def file_pieces(path: Path) -> AsyncIterator[bytes]:
    """A file, piece by piece."""
    with path.open("rb") as content:
        while piece := content.read(PIECE):
            yield piece


def unreachable(http: httpx.AsyncClient, error: httpx.TransportError) -> ServerUnreachable:
    """The error for a connection that failed."""
    return ServerUnreachable(f"{http.base_url}: {str(error) or type(error).__name__}")
