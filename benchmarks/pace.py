"""Raters who think: `python -m benchmarks.pace [--raters N] [--seconds S] [--write docs/scaling.md]`.

Each rater holds a task of 20 documents with 20 segments and posts every 10 to 60 s, on a connection of its own,
whatever the service does: requests go out by a timetable, and latency counts from the scheduled time. Beside it, in the
same run and in turn, the hammered path of `benchmarks.hot`: 16 connections without a pause. Then raters who post every
30 s and whose pages send a heartbeat every 20 s, more and more of them, until the node does not keep up. Of each run
only the time counts in which all raters are there: they come one after another before it, and keep their connections.

A request that does nothing, sent at both paces, shows what pauses cost whatever is asked. A loop that reads and writes
JSON, without any service, shows what they cost on this machine whatever runs.

Raters are signed in as those of our pages are. With `--tokens` they show a token, as front-ends do.

Processor time is that of the web process and of all of Postgres, from /proc. Before anything is measured, every rater
has posted once.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import median
from time import monotonic, process_time, sleep
from typing import Any, Final

from app.storage.db import Database
from app.storage.embedded import EmbeddedServer
from benchmarks import hot_data, pages
from benchmarks.hot import (
    CLIENTS,
    Credential,
    Sent,
    generate,
    heartbeat,
    judgment,
    keep_time,
    posts,
    request,
    serving,
    throw_away,
)
from benchmarks.hot_load import BEGAN
from benchmarks.processes import Taken, Watched, load_average, postmaster, serving_at
from benchmarks.sampling import Sampler

PAUSES: Final = (10.0, 60.0)
"""Least and most seconds between two posts of a rater."""
HALF_A_MINUTE: Final = (10.0, 50.0)
"""The same, for one post every 30 s on average."""
BEAT: Final = 20.0
STEPS: Final = (500, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000)
KEEPS_UP: Final = 1.0
"""A node keeps up as long as p99 is at most this many seconds."""
GOAL: Final = 1.5
COMING: Final = "coming"
PER_SECOND: Final = 200.0
"""Raters who arrive per second. All have posted before, so the service does not limit them as strangers."""
STRANGERS_PER_SECOND: Final = 45.0
"""Raters who arrive per second before that: the service refuses some if more come from one address."""
LOOK: Final = 0.2
"""Seconds between two samples of the processes."""
PROXIED: Final = 64
SMALLEST: Final = "/livez"
IDLE: Final = 10.0
PLAIN: Final = 5.0
"""Seconds of the loop without a service."""
PLAIN_DOCUMENT: Final = json.dumps([{"segment": n, "text": "x" * n} for n in range(40)])
SEGMENTS: Final = hot_data.ITEMS * hot_data.SEGMENTS


@dataclass(slots=True)
class Rater:
    """A rater who judges one task, segment after segment."""

    task: str
    secret: Credential
    done: int = 0

    def post(self) -> str:
        """Return the request for the next judgment."""
        item, segment = divmod(self.done % SEGMENTS, hot_data.SEGMENTS)
        self.done += 1
        payload = {"protocol": "da", "score": (self.done * 7 + self.done // SEGMENTS) % 101}
        return judgment(self.task, self.secret, item + 1, segment + 1, payload)


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one run. taken: processor time per post. p50, p99: latency in seconds."""

    rate: float
    taken: Taken
    p50: float
    p99: float
    statuses: Mapping[str, int]

    @property
    def kept_up(self) -> bool:
        """Whether every post was stored, and soon enough."""
        return set(self.statuses) == {"200"} and self.p99 <= KEEPS_UP


def timetable(
    raters: Sequence[Rater],
    seconds: float,
    pauses: tuple[float, float],
    draw: random.Random,
    beats: bool = False,
    coming: float = 0.0,
    ask: Callable[[Rater], str] | None = None,
) -> list[Sent]:
    """Return when each rater posts. beats: include their pages' heartbeats. ask: makes other requests than posts.

    coming: seconds before the measured ones, in which the raters arrive; requests in this time are of the kind COMING.
    Each rater posts on arrival, and then as if present for a long time, so that the rate is constant.
    """
    sent: list[Sent] = []
    end = coming + seconds
    ask = ask or Rater.post
    for client, rater in enumerate(raters):
        begun = 0.0
        if coming:
            begun = draw.uniform(0.0, coming)
            sent.append((begun, client, COMING, ask(rater)))
        at = begun + _rest_of_a_pause(pauses, draw)
        while at < end:
            sent.append((at, client, "post" if at >= coming else COMING, ask(rater)))
            at += draw.uniform(*pauses)
        if beats:
            at = begun + draw.uniform(0.0, BEAT)
            while at < end:
                sent.append((at, client, "beat" if at >= coming else COMING, heartbeat(rater.task, rater.secret)))
                at += BEAT
    return sorted(sent)


