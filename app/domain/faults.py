"""What pydantic finds wrong with a value, no more of it than somebody can use.

Each finding is described in a kilobyte or so: a megabyte of unknown names would be a hundred of descriptions.
"""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

LISTED = 100
DESCRIBED = 5_000


def list_first_validation_errors(error: ValidationError, most: int = LISTED) -> list[ErrorDetails]:
    """The first findings, without what was sent; beyond DESCRIBED only how many there are."""
    n = error.error_count()
    if n > DESCRIBED:
        return [{"type": "too_many", "loc": (), "msg": f"there are {n:,} faults", "input": None}]
    faults = error.errors(include_url=False, include_input=False, include_context=False)[:most]
    for fault in faults:
        if fault["type"] == "tuple_type":  # JSON knows no tuples
            fault["msg"] = "Input should be a valid list"
    return faults
