"""Errors that were put into a text: did the rater find them?"""

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
    """One degraded segment that a rater judged. changed: parts of the text; marked: errors that have a place in it."""

    rater: str
    changed: Sequence[Range]
    marked: Sequence[Range]


def overlaps_change(changed: Sequence[Range], marked: Sequence[Range]) -> bool:
    """Whether an error shares a character with a changed part.

    >>> overlaps_change([(4, 9)], [(0, 4), (9, 12)]), overlaps_change([(4, 9)], [(0, 5)]), overlaps_change([(4, 9)], [])
    (False, True, False)
    """
    return any(start < last and first < end for first, last in changed for start, end in marked)


def count_seeded_error_hits(seeded: Iterable[SeededSegment]) -> dict[str, SeededErrorHits]:
    """By rater: in how many of the segments degraded for them did they mark an error inside what was changed?

    Segments of which nothing was changed are left out. Source: the `HOTW-test` rows of Google's public MQM data, where
    raters are asked to find errors put in on purpose; what counts as a hit is our own rule.
    """
    counts: dict[str, list[bool]] = {}
    for error in seeded:
        if error.changed:
            counts.setdefault(error.rater, []).append(overlaps_change(error.changed, error.marked))
    return {rater: SeededErrorHits(len(found), sum(found)) for rater, found in counts.items()}


def count_attention_checks(answers: Mapping[str, Sequence[str]]) -> dict[str, AttentionCheckCounts]:
    """By rater, of what the file says of each check: `Found` or `Missed` in any case, else it is not counted.

    >>> count_attention_checks({"r1": ["Found", "missed", "Found", "?"]})
    {'r1': AttentionCheckCounts(found=2, missed=1)}
    """
    plain = {rater: [one.strip().casefold() for one in words] for rater, words in answers.items()}
    counted = {
        rater: AttentionCheckCounts(words.count("found"), words.count("missed")) for rater, words in plain.items()
    }
    return {rater: one for rater, one in counted.items() if one.found + one.missed}
