"""Charts of a page: the data of each for the browser to draw, and the address of its picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.reports.kit.charts.chart_specification import collect_chart_values


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart. name: empty for a report's default. shows: its declaration; None if there is only a picture."""

    name: str
    address: str
    shows: dict[str, Any] | None

    @property
    def panel_heights(self) -> list[int]:
        """The height of each panel in pixels, so that the page can reserve the space."""
        return [] if self.shows is None else self.shows["heights"]

    @property
    def legend_names(self) -> list[str]:
        """The names in the legend."""
        return [] if self.shows is None else self.shows["series"]


def make_page_chart(address: str, draw: Callable[[], bytes], name: str = "") -> PageChart:
    """Return a chart whose picture is at an address. draw: makes the picture; used only to get its declaration."""
    return PageChart(name, address, collect_chart_values(draw))
