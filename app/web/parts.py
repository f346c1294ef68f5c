"""How the parts of the service are, as its supervisor told this process last; empty where nobody supervises it."""

from __future__ import annotations

from collections.abc import Mapping

Told = Mapping[str, Mapping[str, str]]
_last: Told = {}


def hear(told: Told) -> None:
    """Keep what was told."""
    global _last
    _last = told


def told() -> Told:
    """By part: its `state`, and the `reason` where it does not run."""
    return _last
