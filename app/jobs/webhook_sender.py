"""Sends webhooks: to each one request at a time, in the order of events, and never to internal addresses."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import httpcore
import httpx

from app.domain.errors import AppError
from app.services.every_organization import list_open_organization_numbers
from app.services.webhooks import delivery
from app.services.webhooks.addresses import AllowedWebhookAddresses, parse_ip_address
from app.services.webhooks.delivery import DeliveryResult, PendingDelivery
from app.storage.current_organization import organization_number_from_row_id, use_organization
from app.storage.db import Database

LOOK_EVERY = 1.0  # seconds between checks for due events
AT_ONCE = 16
TIMEOUT = 15.0  # seconds for a request with its response; less than the lease of a webhook
T = TypeVar("T")
log = logging.getLogger("plumbline.webhooks")


class AddressRefused(httpcore.ConnectError):
    """The host has an address that is not public."""


class PublicAddressBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that it has looked up and checked itself, so that a name cannot change in between."""

    def __init__(self, allowed: AllowedWebhookAddresses) -> None:
        self._allowed = allowed
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that responds. Raises AddressRefused if any of them is not public."""
        try:
            known = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError("the host name is not known") from error
        addresses = list(dict.fromkeys(str(info[4][0]) for info in known))
        for text in addresses:
            address = parse_ip_address(text.partition("%")[0])
            if address is None or not self._allowed.is_allowed(host, address):
                raise AddressRefused("the host's address is not public")
        failed: Exception = httpcore.ConnectError("the host has no address")
        for text in addresses:
            try:
                return await self._plain.connect_tcp(text, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    async def sleep(self, seconds: float) -> None:
        """Wait, as the pool requires."""
        await asyncio.sleep(seconds)


class WebhookSender:
    """Sends due events until told to stop. Several workers may do so: one webhook belongs to one worker at a time."""

    def __init__(self, database: Database, *, stop: threading.Event, allowed: AllowedWebhookAddresses) -> None:
        self._database, self._stop, self._allowed = database, stop, allowed
        self._turn = asyncio.Lock()
        self._first = 0

    def run(self) -> None:
        """Send events; if the database is away, wait for it."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=AT_ONCE,
            keepalive_expiry=5.0,
            network_backend=PublicAddressBackend(self._allowed),
        )
        running: set[asyncio.Task[None]] = set()
        async with pool:
            while not self._stop.is_set():
                free = AT_ONCE - len(running)
                due = await self._claim(free) if free else []
                for webhook in due:
                    with use_organization(organization_number_from_row_id(webhook)):  # the task then also works for it
                        running.add(asyncio.create_task(self._send_all(pool, webhook)))
                await asyncio.wait([asyncio.create_task(asyncio.sleep(LOOK_EVERY)), *running], timeout=LOOK_EVERY)
                running = {task for task in running if not task.done()}
            if running:
                await asyncio.wait(running, timeout=TIMEOUT)

    async def _claim(self, free: int) -> list[int]:
        """Return due webhooks, as many as there is room for; organizations take turns in coming first.

        If the database is away, return those that were claimed before.
        """
        due: list[int] = []
        self._first += 1
        try:
            numbers = await self._ask(partial(list_open_organization_numbers, self._database))
            for place in range(len(numbers)):
                with use_organization(numbers[(self._first + place) % len(numbers)]):
                    due += await self._ask(partial(delivery.claim_due_webhooks, self._database, free - len(due)))
                if len(due) >= free:
                    break
        except AppError as error:
            log.warning("waiting for the database: %s", error.title())
        return due

    async def _ask(self, question: Callable[[], T]) -> T:
        """Query the database, one query at a time: its pool has few connections, and jobs need them."""
        async with self._turn:
            return await asyncio.to_thread(question)

    async def _send_all(self, pool: httpcore.AsyncConnectionPool, webhook: int) -> None:
        """Send the events of a claimed webhook, until one is not accepted or none is left."""
        try:
            while not self._stop.is_set():
                pending = await self._ask(partial(delivery.load_next_delivery_or_release, self._database, webhook))
                if pending is None:
                    return
                result = await send_webhook(pool, pending)
                if not await self._ask(partial(delivery.record_delivery, self._database, pending, result)):
                    log.warning("webhook event %s: %s", pending.message_id, result.error or f"status {result.status}")
                    return
            await self._ask(partial(delivery.release_webhook_claim, self._database, webhook))
        except AppError as error:  # the claim expires, and the event is sent again
            log.warning("waiting for the database: %s", error.title())


async def send_webhook(pool: httpcore.AsyncConnectionPool, pending: PendingDelivery) -> DeliveryResult:
    """Send one request. Redirects are not followed, and the body of the response is not read."""
    begun = time.monotonic()
    status: int | None = None
    error: str | None = None
    try:
        async with (
            asyncio.timeout(TIMEOUT),
            pool.stream(
                "POST", pending.url, headers=[*pending.headers(int(time.time())).items()], content=pending.body
            ) as answer,
        ):
            status = answer.status
    except TimeoutError:
        error = f"no answer within {TIMEOUT:g} s"
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as failure:
        error = str(failure)[:200] or type(failure).__name__
    return DeliveryResult(status, error, round(1000 * (time.monotonic() - begun)))
