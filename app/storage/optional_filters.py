"""Conditions for statements with optional filters: a statement contains only the filters that are given.

A condition that tests whether its filter is given has one plan for both cases. A plan that a connection keeps may then
read the whole table to cover either case.
"""

from __future__ import annotations

from collections.abc import Mapping


def join_optional_conditions(conditions: Mapping[str, str], values: Mapping[str, object]) -> str:
    """Join the conditions, keyed by the name of their value, whose value is not None; AND precedes each."""
    return "".join(f" AND {condition}" for name, condition in conditions.items() if values.get(name) is not None)
