"""How the parts of the service are, as its supervisor said last; empty where nobody supervises this process."""

from __future__ import annotations

from collections.abc import Mapping

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which the processes of a service keep what they count."""

PartStates = Mapping[str, Mapping[str, str]]
"""By part: its `state`, and the `reason` where it does not run."""
_latest: PartStates = {}


def store_service_part_states(states: PartStates) -> None:
    """Remember what the supervisor said."""
    global _latest
    _latest = states


def get_service_part_states() -> PartStates:
    """What the supervisor said last."""
    return _latest
