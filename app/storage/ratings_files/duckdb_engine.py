"""The engine that sorts and sums files of ratings: DuckDB, an optional extra, in one thread and limited memory."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid

MEMORY = "1GB"
"""The most memory for sorting and grouping; anything more goes to disk next to the files."""


class DuckdbNotInstalled(Invalid):
    """A campaign of this size is ranked from sums, which needs an extra: pip install 'plumbline[large]'."""

    published = "LargeExtraNeeded"


def check_duckdb_installed() -> None:
    """Raise DuckdbNotInstalled if this installation cannot sum large campaigns."""
    if find_spec("duckdb") is None or find_spec("pyarrow") is None:
        raise DuckdbNotInstalled


def connect_duckdb(spill: Path) -> Any:
    """Return a new connection. With one thread, sums have a fixed order, and requests of raters keep a processor.

    spill: folder for data that do not fit into memory. Raises DuckdbNotInstalled.
    """
    check_duckdb_installed()
    engine = import_module("duckdb").connect(
        config={
            "threads": 1,
            "memory_limit": MEMORY,
            "temp_directory": str(spill),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    # It takes a worker's process, whose main module has no file, for somebody's terminal, and draws on its log.
    engine.execute("SET enable_progress_bar = false")
    return engine
