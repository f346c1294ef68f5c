"""Judgments made elsewhere, sent by name: checked together, then stored like an import of one file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from pydantic import ValidationError

from app.domain.errors import Conflict, Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.formats.base import JudgmentRow, LineLocation, ReadLog
from app.protocols.base import JudgedTexts
from app.services.campaigns.campaigns import get_campaign
from app.services.data.duplicate_judgments_by_person import (
    lock_out_new_leases_if_accounts_linked,
    refuse_second_judgments,
)
from app.services.data.planned_item_matching import find_planned_items
from app.services.data.record_import import RunningImport, import_records
from app.storage import campaigns, clock
from app.storage.db import Session
from app.storage.imports import external_judgments
from app.storage.imports.staging import format_canonical_json

BODY = "body"
LONGEST_KEY = 128
MOST_PLACES = 100
AHEAD = timedelta(minutes=5)
"""How far a sender's clock may be ahead of the database's clock."""
CREATED = ("systems", "documents", "raters", "segments")


class InvalidJudgments(Invalid):
    """Some judgments are not valid; nothing was stored."""

    published = "NotRecorded"


class ExternalIdConflict(Conflict):
    """A stored judgment with this external_id has other content; nothing was stored."""

    published = "NamedOtherwise"


@dataclass(frozen=True, slots=True)
class ExternalJudgment:
    """A judgment as it was sent. segment: position from 1, None for the whole document."""

    rater: str
    document: str
    segment: int | None
    system: str
    payload: Mapping[str, object]
    external_id: str | None = None
    submitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExternalJudgmentsResult:
    """The outcome. unchanged: judgments that were already known. created: rows of new names, by noun.

    planned: how many new judgments answer what a plan gave to the rater. handed_in: tasks that they complete.
    """

    judgments: int
    revisions: int
    unchanged: int
    planned: int
    handed_in: int
    created: Mapping[str, int]
    data_version: int


def record_external_judgments(
    session: Session, campaign: str, sent: Sequence[ExternalJudgment], *, declare: bool, actor: str
) -> ExternalJudgmentsResult:
    """Store judgments made elsewhere, all of them or none, under one data version.

    If a plan gave an output to the rater, the judgment answers it in the rater's task, and a task without missing
    judgments is handed in. Other judgments count as the rater's work outside the plan. The same answer again changes
    nothing. Another answer of a rater to the same output is a revision, unless its external_id identifies it as the
    stored one. declare: create unknown names, as an import does.

    Nobody may judge an output twice, with whichever account: judgments are refused if another account of the same
    person has the output or has judged it.

    Raises NotFound, ExternalIdConflict, TaskHandedIn, PersonJudgedAlready, or Invalid; places are `("body", i, field,
    …)` with i from 0.
    """
    several = lock_out_new_leases_if_accounts_linked(session, campaign, sent)
    row = campaigns.load_campaign(session, campaign, lock=True)
    view = get_campaign(session, campaign)
    intake = RunningImport(
        session, view, actor=actor, audit_details="judgments made elsewhere", action="judgments recorded"
    )
    # The search stops at the reported number of faults, because a body full of faults would cost many times its size.
    wrong = chain(
        (place for i, one in enumerate(sent) for place in _wrong_payload(intake, i, one)),
        _not_yet(sent, clock.get_database_time(session) + AHEAD),
        () if declare else _list_unknown_names(session, row.id, sent),
        _twice_named(sent),
    )
    if places := tuple(islice(wrong, MOST_PLACES)):
        raise InvalidJudgments(f"the first {MOST_PLACES} faults" if len(places) == MOST_PLACES else "", places=places)
    known = _find_stored_before(session, row.id, sent)
    there = find_planned_items(session, row.id, intake.get_protocol_and_options()[0], sent)
    left = [i for i in range(len(sent)) if i not in known | there.known]
    if several:
        refuse_second_judgments(session, row.id, sent, there, left)
    rows = [_row(i, sent[i], there.at.get(i)) for i in left]
    try:
        counts = import_records(intake, rows, ReadLog())
    except Invalid as error:
        raise InvalidJudgments(error.detail, places=tuple(map(_in_payload, error.places))) from None
    return ExternalJudgmentsResult(
        judgments=counts["judgments"],
        revisions=counts["revisions"],
        unchanged=counts["unchanged"] + len(sent) - len(left),
        planned=len(there.at.keys() & set(left)),
        handed_in=there.hand_in_complete_tasks(session, row.id, left) if counts["judgments"] else 0,
        created={noun: counts[noun] for noun in CREATED},
        data_version=counts["data_version"],
    )


def _wrong_payload(intake: RunningImport, i: int, judgment: ExternalJudgment) -> Iterator[Place]:
    """Yield the faults that the campaign's protocol finds in a payload without its texts."""
    protocol, options = intake.get_protocol_and_options()
    said = judgment.payload.get("protocol", protocol.name)
    if said != protocol.name:
        yield Place((BODY, i, "payload", "protocol"), f"the campaign judges by {protocol.name}")
        return
    try:
        payload = protocol.payload.model_validate(dict(judgment.payload))
        protocol.check(payload, JudgedTexts(), options)
        if not intake.scoring_needs_texts:
            protocol.score(payload, JudgedTexts(), options)
    except ValidationError as error:
        for fault in list_first_validation_errors(error):
            yield Place((BODY, i, "payload", *fault["loc"]), fault["msg"])
    except Invalid as error:
        for place in error.places or (Place((), error.detail or error.title()),):
            yield Place((BODY, i, "payload", *place.loc), place.msg)


