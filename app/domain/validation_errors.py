"""Faults that pydantic finds in a value, limited to as many as are useful.

The description of each fault takes about a kilobyte: for a megabyte of unknown names this would be a hundred megabytes.
"""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

LISTED = 100
DESCRIBED = 5_000


def list_first_validation_errors(error: ValidationError, most: int = LISTED) -> list[ErrorDetails]:
    """List the first faults, without the input; if there are more than DESCRIBED, only their number."""
    n = error.error_count()
    if n > DESCRIBED:
        return [{"type": "too_many", "loc": (), "msg": f"there are {n:,} faults", "input": None}]
    faults = error.errors(include_url=False, include_input=False, include_context=False)[:most]
    for fault in faults:
        if fault["type"] == "tuple_type":  # JSON has no tuples
            fault["msg"] = "Input should be a valid list"
    return faults
