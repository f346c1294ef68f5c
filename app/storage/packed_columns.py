"""Whole columns of a query as byte strings: the server packs them and numpy reads them, without row objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from app.storage.db import driver_connection

_DTYPES = {"int8": ">i8", "int4": ">i4", "int2": ">i2", "float8": ">f8", "bool": "?", "timestamptz": ">i8"}
_SENDS = {"timestamptz": "timestamptz_send"}
_EXPRESSIONS = {
    "segment_id": "coalesce(segment_id, -1)",
    "started_at": "coalesce(started_at, '-infinity')",
    "submitted_at": "coalesce(submitted_at, '-infinity')",
}
_FROM_2000 = 946_684_800_000_000  # microseconds from 1970, our epoch, to 2000, the epoch of Postgres
_NO_TIME = np.iinfo(np.int64).min  # -infinity


def make_packed_columns_select(alias: str, columns: Mapping[str, str], rows: str) -> str:
    """Return a one-row SELECT of whole columns as byte strings, named alias_column.

    columns: the type of each. A missing segment is −1. All columns of one SELECT have the same row order.
    """
    sends = (
        f"string_agg({_SENDS.get(kind, f'{kind}send')}({_EXPRESSIONS.get(name, name)}), ''::bytea) AS {alias}_{name}"
        for name, kind in columns.items()
    )
    return f"(SELECT {', '.join(sends)} FROM {rows}) {alias}"


def load_packed_columns_in_blocks(
    session: Session, statement: str, keys: Mapping[str, object], ids: tuple[int, int], block: int
) -> Mapping[str, bytes]:
    """Run a statement for one block of ids at a time, from `first` to `last`, and join its packed columns.

    Postgres limits a row to 1 GB, which the columns of a large campaign exceed. ids: the lowest and the highest.
    """
    parts: dict[str, list[bytes]] = defaultdict(list)
    with driver_connection(session).cursor(binary=True, row_factory=dict_row) as cursor:
        for first in range(ids[0], ids[1] + 1, block):
            row = cursor.execute(statement, {**keys, "first": first, "last": first + block - 1}).fetchone() or {}
            for name, content in row.items():
                parts[name].append(content or b"")
    return defaultdict(bytes, {name: b"".join(parts.pop(name)) for name in tuple(parts)})


def unpack_column(content: bytes | None, kind: str) -> npt.NDArray[Any]:
    """Unpack a column to an array in this machine's byte order; `unpack_times_as_microseconds` then converts times."""
    values = np.frombuffer(content or b"", dtype=_DTYPES[kind])
    return values.astype(values.dtype.newbyteorder("="))


def unpack_times_as_microseconds(times: npt.NDArray[np.int64], unknown: int) -> npt.NDArray[np.int64]:
    """Convert packed times to microseconds since 1970, with `unknown` for missing times."""
    return np.where(times == _NO_TIME, unknown, times + _FROM_2000)