def _rest_of_a_pause(pauses: tuple[float, float], draw: random.Random) -> float:
    """Draw the seconds from a random moment to the next post; long pauses contain more moments than short ones."""
    shortest, longest = pauses
    return draw.uniform(0.0, sqrt(draw.uniform(shortest**2, longest**2)))


@dataclass(slots=True)
class Pace:
    """A service, its raters, and the measured processes."""

    address: tuple[str, int]
    watched: Watched
    raters: Sequence[Rater]
    draw: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  (no secret)

    def settle(self) -> None:
        """Let every rater post once, as fast as the service permits strangers from one address."""
        seconds = len(self.raters) / STRANGERS_PER_SECOND
        times = sorted(self.draw.uniform(0.0, seconds) for _ in self.raters)
        sent = [
            (at, n % CLIENTS, "post", rater.post())
            for n, (at, rater) in enumerate(zip(times, self.raters, strict=True))
        ]
        statuses = keep_time(self.address, CLIENTS, sent)["post"]["statuses"]
        assert set(statuses) == {"200"}, statuses

    def idle(self) -> Taken:
        """Return the processor time per second without any requests."""
        before, began = self.watched.taken(), monotonic()
        sleep(IDLE)
        return self.watched.since(before).per(monotonic() - began)

    def hammered(
        self, seconds: float, turn: int, connections: int = CLIENTS, ask: Callable[[Rater], str] | None = None
    ) -> Figures:
        """Send posts over few connections, each as soon as the previous one is answered. ask: makes other requests."""
        before = self.watched.taken()
        plan = [
            posts(rater.task, rater.secret, turn) if ask is None else [ask(rater)]
            for rater in self.raters[:connections]
        ]
        counted = generate(self.address, plan, seconds)
        taken = self.watched.since(before)
        lasted = seconds * WARMED  # the processes count the first posts, but the generator does not
        return Figures(
            counted["rate"], taken.per(counted["rate"] * lasted), counted["p50"], counted["p99"], counted["statuses"]
        )

    def human(
        self,
        n: int,
        seconds: float,
        pauses: tuple[float, float],
        *,
        beats: bool = False,
        connections: int | None = None,
        ask: Callable[[Rater], str] | None = None,
    ) -> Figures:
        """Let raters post by a timetable, each on a connection of their own or all on a few connections.

        ask: makes other requests than posts.
        """
        coming = n / PER_SECOND
        sent = timetable(self.raters[:n], seconds, pauses, self.draw, beats, coming, ask)
        if connections is not None:
            sent = [(at, client % connections, kind, text) for at, client, kind, text in sent]
        return self.timed(sent, connections or n, seconds, coming)[0]

    def timed(
        self, sent: list[Sent], clients: int, seconds: float, coming: float
    ) -> tuple[Figures, dict[str, dict[str, Any]]]:
        """Carry out a timetable; return figures of posts in the measured time, and all figures by kind of request."""
        with Sampled(self.watched) as sampled:
            figures = keep_time(self.address, clients, sent)
        began = figures[BEGAN]["clock"] + coming
        return of_posts(figures, sampled.between(began, began + seconds), seconds), figures


class Sampled(Sampler):
    """Samples the processor time of processes, so that a part of a run can be separated afterwards."""

    def __init__(self, watched: Watched) -> None:
        super().__init__(LOOK)
        self._watched = watched
        self._seen: list[tuple[float, Taken]] = []

    def take_sample(self) -> None:
        """Note the processor time so far."""
        self._seen.append((monotonic(), self._watched.taken()))

    def between(self, first: float, last: float) -> Taken:
        """Return the time taken between two moments, each replaced by the first sample after it."""
        before, after = (
            next((taken for at, taken in self._seen if at >= when), self._seen[-1][1]) for when in (first, last)
        )
        return after.since(before)


WARMED: Final = 1.2
"""The duration of a run of `benchmarks.hot_load` relative to the part that it counts."""


