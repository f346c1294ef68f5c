"""The result of a check, and the requests of a simulated front-end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

PLANTED = ("zz-planted-system", "zz-planted-document")  # keys that raters must never see


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A rule of the interface, and whether it holds. detail: what the check observed."""

    name: str
    ok: bool
    detail: str = ""


def list_failed_checks(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the checks that failed."""
    return [check for check in checks if not check.ok]


@dataclass(frozen=True, slots=True)
class SimulatedFrontEnd:
    """One rater's front-end. campaign: path of the campaign."""

    client: httpx.Client
    campaign: str
    secret: str

    def send_request(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """Send a request with the rater's token."""
        sent_headers = {"Authorization": f"Bearer {self.secret}", **headers}
        return self.client.request(method, path, json=body, headers=sent_headers)

    def send_lease_request(self) -> httpx.Response:
        """Request a task."""
        return self.send_request("POST", f"{self.campaign}/lease")

    def lease_task(self) -> Mapping[str, Any] | None:
        """Return the leased task; None if there is none."""
        answer = self.send_lease_request()
        task: Mapping[str, Any] | None = answer.json()["task"] if answer.status_code == httpx.codes.OK else None
        return task

    def send_judgment(
        self, task: Mapping[str, Any], item: int, segment: int | None, payload: object, seen_revision: int | None = None
    ) -> httpx.Response:
        """Send an answer. seen_revision: the revision that the rater has seen, for `If-Match`."""
        where = f"/v1/tasks/{task['task']}/judgments/{item}" + ("" if segment is None else f"/{segment}")
        return self.send_request(
            "PUT", where, payload, **({} if seen_revision is None else {"If-Match": f'"{seen_revision}"'})
        )

    def get_task(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the present state of the task."""
        task_content: Mapping[str, Any] = self.send_request("GET", f"/v1/tasks/{task['task']}").json()
        return task_content

    def hand_in_task(self, task: Mapping[str, Any]) -> httpx.Response:
        """Hand in a task."""
        return self.send_request("POST", f"/v1/tasks/{task['task']}/submit")
