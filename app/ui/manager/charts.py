"""Charts of a page: what each shows, for the browser to draw, and the address of its picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.reports.kit.charts.declaration import describe_chart


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart. name: empty for the default of a report. shows: its declaration; None where there is only a picture."""

    name: str
    address: str
    shows: dict[str, Any] | None

    @property
    def heights(self) -> list[int]:
        """Pixels to keep free for each panel."""
        return [] if self.shows is None else self.shows["heights"]

    @property
    def series(self) -> list[str]:
        """The names in the legend."""
        return [] if self.shows is None else self.shows["series"]


def make_page_chart(address: str, draw: Callable[[], bytes], name: str = "") -> PageChart:
    """A chart whose picture is at an address. draw: makes the picture; it is asked for its declaration only."""
    return PageChart(name, address, describe_chart(draw))
