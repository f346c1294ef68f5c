# Made from ../aio/campaign.py by make_sync.py; change that.
"""A campaign: its state, its raters, its plan and its tasks; `data` and `reports` are what goes in and comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from plumbline_client.sync.data import Data
from plumbline_client.sync.jobs import Jobs, Progress
from plumbline_client.sync.reports import Reports
from plumbline_client.sync.transport import Transport

WAIT = 10  # seconds that the server may take before it names a job


class Campaign:
    """A campaign on the server, named by its key. Making one of these asks the server nothing."""

    def __init__(self, transport: Transport, key: str) -> None:
        self._transport, self.key = transport, key
        self._jobs = Jobs(transport)
        self.data = Data(transport, key)
        self.reports = Reports(transport, key)

    def _path(self, *parts: str) -> str:
        return path("campaigns", self.key, *parts)

    def info(self) -> CampaignInfo:
        """Protocol, languages, settings and state."""
        return self._transport.ask(CampaignInfo, Call("GET", self._path()))

    def change(self, *, seen: int | None = None, **fields: object) -> CampaignInfo:
        """Change settings. seen: the `settings_version` that the change was made from; the present one by default.

        Raises Problem (412) if somebody else changed it meanwhile.
        """
        version = (self.info()).settings_version if seen is None else seen
        call = Call("PATCH", self._path(), body=fields, headers=quote_revision(version))
        return self._transport.ask(CampaignInfo, call)

    def open(self) -> CampaignInfo:
        """Let raters begin, or go on."""
        return self._step("open")

    def pause(self) -> CampaignInfo:
        """Give out no more tasks for now."""
        return self._step("pause")

    def close(self) -> CampaignInfo:
        """End data collection."""
        return self._step("close")

    def _step(self, step: str) -> CampaignInfo:
        return self._transport.ask(CampaignInfo, Call("POST", self._path(step)))

    def raters(self) -> Iterator[Rater]:
        """Everybody who is enrolled."""
        for item in self._transport.items(self._path("raters")):
            yield Rater.model_validate(item)

    def enrol(self, rater: str, **fields: object) -> Rater:
        """Enrol a rater, or change an enrolment: `team`, `capacity`, `languages`, `state` …"""
        return self._transport.ask(Rater, Call("PUT", self._path("raters", rater), body=without_none(**fields)))

    def link(self, rater: str, *, days: int | None = None) -> Link:
        """A new link for a rater, shown this once; an earlier one ends."""
        call = Call("POST", self._path("raters", rater, "link"), {"days": days}, repeats="keyed")
        return self._transport.ask(Link, call)

    def invite(self, count: int, **fields: object) -> Invitation:
        """One link for a crowd, shown this once: with `platform`, `completion_url`, `expires_at`, `signed` …"""
        body = {"count": count, **without_none(**fields)}
        return self._transport.ask(Invitation, Call("POST", self._path("invitations"), body=body, repeats="keyed"))

    def completions(self) -> Iterator[Completion]:
        """Who was given which completion code for which task."""
        for item in self._transport.items(self._path("completions")):
            yield Completion.model_validate(item)

    def preview_plan(self, design: Json, *, on_progress: Progress | None = None, timeout: float | None = None) -> Plan:
        """Compile a design and look at it; nothing is stored. Raises JobError, TimeoutError."""
        return self._plan("plan", design, on_progress, timeout, dry_run=True)

    def plan(self, design: Json, *, on_progress: Progress | None = None, timeout: float | None = None) -> Plan:
        """Compile a design and freeze it. Raises JobError, TimeoutError."""
        return self._plan("plan", design, on_progress, timeout, dry_run=False)

    def replan(
        self, reason: str, *, on_progress: Progress | None = None, timeout: float | None = None, **fields: object
    ) -> Plan:
        """Plan the remaining work anew, after a dropout or with more documents. Raises JobError, TimeoutError."""
        return self._plan("plan/replan", {"reason": reason, **fields}, on_progress, timeout, dry_run=False)

    def current_plan(self) -> Plan:
        """The plan in force."""
        return self._transport.ask(Plan, Call("GET", self._path("plan")))

    def _plan(
        self, step: str, body: Any, on_progress: Progress | None, timeout: float | None, *, dry_run: bool
    ) -> Plan:
        here = self._path(*step.split("/"))
        call = Call("POST", here, {"dry_run": dry_run}, body, repeats="keyed", headers=prefer_wait(WAIT))
        return parse(Plan, self._jobs.post_until_made(call, on_progress=on_progress, timeout=timeout))

    def tasks(self, **filters: str | int) -> Iterator[Batch]:
        """Every task of the plan, with systems and roles: by `state`, `rater` or `bucket`."""
        for item in self._transport.items(self._path("tasks"), filters):
            yield Batch.model_validate(item)

    def progress(self) -> CampaignProgress:
        """How far it is."""
        return self._transport.ask(CampaignProgress, Call("GET", self._path("progress")))

    def lock(self, **fields: object) -> Json:
        """Register recipe and exclusion rules before the first judgment."""
        call = Call("POST", self._path("lock"), body=fields, repeats="keyed")
        registered: Json = parse_json(self._transport.send(call))
        return registered

    def preview_exclusion(self, what: str, key: str, reason: str) -> Report:
        """What an exclusion would do to the ranking. what: `rater`, `task`, `document` or `system`."""
        call = Call("POST", self._path("exclusions"), {"dry_run": True}, {what: key, "reason": reason}, repeats="keyed")
        answer = self._jobs.post_until_made(call, on_progress=None, timeout=None)
        return Report(parse_json(answer))

    def exclude(self, what: str, key: str, reason: str) -> Exclusion:
        """Leave a rater, task, document or system out of rankings; what, key: as in the preview."""
        call = Call("POST", self._path("exclusions"), body={what: key, "reason": reason}, repeats="keyed")
        return self._transport.ask(Exclusion, call)

    def lift_exclusion(self, exclusion: int, reason: str) -> Exclusion:
        """End an exclusion; it stays on record."""
        call = Call("DELETE", self._path("exclusions", str(exclusion)), {"reason": reason})
        return self._transport.ask(Exclusion, call)

    def exclusions(self) -> Iterator[Exclusion]:
        """Exclusions, also lifted ones."""
        for item in self._transport.items(self._path("exclusions")):
            yield Exclusion.model_validate(item)

    def void(self, selection: Json, reason: str) -> Json:
        """Set judgments aside, with a reason; nothing is deleted."""
        body = {"filter": selection, "reason": reason}
        call = Call("POST", self._path("judgments", "void"), body=body, repeats="keyed")
        voided: Json = parse_json(self._transport.send(call))
        return voided

    def put_guidelines(self, **texts: str) -> None:
        """Store the raters' instructions, in Markdown by language."""
        self._transport.send(Call("PUT", self._path("guidelines"), body=texts))