def of_posts(figures: Mapping[str, Mapping[str, Any]], taken: Taken, seconds: float) -> Figures:
    """Return the figures of posts in a timetable; refused heartbeats appear among the statuses."""
    mine = figures["post"]
    statuses = dict(mine["statuses"])
    beats = figures.get("beat", {"statuses": {}})["statuses"]
    statuses.update({f"heartbeat {status}": n for status, n in beats.items() if status != "200"})
    return Figures(mine["n"] / seconds, taken.per(mine["n"]), mine["p50"], mine["p99"], statuses)


def middle(runs: Sequence[Figures]) -> Figures:
    """Return the medians of several runs, with the statuses of all."""
    statuses: dict[str, int] = {}
    for run in runs:
        for status, n in run.statuses.items():
            statuses[status] = statuses.get(status, 0) + n
    taken = Taken(*(median(run.taken[n] for run in runs) for n in range(len(runs[0].taken))))
    rate, p50, p99 = (median(getattr(run, name) for run in runs) for name in ("rate", "p50", "p99"))
    return Figures(rate, taken, p50, p99, statuses)


def per_post(pace: Pace, seconds: float, repeats: int) -> list[str]:
    """Return a table of processor time per post, for thinking raters and for the hammered path."""
    pairs = [(pace.hammered(seconds / 3, n), pace.human(len(pace.raters), seconds, PAUSES)) for n in range(repeats)]
    hammered, human = middle([pair[0] for pair in pairs]), middle([pair[1] for pair in pairs])
    ratios = ", ".join(f"{slow.taken.whole / fast.taken.whole:.2f}" for fast, slow in pairs)
    both = zip(_columns(human.taken), _columns(hammered.taken), strict=True)
    times = " | ".join(f"{a / b:.2f}" if b else "–" for a, b in both)
    alone = pace.hammered(seconds / 6, repeats, connections=1)
    shared = pace.human(len(pace.raters), seconds / 2, PAUSES, connections=PROXIED)
    smallest_hammered = pace.hammered(seconds / 6, 0, ask=smallest)
    smallest_human = pace.human(len(pace.raters), seconds / 2, PAUSES, ask=smallest)
    web = smallest_human.taken.web / smallest_hammered.taken.web
    idle = [f"{one * 1e3:.1f} ms" for one in pace.idle()]
    pause = 1 / human.rate
    plain = json_seconds(pause, pace.draw) / json_seconds(0.0, pace.draw)
    return [
        "The table shows the processor time of one request, in ms:",
        "",
        "| posts | per second | web: code | web: kernel | Postgres | both | p50, ms | p99, ms | status |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
        _row(f"{CLIENTS} connections without a pause", hammered),
        _row(f"{len(pace.raters):,} raters, each posting every {PAUSES[0]:g} to {PAUSES[1]:g} s", human),
        f"| ratio (in pairs: {ratios}; goal ≤ {GOAL:g}) | | {times} | | | |",
        _row("1 connection without a pause: one post per commit", alone),
        _row(f"the same raters over {PROXIED} connections, as behind a proxy", shared),
        _row(f"`GET {SMALLEST}` on {CLIENTS} connections without a pause", smallest_hammered),
        _row(f"`GET {SMALLEST}` from each rater every {PAUSES[0]:g} to {PAUSES[1]:g} s", smallest_human),
        "",
        (
            f"With pauses, `GET {SMALLEST}` takes {web:.2f} times as much processor time in the web process as without "
            "pauses."
        ),
        f"A loop in Python that reads and writes JSON, without any service, takes {plain:.2f} times as much processor",
        f"time if it pauses for {pause * 1e3:.1f} ms on average between two turns.",
        (
            f"Without any requests, the web process takes {idle[0]} of processor time per second, and Postgres takes "
            f"{idle[1]}."
        ),
    ]


def json_seconds(pause: float, draw: random.Random) -> float:
    """Return the mean processor time, in seconds, to read and write a JSON document of 2 kB.

    pause: mean seconds between two turns; they vary like the time between requests of many raters.
    """
    taken, turns, end = 0.0, 0, monotonic() + PLAIN
    while monotonic() < end:
        if pause:
            sleep(draw.expovariate(1 / pause))
        before = process_time()
        json.dumps(json.loads(PLAIN_DOCUMENT))
        taken += process_time() - before
        turns += 1
    return taken / turns


def smallest(rater: Rater) -> str:
    """Return a request that does nothing, which shows the cost of pauses without the work of a post."""
    return request("GET", SMALLEST, rater.secret)


