"""A comparison of conditions in sentences: what differs and by how much, with an interval if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.reports.arms.time_and_revision_results import ArmRevisions, ArmTime, format_percent_change
from app.reports.kit import text_formatting
from app.reports.presentations.score_and_agreement_results import (
    PresentationAgreement,
    PresentationScoreSpread,
    SameOutputComparison,
)

TIMED = {"segment": "A segment score", "document": "A document", "task": "A task", "document_score": "A document score"}


def make_conclusion_sentences(
    times: Sequence[ArmTime],
    revisions: Sequence[ArmRevisions],
    spread: Sequence[PresentationScoreSpread],
    agreement: Sequence[PresentationAgreement],
    shared: Sequence[SameOutputComparison],
) -> Iterator[str]:
    """Yield one sentence per measured finding, always with the first condition first."""
    yield from _times(times)
    yield from _revisions(revisions)
    overall = [one for one in spread if one.documents == "all" and one.sd is not None]
    yield from _spread_sentences(overall)
    units = [one for one in agreement if one.documents == "all" and one.alpha is not None]
    for level in dict.fromkeys(one.level for one in units):
        yield from _agreement([one for one in units if one.level == level], level)
    for pair in shared:
        if pair.pearson is not None and pair.difference is not None:
            more = "more" if pair.difference > 0 else "less"
            yield (
                f"On {pair.n:,} outputs judged under both, {pair.arm} scores {abs(pair.difference):.2f} {more} on "
                f"average than {pair.baseline}; the scores correlate at "
                f"{text_formatting.format_number(pair.pearson, 2)}."
            )


def _times(times: Sequence[ArmTime]) -> Iterator[str]:
    for time in times:
        if time.documents != "all" or time.what not in TIMED or time.change is None:
            continue
        base = next(line for line in times if (line.what, line.documents) == (time.what, time.documents))
        longer = f"takes {abs(time.change):.1f} % {'longer' if time.change > 0 else 'less time'} under {time.arm}"
        sure = ""
        if time.ratio is not None and time.ratio_interval is not None:
            low, high = time.ratio_interval
            clear = "" if low > 1 or high < 1 else ": there may be no difference"
            sure = (
                f"; over {text_formatting.pluralize(time.ratio_raters or 0, 'rater')} {time.ratio:.2f} times as long "
                f"[{low:.2f}, {high:.2f}]{clear}"
            )
        yield f"{TIMED[time.what]} {longer} than under {base.arm}{sure}."


def _revisions(lines: Sequence[ArmRevisions]) -> Iterator[str]:
    shares = [f"{one.arm} {100 * one.segment_rate:.1f} %" for one in lines if one.segment_rate is not None]
    if len(shares) > 1:
        last = next(one for one in reversed(lines) if one.segment_rate is not None)
        change = "" if last.segment_change is None else f" ({format_percent_change(last.segment_change)})"
        yield f"Segment scores that were changed: {', '.join(shares)}{change}."


def _spread_sentences(lines: Sequence[PresentationScoreSpread]) -> Iterator[str]:
    if len(lines) < 2:
        return
    places = text_formatting.choose_decimals([one.sd for one in lines])
    yield f"SD of segment scores: {_join_values([(one.arm, one.sd) for one in lines], places)}."
    if all(one.within is not None for one in lines):
        yield f"SD within documents: {_join_values([(one.arm, one.within) for one in lines], places)}."


def _agreement(lines: Sequence[PresentationAgreement], level: str) -> Iterator[str]:
    if len(lines) > 1:
        of = {"segments": "segments", "documents": "documents", "averaged": "means of a document's segments"}[level]
        yield f"Krippendorff's α of {of}: {_join_values([(one.arm, one.alpha) for one in lines], 2)}."


def _join_values(values: Sequence[tuple[str, float | None]], places: int) -> str:
    return ", ".join(f"{name} {text_formatting.format_number(value, places)}" for name, value in values)
