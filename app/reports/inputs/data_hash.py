"""A digest of all data that a report used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import COLUMNS, Bools, Codes, RatingLabels, Ratings, ScoreScale
from app.storage import system_descriptions


class HashableRatingColumns(Protocol):
    """The columns of ratings in canonical order, each as a whole or in blocks of rows."""

    @property
    def labels(self) -> RatingLabels:
        """The names that the codes refer to."""

    def flag_occurring_codes(self, column: str, n_codes: int) -> Bools:
        """Return which of the codes of a column occur."""

    def iterate_column(self, column: str) -> Iterator[npt.NDArray[Any]]:
        """Yield all of one column."""


@dataclass(frozen=True, slots=True)
class ScoreSemantics:
    """What the scores of ratings mean."""

    higher_is_better: bool
    documents_known: bool
    standardised: bool
    scale: ScoreScale | None


@dataclass(frozen=True, slots=True)
class _HeldColumns:
    """The columns of ratings in memory."""

    rows: Ratings

    @property
    def labels(self) -> RatingLabels:
        """The names that the codes refer to."""
        return self.rows.labels

    def flag_occurring_codes(self, column: str, n_codes: int) -> Bools:
        """Return which of the codes of a column occur."""
        codes = getattr(self.rows, column)
        return np.bincount(codes[codes >= 0], minlength=n_codes) > 0

    def iterate_column(self, column: str) -> Iterator[npt.NDArray[Any]]:
        """Yield all of one column."""
        yield getattr(self.rows, column)


def hash_report_data(
    rows: Ratings, documents: DocumentTable, system_descriptions: Mapping[str, system_descriptions.SystemDescription]
) -> str:
    """Return the digest of all data that a report used; the same data give the same digest in any database.

    Besides the ratings it covers their meaning (scale, which direction is better), the domains of the rated documents,
    and the names and kinds of the systems.
    """
    meaning = ScoreSemantics(rows.higher_is_better, rows.documents_known, rows.standardised, rows.scale)
    return hash_rating_columns(_HeldColumns(rows), meaning, documents, system_descriptions)


def hash_rating_columns(
    columns: HashableRatingColumns,
    semantics: ScoreSemantics,
    documents: DocumentTable,
    system_descriptions: Mapping[str, system_descriptions.SystemDescription],
) -> str:
    """Return the same digest for ratings that need not be in memory."""
    digest, names = hashlib.sha256(), columns.labels
    labels = {"system": names.systems, "document": names.documents, "rater": names.raters, "task": names.tasks}
    occurs = {name: columns.flag_occurring_codes(name, len(words)) for name, words in labels.items()}
    beside = [
        (semantics.higher_is_better, semantics.documents_known, semantics.standardised),
        semantics.scale and astuple(semantics.scale),
        [documents.domain[code] for code in np.flatnonzero(occurs["document"])],
        [astuple(system_descriptions[names.systems[code]]) for code in np.flatnonzero(occurs["system"])],
    ]
    digest.update(json.dumps(beside).encode() + b"\0")
    numbers: dict[str, npt.NDArray[np.integer]] = {}
    for name, words in labels.items():
        digest.update("\n".join(words[i] for i in np.flatnonzero(occurs[name])).encode() + b"\0")
        numbers[name] = _number(occurs[name])
    shown = columns.flag_occurring_codes("segment", names.segment_position.size)
    # A rating of a whole document has the code −1, which selects the last entry.
    numbers["segment"] = np.append(_number(shown), -1)
    digest.update(np.ascontiguousarray(numbers["document"][names.segment_document[shown]]).tobytes())
    digest.update(np.ascontiguousarray(names.segment_position[shown]).tobytes())
    for name in COLUMNS:
        for part in columns.iterate_column(name):
            digest.update(np.ascontiguousarray(numbers[name][part] if name in numbers else part).data)
    return "sha256:" + digest.hexdigest()


def _number(occurs: Bools) -> Codes:
    """Number the codes that occur; labels that a later version adds must not change these numbers."""
    return (np.cumsum(occurs) - 1).astype(np.int32)
