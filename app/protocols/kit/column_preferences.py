"""Questions about all columns of a screen: which are best, or how they rank. No ranking of systems uses the answers.

Source: Song et al. 2025 (outputs side by side). The order of the columns is stored with the items of the screen.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.design.design_choices import MOST_COLUMNS
from app.domain.errors import Invalid, Place
from app.protocols.base import Payload, PreferenceWidget

FEWEST_COLUMNS = 2
FIELD = "preference"
Column = Annotated[int, Field(ge=1, le=MOST_COLUMNS)]
Group = Annotated[tuple[Column, ...], Field(min_length=1, max_length=MOST_COLUMNS, strict=False)]


class PreferencePayload(Payload):
    """Columns, counted from 1, in groups from best to worst; those of one group are equal."""

    protocol: Annotated[str, Field(pattern="^[a-z0-9_]{1,64}$")]
    preference: Annotated[tuple[Group, ...], Field(min_length=1, max_length=MOST_COLUMNS, strict=False)]


def check_preference(payload: PreferencePayload, widget: PreferenceWidget, *, protocol: str, columns: int) -> None:
    """Raise Invalid if an answer does not put each column of the screen into one group.

    widget: if its mode is `best`, the answer has a group of the best columns and, if any are left, one of all others.
    """
    why = None
    if payload.protocol != protocol:
        raise Invalid(f"the campaign judges by {protocol}", places=(Place(("protocol",), f"must be {protocol}"),))
    if sorted(column for group in payload.preference for column in group) != list(range(1, columns + 1)):
        why = f"must name each of the columns 1 to {columns} once"
    elif widget.mode == "best" and len(payload.preference) > 2:
        why = "must be the best columns and then all others"
    elif widget.mode == "best_worst" and len(payload.preference) > 3:
        why = "must be the best columns, the others, and the worst"
    if why is not None:
        raise Invalid(f"the preference {why}", places=(Place((FIELD,), why),))
