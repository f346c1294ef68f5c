"""The rows of the speed table on the hot routes: `python -m benchmarks.hot [--seconds N] [--only PART …]`.

A throw-away Postgres with fsync on, as it ships, and the service in processes of their own; ratios are of this one run.
Load comes from `wrk` where it is installed, else from `benchmarks.hot_load`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx
from sqlalchemy import text

from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, Database
from app.storage.embedded import EmbeddedServer
from benchmarks import hot_data, pages
from benchmarks.children import ROOT
from benchmarks.processes import Watched, load_average, postmaster, processor_seconds, serving_at

PARTS: Final = ("post", "mqm", "processes", "lease", "contended")
CLIENTS: Final = 16
WRK: Final = shutil.which("wrk")
LOADER: Final = "`wrk`" if WRK else "`benchmarks.hot_load`"
Credential = str | hot_data.PageSession
"""A token, or the session of a page."""
Sent = tuple[float, int, str, str]
"""A request of a timetable: second, client, kind, text."""
ROUNDS: Final = 20
STARTED: Final = 0.5
"""Seconds in which processes take hardly any processor time once they have started."""
ASKING: Final = 100
CAMPAIGNS: Final = 4
APART: Final = 0.05
"""Seconds between two leases that must not coincide."""
ONE: Final = "post.sql"
BOUNDS: Final = {
    "`post.sql` under pgbench: one statement": (ONE, 0),
    "`post_six.sql`: the same in six statements": ("post_six.sql", 0),
    "`post_six.sql`, where each client also increases the data version": ("post_six.sql", 1),
}
"""The scripts, and whether they take the next data version."""


@dataclass(slots=True)
class Bench:
    """A database server, an application on it, and the lines of the table."""

    server: EmbeddedServer
    database: Database
    seconds: float
    repeats: int
    workers: int
    lines: list[str] = field(default_factory=list)

    def post(self) -> None:
        """Measure judgments from 16 connections, in turn with the bounds on the same server."""
        plan = hot_data.judged(self.server.url("owner"), "posts", CLIENTS)
        ours: list[dict[str, Any]] = []
        bounds: dict[str, list[float]] = {what: [] for what in BOUNDS}
        with serving(self.server.url("owner"), self.workers) as address:
            for n in range(self.repeats):
                for what, (script, versioned) in BOUNDS.items():
                    bounds[what].append(run_pgbench(self.server, script, versioned, self.seconds))
                ours.append(self._posted(address, [posts(task, secret, n) for task, secret in plan.items()]))
        rate = median(one["rate"] for one in ours)
        p50, p99 = median(one["p50"] for one in ours), median(one["p99"] for one in ours)
        what, goal = f"judgments per second, {CLIENTS} connections", "≥ 0.4"
        for bound, rates in bounds.items():
            floor = median(rates)
            self.lines.append(f"| {what} | {rate:,.0f} | {bound} | {floor:,.0f} | {rate / floor:.2f} | {goal} |")
            what, goal = "the same", ""
        self.lines.append(
            f"| p99 of these judgments, ms | {p99 * 1e3:.1f} | their p50 | {p50 * 1e3:.1f} | {p99 / p50:.1f} | ≤ 6 |"
        )

    def mqm(self) -> None:
        """Measure judgments with zero to three marked errors, and the bound with the same payloads."""
        owner = self.server.url("owner")
        plan = hot_data.judged(owner, "errors", CLIENTS, "mqm")
        rates, floors = [], []
        script = mqm_bound((ROOT / "benchmarks" / ONE).read_text(encoding="utf-8"))
        with serving(owner, self.workers) as address, tempfile.TemporaryDirectory() as folder:
            (Path(folder) / ONE).write_text(script, encoding="utf-8")
            for n in range(self.repeats):
                requests = [posts(task, secret, n, marked) for task, secret in plan.items()]
                rates.append(self._posted(address, requests)["rate"])
                floors.append(run_pgbench(self.server, str(Path(folder) / ONE), 0, self.seconds))
        rate, floor = median(rates), median(floors)
        self.lines.append(
            f"| MQM judgments per second, each with 0 to 3 errors | {rate:,.0f} "
            f"| `post.sql` with the same errors | {floor:,.0f} | {rate / floor:.2f} | |"
        )

    def processes(self) -> None:
        """Measure 1 and 2 web processes, on 1 and 4 campaigns: rate, judgments per commit, processor time of each."""
        owner = self.server.url("owner")
        keys = [f"p{n}" for n in range(CAMPAIGNS)]
        held = {key: list(hot_data.judged(owner, key, CLIENTS).items()) for key in keys}
        plans = {1: held[keys[0]], CAMPAIGNS: [held[keys[n % CAMPAIGNS]][n] for n in range(CLIENTS)]}
        for campaigns, plan in plans.items():
            runs: dict[int, list[tuple[float, float, float]]] = {1: [], 2: []}
            for n in range(self.repeats):
                for workers, taken in runs.items():
                    requests = [posts(task, secret, n * 2 + workers) for task, secret in plan]
                    taken.append(self._by_processes(workers, requests))
            where = "one campaign" if campaigns == 1 else f"{campaigns} campaigns"
            for at, (what, digits) in enumerate(
                (("judgments per second", 0), ("judgments per commit", 1), ("processor time per judgment, ms", 2))
            ):
                one, two = (median(run[at] for run in runs[workers]) for workers in (1, 2))
                self.lines.append(
                    f"| {what}, {where}, 2 web processes | {two:,.{digits}f} | 1 web process | {one:,.{digits}f} "
                    f"| {two / one:.2f} | |"
                )

    def _by_processes(self, workers: int, plan: list[list[str]]) -> tuple[float, float, float]:
        """Return judgments per second, judgments per commit, and milliseconds of processor time per judgment."""
        with serving(self.server.url("owner"), workers) as address:
            watched = Watched(serving_at(address[1]), postmaster(self.server))
            before, at = self._written(), watched.taken()
            figures = self._posted(address, plan)
            taken, after = watched.since(at), self._written()
        judgments, commits = after[0] - before[0], after[1] - before[1]
        return figures["rate"], judgments / commits, taken.whole / judgments * 1e3

    def _written(self) -> tuple[int, int]:
        """Return the judgments and their commits so far; each commit takes one version of its campaign's data."""
        with self.database.transaction() as session:
            query = "SELECT (SELECT count(*) FROM judgments), (SELECT count(*) FROM versions WHERE what = 'judgments')"
            judgments, commits = session.execute(text(query)).one()
        return int(judgments), int(commits)

    def _posted(self, address: tuple[str, int], plan: list[list[str]]) -> dict[str, Any]:
        figures = load(address, plan, self.seconds)
        assert set(figures["statuses"]) == {"200"}, figures
        return figures

    def lease(self) -> None:
        """Measure the lease of a task, with more free tasks and with more enrolled raters."""
        owner = self.server.url("owner")
        shapes = {"few": (1_000, ASKING), "many": (100_000, ASKING), "crowd": (1_000, 10_000)}
        asking = {
            name: hot_data.waiting(owner, name, tasks=tasks, raters=raters, asking=ASKING)
            for name, (tasks, raters) in shapes.items()
        }
        taken: dict[str, list[float]] = {name: [] for name in shapes}
        with (
            serving(owner, self.workers) as (host, port),
            httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client,
        ):
            for n in range(ROUNDS + 2):
                for name, secrets in asking.items():
                    seconds = list(_leases(client, name, secrets))
                    taken[name] += seconds if n >= 2 else []  # the first rounds warm up
                    hot_data.give_back(owner, name)
        ends = {name: sorted(seconds)[int(len(seconds) * 0.99)] for name, seconds in taken.items()}
        mids = {name: median(seconds) for name, seconds in taken.items()}
        for name, what in (("many", "100,000 free tasks"), ("crowd", "10,000 enrolled raters")):
            against = "1,000 free tasks" if name == "many" else f"{ASKING} enrolled raters"
            goal = "≤ 1.5" if name == "many" else "as with 100"
            for kind, figures in (("p99", ends), ("p50", mids)):
                ratio = figures[name] / figures["few"]
                self.lines.append(
                    f"| lease, {what}, {kind}, ms | {figures[name] * 1e3:.1f} | {against} | {figures['few'] * 1e3:.1f} "
                    f"| {ratio:.2f} | {goal if kind == 'p99' else ''} |"
                )

    def contended(self) -> None:
        """Measure raters of one campaign who request a task at the same moment, and as many who do so one by one."""
        owner = self.server.url("owner")
        secrets = list(hot_data.waiting(owner, "herd", tasks=1_000, raters=ASKING, asking=ASKING).values())
        asked = [request("POST", "/v1/campaigns/herd/lease", secret, "") for secret in secrets]
        apart = [(n * APART, n % CLIENTS, "lease", one) for n, one in enumerate(asked)]
        herds = [(n // CLIENTS * APART * CLIENTS, n % CLIENTS, "lease", one) for n, one in enumerate(asked)]
        p50: dict[str, list[float]] = {"apart": [], "herds": []}
        p99: dict[str, list[float]] = {"apart": [], "herds": []}
        with serving(owner, self.workers) as address:
            for _ in range(self.repeats + 1):
                for name, sent in (("apart", apart), ("herds", herds)):
                    figures = keep_time(address, CLIENTS, sent)["lease"]
                    assert set(figures["statuses"]) == {"200"}, figures
                    p50[name].append(figures["p50"])
                    p99[name].append(figures["p99"])
                    hot_data.give_back(owner, "herd")
        for kind, taken in (("p50", p50), ("p99", p99)):
            together, alone = (median(taken[name][1:]) for name in ("herds", "apart"))  # the first round warms up
            self.lines.append(
                f"| lease, {CLIENTS} raters at the same moment, {kind}, ms | {together * 1e3:.1f} | one after another "
                f"| {alone * 1e3:.1f} | {together / alone:.2f} | |"
            )


def run_pgbench(server: EmbeddedServer, script: str, versioned: int, seconds: float) -> float:
    """Return the transactions per second of a script, given as a path or as a name beside this module.

    versioned: whether the script takes the next data version.
    """
    program = server.cluster.programs / "pgbench"
    variables = {"items": hot_data.ITEMS, "segments": hot_data.SEGMENTS, "versioned": versioned}
    command = [str(program), "--no-vacuum", "--protocol=prepared", f"--client={CLIENTS}", "--jobs=2"]
    command += [f"--time={max(1, int(seconds))}", f"--file={ROOT / 'benchmarks' / script}"]
    command += [f"--define={name}={value}" for name, value in variables.items()]
    done = subprocess.run([*command, server.url("app")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rate = re.search(r"tps = ([\d.]+)", done.stdout)
    assert rate is not None
    return float(rate[1])


def mqm_bound(script: str) -> str:
    """Return the bound with payloads of zero to three errors. Raises ValueError if the script has changed."""
    plain = "jsonb_build_object('protocol', 'da', 'score', CAST(:score AS int))"
    errors = (
        "jsonb_build_object('protocol', 'mqm', 'errors', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', 'e' || e, "
        "'start', e * 3, 'end', e * 3 + 5, 'severity', 'minor', 'category', 'Fluency/Grammar')), '[]'::jsonb) "
        "FROM generate_series(1, CAST(:score AS int) % 4) e))"
    )
    if plain not in script or "revision, -1, s.version" not in script:
        raise ValueError("the bound is not the one that this was made for")
    return script.replace(plain, errors).replace(
        "revision, -1, s.version", "revision, CAST(:score AS int) % 4, s.version"
    )


def rated(score: float) -> dict[str, object]:
    """Return a judgment that is a score."""
    return {"protocol": "da", "score": score}


def marked(score: float) -> dict[str, object]:
    """Return a judgment with zero to three errors, which the score determines."""
    errors = [
        {"start": at * 3, "end": at * 3 + 2 + int(2 * score) % 7, "severity": "minor", "category": "Fluency/Grammar"}
        for at in range(1, 1 + int(score) % 4)
    ]
    return {"protocol": "mqm", "errors": errors}


def posts(task: str, secret: Credential, n: int, payload: Callable[[float], dict[str, object]] = rated) -> list[str]:
    """Return requests for every address of a task, each with an answer that was not given before."""
    requests = []
    for item in range(1, hot_data.ITEMS + 1):
        for segment in range(1, hot_data.SEGMENTS + 1):
            for turn in (0, 1):  # so that the next round over the same addresses sends different answers
                score = (item * 37 + segment * 11 + n * 5 + turn) % 100
                requests.append(judgment(task, secret, item, segment, payload(score + turn / 2)))
    return requests


def judgment(task: str, secret: Credential, item: int, segment: int, payload: object) -> str:
    """Return the request that answers one segment."""
    return request("PUT", f"/v1/tasks/{task}/judgments/{item}/{segment}", secret, json.dumps(payload))


def heartbeat(task: str, secret: Credential) -> str:
    """Return the request with which a page reports that its rater is present."""
    return request("POST", f"/v1/tasks/{task}/heartbeat", secret, json.dumps({"events": []}))


def request(method: str, path: str, secret: Credential, body: str | None = None) -> str:
    """Return a request in the form in which it is sent."""
    shown = f"Authorization: Bearer {secret}" if isinstance(secret, str) else secret.lines
    more = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n{more}\r\n"
    return head + (body or "")


def _leases(client: httpx.Client, campaign: str, secrets: Mapping[str, str]) -> Iterator[float]:
    """Yield the seconds of each lease in one round."""
    for secret in secrets.values():
        began = time.perf_counter()
        answer = client.post(f"/v1/campaigns/{campaign}/lease", headers={"Authorization": f"Bearer {secret}"})
        yield time.perf_counter() - began
        assert answer.status_code == 200, answer.text
        assert answer.json()["task"], answer.text


def load(address: tuple[str, int], plan: Sequence[Sequence[str]], seconds: float) -> dict[str, Any]:
    """Return the figures of one run of the load generator."""
    if WRK is not None:
        return _wrk(WRK, address, plan, seconds)
    return generate(address, plan, seconds)


def keep_time(address: tuple[str, int], clients: int, sent: Sequence[Sent]) -> dict[str, dict[str, Any]]:
    """Return the figures of a timetable by kind of request; only our own generator can follow a timetable."""
    return generate(address, {"clients": clients, "sent": sent}, 0.0)


def generate(address: tuple[str, int], plan: object, seconds: float) -> dict[str, Any]:
    """Return the figures of one run of our own generator."""
    command = [sys.executable, "-m", "benchmarks.hot_load", address[0], str(address[1]), str(seconds)]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(plan).encode(), stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _wrk(program: str, address: tuple[str, int], plan: Sequence[Sequence[str]], seconds: float) -> dict[str, Any]:
    """Return the figures of one run of wrk, which uses any free connection, but sends each rater's requests in turn."""
    turns = [turn for requests in zip(*plan, strict=True) for turn in requests]
    with tempfile.NamedTemporaryFile() as file:
        file.write("\0".join(turns).encode())
        file.flush()
        command = [
            program,
            "--threads=1",
            f"--connections={len(plan)}",
            f"--duration={max(1, int(seconds))}s",
            "--latency",
        ]
        command += [f"--script={ROOT / 'benchmarks' / 'wrk.lua'}", f"http://{address[0]}:{address[1]}", "--", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert not told["failed"], done.stdout
    # wrk counts only refusals; the first request shows which status the other answers have.
    answered, refused = _status(address, turns[0]), told["refused"]
    statuses = {answered: told["requests"] - refused, **({"refused": refused} if refused else {})}
    return {"rate": told["requests"] / told["seconds"], "p50": told["p50"], "p99": told["p99"], "statuses": statuses}


def _status(address: tuple[str, int], asked: str) -> str:
    """Return the status of the answer to a request."""
    with socket.create_connection(address, timeout=60) as line:
        line.sendall(asked.encode())
        return line.makefile("rb").readline().split()[1].decode()


@contextmanager
def throw_away(folder: Path) -> Iterator[tuple[EmbeddedServer, Database]]:
    """Start a database server with an empty database in a folder of its own, with fsync on, as in a release."""
    folder.chmod(0o711)  # under root the server runs as another user, who must get through
    with embedded.start_server(folder / "data") as server:
        migrate.upgrade_schema(server.url("owner"))
        with closing(Database(server.url("owner"), role=APP_ROLE)) as database:
            yield server, database


@contextmanager
def serving(url: str, workers: int) -> Iterator[tuple[str, int]]:
    """Run the service on a database, as `plumbline serve` does, but without a worker."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url}
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--no-worker", "--workers", str(workers)]
    with tempfile.TemporaryDirectory() as folder:
        environment["PLUMBLINE_DATA_DIR"] = folder
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            _wait(host, port)
            _calm(process.pid)
            yield host, port
        finally:
            process.terminate()
            process.wait(20)


def _wait(host: str, port: int) -> None:
    for _ in range(300):
        try:
            if httpx.get(f"http://{host}:{port}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the service does not start")


def _calm(pid: int) -> None:
    """Wait until all processes have started: one ready process answers for all, while others still import."""
    before = processor_seconds(pid)
    for _ in range(60):
        time.sleep(STARTED)
        now = processor_seconds(pid)
        if now - before < STARTED / 10:
            return
        before = now
    raise TimeoutError("the service does not come to rest")


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of one run of posting")
    parser.add_argument("--repeats", type=int, default=3, help="runs of posting, in turn with the bound")
    parser.add_argument("--workers", type=int, default=1, help="processes that answer requests")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between its marks")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder,
        throw_away(Path(folder)) as (server, database),
    ):
        bench = Bench(server, database, asked.seconds, asked.repeats, asked.workers)
        for part in asked.only:
            getattr(bench, part)()
    head = ["| what | | against | | ratio | goal |", "|---|--:|---|--:|--:|---|"]
    table = (
        "\n".join(
            [
                (
                    f"The service has {asked.workers} web process{'es' * (asked.workers > 1)}, and {LOADER} generates "
                    f"the load. {load_average()}."
                ),
                "",
                *head,
                *bench.lines,
            ]
        )
        + "\n"
    )
    print(table)
    if asked.write:
        pages.write(asked.write, table)


if __name__ == "__main__":
    main()
