# Made from ../aio/reports.py by make_sync.py; change that.
"""Reports of a campaign: as JSON, as data frames, as files; and the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plumbline_client.answers import ACCEPTED, parse, parse_json
from plumbline_client.calls import Call, Json, Scalar, path, prefer_wait
from plumbline_client.models import Gate, Job
from plumbline_client.reports import MEDIA_TYPES, Report
from plumbline_client.sync.jobs import Jobs, Progress
from plumbline_client.sync.transport import Transport

JSON = MEDIA_TYPES["json"]
WAIT = 10  # seconds that the server may take before it names a job
OF_CAMPAIGN = frozenset({"ranking", "gate", "hours"})
"""Reports whose address is the campaign's; all others are under `reports/`."""


class Reports:
    """Reports of one campaign. Options are those of the address, by name: `seed=1`, `recipe="google-mqm"`."""

    def __init__(self, transport: Transport, campaign: str) -> None:
        self._transport, self._campaign = transport, campaign
        self._jobs = Jobs(transport)

    def ranking(
        self, *, on_progress: Progress | None = None, timeout: float | None = None, **options: Scalar
    ) -> Report:
        """The ranking: `systems`, `pairs` and what was dropped. Raises JobError, TimeoutError."""
        return self.get("ranking", on_progress=on_progress, timeout=timeout, **options)

    def get(
        self, kind: str, *, on_progress: Progress | None = None, timeout: float | None = None, **options: Scalar
    ) -> Report:
        """Any report, however long it takes: `agreement`, `quality`, `power` … Raises JobError, TimeoutError."""
        call = self._call(kind, options)
        answer = self._jobs.answer_or_follow(call, on_progress=on_progress, timeout=timeout, accept=JSON)
        return Report(parse_json(answer))

    def stability(
        self, request: Json | None = None, *, on_progress: Progress | None = None, timeout: float | None = None
    ) -> Report:
        """How stable the ranking is, by simulated studies. Raises JobError, TimeoutError."""
        here = path("campaigns", self._campaign, "stability")
        call = Call("POST", here, body=request or {}, repeats="safe", headers=prefer_wait(WAIT))
        answer = self._jobs.answer_or_follow(call, on_progress=on_progress, timeout=timeout, accept=JSON)
        return Report(parse_json(answer))

    def gate(
        self,
        candidate: str,
        baseline: str,
        *,
        claim: str = "better",
        on_progress: Progress | None = None,
        timeout: float | None = None,
        **options: Scalar,
    ) -> Gate:
        """May the candidate take the baseline's place? claim: `better`, `not_worse` or `equivalent`.

        For CI: `sys.exit(gate.exit_status)`. Raises JobError, TimeoutError.
        """
        call = self._call("gate", {"candidate": candidate, "baseline": baseline, "claim": claim, **options})
        answer = self._jobs.answer_or_follow(call, on_progress=on_progress, timeout=timeout, accept=JSON)
        return parse(Gate, answer)

    def start(self, kind: str, **options: Scalar) -> Report | Job:
        """The report if it is there, else its job: follow it, or cancel it, with `client.jobs`."""
        answer = self._transport.send(self._call(kind, options, wait=0))
        return parse(Job, answer) if answer.status_code == ACCEPTED else Report(parse_json(answer))

    def save(
        self,
        kind: str,
        file: Path | str,
        *,
        on_progress: Progress | None = None,
        timeout: float | None = None,
        **options: Scalar,
    ) -> None:
        """Write a report to a file; its ending says as what: csv, tex, md, svg, parquet or json.

        Raises ValueError for another ending, JobError, TimeoutError.
        """
        file = Path(file)
        ending = file.suffix.removeprefix(".")
        if ending not in MEDIA_TYPES:
            raise ValueError(f"a report is no .{ending} file; it can be {', '.join(MEDIA_TYPES)}")
        call = self._call(kind, options, suffix=ending)
        if ending == "json":  # is the same whichever table or picture was asked for
            answer = self._jobs.answer_or_follow(call, on_progress=on_progress, timeout=timeout, accept=JSON)
        else:
            answer = self._jobs.get_until_made(call, on_progress=on_progress, timeout=timeout)
        file.write_bytes(answer.content)

    def _call(self, kind: str, options: Any, *, suffix: str = "json", wait: int = WAIT) -> Call:
        name = kind if suffix == "json" else f"{kind}.{suffix}"
        parts = (name,) if kind in OF_CAMPAIGN else ("reports", name)
        here = path("campaigns", self._campaign, *parts)
        return Call("GET", here, options, headers=prefer_wait(wait) | {"Accept": MEDIA_TYPES[suffix]})
