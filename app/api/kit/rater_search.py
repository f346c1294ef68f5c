"""The query parameter that searches lists of raters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

RaterWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of the rater's or the team's key, in any case.",
        examples=["r1"],
    ),
]
