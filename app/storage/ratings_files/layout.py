"""The format of a file of ratings: a folder of Parquet files, with the ratings in canonical order and the labels.

The file is a copy. If it is missing, the program writes it again from the database, and it holds nothing that the
database does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

RATINGS, SEGMENTS = "ratings.parquet", "segments.parquet"
LABELS = ("systems", "documents", "raters", "tasks")
ROW_GROUP = 1 << 17
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "system": "int32",
        "document": "int32",
        "segment": "int32",
        "rater": "int32",
        "task": "int32",
        "judgment": "int32",
        "nth": "int32",
        "score": "float64",
        "n_errors": "int32",
        "kind": "int8",
        "role": "int8",
        "accepted": "bool_",
    }
)
"""Columns of `app.stats.ratings.Ratings` with their Arrow types."""


def labels_path(folder: Path, kind: str) -> Path:
    """Return the path of the file with the labels of one kind, one row per code."""
    return folder / f"{kind}.parquet"
