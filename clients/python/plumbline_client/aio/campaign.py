"""A campaign: its state, its raters, its plan and its tasks; `data` and `reports` are what goes in and comes out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from plumbline_client.aio.data import AsyncData
from plumbline_client.aio.jobs import AsyncJobs, Progress
from plumbline_client.aio.reports import AsyncReports
from plumbline_client.aio.transport import AsyncTransport
from plumbline_client.answers import parse, parse_json
from plumbline_client.calls import Call, Json, path, prefer_wait, quote_revision, without_none
from plumbline_client.models import (
    Batch,
    CampaignInfo,
    Completion,
    Exclusion,
    Invitation,
    Link,
    Plan,
    Rater,
)
from plumbline_client.models import Progress as CampaignProgress
from plumbline_client.reports import Report

WAIT = 10  # seconds that the server may take before it names a job


class AsyncCampaign:
    """A campaign on the server, named by its key. Making one of these asks the server nothing."""

    def __init__(self, transport: AsyncTransport, key: str) -> None:
        self._transport, self.key = transport, key
        self._jobs = AsyncJobs(transport)
        self.data = AsyncData(transport, key)
        self.reports = AsyncReports(transport, key)

    def _path(self, *parts: str) -> str:
        return path("campaigns", self.key, *parts)

    async def info(self) -> CampaignInfo:
        """Protocol, languages, settings and state."""
        return await self._transport.ask(CampaignInfo, Call("GET", self._path()))

    async def change(self, *, seen: int | None = None, **fields: object) -> CampaignInfo:
        """Change settings. seen: the `settings_version` that the change was made from; the present one by default.

        Raises Problem (412) if somebody else changed it meanwhile.
        """
        version = (await self.info()).settings_version if seen is None else seen
        call = Call("PATCH", self._path(), body=fields, headers=quote_revision(version))
        return await self._transport.ask(CampaignInfo, call)

    async def open(self) -> CampaignInfo:
        """Let raters begin, or go on."""
        return await self._step("open")

    async def pause(self) -> CampaignInfo:
        """Give out no more tasks for now."""
        return await self._step("pause")

    async def close(self) -> CampaignInfo:
        """End data collection."""
        return await self._step("close")

    async def _step(self, step: str) -> CampaignInfo:
        return await self._transport.ask(CampaignInfo, Call("POST", self._path(step)))

    async def raters(self) -> AsyncIterator[Rater]:
        """Everybody who is enrolled."""
        async for item in self._transport.items(self._path("raters")):
            yield Rater.model_validate(item)

    async def enrol(self, rater: str, **fields: object) -> Rater:
        """Enrol a rater, or change an enrolment: `team`, `capacity`, `languages`, `state` …"""
        return await self._transport.ask(Rater, Call("PUT", self._path("raters", rater), body=without_none(**fields)))

    async def link(self, rater: str, *, days: int | None = None) -> Link:
        """A new link for a rater, shown this once; an earlier one ends."""
        call = Call("POST", self._path("raters", rater, "link"), {"days": days}, repeats="keyed")
        return await self._transport.ask(Link, call)

    async def invite(self, count: int, **fields: object) -> Invitation:
        """One link for a crowd, shown this once: with `platform`, `completion_url`, `expires_at`, `signed` …"""
        body = {"count": count, **without_none(**fields)}
        return await self._transport.ask(
            Invitation, Call("POST", self._path("invitations"), body=body, repeats="keyed")
        )

    async def completions(self) -> AsyncIterator[Completion]:
        """Who was given which completion code for which task."""
        async for item in self._transport.items(self._path("completions")):
            yield Completion.model_validate(item)

    async def preview_plan(
        self, design: Json, *, on_progress: Progress | None = None, timeout: float | None = None
    ) -> Plan:
        """Compile a design and look at it; nothing is stored. Raises JobError, TimeoutError."""
        return await self._plan("plan", design, on_progress, timeout, dry_run=True)

    async def plan(self, design: Json, *, on_progress: Progress | None = None, timeout: float | None = None) -> Plan:
        """Compile a design and freeze it. Raises JobError, TimeoutError."""
        return await self._plan("plan", design, on_progress, timeout, dry_run=False)

    async def replan(
        self, reason: str, *, on_progress: Progress | None = None, timeout: float | None = None, **fields: object
    ) -> Plan:
        """Plan the remaining work anew, after a dropout or with more documents. Raises JobError, TimeoutError."""
        return await self._plan("plan/replan", {"reason": reason, **fields}, on_progress, timeout, dry_run=False)

    async def current_plan(self) -> Plan:
        """The plan in force."""
        return await self._transport.ask(Plan, Call("GET", self._path("plan")))

    async def _plan(
        self, step: str, body: Any, on_progress: Progress | None, timeout: float | None, *, dry_run: bool
    ) -> Plan:
        here = self._path(*step.split("/"))
        call = Call("POST", here, {"dry_run": dry_run}, body, repeats="keyed", headers=prefer_wait(WAIT))
        return parse(Plan, await self._jobs.post_until_made(call, on_progress=on_progress, timeout=timeout))

    async def tasks(self, **filters: str | int) -> AsyncIterator[Batch]:
        """Every task of the plan, with systems and roles: by `state`, `rater` or `bucket`."""
        async for item in self._transport.items(self._path("tasks"), filters):
            yield Batch.model_validate(item)

    async def progress(self) -> CampaignProgress:
        """How far it is."""
        return await self._transport.ask(CampaignProgress, Call("GET", self._path("progress")))

    async def lock(self, **fields: object) -> Json:
        """Register recipe and exclusion rules before the first judgment."""
        call = Call("POST", self._path("lock"), body=fields, repeats="keyed")
        registered: Json = parse_json(await self._transport.send(call))
        return registered

    async def preview_exclusion(self, what: str, key: str, reason: str) -> Report:
        """What an exclusion would do to the ranking. what: `rater`, `task`, `document` or `system`."""
        call = Call("POST", self._path("exclusions"), {"dry_run": True}, {what: key, "reason": reason}, repeats="keyed")
        answer = await self._jobs.post_until_made(call, on_progress=None, timeout=None)
        return Report(parse_json(answer))

    async def exclude(self, what: str, key: str, reason: str) -> Exclusion:
        """Leave a rater, task, document or system out of rankings; what, key: as in the preview."""
        call = Call("POST", self._path("exclusions"), body={what: key, "reason": reason}, repeats="keyed")
        return await self._transport.ask(Exclusion, call)

    async def lift_exclusion(self, exclusion: int, reason: str) -> Exclusion:
        """End an exclusion; it stays on record."""
        call = Call("DELETE", self._path("exclusions", str(exclusion)), {"reason": reason})
        return await self._transport.ask(Exclusion, call)

    async def exclusions(self) -> AsyncIterator[Exclusion]:
        """Exclusions, also lifted ones."""
        async for item in self._transport.items(self._path("exclusions")):
            yield Exclusion.model_validate(item)

    async def void(self, selection: Json, reason: str) -> Json:
        """Set judgments aside, with a reason; nothing is deleted."""
        body = {"filter": selection, "reason": reason}
        call = Call("POST", self._path("judgments", "void"), body=body, repeats="keyed")
        voided: Json = parse_json(await self._transport.send(call))
        return voided

    async def put_guidelines(self, **texts: str) -> None:
        """Store the raters' instructions, in Markdown by language."""
        await self._transport.send(Call("PUT", self._path("guidelines"), body=texts))