def _not_yet(sent: Sequence[ExternalJudgment], latest: datetime) -> Iterator[Place]:
    """Yield future times: the latest answer counts, so later answers could never correct one from the future."""
    for i, judgment in enumerate(sent):
        if judgment.submitted_at is not None and judgment.submitted_at > latest:
            yield Place((BODY, i, "submitted_at"), "is in the future according to the database's clock")


def _list_unknown_names(session: Session, campaign_id: int, sent: Sequence[ExternalJudgment]) -> Iterator[Place]:
    """Yield the names that the campaign does not have."""
    documents = sorted({one.document for one in sent})
    there = {
        "rater": external_judgments.find_known_rater_keys(session, campaign_id, sorted({one.rater for one in sent})),
        "document": external_judgments.find_known_document_keys(session, campaign_id, documents),
        "system": external_judgments.find_known_system_keys(session, campaign_id, sorted({one.system for one in sent})),
    }
    segments = external_judgments.load_segment_positions(session, campaign_id, documents)
    for i, judgment in enumerate(sent):
        for noun, keys in there.items():
            if getattr(judgment, noun) not in keys:
                yield Place((BODY, i, noun), f"there is no such {noun}; `declare=true` creates it")
        known = judgment.document in there["document"]
        if known and judgment.segment is not None and (judgment.document, judgment.segment) not in segments:
            yield Place((BODY, i, "segment"), "the document has no such segment; `declare=true` creates it")


def _twice_named(sent: Sequence[ExternalJudgment]) -> Iterator[Place]:
    """Yield judgments with the external_id of an earlier one in the same request."""
    first: dict[str, int] = {}
    for i, judgment in enumerate(sent):
        if judgment.external_id is not None and first.setdefault(judgment.external_id, i) != i:
            yield Place((BODY, i, "external_id"), f"judgment {first[judgment.external_id]} has it, too")


def _find_stored_before(session: Session, campaign_id: int, sent: Sequence[ExternalJudgment]) -> set[int]:
    """Return the judgments that are already stored under their external_id. Raises ExternalIdConflict."""
    stored = external_judgments.find_judgments_by_external_name(
        session, campaign_id, [one.external_id for one in sent if one.external_id is not None]
    )
    known, places = set(), []
    for i, judgment in enumerate(sent):
        under = stored.get(judgment.external_id or "", [])
        if any(_is_same_judgment(judgment, other) for other in under):
            known.add(i)
        elif under:
            places.append(Place((BODY, i, "external_id"), "names a stored judgment with other content"))
    if places:
        raise ExternalIdConflict(places=tuple(places[:MOST_PLACES]))
    return known


def _is_same_judgment(judgment: ExternalJudgment, stored: external_judgments.StoredExternalJudgment) -> bool:
    address = (judgment.rater, judgment.document, judgment.segment) == (stored.rater, stored.document, stored.segment)
    return (
        address
        and judgment.system in stored.systems
        and format_canonical_json(judgment.payload) == format_canonical_json(stored.payload)
    )


def _row(i: int, judgment: ExternalJudgment, place: external_judgments.PlannedItem | None) -> JudgmentRow:
    """Make the row that an import would make: for the item that a plan gave to the rater, else for a separate task."""
    return JudgmentRow(
        at=LineLocation(BODY, i),
        task=place.task if place else join_keys_unambiguously("elsewhere", judgment.rater),
        item=place.item if place else join_keys_unambiguously(judgment.system, judgment.document),
        systems=place.systems if place else (judgment.system,),
        role=place.role if place else "rating",
        document=judgment.document,
        position=judgment.segment,
        rater=judgment.rater,
        payload=judgment.payload,
        submitted_at=judgment.submitted_at,
        external_id=judgment.external_id,
    )


def join_keys_unambiguously(*parts: str) -> str:
    """Join keys into one readable key, which never equals that of other keys."""
    text = ":".join(parts)
    if len(text) <= LONGEST_KEY and not any(set(part) & {":", "~"} for part in parts):
        return text
    digest = hashlib.sha256(format_canonical_json(parts).encode()).hexdigest()[:32]
    return f"{text[: LONGEST_KEY - 33]}~{digest}"


def _in_payload(place: Place) -> Place:
    """Return a place that names a field of a record as a place in the payload of the judgment."""
    if place.loc[:1] == (BODY,) and len(place.loc) > 2:
        return Place((*place.loc[:2], "payload", *place.loc[2:]), place.msg)
    return place
