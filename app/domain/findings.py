"""The finding of a health check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One checked thing. what: its name. said: its state. do: the remedy, if something is wrong."""

    what: str
    state: Literal["ok", "warning", "wrong"]
    said: str
    do: str = ""
