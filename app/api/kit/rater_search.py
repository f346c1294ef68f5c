"""The query parameter that searches lists of raters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

RaterWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words to find in the key of the rater or the team, in upper or lower case.",
        examples=["r1"],
    ),
]
