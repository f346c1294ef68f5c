"""The engine that sorts and sums files of ratings: DuckDB, an optional extra, in one thread and bounded memory."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid

MEMORY = "1GB"
"""What sorting and grouping may hold; what is more goes to disk beside the files."""


class LargeExtraNeeded(Invalid):
    """A campaign of this size is ranked from sums, which needs an extra: pip install 'plumbline[large]'."""


def check_duckdb_installed() -> None:
    """Raise LargeExtraNeeded where large campaigns cannot be summed here."""
    if find_spec("duckdb") is None or find_spec("pyarrow") is None:
        raise LargeExtraNeeded


def connect_duckdb(spill: Path) -> Any:
    """A new connection. One thread: sums are then made in one order, and whoever answers raters keeps a processor.

    spill: folder for what does not fit in memory. Raises LargeExtraNeeded.
    """
    check_duckdb_installed()
    return import_module("duckdb").connect(
        config={
            "threads": 1,
            "memory_limit": MEMORY,
            "temp_directory": str(spill),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
