"""What a look at the progress of a campaign costs: `python -m benchmarks.looks [--judgments N …] [--write PAGE]`.

A campaign of so many judgments and at least 20,000 tasks, a third of them free and some in raters' hands. Four kinds of
look take turns, as a process makes them that has looked before: nothing has changed, some judgments have come, a task
was leased, a task was handed in. Processor time is that of the one Postgres process that answers, and of the looking
process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Final

import psycopg
from sqlalchemy import text

from app.services.tasks import progress
from app.services.tasks.progress_cache import ProgressCountCache
from app.services.tasks.progress_view import ProgressVisibility
from app.storage.db import Database
from benchmarks import pages
from benchmarks.hot import throw_away
from benchmarks.processes import load_average, scheduled_seconds
from tests.grown import grow

KEY: Final = "watched"
SIGHT: Final = ProgressVisibility(raters=True, systems=True, team=None)
GOAL: Final = 10
POSTS: Final = 6
"""Judgments between two looks: those of a hundred raters in two seconds."""

FURTHER: Final = """
INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, plan, bucket, queue, handed_in_at)
SELECT t.campaign_id, 't_' || lpad(to_hex(t.id * 1000 + n), 32, 'f'), t.key || '+' || n, t.rater_id, t.state, t.plan,
       t.bucket, t.queue, t.handed_in_at
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id, generate_series(1, 999) n
WHERE c.key = %(key)s ORDER BY n LIMIT greatest(0, %(tasks)s - (
    SELECT count(*) FROM tasks t JOIN campaigns c ON c.id = t.campaign_id WHERE c.key = %(key)s))"""
OPEN: Final = """
UPDATE tasks t SET state = 'free', rater_id = NULL, handed_in_at = NULL, pooled = true
FROM campaigns c WHERE c.key = %(key)s AND t.campaign_id = c.id AND t.id %% 3 = 0"""
LEASED_BEFORE: Final = """
INSERT INTO leases (campaign_id, task_id, n, rater_id, leased_at, ended_at, ended_how)
SELECT t.campaign_id, t.id, 1, t.rater_id, t.handed_in_at, t.handed_in_at, 'handed_in'
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id WHERE c.key = %(key)s AND t.state = 'handed_in';
UPDATE tasks t SET lease = 1 FROM campaigns c WHERE c.key = %(key)s AND t.campaign_id = c.id"""
LEASE: Final = """
WITH chosen AS (
    SELECT t.campaign_id, t.id, r.id AS rater_id FROM campaigns c
    JOIN LATERAL (SELECT * FROM raters r WHERE r.campaign_id = c.id AND NOT EXISTS (
        SELECT FROM tasks h WHERE h.campaign_id = c.id AND h.rater_id = r.id AND h.state = 'leased') LIMIT 1) r ON true
    JOIN LATERAL (SELECT * FROM tasks t WHERE t.campaign_id = c.id AND t.state = 'free' LIMIT 1) t ON true
    WHERE c.key = %(key)s),
leased AS (
    UPDATE tasks t SET state = 'leased', rater_id = chosen.rater_id, lease = lease + 1,
           leased_until = now() + interval '1 hour' FROM chosen WHERE t.id = chosen.id
    RETURNING t.campaign_id, t.id, t.lease, t.rater_id)
INSERT INTO leases (campaign_id, task_id, n, rater_id) SELECT campaign_id, id, lease, rater_id FROM leased"""
VERSION: Final = """
WITH bumped AS (UPDATE campaigns SET data_version = data_version + 1 WHERE key = %(key)s RETURNING id, data_version)
INSERT INTO versions (campaign_id, n, actor, what) SELECT id, data_version, 'bench', %(what)s FROM bumped"""
HAND_IN: Final = """
UPDATE tasks SET state = 'handed_in', handed_in_at = now(), leased_until = NULL WHERE id = (
    SELECT t.id FROM tasks t JOIN campaigns c ON c.id = t.campaign_id
    WHERE c.key = %(key)s AND t.state = 'leased' LIMIT 1)"""
JUDGE: Final = f"""
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, submitted_at, version)
SELECT c.id, i.id, s.id, r.id, 1, '{{}}', now(), c.data_version
FROM campaigns c
JOIN LATERAL (SELECT id FROM raters WHERE campaign_id = c.id ORDER BY id DESC LIMIT 1) r ON true
JOIN LATERAL (
    SELECT id, document_id FROM items i WHERE i.campaign_id = c.id AND NOT EXISTS (
        SELECT FROM judgments j WHERE j.item_id = i.id AND j.rater_id = r.id) ORDER BY id LIMIT {POSTS}) i ON true
