"""How fast a stored report answers in comparison with an empty request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import httpx
import numpy as np

from app.domain.recipe import NAMED
from app.reports import registry
from app.reports.kit import request, store
from app.reports.ranking import report as ranking_report
from app.services.access import tokens
from app.storage.db import Database
from benchmarks.hot import serving

STORED: Final = ("card", "distributions", "agreement")
EMPTY: Final = "empty: /livez"
GOALS: Final = ("200", "304")
"""The ends of lines that have a goal."""


@dataclass
class Stored:
    """A process that serves a campaign. took: seconds by line."""

    client: httpx.Client
    credential: Mapping[str, str]
    took: dict[str, list[float]] = field(default_factory=dict)

    def ask(self, what: str, get: Callable[[], httpx.Response]) -> None:
        """Time one request."""
        begun = time.perf_counter()
        answer = get()
        self.took.setdefault(what, []).append(time.perf_counter() - begun)
        assert answer.status_code == (304 if what.endswith("304") else 200), answer.text


def stored(database: Database, url: str, campaign: str, requests: int) -> list[tuple[str, float]]:
    """Return the median milliseconds of an empty request and of stored reports, measured in turn."""
    paths = _computed(database, campaign)
    with _served(database, url) as here:
        asked: dict[str, Callable[[], httpx.Response]] = {}
        for name, path in paths.items():
            tag = {**here.credential, "If-None-Match": here.client.get(path, headers=here.credential).headers["etag"]}
            asked[f"{name}, 200"] = partial(here.client.get, path, headers=here.credential)
            asked[f"{name}, 304"] = partial(here.client.get, path, headers=tag)
        for _ in range(requests):
            here.ask(EMPTY, partial(here.client.get, "/livez"))
            for what, get in asked.items():
                here.ask(what, get)
            here.ask("credential only: /v1/me", partial(here.client.get, "/v1/me", headers=here.credential))
    return sorted(
        ((what, 1000 * float(np.median(each))) for what, each in here.took.items()), key=partial(_place, list(paths))
    )


def _place(names: list[str], line: tuple[str, float]) -> tuple[int, str]:
    """Order the lines: the empty request first, then reports in order, last what only checks the credential."""
    what = line[0]
    name = what.partition(",")[0]
    return (0 if what == EMPTY else names.index(name) + 1 if name in names else len(names) + 1), what


def _computed(database: Database, campaign: str) -> dict[str, str]:
    """Compute and store the reports, and return their addresses."""
    paths = {}
    for name in STORED:
        kind = registry.ALL[f"campaign/{name}"]
        query = {"bootstrap": "0"} if name == "agreement" else {}
        store.find_or_compute_report(
            database, request.ReportRequest(kind, (campaign,), request.parse_report_options(kind, query))
        )
        paths[name] = f"/v1/campaigns/{campaign}/reports/{name}" + ("?bootstrap=0" if query else "")
    ranking_report.find_or_compute_ranking(database, campaign, recipe=NAMED["recommended"])
    return {**paths, "ranking": f"/v1/campaigns/{campaign}/ranking"}


@contextmanager
def _served(database: Database, url: str) -> Iterator[Stored]:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="manager", name="bench").secret
    with serving(url, 1) as (host, port), httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client:
        yield Stored(client, {"Authorization": f"Bearer {secret}"})
