"""Means of human scores for `mtme`: over the raters of an output, then over segments at higher levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from app.formats.mtme.test_set import MtmeNamesAndOrder

Sums = dict[tuple[str, str, str, int], tuple[float, int]]


@dataclass(slots=True)
class ScoreMeanAccumulator:
    """Sums, while outputs are read in the order of their places."""

    known: MtmeNamesAndOrder
    _output: dict[str, tuple[float, int]] = field(default_factory=dict)
    _place: tuple[int, int, str] = (0, 0, "")
    _sums: Sums = field(default_factory=dict)

    def add_rating(self, order: int, position: int, system: str, numbers: Mapping[str, float]) -> None:
        """Add one rating of an output, by name."""
        self._place = order, position, system
        for name, number in numbers.items():
            total, n = self._output.get(name, (0.0, 0))
            self._output[name] = total + number, n + 1

    def end_output_and_iterate_means(self) -> Iterator[tuple[str, float]]:
        """Yield the means of the output whose ratings have all been added."""
        order, _, system = self._place
        ratings_of, self._output = self._output, {}
        for name, (total, n) in ratings_of.items():
            mean = total / n
            domain = self.known.names[order][0]
            levels = [("sys", "", system, 0), ("domain", domain, system, 0)]
            levels += [] if self.known.by_document else [("doc", "", system, order)]
            for level, domain, key, at in levels:
                place = f"{name}\0{level}", domain, key, at
                had, count = self._sums.get(place, (0.0, 0))
                self._sums[place] = had + mean, count + 1
            yield name, mean

    def iterate_means_above_outputs(self) -> Iterator[tuple[str, str, str, str, int, float]]:
        """Yield name, level, domain, system, document and mean at levels above outputs."""
        for (what, domain, system, order), (total, n) in self._sums.items():
            name, level = what.split("\0")
            yield name, level, domain, system, order, total / n
