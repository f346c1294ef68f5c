# Made from ../aio/client.py by make_sync.py; change that.
"""The client: a server, a token, and where everything begins."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import httpx

from plumbline_client.calls import Call, Json, path, without_none
from plumbline_client.errors import PlumblineError
from plumbline_client.models import CampaignInfo, Lease, Me, Version
from plumbline_client.retries import RetryPolicy
from plumbline_client.sync.campaign import Campaign
from plumbline_client.sync.jobs import Jobs
from plumbline_client.sync.tasks import Task
from plumbline_client.sync.transport import TIMEOUT, Transport

WAIT = 5  # seconds until a rater who has to wait is offered a task again


class Client:
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
        http: httpx.Client | None = None,
    ) -> None:
        url, token = url or os.environ.get("PLUMBLINE_SERVER"), token or os.environ.get("PLUMBLINE_TOKEN")
        if http is None and not url:
            raise ValueError("which server? give its address, or set PLUMBLINE_SERVER")
        self._owned = http is None
        self._http = http if http is not None else httpx.Client(base_url=url or "", timeout=TIMEOUT)
        if token:
            self._http.headers["Authorization"] = f"Bearer {token}"
        if rater is not None:
            self._http.headers["Plumbline-Rater"] = rater
        self._transport = Transport(self._http, retries or RetryPolicy())
        self.jobs = Jobs(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless they are those of a client that was given."""
        if self._owned:
            self._http.close()

    def version(self) -> Version:
        """Of the server."""
        return self._transport.ask(Version, Call("GET", "/version"))

    def me(self) -> Me:
        """Whose the token is."""
        return self._transport.ask(Me, Call("GET", path("me")))

    def campaign(self, key: str) -> Campaign:
        """A campaign by its key. The server is asked nothing yet."""
        return Campaign(self._transport, key)

    def campaigns(self, **filters: str) -> Iterator[CampaignInfo]:
        """Campaigns by `name`, `state`, `protocol`, `series` or languages; all of them without filters."""
        for item in self._transport.items(path("campaigns"), filters):
            yield CampaignInfo.model_validate(item)

    def create_campaign(
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
    ) -> Campaign:
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
        self._transport.ask(CampaignInfo, Call("POST", path("campaigns"), body=body, repeats="keyed"))
        return self.campaign(key)

    def lease(self, campaign: str) -> Lease:
        """The task that the rater holds, or the next one, or why there is none."""
        return self._transport.ask(Lease, Call("POST", path("campaigns", campaign, "lease"), repeats="safe"))

    def tasks(self, campaign: str) -> Iterator[Task]:
        """One task after the other, until none is left for the rater; where there is one later, it waits.

        Hand each in, or release it, before you ask for the next. Raises PlumblineError where that was not done, or
        where no task can come: the enrolment is paused, a test or consent is missing.
        """
        while True:
            lease = self.lease(campaign)
            if lease.task is not None:
                task = Task(self._transport, lease.task)
                yield task
                if not task.ended:
                    raise PlumblineError(f"{task.id} was neither handed in nor released")
            elif lease.why == "wait":
                time.sleep(lease.retry_after or WAIT)
            elif lease.why in ("finished", "capacity"):
                return
            else:
                raise PlumblineError(f"there is no task for this rater: {lease.why}")
