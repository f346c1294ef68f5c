"""Write a file of ratings: load them from the database in blocks, and sort them on disk into canonical order.

The rules are those of `storage.ratings` and `storage.rating_codes`, which hold a campaign in memory. The latest of
several revisions counts, a rater's ratings of one output are numbered, and judgments are numbered in order of
appearance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from app.domain.errors import StorageFull
from app.storage.db import driver_connection
from app.storage.packed_columns import make_packed_columns_select, unpack_column
from app.storage.rating_codes import CampaignIdLabels, SegmentCodes, filter_rows
from app.storage.ratings import SCORES, SCORES_IN_BLOCK, load_id_labels_of_campaign, load_rated_items_and_omitted_ids
from app.storage.ratings_files.duckdb_engine import connect_duckdb
from app.storage.ratings_files.judgment_numbers import JudgmentRenumbering
from app.storage.ratings_files.layout import COLUMNS, LABELS, RATINGS, ROW_GROUP, SEGMENTS, labels_path
from app.storage.ratings_folder import HEAD

BLOCK = 1 << 20
"""The number of judgment ids read at a time; a judgment takes 56 bytes."""
_ROW_COLUMNS = {
    "system": "INTEGER",
    "document": "INTEGER",
    "segment": "INTEGER",
    "rater": "INTEGER",
    "task": "INTEGER",
    "judgment": "INTEGER",
    "judgment_id": "BIGINT",
    "item_id": "BIGINT",
    "revision": "INTEGER",
    "at_us": "BIGINT",
    "score": "DOUBLE",
    "n_errors": "INTEGER",
    "role": "TINYINT",
    "accepted": "BOOLEAN",
}
# If all answers at an address have a time, the latest one counts, else the one with the highest revision.
_LATEST = """
CREATE TABLE latest AS SELECT * EXCLUDE (timed, place) FROM (
    SELECT *, row_number() OVER (
        PARTITION BY item_id, segment, rater, system
        ORDER BY CASE WHEN timed THEN at_us ELSE 0 END DESC, revision DESC) AS place
    FROM (SELECT *, bool_and(at_us <> 0) OVER (PARTITION BY item_id, segment, rater, system) AS timed FROM loaded))
WHERE place = 1"""
_NTH = """(row_number() OVER (
    PARTITION BY system, document, segment, rater
    ORDER BY at_us, task, role, score, n_errors, accepted, judgment_id))::INTEGER"""
_AGAIN = """
SELECT count(*) > 0 FROM (
    SELECT 1 FROM {table} GROUP BY system, document, segment, rater HAVING count(*) > 1 LIMIT 1)"""
_SORTED = """
SELECT system, document, segment, rater, task, judgment, {nth} AS nth, score, n_errors,
       (segment < 0)::TINYINT AS kind, role, accepted
