"""Campaigns that collect, put into a database as a plan would put them: the least that raters need to judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from app.services.access import tokens
from app.storage.db import Database

SOURCE, TARGET = "Source {0} {1}: the dog barked.", "{2} says of {0} {1}: der Hund bellte."


@dataclass(frozen=True)
class Collecting:
    """An open campaign. secrets: of the raters, by key. tasks: names in addresses, in the order of the queue."""

    key: str
    id: int
    secrets: Mapping[str, str]
    tasks: tuple[str, ...]
    n_items: int
    n_segments: int

    def auth(self, rater: str) -> dict[str, str]:
        """The header of a rater."""
        return {"Authorization": f"Bearer {self.secrets[rater]}"}


def collect(
    database: Database,
    *,
    key: str = "live",
    protocol: str = "da",
    raters: Sequence[str] = ("r1", "r2"),
    persons: Mapping[str, str] | None = None,
    documents: int = 2,
    segments: int = 2,
    systems: Sequence[str] = ("sysA", "sysB"),
    ratings: int = 1,
    pooled: bool = True,
    chain: int = 1,
    columns: int = 1,
    options: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    basis: str = "source",
    presentation: str = "document",
) -> Collecting:
    """One bucket, one group a document and rating: all systems on it, over `chain` tasks.

    pooled: any rater may take a task; else they are dealt in turn. columns: items side by side on a screen.
    """
    shown = {"options": json.dumps(options or {}), "settings": json.dumps(settings or {})}
    with psycopg.connect(database.url) as db:
        campaign = _one(
            db,
            """INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings,
                                      target_language)
               VALUES (%s, %s, %s, 1, %s, %s, 'open', %s, 'de') RETURNING id""",
            (key, key, protocol, shown["options"], basis, shown["settings"]),
        )
        people = {
            person: _one(db, "INSERT INTO people (key) VALUES (%s) RETURNING id", (f"{key}-{person}",))
            for person in sorted(set((persons or {}).values()))
        }
        rater_ids = [_rater(db, campaign, name, people.get((persons or {}).get(name, ""))) for name in raters]
        system_ids = [
            _one(
                db,
                """INSERT INTO systems (campaign_id, key, name, kind, state) VALUES (%s, %s, %s, 'mt', 'active')
                   RETURNING id""",
                (campaign, name, name),
            )
            for name in systems
        ]
        db.execute("INSERT INTO versions (campaign_id, n, actor, what) VALUES (%s, 1, 'test', 'texts')", (campaign,))
        db.execute("UPDATE campaigns SET data_version = 1 WHERE id = %s", (campaign,))
        db.execute(
            """INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor)
               VALUES (%s, 1, 1, sha256(''), '1', 1, 'test')""",
            (campaign,),
        )
        for rater in rater_ids:
            db.execute("INSERT INTO bucket_raters VALUES (%s, 1, 1, %s)", (campaign, rater))
        made: list[str] = []
        for d in range(1, documents + 1):
            document = _document(db, campaign, d, segments, dict(zip(systems, system_ids, strict=True)))
            for nth in range(1, ratings + 1):
                owner = None if pooled else rater_ids[(d - 1 + nth - 1) % len(rater_ids)]
                made += _tasks(db, campaign, document, d, nth, owner, system_ids, chain, columns, presentation)
    with database.transaction() as session:
        secrets = {name: tokens.issue_token(session, role="rater", campaign=key, rater=name).secret for name in raters}
    return Collecting(key, campaign, secrets, tuple(made), len(systems) // chain, segments)


def _one(db: psycopg.Connection[Any], query: str, values: tuple[Any, ...]) -> int:
    row = db.execute(query.encode(), values).fetchone()
    assert row is not None
    return int(row[0])


def _rater(db: psycopg.Connection[Any], campaign: int, name: str, person: int | None) -> int:
    made = _one(
        db,
        "INSERT INTO raters (campaign_id, key, name, person_id) VALUES (%s, %s, %s, %s) RETURNING id",
        (campaign, name, name, person),
    )
    db.execute(
        "INSERT INTO enrolments (campaign_id, rater_id, state, capacity_unit) VALUES (%s, %s, 'active', 'items')",
        (campaign, made),
    )
    return made


def _document(db: psycopg.Connection[Any], campaign: int, d: int, segments: int, systems: Mapping[str, int]) -> int:
    document = _one(
        db,
        "INSERT INTO documents (campaign_id, key, name, kind, position) VALUES (%s, %s, %s, 'test', %s) RETURNING id",
        (campaign, f"doc{d}", f"doc{d}", d),
    )
    for p in range(1, segments + 1):
        segment = _one(
            db,
            "INSERT INTO segments (campaign_id, document_id, position, source) VALUES (%s, %s, %s, %s) RETURNING id",
            (campaign, document, p, SOURCE.format(d, p)),
        )
        db.execute(
            "INSERT INTO reference_texts (campaign_id, segment_id, name, text) VALUES (%s, %s, 'refHuman', %s)",
            (campaign, segment, f"Reference {d} {p}: der Hund hat gebellt."),
        )
        for n, system in enumerate(systems.values(), 1):
            text = TARGET.format(d, p, f"Voice {n}")
            db.execute(
                """INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
                   VALUES (%s, %s, %s, %s, sha256(convert_to(%s, 'UTF8')))""",
                (campaign, system, segment, text, text),
            )
    return document


def _tasks(
    db: psycopg.Connection[Any],
    campaign: int,
    document: int,
    d: int,
    nth: int,
    owner: int | None,
    systems: Sequence[int],
    chain: int,
    columns: int,
    presentation: str,
) -> list[str]:
    """The tasks of one group."""
    group = _one(
        db,
        """INSERT INTO groups (campaign_id, plan, bucket, unit, nth, document_id, rater_id)
           VALUES (%s, 1, 1, %s, %s, %s, %s) RETURNING id""",
        (campaign, d, nth, document, owner),
    )
    made, each = [], len(systems) // chain
    for part in range(chain):
        public = f"t_{campaign:06d}{d:010d}{nth:08d}{part:08d}"
        task = _one(
            db,
            """INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, plan, bucket, chain, queue, words,
                                  segments, presentation)
               VALUES (%s, %s, %s, %s, 'free', 1, 1, %s, %s, %s, %s, %s) RETURNING id""",
            (
                campaign,
                public,
                f"task-{d}-{nth}-{part}",
                owner,
                d * 1000 + nth if chain > 1 else None,
                (nth * 100_000 + d) * 10 + part,
                each * 10,
                each,
                presentation,
            ),
        )
        for n, system in enumerate(systems[part * each : (part + 1) * each], 1):
            item = _one(
                db,
                """INSERT INTO items (campaign_id, task_id, key, position, document_id, role, screen, column_, group_id,
                                      side_order)
                   VALUES (%s, %s, %s, %s, %s, 0, %s, %s, %s, %s) RETURNING id""",
                (campaign, task, f"i{n}", n, document, (n - 1) // columns + 1, (n - 1) % columns + 1, group, n % 2),
            )
            db.execute("INSERT INTO credits VALUES (%s, %s, %s)", (campaign, item, system))
        made.append(public)
    return made


def give_task(url: str, campaign: str, rater: str) -> str:
    """A task over one output of a campaign that has outputs, leased to a rater; its name in addresses."""
    with psycopg.connect(url) as db:
        db.execute(
            """INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor)
               SELECT id, 1, 1, sha256(''), '1', data_version, 'test' FROM campaigns WHERE key = %s""",
            (campaign,),
        )
        task = _one(
            db,
            """INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, plan, bucket, queue, lease,
                                  leased_until)
               SELECT c.id, 't_' || repeat('a', 32), 'given', r.id, 'leased', 1, 1, 1, 1, now() + interval '1 hour'
               FROM campaigns c JOIN raters r ON r.campaign_id = c.id AND r.key = %s WHERE c.key = %s RETURNING id""",
            (rater, campaign),
        )
        db.execute(
            """WITH t AS (SELECT * FROM tasks WHERE id = %s), one AS (
                   SELECT o.system_id, g.document_id FROM t JOIN outputs o ON o.campaign_id = t.campaign_id
                   JOIN segments g ON g.id = o.segment_id ORDER BY o.id LIMIT 1),
               item AS (
                   INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
                   SELECT t.campaign_id, t.id, 'i1', 1, one.document_id, 0 FROM t, one RETURNING campaign_id, id),
               held AS (
                   INSERT INTO leases (campaign_id, task_id, n, rater_id) SELECT campaign_id, id, 1, rater_id FROM t)
               INSERT INTO credits SELECT item.campaign_id, item.id, one.system_id FROM item, one""",
            (task,),
        )
        row = db.execute("SELECT public_id FROM tasks WHERE id = %s", (task,)).fetchone()
    assert row is not None
    return str(row[0])
