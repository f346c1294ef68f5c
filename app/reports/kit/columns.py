"""Tables declared by their columns: one list defines both the table for people and the columns of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell, Table

Row = TypeVar("Row")
Result = TypeVar("Result", bound=BaseModel)
File = tuple[Sequence[str], Sequence[Sequence[Cell]]]
NONE = "–"
MOST_MEANS = 12
"""Number of systems whose means fit into a table for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    """A column of a table.

    heading: for people; empty for columns only in files. key: in files; empty for columns only for people. value:
    computed from a row, by default its attribute `key`. digits: decimals of a figure, which is aligned right; 0 for
    counts; None for words, which are aligned left. text: how people read the value, if that is neither a figure nor the
    value itself. names: the column holds keys or names, which Markdown shows as code.
    """

    heading: str = ""
    key: str = ""
    value: Callable[[Row], Any] | None = None
    digits: int | None = None
    text: Callable[[Row], str] | None = None
    names: bool = False

    def raw_value(self, row: Row) -> Any:
        """Return the value at full precision."""
        return getattr(row, self.key) if self.value is None else self.value(row)

    def format_value(self, row: Row) -> str:
        """Return the value as people read it; a dash for None."""
        if self.text is not None:
            return self.text(row)
        value = self.raw_value(row)
        if value is None:
            return NONE
        if self.digits is None:
            return str(value)
        return text_formatting.format_number(value, self.digits) if self.digits else f"{value:,}"


class RowOfSystemMeans(Protocol):
    """A row with the mean of each system."""

    @property
    def means(self) -> Sequence[float | None]:
        """The mean of each system."""


def make_system_mean_columns(systems: Sequence[str], digits: int) -> list[Column[Any]]:
    """Make a column for each system's entry of `means`; if there are many systems, only for the first."""

    def mean_of(place: int) -> Callable[[RowOfSystemMeans], float | None]:
        return lambda row: row.means[place]

    return [
        Column(heading=system, value=mean_of(place), digits=digits) for place, system in enumerate(systems[:MOST_MEANS])
    ]


def make_table_section(
    title: str,
    columns: Sequence[Column[Row]],
    rows: Iterable[Row],
    *,
    group_of_row: Callable[[Row], object] | None = None,
    target_of_row: Callable[[Row], Mapping[str, str]] | None = None,
) -> TableSection:
    """Make the table for people.

    group_of_row: a rule is drawn above each row whose group differs from that of the row before. target_of_row: what a
    row is about.
    """
    shown, all_rows = [column for column in columns if column.heading], list(rows)
    groups = [] if group_of_row is None else [group_of_row(row) for row in all_rows]
    table = Table(
        tuple(column.heading for column in shown),
        tuple("left" if column.digits is None else "right" for column in shown),
        tuple(tuple(column.format_value(row) for column in shown) for row in all_rows),
        frozenset(i for i in range(1, len(groups)) if groups[i] != groups[i - 1]),
    )
    names = frozenset(i for i, column in enumerate(shown) if column.names)
    return TableSection(title, table, names, () if target_of_row is None else tuple(map(target_of_row, all_rows)))


def make_csv_headings_and_rows(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> File:
    """Return headings and rows of a file whose columns are complete, including the campaign and its data version."""
    keyed = [column for column in columns if column.key]
    return [column.key for column in keyed], [[column.raw_value(row) for column in keyed] for row in rows]


def make_csv_rows_function(
    columns: Sequence[Column[Row]], rows: Callable[[Result], Iterable[Row]], provenance_fields: Sequence[str] = ()
) -> Callable[[Result], File]:
    """Return a function that gives headings and rows of the file of a report on one campaign.

    provenance_fields: attributes of the result added to every row, after the campaign and its data version.
    """
    keyed = [column for column in columns if column.key]

    def made(result: Result) -> File:
        last = (*_data(result), *(getattr(result, name) for name in provenance_fields))
        headings = (*(column.key for column in keyed), "campaign", "data_version", *provenance_fields)
        return headings, [(*(column.raw_value(row) for column in keyed), *last) for row in rows(result)]

    return made


def _data(result: Any) -> tuple[str, int]:
    """Return the campaign of a report and its data version."""
    if isinstance(result, ReportHeader):
        return next(iter(result.campaigns.items()))
    return result.campaign, result.data_version
