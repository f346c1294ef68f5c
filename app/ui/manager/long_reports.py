"""What takes long: a page shows how far it is, or the button that begins it. Opening a page begins nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportStartButton:
    """What the button sends: to which address of the interface, by which method, and the body as JSON."""

    address: str
    method: str
    body: str


def make_start_button_values(address: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
    """What a page shows whose answer nobody has asked for yet."""
    text = "" if body is None else json.dumps(body)
    return {"start": ReportStartButton(address, "GET" if body is None else "POST", text), "script": "start"}
