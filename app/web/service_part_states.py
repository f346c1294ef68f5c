"""The states of the service's parts, as last reported by its supervisor; empty without a supervisor."""

from __future__ import annotations

from collections.abc import Mapping

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which the processes of a service store their counters."""

PartStates = Mapping[str, Mapping[str, str]]
"""By part: its `state`, and the `reason` if it is not running."""
_latest: PartStates = {}


def set_service_part_states(states: PartStates) -> None:
    """Store the supervisor's report."""
    global _latest
    _latest = states


def get_service_part_states() -> PartStates:
    """Return the supervisor's last report."""
    return _latest
