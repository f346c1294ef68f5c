"""Errors that were inserted into a text: did the rater find them?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Range = tuple[int, int]
"""Half-open, in code points."""


@dataclass(frozen=True, slots=True)
class AttentionCheckCounts:
    """Attention checks of one rater, as the imported file tells them (`HOTW-test`). found, missed: counts."""

    found: int
    missed: int


@dataclass(frozen=True, slots=True)
class SeededErrorHits:
    """Degraded segments that one rater judged by marking errors. n: those of which it is known what was changed.

    hits: those with an error marked where the text was changed.
    """

    n: int
    hits: int


@dataclass(frozen=True, slots=True)
class SeededSegment:
    """One degraded segment that a rater judged. changed: parts of the text; marked: errors with a position in it."""

    rater: str
    changed: Sequence[Range]
    marked: Sequence[Range]


def overlaps_changed_part(changed: Sequence[Range], marked: Sequence[Range]) -> bool:
    """Return whether an error shares a character with a changed part.

    >>> [overlaps_changed_part([(4, 9)], marked) for marked in ([(0, 4), (9, 12)], [(0, 5)], [])]
    [False, True, False]
    """
    return any(start < last and first < end for first, last in changed for start, end in marked)


def count_seeded_error_hits(seeded: Iterable[SeededSegment]) -> dict[str, SeededErrorHits]:
    """Count, by rater, the degraded segments in which they marked an error inside a changed part.

    Segments without a change are left out. Source: the `HOTW-test` rows of Google's public MQM data, where raters are
    asked to find errors inserted on purpose; the definition of a hit is our own.
    """
    counts: dict[str, list[bool]] = {}
    for error in seeded:
        if error.changed:
            counts.setdefault(error.rater, []).append(overlaps_changed_part(error.changed, error.marked))
    return {rater: SeededErrorHits(len(found), sum(found)) for rater, found in counts.items()}


def count_attention_check_results(answers: Mapping[str, Sequence[str]]) -> dict[str, AttentionCheckCounts]:
    """Count, by rater, checks that the file marks as `Found` or `Missed` in any case; others are not counted.

    >>> count_attention_check_results({"r1": ["Found", "missed", "Found", "?"]})
    {'r1': AttentionCheckCounts(found=2, missed=1)}
    """
    plain = {rater: [one.strip().casefold() for one in words] for rater, words in answers.items()}
    counted = {
        rater: AttentionCheckCounts(words.count("found"), words.count("missed")) for rater, words in plain.items()
    }
    return {rater: one for rater, one in counted.items() if one.found + one.missed}
