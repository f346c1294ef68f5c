"""The client: a server, a token, and where everything begins."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import httpx

from plumbline_client.aio.campaign import AsyncCampaign
from plumbline_client.aio.jobs import AsyncJobs
from plumbline_client.aio.tasks import AsyncTask
from plumbline_client.aio.transport import TIMEOUT, AsyncTransport
from plumbline_client.calls import Call, Json, path, without_none
from plumbline_client.errors import PlumblineError
from plumbline_client.models import CampaignInfo, Lease, Me, Version
from plumbline_client.retries import RetryPolicy

WAIT = 5  # seconds until a rater who has to wait is offered a task again


class AsyncClient:
    """A Plumbline server, asked under a token.

    url, token: by default the environment's PLUMBLINE_SERVER and PLUMBLINE_TOKEN. rater: with a front-end's token, the
    rater for whom it acts. retries: how patient it is. http: a client of httpx to be used instead of one of its own.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        rater: str | None = None,
        retries: RetryPolicy | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        url, token = url or os.environ.get("PLUMBLINE_SERVER"), token or os.environ.get("PLUMBLINE_TOKEN")
        if http is None and not url:
            raise ValueError("which server? give its address, or set PLUMBLINE_SERVER")
        self._owned = http is None
        self._http = http if http is not None else httpx.AsyncClient(base_url=url or "", timeout=TIMEOUT)
        if token:
            self._http.headers["Authorization"] = f"Bearer {token}"
        if rater is not None:
            self._http.headers["Plumbline-Rater"] = rater
        self._transport = AsyncTransport(self._http, retries or RetryPolicy())
        self.jobs = AsyncJobs(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless they are those of a client that was given."""
        if self._owned:
            await self._http.aclose()

    async def version(self) -> Version:
        """Of the server."""
        return await self._transport.ask(Version, Call("GET", "/version"))

    async def me(self) -> Me:
        """Whose the token is."""
        return await self._transport.ask(Me, Call("GET", path("me")))

    def campaign(self, key: str) -> AsyncCampaign:
        """A campaign by its key. The server is asked nothing yet."""
        return AsyncCampaign(self._transport, key)

    async def campaigns(self, **filters: str) -> AsyncIterator[CampaignInfo]:
        """Campaigns by `name`, `state`, `protocol`, `series` or languages; all of them without filters."""
        async for item in self._transport.items(path("campaigns"), filters):
            yield CampaignInfo.model_validate(item)

    async def create_campaign(
        self,
        key: str,
        *,
        protocol: str | None = None,
        template: str | None = None,
        target_language: str | None = None,
        source_language: str | None = None,
        name: str | None = None,
        series: str | None = None,
        basis: str | None = None,
        options: Json | None = None,
        settings: Json | None = None,
    ) -> AsyncCampaign:
        """Create a campaign, by a protocol or by a template."""
        body = without_none(
            key=key,
            protocol=protocol,
            template=template,
            target_language=target_language,
            source_language=source_language,
            name=name,
            series=series,
            basis=basis,
            options=options,
            settings=settings,
        )
        await self._transport.ask(CampaignInfo, Call("POST", path("campaigns"), body=body, repeats="keyed"))
        return self.campaign(key)

    async def lease(self, campaign: str) -> Lease:
        """The task that the rater holds, or the next one, or why there is none."""
        return await self._transport.ask(Lease, Call("POST", path("campaigns", campaign, "lease"), repeats="safe"))

    async def tasks(self, campaign: str) -> AsyncIterator[AsyncTask]:
        """One task after the other, until none is left for the rater; where there is one later, it waits.

        Hand each in, or release it, before you ask for the next. Raises PlumblineError where that was not done, or
        where no task can come: the enrolment is paused, a test or consent is missing.
        """
        while True:
            lease = await self.lease(campaign)
            if lease.task is not None:
                task = AsyncTask(self._transport, lease.task)
                yield task
                if not task.ended:
                    raise PlumblineError(f"{task.id} was neither handed in nor released")
            elif lease.why == "wait":
                await asyncio.sleep(lease.retry_after or WAIT)
            elif lease.why in ("finished", "capacity"):
                return
            else:
                raise PlumblineError(f"there is no task for this rater: {lease.why}")
