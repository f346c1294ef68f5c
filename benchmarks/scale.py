"""What a node takes and serves: `python -m benchmarks.scale [--rows N] [--seconds S] [--write docs/scaling.md]`.

Sizes on disk by table; requests a second of the routes that raters and programs use, by one answering process and by
two; the memory of such a process. On a throw-away Postgres with fsync on; the load shares the cores with it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg

from app.domain.recipe import NAMED
from app.reports.ranking.report import find_or_compute_ranking
from app.services.access import tokens
from app.storage.backup import backup_database
from app.storage.db import Database
from app.storage.embedded import EmbeddedServer
from benchmarks import hot_data, pages, synthetic
from benchmarks.children import run
from benchmarks.hot import CLIENTS, LOADER, heartbeat, load, posts, request, serving, throw_away
from benchmarks.processes import private_megabytes, serving_at

MILLION: Final = 1_000_000
LARGEST: Final = 8  # tables that are listed
SIZES: Final = """
SELECT relname, pg_total_relation_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"""
MEGABYTE: Final = 1 << 20


def sizes(server: EmbeddedServer, folder: Path, n: int) -> list[str]:
    """Import MQM judgments and measure their size on disk; return the lines of a table for a million of them."""
    file = folder / "mqm.tsv"
    synthetic.mqm_tsv(file, n)
    took = run("import", server.url("app"), "large", "mqm-tsv", "mqm", str(file)).answer["judgments"]
    with psycopg.connect(server.url("owner"), autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
        found = db.execute(SIZES).fetchall()
    saved = folder / "backup"
    backup_database(server.url("owner"), saved)
    each = MILLION / took / MEGABYTE
    rows = [f"| {name} | {total * each:,.0f} | {index * each:,.0f} |" for name, total, index in found[:LARGEST]]
    total, index = (sum(row[at] for row in found) for at in (1, 2))
    read = file.stat().st_size * each
    return [
        (
            "The sizes are for one million MQM judgments with their texts and three raters per document, "
            f"extrapolated from {took:,} judgments. The imported file takes {read:,.0f} MB."
        ),
        "",
        "| table | MB | of which indexes, MB |",
        "|---|--:|--:|",
        *rows,
        f"| total | {total * each:,.0f} | {index * each:,.0f} |",
        "",
        f"A backup of these tables takes {saved.stat().st_size * each:,.0f} MB.",
    ]


def plans(database: Database, server: EmbeddedServer) -> dict[str, list[list[str]]]:
    """Return requests by kind, with one list per connection."""
    held = hot_data.judged(server.url("owner"), "posts", CLIENTS)
    with database.transaction() as session:
        viewer = tokens.issue_token(session, role="viewer", name="bench").secret
    find_or_compute_ranking(database, "large", recipe=NAMED["recommended"])  # there is no worker to compute it
    ranking = request("GET", "/v1/campaigns/large/ranking", viewer)
    return {
        "a judgment": [posts(task, secret, 0) for task, secret in held.items()],
        "a heartbeat": [[heartbeat(task, secret)] for task, secret in held.items()],
        "a task of 400 segments, with its texts": [[request("GET", f"/v1/tasks/{t}", s)] for t, s in held.items()],
        "a stored ranking": [[ranking]] * CLIENTS,
        "the same, unchanged (304)": [[f"{ranking[:-2]}If-None-Match: TAG\r\n\r\n"]] * CLIENTS,
    }


def served(server: EmbeddedServer, database: Database, seconds: float) -> list[str]:
    """Measure requests per second with one and two processes, and the memory of the processes."""
    rates: dict[str, list[dict[str, Any]]] = {}
    held: list[float] = []
    asked = plans(database, server)
    for workers in (1, 2):
        with serving(server.url("owner"), workers) as address:
            held.append(private_megabytes(serving_at(address[1])))
            tag = _tag(address, asked["a stored ranking"][0][0])
            for what, plan in asked.items():
                ready = [[sent.replace("TAG", tag) for sent in requests] for requests in plan]
                rates.setdefault(what, []).append(load(address, ready, seconds))
                time.sleep(0.5)
            held.append(private_megabytes(serving_at(address[1])))
    rows = [
        f"| {what} | {one['rate']:,.0f} | {one['p50'] * 1e3:.1f} | {one['p99'] * 1e3:.1f} | {two['rate']:,.0f} "
        f"| {two['rate'] / one['rate']:.2f} | {', '.join(sorted(one['statuses']))} |"
        for what, (one, two) in rates.items()
    ]
    return [
        f"There were {CLIENTS} connections, and {LOADER} generated the load on the same {os.cpu_count()} cores.",
        "",
        "| request | per second, one process | p50, ms | p99, ms | per second, two processes | ratio | status |",
        "|---|--:|--:|--:|--:|--:|---|",
        *rows,
        "",
        "| total memory of the web processes | when ready, MB | after the load, MB |",
        "|---|--:|--:|",
        f"| one | {held[0]:.0f} | {held[1]:.0f} |",
        f"| two, with their supervisor | {held[2]:.0f} | {held[3]:.0f} |",
    ]


def _tag(address: tuple[str, int], sent: str) -> str:
    """Return the ETag of the ranking."""
    path, secret = sent.split()[1], sent.split("Bearer ")[1].split("\r\n")[0]
    url = f"http://{address[0]}:{address[1]}{path}"
    answer = httpx.get(url, headers={"Authorization": f"Bearer {secret}"}, trust_env=False, timeout=120)
    return str(answer.headers["etag"])


def report(parts: Sequence[Sequence[str]]) -> str:
    """Join the parts."""
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="judgments whose sizes are taken")
    parser.add_argument("--seconds", type=float, default=5, help="of each run of requests")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the tables into, between its marks")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=asked.folder) as folder,
        throw_away(Path(folder)) as (server, database),
    ):
        found = [sizes(server, Path(folder), synthetic.whole(asked.rows))]
        found.append(served(server, database, asked.seconds))
    print(report(found))
    if asked.write:
        pages.write(asked.write, report(found))


if __name__ == "__main__":
    main()
