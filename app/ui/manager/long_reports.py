"""Reports that take a long time: a page shows their progress, or a button to start them. Opening a page starts none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportStartButton:
    """What the button sends: the address in the interface, the method, and the body as JSON."""

    address: str
    method: str
    body: str


def make_start_button_values(address: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return what a page shows if nobody has asked for its report yet."""
    text = "" if body is None else json.dumps(body)
    return {"start": ReportStartButton(address, "GET" if body is None else "POST", text), "script": "start"}
