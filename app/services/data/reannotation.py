"""Errors that raters of another campaign marked, prefilled for the raters of this one (MQM re-annotation).

Source: Riley et al. 2025 (arXiv 2510.24664): a second rater sees and edits the first rater's errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app import protocols
from app.domain.errors import Conflict, Invalid, Place
from app.formats.base import JudgmentRow
from app.protocols import anonymize_prior_errors
from app.protocols.base import Span
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.data import exports
from app.storage import campaigns, cloning, plans
from app.storage import test_sets as stored
from app.storage.db import Session

BEFORE_OPEN = frozenset({"draft", "planned"})


class PrefillNotSupported(Conflict):
    """The campaign's protocol does not support prefilled errors."""

    published = "TakesNone"


class PrefillTooLate(Conflict):
    """Prefilled errors can be set only before the campaign is opened."""

    published = "TooLate"


@dataclass(frozen=True, slots=True)
class PrefillResult:
    """How much was taken over. left: judgments that were not used, by reason."""

    outputs: int
    errors: int
    raters: int
    left: Mapping[str, int]
    data_version: int


def prefill_errors_from_campaign(
    session: Session, campaign: str, source: str, *, rater: str | None, actor: str
) -> PrefillResult:
    """Prefill the errors that a rater of another campaign marked on each output that both campaigns have.

    rater: whose errors to take; None takes for each output those of the first rater by key. Judgments that were voided
    there, or are surplus, are ignored. A repeated call replaces earlier prefilled errors.

    Raises NotFound, Invalid if both campaigns are the same, PrefillNotSupported, PrefillTooLate.
    """
    if campaign == source:
        raise Invalid(places=(Place(("body", "from"), "is the campaign itself"),))
    row = campaigns.load_campaign(session, campaign, lock=True)
    source_id = campaigns.load_campaign(session, source).id
    if row.state not in BEFORE_OPEN:
        raise PrefillTooLate(f"it is {row.state}")
    if not protocols.get_protocol(get_campaign(session, campaign).protocol).accepts_prefill:
        raise PrefillNotSupported
    same = cloning.load_unchanged_output_keys(session, source=source_id, target=row.id)
    left: Counter[str] = Counter()
    chosen = _choose_judgments(exports.load_judgments_that_count(session, source), same, rater, left)
    ids = plans.load_outputs_by_position(session, row.id, {document for _, document, _ in chosen})
    rows, errors = [], 0
    for address, record in sorted(chosen.items()):
        spans, priors = anonymize_prior_errors(_spans(record), prior_rater=record.rater)
        how = {"from": source, "prior": [{"id": p.id, "rater": p.prior_rater, "error": p.prior_error} for p in priors]}
        rows.append((ids[address].id, [span.model_dump(mode="json") for span in spans], how))
        errors += len(spans)
    stored.replace_prefills_with_spans_of_campaign(session, row.id, rows, source=source)
    version = campaigns.take_next_data_version(session, row.id, actor=actor, what="prefills")
    raters = {record.rater for record in chosen.values()}
    what = {"from": source, "outputs": len(rows), "errors": errors}
    audit.record_action(session, row.id, actor=actor, action="prefills taken over", what=what)
    return PrefillResult(len(rows), errors, len(raters), dict(left), version)


def _choose_judgments(
    records: Iterator[JudgmentRow], same: set[tuple[str, str, int]], rater: str | None, left: Counter[str]
) -> dict[tuple[str, str, int], JudgmentRow]:
    """Choose for each output the judgment whose errors are shown: the wanted rater's, in the latest revision."""
    latest: dict[tuple[str, str, int], JudgmentRow] = {}
    for record in records:
        if record.position is None or record.role != "rating":
            continue
        if rater is not None and record.rater != rater:
            left["another rater"] += 1
            continue
        for system in record.systems:
            address = (system, record.document, record.position)
            if address not in same:
                left["output changed or not there"] += 1
                continue
            had = latest.get(address)
            if had is None or (record.rater, -(record.revision or 1)) < (had.rater, -(had.revision or 1)):
                latest[address] = record
    return latest


def _spans(record: JudgmentRow) -> tuple[Span, ...]:
    errors = record.payload.get("errors")
    given = errors if isinstance(errors, list) else []
    return tuple(Span.model_validate({**error, "prefill": None}) for error in given if isinstance(error, dict))
