"""Numbers in a campaign's settings that the program uses.

Wrong ones are refused when they are set, not ignored later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import inf, isfinite

from app.domain.errors import Place

LEASE = timedelta(hours=2)
SHORTEST_LEASE, LONGEST_LEASE = 30, 14 * 24 * 3600  # seconds


@dataclass(frozen=True, slots=True)
class _NumberBounds:
    """The bounds of a number. above: whether it must be greater than the lower bound."""

    least: float = -inf
    most: float = inf
    above: bool = False

    def hold(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            return False
        return self.least <= value <= self.most and not (self.above and value == self.least)

    @property
    def text(self) -> str:
        if self.most == inf:
            return "must be a finite number, or null"
        where = f"more than {self.least:,.10g} and at most" if self.above else f"from {self.least:,.10g} to"
        return f"must be a number, {where} {self.most:,.10g}, or null"


KNOWN = {
    "lease_seconds": _NumberBounds(SHORTEST_LEASE, LONGEST_LEASE),
    "seconds_per_word": _NumberBounds(0, 3599, above=True),
    "automatic_score": _NumberBounds(),
}


def list_numeric_setting_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the place of each number that cannot be used. None means that it is not set."""
    for name, bounds in KNOWN.items():
        value = settings.get(name)
        if value is not None and not bounds.hold(value):
            yield Place(("settings", name), bounds.text)


def _finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer larger than any float
        return False


def get_lease_duration(settings: Mapping[str, object]) -> timedelta:
    """Return the duration of a lease: the campaign's `lease_seconds`, or two hours if that is missing or unusable."""
    given = settings.get("lease_seconds")
    if isinstance(given, bool) or not isinstance(given, int | float):
        return LEASE
    return timedelta(seconds=min(max(float(given), SHORTEST_LEASE), LONGEST_LEASE))
