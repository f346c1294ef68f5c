"""The bounds that the product is compared with: the least that Postgres and its driver need for the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb, set_json_loads

BATCH: Final = 50_000
# The columns of `Ratings` with their types in Postgres and numpy; database ids take the place of codes.
PACKED: Final = {
    "system": ("int4", ">i4"),
    "document": ("int4", ">i4"),
    "segment": ("int4", ">i4"),
    "rater": ("int4", ">i4"),
    "task": ("int4", ">i4"),
    "judgment": ("int4", ">i4"),
    "nth": ("int4", ">i4"),
    "n_errors": ("int4", ">i4"),
    "score": ("float8", ">f8"),
    "kind": ("int2", ">i2"),
    "role": ("int2", ">i2"),
    "accepted": ("bool", "?"),
}
FLAT: Final = """
CREATE TABLE bound_ratings AS
SELECT c.system_id::int4 AS system, i.document_id::int4 AS document, s.segment_id::int4 AS segment,
       s.rater_id::int4 AS rater, i.task_id::int4 AS task, s.judgment_id::int4 AS judgment, s.revision AS nth,
       s.n_errors, s.score, 0::int2 AS kind, i.role, i.accepted
FROM scores s JOIN campaigns a ON a.id = s.campaign_id JOIN items i ON i.id = s.item_id
JOIN credits c ON c.item_id = i.id WHERE a.key = %s"""


def copy_table(url: str, table: str, campaign: str, *, encoded: bool) -> float:
    """Return the seconds to COPY a campaign's rows of a table with `write_row`, in binary, including the commit.

    The rows go into a table with the same columns and without constraints. Fetching them is not timed. encoded: JSON is
    available as text; otherwise the driver encodes it from Python objects.
    """
    copy_name, source_name = sql.Identifier(f"bound_{table}"), sql.Identifier(table)
    with psycopg.connect(url) as source, psycopg.connect(url) as target:
        target.execute(sql.SQL("CREATE TABLE {} AS SELECT * FROM {} WITH NO DATA").format(copy_name, source_name))
        target.commit()
        query = "SELECT t.* FROM {} t JOIN campaigns c ON c.id = t.campaign_id WHERE c.key = %s"
        if encoded:
            set_json_loads(_encoded, source)
        with source.cursor("rows", binary=True) as rows:
            rows.execute(sql.SQL(query).format(source_name), (campaign,))
            types = [column.type_code for column in rows.description or ()]
            seconds = _copy(target, copy_name, types, _batches(rows, types))
        target.execute(sql.SQL("DROP TABLE {}").format(copy_name))
    return seconds


def _batches(rows: psycopg.ServerCursor[Any], types: Sequence[int]) -> Iterator[list[list[Any]]]:
    """Yield batches of rows whose JSON is wrapped for the driver."""
    jsonb = psycopg.adapters.types["jsonb"].oid
    places = [i for i, oid in enumerate(types) if oid == jsonb]
    while batch := rows.fetchmany(BATCH):
        listed = [list(row) for row in batch]
        for row in listed:
            for i in places:
                row[i] = row[i] if row[i] is None else Jsonb(row[i], dumps=_encoded if type(row[i]) is bytes else None)
        yield listed


def _encoded(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _copy(
    target: psycopg.Connection[Any], name: sql.Identifier, types: Sequence[int], batches: Iterator[list[list[Any]]]
) -> float:
    seconds = 0.0
    with target.cursor() as cursor:
        with cursor.copy(sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(name)) as copy:
            copy.set_types(types)
            for batch in batches:
                started = time.perf_counter()
                for row in batch:
                    copy.write_row(row)
                seconds += time.perf_counter() - started
            started = time.perf_counter()
        target.commit()
    return seconds + time.perf_counter() - started


def flatten(url: str, campaign: str) -> None:
    """Write the columns of a campaign's `Ratings` into one flat table."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS bound_ratings")
        connection.execute(FLAT, (campaign,))


def load_flat(url: str) -> float:
    """Return the seconds to read the flat table into numpy: one SELECT packs each column into one byte string."""
    packed = ", ".join(f"string_agg({kind}send({name}), ''::bytea)" for name, (kind, _) in PACKED.items())
    with psycopg.connect(url) as connection, connection.cursor(binary=True) as cursor:
        connection.execute("SELECT 1")
        started = time.perf_counter()
        cursor.execute(f"SELECT {packed} FROM bound_ratings".encode())
        row = cursor.fetchone()
        assert row is not None
        kinds = (kind for _, kind in PACKED.values())
        columns = [np.frombuffer(cell, dtype=kind) for cell, kind in zip(row, kinds, strict=True)]
        native = [column.astype(column.dtype.newbyteorder("=")) for column in columns]
        seconds = time.perf_counter() - started
    assert len({column.size for column in native}) == 1
    return seconds
