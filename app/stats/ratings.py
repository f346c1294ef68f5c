"""`Ratings`: judgments reduced to arrays, the one structure that passes from storage to statistics.

Rows are in canonical order (system, document, position, rater, role, nth, score, task), so that sums do not depend on
the order in which judgments arrived. Codes follow the sorted order of the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Self

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class RatingLevel(IntEnum):
    """What a rating refers to."""

    SEGMENT = 0
    DOCUMENT = 1


class RatingRole(IntEnum):
    """Why an output was shown."""

    RATING = 0
    REPEAT = 1
    REFERENCE = 2
    DEGRADED = 3
    CALIBRATION = 4


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """The values a score can take; it is continuous if `step` is None."""

    minimum: float
    maximum: float
    step: float | None = None


@dataclass(frozen=True, slots=True)
class RatingLabels:
    """The labels of the codes: entry i is the key of code i. Each tuple is sorted by code point.

    segment_document, segment_position: document code and position of each segment code, sorted by both.
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    raters: tuple[str, ...]
    tasks: tuple[str, ...]
    segment_document: Codes
    segment_position: Codes


@dataclass(frozen=True, slots=True)
class Ratings:
    """Parallel columns, one row per judgment and system.

    system, document, segment, rater, task, judgment: int32 codes; `segment` is −1 for a document score. nth: number of
    this rating among the ratings of this output by this rater, from 1, in the order of hand-in. score: float64, in the
    unit that users know. n_errors: int32, −1 if the protocol has none. kind, role: int8 of `RatingLevel` and
    `RatingRole`. accepted: quality control did not reject the task.

    higher_is_better, scale, criterion: of all rows. documents_known: the segments belong to real documents.
    standardised: the scores are z-scores already, so they cannot be normalized again.
    """

    system: Codes
    document: Codes
    segment: Codes
    rater: Codes
    task: Codes
    judgment: Codes
    nth: Codes
    score: Floats
    n_errors: Codes
    kind: npt.NDArray[np.int8]
    role: npt.NDArray[np.int8]
    accepted: Bools
    labels: RatingLabels
    higher_is_better: bool
    scale: ScoreScale | None = None
    criterion: str | None = None
    documents_known: bool = True
    standardised: bool = False

    def __post_init__(self) -> None:
        lengths = {getattr(self, name).shape for name in COLUMNS}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            raise ValueError(f"columns of unequal length: {sorted(lengths)}")
        if self.score.size and not np.isfinite(self.score).all():
            raise ValueError("a score is not finite")
        for name, labels in self._segment_labels():
            codes = getattr(self, name)
            if codes.size and (codes.min() < (-1 if name == "segment" else 0) or codes.max() >= labels):
                raise ValueError(f"a code of {name} has no label")

    def _segment_labels(self) -> tuple[tuple[str, int], ...]:
        names = self.labels
        return (
            ("system", len(names.systems)),
            ("document", len(names.documents)),
            ("segment", len(names.segment_document)),
            ("rater", len(names.raters)),
            ("task", len(names.tasks)),
        )

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def n_systems(self) -> int:
        """Number of systems with a label, rated or not."""
        return len(self.labels.systems)

    def where(self, keep: Bools) -> Self:
        """Return the rows where `keep` is true; labels and codes are unchanged."""
        if keep.all():
            return self
        return replace(self, **{name: getattr(self, name)[keep] for name in COLUMNS})

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return these rows, in this order; labels and codes are unchanged."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    def with_scores(self, score: Floats) -> Self:
        """Return the rows with other scores; the scale no longer applies."""
        return replace(self, score=np.asarray(score, dtype=np.float64), scale=None)

    def segment_ratings(self) -> Self:
        """Return the ratings of segments only."""
        return self.where(self.kind == RatingLevel.SEGMENT)

    def document_ratings(self) -> Self:
        """Return the ratings of whole documents only."""
        return self.where(self.kind == RatingLevel.DOCUMENT)

    def document_ratings_as_segments(self) -> Self:
        """Return the ratings of whole documents, each as its only segment; ratings of segments are left out."""
        n = len(self.labels.documents)
        alone = replace(
            self.labels,
            segment_document=np.arange(n, dtype=np.int32),
            segment_position=np.ones(n, dtype=np.int32),
        )
        rows = self.document_ratings()
        kind = np.full(len(rows), RatingLevel.SEGMENT, dtype=np.int8)
        return replace(rows, segment=rows.document.astype(np.int32), kind=kind, labels=alone)

    @property
    def better_sign(self) -> int:
        """+1 where a larger score is better, −1 where a smaller one is."""
        return 1 if self.higher_is_better else -1

    @property
    def is_in_canonical_order(self) -> bool:
        """Whether the rows are in canonical order already (ignoring ties by task and judgment)."""
        in_order = np.ones(max(len(self) - 1, 0), dtype=np.bool_)
        for name in ("score", "nth", "role", "rater", "segment", "document", "system"):
            column = getattr(self, name)
            before, after = column[:-1], column[1:]
            in_order = (before < after) | ((before == after) & in_order)
        return bool(in_order.all())

    def canonical_order_indices(self) -> npt.NDArray[np.intp]:
        """Return the current indices of the rows in canonical order."""
        return np.lexsort(
            (
                self.judgment,
                self.task,
                self.score,
                self.nth,
                self.role,
                self.rater,
                self.segment,
                self.document,
                self.system,
            )
        )

    def in_canonical_order(self, order: npt.NDArray[np.intp] | None = None) -> Self:
        """Return the rows in canonical order, with judgments renumbered by first appearance.

        order: `canonical_order_indices()` if the caller has it already.
        """
        order = self.canonical_order_indices() if order is None else order
        rows = {name: getattr(self, name)[order] for name in COLUMNS}
        _, first, inverse = np.unique(rows["judgment"], return_index=True, return_inverse=True)
        rank = np.empty(first.size, dtype=np.int32)
        rank[np.argsort(first, kind="stable")] = np.arange(first.size, dtype=np.int32)
        rows["judgment"] = rank[inverse]
        return replace(self, **rows)

    @classmethod
    def from_columns(
        cls,
        *,
        system: Sequence[str],
        document: Sequence[str],
        position: Sequence[int],
        rater: Sequence[str],
        score: Sequence[float] | Floats,
        higher_is_better: bool,
        task: Sequence[str] | None = None,
        role: Sequence[RatingRole] | None = None,
        nth: Sequence[int] | None = None,
        n_errors: Sequence[int] | None = None,
        accepted: Sequence[bool] | None = None,
        scale: ScoreScale | None = None,
        documents_known: bool = True,
    ) -> Self:
        """Build segment ratings from columns of labels, one judgment per row, for tests, simulations and small data.

        Raises ValueError for a position of 0 or less, because segments count from 1.
        """
        n = len(system)
        if n and min(position) < 1:
            raise ValueError("positions count from 1")
        system_of, systems = _codes(system)
        document_of, documents = _codes(document)
        rater_of, raters = _codes(rater)
        task_of, tasks = _codes(task if task is not None else ["t"] * n)
        segment_of, segment_document, segment_position = _segments(document_of, np.asarray(position, dtype=np.int32))
        return cls(
            system=system_of,
            document=document_of,
            segment=segment_of,
            rater=rater_of,
            task=task_of,
            judgment=np.arange(n, dtype=np.int32),
            nth=np.asarray(nth if nth is not None else np.ones(n), dtype=np.int32),
            score=np.asarray(score, dtype=np.float64),
            n_errors=np.asarray(n_errors if n_errors is not None else np.full(n, -1), dtype=np.int32),
            kind=np.full(n, RatingLevel.SEGMENT, dtype=np.int8),
            role=np.asarray(role if role is not None else np.full(n, RatingRole.RATING), dtype=np.int8),
            accepted=np.asarray(accepted if accepted is not None else np.ones(n), dtype=np.bool_),
            labels=RatingLabels(systems, documents, raters, tasks, segment_document, segment_position),
            higher_is_better=higher_is_better,
            scale=scale,
            documents_known=documents_known,
        ).in_canonical_order()


COLUMNS = tuple(
    f.name
    for f in fields(Ratings)
    if f.name not in {"labels", "higher_is_better", "scale", "criterion", "documents_known", "standardised"}
)


def encode_column_combinations(*columns: Codes) -> Codes:
    """Return one code for each distinct combination, in sorted order (much faster than `np.unique` with an axis)."""
    code = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
        code = np.unique(code, return_inverse=True)[1].ravel().astype(np.int64)
    return np.asarray(code, dtype=np.int32)


def _codes(labels: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    names = tuple(sorted(set(labels)))
    code = {name: i for i, name in enumerate(names)}
    return np.fromiter((code[label] for label in labels), dtype=np.int32, count=len(labels)), names


def _segments(document: Codes, position: Codes) -> tuple[Codes, Codes, Codes]:
    pairs, segment = np.unique(np.stack((document, position), axis=1), axis=0, return_inverse=True)
    return segment.astype(np.int32).ravel(), pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)
