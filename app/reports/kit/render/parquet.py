"""Flat tables as Parquet if the extra of that name is installed: the columns and rows of the CSV, with types."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from app.domain.errors import Invalid

SUFFIX, MEDIA_TYPE = "parquet", "application/vnd.apache.parquet"
BLOCK = 1 << 24  # bytes that form a row group; a row must fit
PIECE = 1 << 20  # bytes sent at a time
Types = Mapping[str, str]
"""Names of the Arrow types of columns that are not text."""
JUDGMENTS: Types = MappingProxyType(
    {"accepted": "bool_", "position": "int32", "revision": "int32", "score": "float64", "n_errors": "int32"}
)
RATINGS: Types = MappingProxyType(
    {"accepted": "bool_", "position": "int32", "judgment": "int32", "score": "float64", "n_errors": "int32"}
)
_WHOLE = "cluster n_segments n_documents n_ratings wins losses n_common documents_common data_version seed"
_TRUTH = "significant significant_reverse testable order_conflict higher_is_better"
_REAL = (
    "rank rank_low rank_high rank_set_low rank_set_high score raw interval_low interval_high relative relative_low "
    "relative_high difference p_value p_reverse p_adjusted minimum_detectable effective_documents "
    "new_raters_low new_raters_high new_domains_low new_domains_high"
)
RANKING: Types = MappingProxyType(
    {
        **dict.fromkeys(_WHOLE.split(), "int64"),
        **dict.fromkeys(_TRUTH.split(), "bool_"),
        **dict.fromkeys(_REAL.split(), "float64"),
    }
)
"""For systems and for pairs; columns with the same meaning have the same name in both."""


class ParquetNotInstalled(Invalid):
    """This format needs an extra that is not installed: pip install 'plumbline[parquet]'."""

    published = "NeedsExtra"


def is_parquet_installed() -> bool:
    """Whether Parquet can be written on this installation."""
    return find_spec("pyarrow") is not None


def check_parquet_installed() -> None:
    """Raise ParquetNotInstalled if Parquet cannot be written on this installation."""
    if not is_parquet_installed():
        raise ParquetNotInstalled


def convert_csv_to_parquet(pieces: Iterable[bytes], types: Types) -> Iterator[bytes]:
    """Convert a streamed CSV to a Parquet file; an empty cell becomes null, and texts stay as in the CSV.

    Both pass through files on disk, because a Parquet file is indexed at its end. Raises ParquetNotInstalled.
    """
    check_parquet_installed()
    arrow, parquet, csv = (import_module(name) for name in ("pyarrow", "pyarrow.parquet", "pyarrow.csv"))
    with tempfile.TemporaryFile() as table, tempfile.TemporaryFile() as file:
        head = b""
        for piece in pieces:
            head = head or piece
            table.write(piece)
        table.seek(0)
        names = head.partition(b"\n")[0].decode().strip("\r").split(",")
        schema = arrow.schema([(name, getattr(arrow, types.get(name, "string"))()) for name in names])
        convert_options = csv.ConvertOptions(column_types=schema, strings_can_be_null=True, null_values=[""])
        cells = csv.ParseOptions(newlines_in_values=True)
        rows = csv.open_csv(table, csv.ReadOptions(block_size=BLOCK), cells, convert_options)
        with parquet.ParquetWriter(file, schema) as out:
            for batch in rows:
                out.write_batch(batch)
        file.seek(0)
        while sent := file.read(PIECE):
            yield sent
