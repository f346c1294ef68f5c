"""What a file of ratings is: a folder with the ratings in canonical order as Parquet, and a file of each kind of label.

It is a copy. Whoever misses it writes it again from the database, and nothing is ever read from it that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FORMAT = 1
"""Raised whenever the layout or what is derived for it changes, so that older files are written anew."""
RATINGS, SEGMENTS, HEAD = "ratings.parquet", "segments.parquet", "head.json"
LABELS = ("systems", "documents", "raters", "tasks")
ROW_GROUP = 1 << 17
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "system": "int32",
        "document": "int32",
        "segment": "int32",
        "rater": "int32",
        "task": "int32",
        "judgment": "int32",
        "nth": "int32",
        "score": "float64",
        "n_errors": "int32",
        "kind": "int8",
        "role": "int8",
        "accepted": "bool_",
    }
)
"""Columns of `app.stats.ratings.Ratings` with their Arrow types."""


@dataclass(frozen=True, slots=True)
class RatingsFileKey:
    """Whose ratings: a campaign's under a weight profile, as they stood at a data version. seal: of the version."""

    campaign_id: int
    profile_id: int
    version: int
    seal: str

    @property
    def name(self) -> str:
        """The name of the folder: what all data versions share, `.v`, and the version.

        >>> RatingsFileKey(3, 7, 41, "0a1b").name
        '3-7.v41-0a1b-1'
        """
        return f"{self.campaign_id}-{self.profile_id}.v{self.version}-{self.seal}-{FORMAT}"


def label_file(folder: Path, what: str) -> Path:
    """The file with the labels of one kind, a row a code."""
    return folder / f"{what}.parquet"
