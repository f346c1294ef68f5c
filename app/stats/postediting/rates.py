"""TER, HTER and mTER of systems: edits over lengths, summed over segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.intervals import compute_interval_half_widths
from app.stats.plain_values import Interval
from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix, OwnPostEditDistance
from app.stats.ratings import Floats

CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class EditRate:
    """Edits per 100 tokens of the references.

    value: None if the references have no tokens. n: number of texts. interval: over documents, None with one.
    """

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class TextEditCounts:
    """Edits and lengths of one system, one entry per text, with the document of each."""

    edits: Floats
    length: Floats
    document: Floats

    def estimate_rate(self, level: float) -> EditRate:
        """Σ edits / Σ length × 100 with its interval over documents; None for both if the length is 0.

        level : of the interval.
        """
        total = float(self.length.sum())
        if total <= 0:
            return EditRate(None, None, self.edits.size)
        interval = ratio_interval(self.edits, self.length, self.document, level)
        return EditRate(100.0 * float(self.edits.sum()) / total, interval, self.edits.size)


def make_text_edit_counts(rows: Iterator[tuple[float, float, int]]) -> TextEditCounts:
    """Build them from (edits, length, document)."""
    columns = np.array(list(rows), dtype=np.float64).reshape(-1, 3).T
    return TextEditCounts(*columns)


def collect_hter_edits(segments: Sequence[OutputReferenceEditMatrix], system: int) -> TextEditCounts:
    """Edits of outputs against their own post-edits, one entry per post-edit.

    Source: Snover et al. 2006; Bentivogli et al. 2018, §4.
    """
    return make_text_edit_counts(
        (one.operations.total_edits, one.operations.length, at.document)
        for at, one in iterate_own_post_edit_distances(segments, system)
    )


def collect_mter_edits(segments: Sequence[OutputReferenceEditMatrix], system: int) -> TextEditCounts:
    """Edits of outputs against the closest post-edit of the segment, over their mean length; one entry per segment.

    Source: Bentivogli et al. 2018, §4. With nine references of 187 words in all, 3 edits are 27/187.
    """
    return _against(segments, system, external=False)


def collect_external_ter_edits(segments: Sequence[OutputReferenceEditMatrix], system: int) -> TextEditCounts:
    """Edits of outputs against the external reference."""
    return _against(segments, system, external=True)


def _against(segments: Sequence[OutputReferenceEditMatrix], system: int, *, external: bool) -> TextEditCounts:
    pairs = (
        (at.document, at.edits_to_closest_reference(system, (at.origin == EXTERNAL) == external)) for at in segments
    )
    return make_text_edit_counts((pair[0], pair[1], document) for document, pair in pairs if pair is not None)


def iterate_own_post_edit_distances(
    segments: Sequence[OutputReferenceEditMatrix], system: int
) -> Iterator[tuple[OutputReferenceEditMatrix, OwnPostEditDistance]]:
    """Yield the outputs of a system with their own post-edits."""
    return ((at, one) for at in segments for one in at.own if one.system == system)


def ratio_interval(numerator: Floats, denominator: Floats, document: Floats, level: float) -> Interval | None:
    """Interval of 100·Σ numerator / Σ denominator, documents as sampling units; None with one document or no spread.

    Errors and degrees of freedom: `inference.by_document`.
    """
    _, code = np.unique(document, return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    if n < 2:
        return None
    over, under = np.bincount(code, weights=numerator), np.bincount(code, weights=denominator)
    known = estimate_ratio_precision(over.astype(np.float64), under.astype(np.float64))
    reach = float(compute_interval_half_widths(known, 1 - level))
    ratio = float(over.sum() / under.sum())
    if not np.isfinite(reach) or reach <= CLOSE * max(ratio, 1.0):
        return None
    return 100.0 * max(0.0, ratio - reach), 100.0 * (ratio + reach)
