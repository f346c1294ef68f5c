"""Conditions of a statement with optional filters: only those that are given stand in it.

A condition that asks whether it is asked is planned once for both cases, and a plan that a connection keeps then reads
all that there is for the sake of the one or the other.
"""

from __future__ import annotations

from collections.abc import Mapping


def join_optional_conditions(conditions: Mapping[str, str], values: Mapping[str, object]) -> str:
    """The conditions, by the name of their value, whose value is not None; each with AND before it."""
    return "".join(f" AND {condition}" for name, condition in conditions.items() if values.get(name) is not None)