FROM {table} ORDER BY system, document, segment, rater, role, nth"""


def write_ratings_file(session: Session, folder: Path, *, campaign_id: int, profile_id: int, version: int) -> None:
    """Write all ratings of a campaign as of a data version to an empty folder.

    Memory is limited by the data on all items, and by the engine's own limit.

    Raises DuckdbNotInstalled, StorageFull.
    """
    engine, full = connect_duckdb(folder / "spill"), import_module("duckdb").IOException
    labels = load_id_labels_of_campaign(session, campaign_id)
    keys = {"campaign": campaign_id, "profile": profile_id, "version": version}
    try:
        engine.execute(f"ATTACH '{str(folder / 'loaded.duckdb').replace(chr(39), chr(39) * 2)}' AS disk; USE disk")
        engine.execute(f"CREATE TABLE loaded ({', '.join(f'{name} {kind}' for name, kind in _ROW_COLUMNS.items())})")
        n_judgments = _load(session, engine, keys, labels)
        _write_rows(engine, folder, n_judgments)
    except (OSError, full) as error:
        raise StorageFull(f"the file of ratings could not be written: {error}") from error
    finally:
        engine.close()
    (folder / "loaded.duckdb").unlink()
    _write_labels(folder, labels)


def _load(session: Session, engine: Any, keys: Mapping[str, int], labels: CampaignIdLabels) -> int:
    """Load the ratings into the engine's table `loaded`; return the number of judgments."""
    items, voids, surplus = load_rated_items_and_omitted_ids(session, keys, labels)
    arrow, n_judgments, segments = import_module("pyarrow"), 0, SegmentCodes(labels)
    for block in _blocks(session, keys):
        gone = np.isin(block["item_id"], surplus) | np.isin(block["judgment_id"], voids)
        scores = filter_rows(block, ~gone)
        columns = items.join_scores(scores)
        columns["judgment"] = columns["judgment"] + n_judgments
        n_judgments += scores["judgment_id"].size
        columns["segment"] = segments.find_codes(columns["segment_id"])
        columns["rater"] = labels.raters.find_codes(columns["rater_id"])
        engine.register("joined", arrow.table({name: columns[name] for name in _ROW_COLUMNS}))
        engine.execute(f"INSERT INTO loaded SELECT {', '.join(_ROW_COLUMNS)} FROM joined")
        engine.unregister("joined")
    return n_judgments


def _blocks(session: Session, keys: Mapping[str, int]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield blocks of scores by the ids of their judgments."""
    statement = f"SELECT * FROM {make_packed_columns_select('scores', SCORES, SCORES_IN_BLOCK)}"
    connection = driver_connection(session)
    ids = "SELECT min(judgment_id), max(judgment_id) FROM scores WHERE profile_id = %(profile)s"
    first, last = connection.execute(ids, keys).fetchone() or (None, None)
    if not isinstance(first, int) or not isinstance(last, int):
        return
    with connection.cursor(binary=True, row_factory=dict_row) as cursor:
        for start in range(first, last + 1, BLOCK):
            row = cursor.execute(statement, {**keys, "first": start, "last": start + BLOCK - 1}).fetchone() or {}
            yield {name: unpack_column(row[f"scores_{name}"], kind) for name, kind in SCORES.items()}


def _write_rows(engine: Any, folder: Path, n_judgments: int) -> None:
    table = "loaded"
    if _ask(engine, "SELECT max(revision) > 1 FROM loaded")[0]:
        engine.execute(_LATEST)
        table = "latest"
    [again] = _ask(engine, _AGAIN.format(table=table))
    n_rows, distinct = _ask(engine, f"SELECT count(*), count(DISTINCT judgment) FROM {table}")
    rows = engine.sql(_SORTED.format(nth=_NTH if again else "1::INTEGER", table=table))
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in COLUMNS.items()])
    numbers = JudgmentRenumbering(n_judgments)
    with parquet.ParquetWriter(folder / RATINGS, schema, compression="zstd") as out:
        for batch in rows.to_arrow_reader(ROW_GROUP):
            columns = {name: batch.column(name) for name in COLUMNS}
            columns["judgment"] = arrow.array(numbers.renumber(columns["judgment"].to_numpy()))
            out.write_table(arrow.table(columns, schema=schema), row_group_size=ROW_GROUP)
    head = {"rows": n_rows, "shared": distinct < n_rows}
    (folder / HEAD).write_text(json.dumps(head), encoding="utf-8")


def _ask(engine: Any, query: str) -> tuple[Any, ...]:
    [row] = engine.execute(query).fetchall()
    return tuple(row)


def _write_labels(folder: Path, labels: CampaignIdLabels) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    for what in LABELS:
        keys = arrow.array(getattr(labels, what).keys, type=arrow.string())
        parquet.write_table(arrow.table({"key": keys}), labels_path(folder, what))
    segments = SegmentCodes(labels)
    table = arrow.table({"document": segments.document, "position": segments.position})
    parquet.write_table(table, folder / SEGMENTS)
