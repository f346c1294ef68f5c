"""What raters did with prefilled errors, by condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from app.protocols import count_prefill_outcomes_without_ids
from app.protocols.base import Span
from app.reports.arms.judgments import JudgmentsByCondition
from app.reports.inputs.campaign import find_campaign_protocol
from app.reports.kit import text_formatting
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell, Table
from app.storage import prefills
from app.storage.db import Session

FATES = ("kept", "changed", "removed", "added")
Counts = Mapping[tuple[int, int], Counter[str]]
"""Numbers of judgments and of errors by what became of them, for each pair of condition code and rater code."""


class ArmPrefillOutcomes(FrozenFiniteResultModel):
    """Prefilled errors under a condition, and what a rater made of them.

    kept + changed + removed were shown; kept + changed + added are what was answered.
    """

    arm: str
    rater: str | None = Field(None, description="Key of the rater; null for all together.")
    judgments: int = Field(description="Judgments of segments, including those shown without any error.")
    shown: int = Field(description="Errors shown.")
    kept: int = Field(description="Errors left as shown: same side, place, severity and category.")
    changed: int
    removed: int
    added: int
    kept_share: float | None = Field(description="Share of the errors shown.")
    changed_share: float | None = Field(description="Share of the errors shown.")
    removed_share: float | None = Field(description="Share of the errors shown.")
    added_share: float | None = Field(description="Share of the errors in the answers.")


def count_prefill_outcomes_by_rater(session: Session, conditions: JudgmentsByCondition) -> Counts:
    """Count by condition and rater what became of the errors shown; the result is empty if the protocol shows none."""
    protocol = find_campaign_protocol(conditions.snapshot.campaign)
    if not protocol.accepts_prefill:
        return {}
    rater, of = conditions.work.rows.rater.tolist(), conditions.condition.tolist()
    row = {one: i for i, one in enumerate(conditions.judgment_ids.tolist())}  # one row of an output that systems share
    counts: dict[tuple[int, int], Counter[str]] = {}
    for answer in prefills.stream_answers_with_prefills(
        session, conditions.snapshot.campaign_id, conditions.snapshot.version
    ):
        at = row.get(answer.id)
        if at is None:
            continue
        stored = [Span.model_validate(one) for one in answer.spans]
        audit = count_prefill_outcomes_without_ids(stored, protocol.payload.model_validate(answer.payload))
        tally = counts.setdefault((of[at], rater[at]), Counter())
        tally.update({fate: getattr(audit, fate) for fate in FATES})
        tally["judgments"] += 1
    return counts


def summarize_arm_prefill_outcomes(
    conditions: JudgmentsByCondition, order: Sequence[int], counts: Counts
) -> Iterator[ArmPrefillOutcomes]:
    """Yield the totals of each condition and then its raters, leaving out conditions in which no errors were shown."""
    raters = conditions.work.rows.labels.raters
    for condition in order:
        mine = {rater: tally for (of, rater), tally in sorted(counts.items()) if of == condition}
        every = sum(mine.values(), Counter[str]())
        if not _count_shown_errors(every):
            continue
        yield _line(conditions.names[condition].name, None, every)
        for rater, tally in mine.items():
            yield _line(conditions.names[condition].name, raters[rater], tally)


def _count_shown_errors(tally: Counter[str]) -> int:
    return tally["kept"] + tally["changed"] + tally["removed"]


def _line(arm: str, rater: str | None, tally: Counter[str]) -> ArmPrefillOutcomes:
    shown, answered = _count_shown_errors(tally), tally["kept"] + tally["changed"] + tally["added"]
    of = {"kept": shown, "changed": shown, "removed": shown, "added": answered}
    shares = {f"{fate}_share": tally[fate] / n if n else None for fate, n in of.items()}
    counts = {name: tally[name] for name in ("judgments", *FATES)}
    return ArmPrefillOutcomes.model_validate({"arm": arm, "rater": rater, "shown": shown, **counts, **shares})


def make_prefill_table(outcomes: Sequence[ArmPrefillOutcomes]) -> Table:
    """Make one row per condition, and one for each of its raters."""
    heads = ("Condition", "Rater", "Judgments", "Shown", "Kept", "Changed", "Removed", "Added")
    rows = tuple(
        (
            *(one.arm, one.rater or "all", f"{one.judgments:,}", f"{one.shown:,}"),
            *(_with_share(one, fate) for fate in FATES),
        )
        for one in outcomes
    )
    return Table(heads, ("left", "left", *("right",) * 6), rows)


def make_prefill_csv_rows(outcomes: Sequence[ArmPrefillOutcomes]) -> list[tuple[Cell, ...]]:
    """Return the shares as rows; n is the number of errors shown, or answered if they were added."""
    rows: list[tuple[Cell, ...]] = []
    for line in outcomes:
        answered = line.kept + line.changed + line.added
        for fate in FATES:
            n = answered if fate == "added" else line.shown
            share: float | None = getattr(line, f"{fate}_share")
            rows.append((fate, line.arm, line.rater, None, n, share, None, None, None, None))
    return rows


def _with_share(line: ArmPrefillOutcomes, fate: str) -> str:
    n, share = getattr(line, fate), getattr(line, f"{fate}_share")
    return f"{n:,}" if share is None else f"{n:,} ({text_formatting.format_number(100 * share, 1)} %)"
