"""How a stored report answers beside an empty request: known to the process, to another one, and to none."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import httpx
import numpy as np
from sqlalchemy import text

from app.domain.recipe import NAMED
from app.reports import registry
from app.reports.kit import request, store
from app.services import answers, reports
from app.services.access import tokens
from app.storage.db import Database
from benchmarks.hot import serving

STORED: Final = ("card", "distributions", "agreement")
FIRST: Final = "first in a process"
NEW: Final = "in words that nobody has used"
EMPTY: Final = "empty: /livez"
GOALS: Final = ("200", "304", FIRST)
"""What lines end with that have a goal."""
TRIES: Final = 3
_numbers = itertools.count()


@dataclass
class Stored:
    """One campaign and two processes that serve it. took: seconds by line."""

    database: Database
    campaign: str
    one: httpx.Client
    other: httpx.Client
    known: Mapping[str, str]
    took: dict[str, list[float]] = field(default_factory=dict)

    def ask(self, what: str, get: Callable[[], httpx.Response]) -> None:
        """Time one request."""
        begun = time.perf_counter()
        answer = get()
        self.took.setdefault(what, []).append(time.perf_counter() - begun)
        assert answer.status_code == (304 if what.endswith("304") else 200), answer.text

    def first_in_a_process(self, name: str, path: str) -> None:
        """A report in new words: the long way at one process; then, once that is kept, what the other takes."""
        words = next(filter(None, (self._told_one(path) for _ in range(TRIES))), None)
        assert words is not None, "the answer is not kept"
        self.other.get("/livez")  # as every other line comes right after a request of the same connection
        self.ask(f"{name}, {FIRST}", partial(self.other.get, path, headers=words))

    def _told_one(self, path: str) -> dict[str, str] | None:
        """Words in which one process was asked, once its answer is kept; None after a while in which it is not, as a
        process keeps so many bytes a while, and lets go of the rest.
        """
        words, before = self._words(), self._kept()
        assert self.one.get(path, headers=words).status_code == 200
        until = time.monotonic() + answers.A_WHILE
        while self._kept() == before:
            if time.monotonic() > until:
                return None
            time.sleep(0.001)
        return words

    def new(self, name: str, path: str) -> None:
        """A stored report in words that no process has seen, so that it is looked for in the store."""
        self.ask(f"{name}, {NEW}", partial(self.other.get, path, headers=self._words()))

    def _words(self) -> dict[str, str]:
        return {**self.known, "Accept": f"application/json, x/{next(_numbers)};q=0.1"}

    def _kept(self) -> int:
        with self.database.transaction() as session:
            return int(session.execute(text("SELECT count(*) FROM answers")).scalar_one())


def stored(database: Database, url: str, campaign: str, requests: int) -> list[tuple[str, float]]:
    """Milliseconds of an empty request and of stored reports, medians, taken in turn."""
    paths = _computed(database, campaign)
    with _served(database, url, campaign) as here:
        again: dict[str, Callable[[], httpx.Response]] = {}
        for name, path in paths.items():
            tag = {**here.known, "If-None-Match": here.other.get(path, headers=here.known).headers["etag"]}
            again[f"{name}, 200"] = partial(here.other.get, path, headers=here.known)
            again[f"{name}, 304"] = partial(here.other.get, path, headers=tag)
        for _ in range(requests):
            here.ask(EMPTY, partial(here.other.get, "/livez"))
            for what, get in again.items():
                here.ask(what, get)
            for name, path in paths.items():
                here.first_in_a_process(name, path)
                here.new(name, path)
            here.ask("credential only: /v1/me", partial(here.other.get, "/v1/me", headers=here.known))
    return sorted(
        ((what, 1000 * float(np.median(each))) for what, each in here.took.items()), key=partial(_place, list(paths))
    )


def _place(names: list[str], line: tuple[str, float]) -> tuple[int, str]:
    """The empty request first, what only checks the credential last, and between them the reports in their order."""
    what = line[0]
    name = what.partition(",")[0]
    return (0 if what == EMPTY else names.index(name) + 1 if name in names else len(names) + 1), what


def _computed(database: Database, campaign: str) -> dict[str, str]:
    """The addresses of reports, each computed and stored."""
    paths = {}
    for name in STORED:
        kind = registry.ALL[f"campaign/{name}"]
        query = {"bootstrap": "0"} if name == "agreement" else {}
        store.find_or_compute(database, request.ReportRequest(kind, (campaign,), request.parse_options(kind, query)))
        paths[name] = f"/v1/campaigns/{campaign}/reports/{name}" + ("?bootstrap=0" if query else "")
    reports.ranking(database, campaign, recipe=NAMED["recommended"])
    return {**paths, "ranking": f"/v1/campaigns/{campaign}/ranking"}


@contextmanager
def _served(database: Database, url: str, campaign: str) -> Iterator[Stored]:
    with database.transaction() as session:
        secret = tokens.issue(session, role="manager", name="bench").secret
    with serving(url, 1) as one, serving(url, 1) as other, _client(one) as client, _client(other) as beside:
        yield Stored(database, campaign, client, beside, {"Authorization": f"Bearer {secret}"})


def _client(address: tuple[str, int]) -> httpx.Client:
    return httpx.Client(base_url=f"http://{address[0]}:{address[1]}", trust_env=False)
