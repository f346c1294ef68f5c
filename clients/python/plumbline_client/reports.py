"""Reports as they come, and as data frames."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from plumbline_client.calls import Json

MEDIA_TYPES: Mapping[str, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "tex": "application/x-tex",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "parquet": "application/vnd.apache.parquet",
}
"""By the ending of a file."""


class Report(Mapping[str, Any]):
    """A report: the server's JSON by name, such as `report["systems"]`."""

    def __init__(self, data: Json) -> None:
        self._data = data

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Report({', '.join(self._data)})"

    @property
    def warnings(self) -> list[str]:
        """What to know before the figures are believed."""
        return list(self._data.get("warnings", []))

    @property
    def tables(self) -> list[str]:
        """Names of what `rows` and `frame` take: the lists of objects in it."""
        return [name for name, value in self._data.items() if is_table(value)]

    def rows(self, name: str) -> list[Json]:
        """A table, row by row. Raises KeyError, naming the tables that there are."""
        if not is_table(self._data.get(name)):
            raise KeyError(f"this report has no table {name}; it has {', '.join(self.tables) or 'none'}")
        rows: list[Json] = self._data[name]
        return rows

    def frame(self, name: str) -> Any:
        """A table as a pandas DataFrame: objects in a row become columns with a dot in their name.

        Raises KeyError, naming the tables that there are; ImportError without pandas (`plumbline-client[pandas]`).
        """
        return data_frame(self.rows(name))


def is_table(value: object) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def data_frame(rows: list[Json]) -> Any:
    """Rows as a pandas DataFrame. Raises ImportError without pandas (`plumbline-client[pandas]`)."""
    return importlib.import_module("pandas").json_normalize(rows)