JOIN LATERAL (SELECT id FROM segments WHERE document_id = i.document_id ORDER BY position LIMIT 1) s ON true
WHERE c.key = %(key)s"""


class Watched:
    """A campaign whose progress one process reads over one connection."""

    def __init__(self, database: Database, owner: psycopg.Connection, judgments: int) -> None:
        self._database, self._owner, self.judgments = database, owner, judgments
        self._keeper = ProgressCountCache()
        self._tag = ""

    def change(self, *statements: str, **more: object) -> None:
        """Do what raters do. more: further parameters of the statements."""
        for statement in statements:
            self._owner.execute(statement.encode(), {"key": KEY, **more})

    def look(self) -> tuple[float, float, float]:
        """Look once; return the seconds of Postgres, of this process, and in total."""
        with self._database.transaction() as session:
            backend = int(session.execute(text("SELECT pg_backend_pid()")).scalar_one())
            before, ours, began = scheduled_seconds(backend), time.process_time(), time.perf_counter()
            seen = progress.load_progress_fingerprint(session, KEY, SIGHT)
            if seen.tag != self._tag:
                progress.make_campaign_progress(session, seen, SIGHT, self._keeper).model_dump_json()
                self._tag = seen.tag
            return (
                scheduled_seconds(backend) - before,
                time.process_time() - ours,
                time.perf_counter() - began,
            )


def kinds(watched: Watched) -> dict[str, Callable[[], None]]:
    """Return what happened before a look, by its name on the page."""
    return {
        "nothing has changed": lambda: None,
        f"{POSTS} judgments arrived": lambda: watched.change(VERSION, JUDGE, what="judgments"),
        "a task was leased": lambda: watched.change(LEASE),
        "a task was handed in": lambda: watched.change(VERSION, HAND_IN, what="hand-in"),
    }


def rows(watched: Watched, repeats: int) -> Iterator[str]:
    """Yield the lines of one size."""
    first = watched.look()
    yield _row(watched.judgments, "the first look of a process", [first])
    taken: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(repeats):
        for kind, change in kinds(watched).items():
            change()
            taken.setdefault(kind, []).append(watched.look())
    for kind, looks in taken.items():
        yield _row(watched.judgments, kind, looks)


def _row(judgments: int, kind: str, looks: list[tuple[float, float, float]]) -> str:
    postgres, ours, whole = (mean(column) * 1e3 for column in zip(*looks, strict=True))
    return f"| {judgments:,} | {kind} | {postgres:.1f} | {ours:.1f} | {whole:.1f} |"


def table(sizes: list[int], tasks: int, repeats: int, folder: Path | None) -> Iterator[str]:
    """Yield the lines of the page's table."""
    yield f"{load_average()}."
    yield ""
    yield f"| judgments | since the last look | Postgres, ms (goal < {GOAL}) | reading process, ms | elapsed, ms |"
    yield "|--:|---|--:|--:|--:|"
    for size in sizes:
        with (
            tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=folder) as data,
            throw_away(Path(data)) as (server, _),
            closing(Database(server.url("owner"), size=1)) as database,
            psycopg.connect(server.url("owner"), autocommit=True) as owner,
        ):
            watched = Watched(database, owner, grow(server.url("owner"), KEY, size))
            watched.change(FURTHER, tasks=tasks)
            watched.change(*LEASED_BEFORE.split(";"), OPEN, *[LEASE] * 10)
            owner.execute("VACUUM ANALYZE")
            yield from rows(watched, repeats)


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.looks", description=__doc__)
    parser.add_argument("--judgments", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--tasks", type=int, default=20_000, help="at least; those beside the judged ones are empty")
    parser.add_argument("--repeats", type=int, default=8, help="looks of each kind")
    parser.add_argument("--folder", type=Path, help="where the data folder goes (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `looks`")
    asked = parser.parse_args()
    lines = []
    for line in table(asked.judgments, asked.tasks, asked.repeats, asked.folder):
        print(line, flush=True)
        lines.append(line)
    if asked.write:
        pages.write(asked.write, "\n".join(lines) + "\n", "looks")


if __name__ == "__main__":
    main()
