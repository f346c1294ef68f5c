"""Checks that a server follows the rules for tasks and judgments, in campaigns that it creates, judges and closes.

It uses only HTTP, with a manager's token that is valid for all campaigns, and verifies whatever it can observe.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from app.client.campaign_client import CampaignClient
from app.client.remote_server import RemoteServer, ServerRefusal
from app.conformance import rater_session_checks
from app.conformance.simulated_front_end import PLANTED, CheckResult, SimulatedFrontEnd, list_failed_checks

__all__ = ["CheckResult", "list_failed_checks", "run_conformance_checks"]

TOLERANCE = 1e-9
SYSTEM, DOCUMENT = PLANTED
DESIGN: Mapping[str, object] = {"grouping": "psxs", "overlap": None, "seed": 1}
PATIENCE = httpx.Timeout(30.0)
Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputToJudge:
    """An output to judge, and the texts shown with it."""

    source: str
    output: str
    prefill: Sequence[object] | None = None


@dataclass(frozen=True, slots=True)
class CampaignSetup:
    """A campaign to create. raters: their keys."""

    protocol: str
    options: Mapping[str, object]
    basis: str
    texts: Sequence[Sequence[OutputToJudge]]
    raters: Sequence[str] = ("r1",)


@dataclass(slots=True)
class ConformanceRun:
    """The server where campaigns are created. made: the campaigns to close at the end."""

    remote: RemoteServer
    client: httpx.Client
    made: list[CampaignClient] = field(default_factory=list)

    def open_new_campaign(self, setup: CampaignSetup) -> tuple[CampaignClient, list[SimulatedFrontEnd]]:
        """Create and open a campaign; return the manager's client and the front-end of each rater.

        Raises ServerRefusal, ServerUnreachable.
        """
        managed = CampaignClient(self.remote, f"conformance-{secrets.token_hex(6)}")
        body = {"key": managed.campaign, "protocol": setup.protocol, "options": setup.options, "basis": setup.basis}
        about = {"source_language": "en", "target_language": "de", "name": "Conformance check"}
        self.remote.send_change("POST", "/v1/campaigns", {}, {**body, **about})
        self.made.append(managed)
        self.remote.send_change("PUT", f"{managed.campaign_path}/systems/{SYSTEM}", {}, {})
        for n, texts in enumerate(setup.texts, 1):
            document = f"{DOCUMENT}-{n}"
            segments = [{"source": one.source or None, "references": {"ref": one.source or "-"}} for one in texts]
            self.remote.send_change(
                "PUT", f"{managed.campaign_path}/documents/{document}", {}, {"position": n, "segments": segments}
            )
            outputs: dict[str, object] = {"segments": [one.output for one in texts]}
            if any(one.prefill is not None for one in texts):
                outputs["prefill"] = [one.prefill for one in texts]
            self.remote.send_change("PUT", f"{managed.campaign_path}/systems/{SYSTEM}/outputs/{document}", {}, outputs)
        for rater in setup.raters:
            managed.enrol_rater(rater, {})
        managed.compile_and_freeze_plan(DESIGN)
        managed.change_campaign_state("open")
        links = managed.renew_rater_tokens(setup.raters)
        return managed, [SimulatedFrontEnd(self.client, managed.campaign_path, links[rater]) for rater in setup.raters]

    def close_campaigns(self) -> None:
        """Close the campaigns that this run created."""
        for managed in self.made:
            if managed.fetch_campaign()["state"] == "open":
                managed.change_campaign_state("close")


def run_conformance_checks(remote: RemoteServer, *, only_protocol: str | None = None) -> list[CheckResult]:
    """Run every check, in order. only_protocol: limits the examples to one protocol.

    Raises ServerRefusal, ServerUnreachable if the checks cannot start.
    """
    with httpx.Client(base_url=remote.url, timeout=PATIENCE) as client:
        bench = ConformanceRun(remote, client)
        listed = json.loads(remote.fetch_body("/v1/protocols", accept="application/json"))["items"]
        protocols = [one for one in listed if only_protocol in (None, one["name"])]
        try:
            checks = [check for protocol in protocols for check in _examples(bench, protocol)]
            fit = [one for one in protocols if _sits(one)] or [one for one in listed if _sits(one)]
            if not fit:
                return [
                    *checks,
                    CheckResult("a protocol that judges segments", ok=False, detail="there is none to sit with"),
                ]
            checks += _session(bench, min(fit, key=lambda one: (one["hides_source"], one["name"])))
        finally:
            bench.close_campaigns()
    return checks


def _sits(protocol: Told) -> bool:
    """Return whether a protocol fits the session checks: it must ask about each segment, and about nothing else."""
    return protocol["level"] == "segment" and protocol["ranks"] and not protocol["requires_prefill"]


def _session(bench: ConformanceRun, protocol: Told) -> list[CheckResult]:
    """Check the rules of a session with one protocol."""
    first, *rest = [one for one in protocol["examples"] if one["prefill"] is None]
    same = [one for one in rest if _key(one, protocol) == _key(first, protocol)]
    other = next((one for one in same if one["payload"] != first["payload"]), first)
    text = OutputToJudge(first["source"], _make_longer_text(first["output"], other["output"]))
    options, basis = _options(first, protocol), protocol["bases"][0]
    setup = CampaignSetup(protocol["name"], options, basis, [[text] * 3, [text] * 3], ("r1", "r2"))
    managed, fronts = bench.open_new_campaign(setup)
    return list(rater_session_checks.run_rater_session_checks(managed, fronts, first["payload"], other["payload"]))


def _make_longer_text(first: str, other: str) -> str:
    """Return a text long enough for the marks of both examples."""
    return max(first, other, key=len)


def _examples(bench: ConformanceRun, protocol: Told) -> Iterator[CheckResult]:
    """Send each worked example and compare its score with the documented one."""
    groups: dict[str, list[tuple[int, Told]]] = {}
    for n, example in enumerate(protocol["examples"], 1):
        groups.setdefault(_key(example, protocol), []).append((n, example))
    for members in groups.values():
        names = {n: f"{protocol['name']}: example {n} scores {example['score']:g}" for n, example in members}
        try:
            yield from _check_examples(bench, protocol, members, names)
        except ServerRefusal as error:
            yield from (CheckResult(name, ok=False, detail=f"cannot be set up: {error}") for name in names.values())


def _check_examples(
    bench: ConformanceRun, protocol: Told, members: Sequence[tuple[int, Told]], names: Mapping[int, str]
) -> Iterator[CheckResult]:
    texts = [[OutputToJudge(one["source"], one["output"], one["prefill"])] for _, one in members]
    options = _options(members[0][1], protocol)
    _, (front,) = bench.open_new_campaign(CampaignSetup(protocol["name"], options, protocol["bases"][0], texts))
    left, checks = dict(members), {}
    while left:
        task = front.lease_task()
        if task is None:
            break
        for item in task["items"]:
            n = _match(item, left)
            if n is None:
                continue
            example = left.pop(n)
            segment = None if protocol["level"] == "document" else 1
            answer = front.send_judgment(task, item["item"], segment, example["payload"], 0)
            checks[n] = _check_score(names[n], answer, example["score"])
        if front.hand_in_task(task).status_code != httpx.codes.OK:
            break
    for n, name in names.items():
        yield checks.get(n) or CheckResult(name, ok=False, detail="its text is in no task")


def _check_score(name: str, answer: httpx.Response, score: float) -> CheckResult:
    if answer.status_code != httpx.codes.OK:
        return CheckResult(name, ok=False, detail=f"{answer.status_code}: {answer.text[:200]}")
    came = answer.json()["score"]
    return CheckResult(name, ok=abs(came - score) <= TOLERANCE, detail=f"it scores {came:g}")


def _match(item: Told, left: Mapping[int, Told]) -> int | None:
    """Return the number of the example whose text an item shows."""
    segment = item["segments"][0]
    shown = {one["text"] for one in segment["texts"]} | {segment["text"]}
    fits = (
        n for n, one in left.items() if one["output"] in shown and (one["prefill"] or None) == _prefill_or_none(segment)
    )
    return next(fits, next((n for n, one in left.items() if one["output"] in shown), None))


def _prefill_or_none(segment: Told) -> object:
    return segment["prefill"] or None


def _options(example: Told, protocol: Told) -> dict[str, object]:
    """Return the options for an example. If the protocol has weights, they come from the example's profile."""
    weighs = "weights" in protocol["options"].get("properties", {})
    return {**example["options"], **({"weights": example["profile"]} if weighs else {})}


def _key(example: Told, protocol: Told) -> str:
    return json.dumps(_options(example, protocol), sort_keys=True)