def _columns(taken: Taken) -> tuple[float, float, float, float]:
    """Return the times of the web process's code, of the kernel for it, of Postgres, and in total."""
    return taken.web - taken.kernel, taken.kernel, taken.postgres, taken.whole


def _row(what: str, run: Figures) -> str:
    taken = " | ".join(f"{one * 1e3:.2f}" for one in _columns(run.taken))
    return f"| {what} | {run.rate:,.0f} | {taken} | {run.p50 * 1e3:.1f} | {run.p99 * 1e3:.1f} | {told(run.statuses)} |"


def told(statuses: Mapping[str, int]) -> str:
    """Format statuses and their counts for a page."""
    return ", ".join(f"{status}: {n:,}" for status, n in sorted(statuses.items()))


def capacity(pace: Pace, seconds: float, steps: Sequence[int] = STEPS) -> list[str]:
    """Return a table with more and more raters until the node does not keep up, and with half of the maximum."""
    counts = [n for n in steps if n < len(pace.raters)] + [len(pace.raters)]
    runs: list[tuple[int, Figures]] = []
    for n in counts:
        runs.append((n, pace.human(n, seconds, HALF_A_MINUTE, beats=True)))
        if not runs[-1][1].kept_up:
            break
    most = max((n for n, run in runs if run.kept_up), default=0)
    half = pace.human(most // 2, seconds, HALF_A_MINUTE, beats=True) if most else None
    lines = [
        "| raters | posts per second | web, cores busy | Postgres, cores busy | p50, ms | p99, ms | status |",
        "|--:|--:|--:|--:|--:|--:|---|",
        *(_busy(f"{n:,}", run) for n, run in runs),
        *([] if half is None else [_busy(f"half of the maximum: {most // 2:,}", half)]),
        "",
    ]
    more = "at least " if most == len(pace.raters) else ""
    end = "" if half is None else f" With half as many raters, p99 is {half.p99 * 1e3:.0f} ms (goal ≤ 100)."
    return [*lines, f"The service keeps up with {more}{most:,} raters (goal on two cores: 5,000).{end}"]


def _busy(what: str, run: Figures) -> str:
    web, postgres = (f"{one * run.rate:.2f}" for one in (run.taken.web, run.taken.postgres))
    times = f"{run.p50 * 1e3:.1f} | {run.p99 * 1e3:.1f}"
    return f"| {what} | {run.rate:,.0f} | {web} | {postgres} | {times} | {told(run.statuses)} |"


def campaign(url: str, database: Database, key: str, n: int, *, tokens: bool = False) -> list[Rater]:
    """Create a campaign, and return its raters, each with a task and a session; with `tokens`, a token instead."""
    secrets = hot_data.judged(url, key, n)
    shown: Mapping[str, Credential] = secrets if tokens else hot_data.signed_in(database, secrets)
    return [Rater(task, secret) for task, secret in shown.items()]


def measure(server: EmbeddedServer, database: Database, asked: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the page."""
    raters = campaign(server.url("owner"), database, "pace", asked.raters, tokens=asked.tokens)
    with serving(server.url("owner"), 1) as address:
        pace = Pace(address, Watched(serving_at(address[1]), postmaster(server)), raters)
        pace.settle()
        shown = "token, as front-ends do" if asked.tokens else "session cookie, as our pages do"
        task = f"Every rater has a task of {SEGMENTS} segments"
        yield f"There is one web process. {task} and authenticates with a {shown}. {load_average()}."
        yield ""
        yield from per_post(pace, asked.seconds, asked.repeats)
        yield ""
        yield "In the next table, each rater sends a post every 30 s and a heartbeat every 20 s:"
        yield ""
        yield from capacity(pace, asked.seconds / 2, asked.steps)


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pace", description=__doc__)
    parser.add_argument("--raters", type=int, default=10_000, help="raters with a task each")
    parser.add_argument("--seconds", type=float, default=60, help="of each run at human pace")
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS, help="raters with whom capacity is looked for")
    parser.add_argument("--repeats", type=int, default=2, help="runs of either kind, in turn")
    parser.add_argument("--tokens", action="store_true", help="raters show tokens rather than the cookies of pages")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the tables into, between the marks of `pace`")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lines: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder,
        throw_away(Path(folder)) as (server, database),
    ):
        for line in measure(server, database, asked):
            print(line, flush=True)
            lines.append(line)
    if asked.write:
        pages.write(asked.write, "\n".join(lines) + "\n", "pace")


if __name__ == "__main__":
    main()
