"""What an examination finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One thing that was looked at. what: its name. said: how it is. do: what helps, where something is wrong."""

    what: str
    state: Literal["ok", "warning", "wrong"]
    said: str
    do: str = ""
