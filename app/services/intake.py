"""Taking records in: validate and score each payload, stage everything, merge it under one new data version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

from pydantic import ValidationError

from app import protocols
from app.domain.errors import Conflict, Invalid, Place
from app.domain.recipe import Scoring
from app.formats._base import (
    CampaignRow,
    DocumentRow,
    JudgmentRow,
    OutputRow,
    RaterRow,
    ReadLog,
    Record,
    SegmentRow,
    SystemRow,
    VoidRow,
)
from app.protocols._base import Options, Protocol, Shown, Spans
from app.services import audit
from app.services.campaigns import CampaignView, get, options_of
from app.services.scores import profile_id, reading
from app.stats.ratings import Role
from app.storage import campaigns, judgments, merge, staging
from app.storage.db import Session

Progress = Callable[[int], None]
BATCH = 20_000
MANY = 5_000  # judgments that may turn a plan upside down
MOST_REMEMBERED = 50_000
ROLES = {role.name.lower(): role.value for role in Role}


class OtherProtocol(Invalid):
    """The files hold judgments of another protocol than the campaign's."""


class SettledAlready(Conflict):
    """The files say something of the campaign that its judgments contradict."""


@dataclass(frozen=True, slots=True)
class Known:
    """What follows from a payload alone. derived: the last columns of its COPY line. unmatched: as in `Scored`."""

    derived: str
    unmatched: tuple[str, ...]


@dataclass
class Intake:
    """One import under way.

    pending: COPY lines by staging table, flushed in batches so that memory stays flat.
    remembered: what follows from payloads seen before; most judgments repeat one of few payloads.
    """

    session: Session
    campaign: CampaignView
    actor: str
    what: str
    progress: Progress | None = None
    n_records: int = 0
    n_judgments: int = 0
    n_voids: int = 0
    settled: bool = False
    pending: dict[str, list[str]] = field(default_factory=dict)
    remembered: dict[str, Known] = field(default_factory=dict)
    _judged_by: tuple[Protocol[Any], Options] | None = None

    def judged_by(self) -> tuple[Protocol[Any], Options]:
        """The campaign's protocol and what its options mean to it."""
        if self._judged_by is None:
            self._judged_by = protocols.get(self.campaign.protocol), options_of(self.campaign)
        return self._judged_by

    @cached_property
    def span_fields(self) -> tuple[str, ...]:
        """Fields of a payload that hold marked spans."""
        return tuple(widget.field for widget in self.judged_by()[0].form if isinstance(widget, Spans))

    def renew(self) -> None:
        """Read the campaign anew after it was changed."""
        self.campaign = get(self.session, self.campaign.key)
        self._judged_by = None
        self.settled = True


def take_in(intake: Intake, records: Iterable[Record], log: ReadLog) -> dict[str, int]:
    """Stage and merge records; what was created, by noun.

    Raises Invalid with every bad line, and Conflict where the campaign's state does not allow an import.
    """
    session = intake.session
    row = campaigns.get(session, intake.campaign.key, lock=True)
    staging.open_staging(session)
    for record in records:
        _stage(intake, record, row.id, log)
    log.finish()
    _flush(intake)
    if intake.progress:
        intake.progress(intake.n_records)
    staging.analyze(session)
    judgments.note_new_texts(session, row.id)
    created = merge.declare(session, row.id)
    found = judgments.resolve_staged(session, row.id)
    counts = {**created, "judgments": found.added, "revisions": found.revisions, "unchanged": found.unchanged}
    new_voids = intake.n_voids and judgments.has_new_voids(session, row.id)
    if not (any(created.values()) or found.added or new_voids or intake.settled):
        judgments.require_voidable(session, row.id)
        return {**counts, "voids": 0, "data_version": int(row.data_version)}
    version = campaigns.next_version(session, row.id, actor=intake.actor, what=intake.what)
    profile = profile_id(session, row.id, reading(intake.campaign, Scoring()))
    judgments.append_staged(session, campaign_id=row.id, profile_id=profile, version=version)
    if found.added >= MANY:
        merge.refresh_statistics(session)
    judgments.require_voidable(session, row.id)
    voids = judgments.void_staged(session, campaign_id=row.id, version=version)
    _check_spans(intake, row.id)
    report = {**counts, "voids": voids, "data_version": version}
    audit.record(session, row.id, actor=intake.actor, action="import committed", what={"what": intake.what, **report})
    return report


def _stage(intake: Intake, record: Record, campaign_id: int, log: ReadLog) -> None:
    intake.n_records += 1
    if intake.progress and intake.n_records % BATCH == 0:
        intake.progress(intake.n_records)
    if isinstance(record, JudgmentRow):
        line = _judgment_line(intake, record, log)
        if line is not None:
            _pend(intake, "staged_judgments", line)
    elif isinstance(record, CampaignRow):
        _settle(intake, record, campaign_id)
    else:
        intake.n_voids += isinstance(record, VoidRow)
        _pend(intake, *_declaration(record))


def _pend(intake: Intake, table: str, line: str) -> None:
    lines = intake.pending.setdefault(table, [])
    lines.append(line)
    if len(lines) >= BATCH:
        staging.copy_lines(intake.session, table, lines)
        lines.clear()


def _flush(intake: Intake) -> None:
    for table, lines in intake.pending.items():
        staging.copy_lines(intake.session, table, lines)
        lines.clear()


def _judgment_line(intake: Intake, row: JudgmentRow, log: ReadLog) -> str | None:
    payload = staging.json_text(row.payload)
    known = intake.remembered.get(payload)
    if known is None:
        try:
            known = _known(intake, row)
        except Invalid as error:
            place = error.places[0] if error.places else None
            where = ".".join(map(str, place.loc)) + ": " if place and place.loc else ""
            log.bad_line(row.at, where + (place.msg if place else error.detail))
            return None
        if len(intake.remembered) < MOST_REMEMBERED:
            intake.remembered[payload] = known
    for path in known.unmatched:
        log.notes[f"no weight for {path}: it weighs 0"] += 1
    intake.n_judgments += 1
    which = (row.revision, row.item_position)
    rest = (row.started_at, row.submitted_at, row.external_id, row.task_meta, row.item_meta, row.meta)
    return (
        f"{intake.n_judgments}\t{staging.escape(row.at.file)}\t{row.at.line}\t{row.task}\t{row.item}\t{row.systems[0]}\t"
        f"{staging.field(row.systems[1:] or None)}\t{row.document}\t{staging.field(row.position)}\t{row.rater}\t"
        f"{ROLES[row.role]}\t{'t' if row.accepted else 'f'}\t{staging.fields(which)}\t{staging.escape(payload)}\t"
        f"{staging.fields(rest)}{known.derived}"
    )


def _known(intake: Intake, row: JudgmentRow) -> Known:
    """Validate a payload and derive what is stored beside it. Raises Invalid, naming the field."""
    named = row.payload.get("protocol", intake.campaign.protocol)
    if named != intake.campaign.protocol:
        raise OtherProtocol(f"this is a judgment by {named}, the campaign judges by {intake.campaign.protocol}")
    protocol, options = intake.judged_by()
    try:
        payload = protocol.payload.model_validate(row.payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Invalid("the payload is not valid", places=(Place(tuple(first["loc"]), first["msg"]),)) from None
    protocol.check(payload, Shown(), options)
    scored = protocol.score(payload, Shown(), options)
    ends = {"target": 0, "source": 0}
    for name in intake.span_fields:
        for span in getattr(payload, name):
            ends[span.side] = max(ends[span.side], span.end or 0)
    return Known(f"\t{scored.score!r}\t{scored.n_errors}\t{ends['target']}\t{ends['source']}\n", scored.unmatched)


def _declaration(record: Record) -> tuple[str, str]:
    """The staging table and the COPY line of a record that declares something."""
    at = (record.at.file, record.at.line)
    match record:
        case OutputRow():
            return "staged_outputs", staging.line((*at, record.system, record.document, record.position, record.text))
        case SegmentRow():
            known = (record.source, record.references, record.meta)
            return "staged_segments", staging.line((*at, record.document, record.position, *known))
        case SystemRow():
            return "staged_systems", staging.line((*at, record.key, record.name, record.kind, record.lab, record.tags))
        case DocumentRow():
            facts = (record.name, record.kind, record.domain, record.position, record.meta)
            return "staged_documents", staging.line((*at, record.key, *facts))
        case RaterRow():
            return "staged_raters", staging.line((*at, record.key, record.name, record.person, record.attributes))
        case VoidRow():
            rest = (record.task, record.item, record.position, record.rater, record.reason, record.actor)
            return "staged_voids", staging.line((*at, *rest))
        case _:
            raise TypeError(type(record).__name__)


def _settle(intake: Intake, record: CampaignRow, campaign_id: int) -> None:
    """Take over what a file says of the campaign where the campaign is silent; refuse what contradicts it."""
    campaign = intake.campaign
    if record.protocol is not None and record.protocol != campaign.protocol:
        raise OtherProtocol(f"they judge by {record.protocol}, the campaign by {campaign.protocol}")
    values = _languages(campaign, record) | _unsettled(campaign, record)
    if values:
        campaigns.change(intake.session, campaign_id, values)
        intake.renew()


def _languages(campaign: CampaignView, record: CampaignRow) -> dict[str, object]:
    values: dict[str, object] = {}
    for name in ("source_language", "target_language"):
        said, known = getattr(record, name), getattr(campaign, name)
        if said is not None and known is not None and said != known:
            raise SettledAlready(f"{name} is {known}, the files say {said}")
        if said is not None and known is None:
            values[name] = said
    return values


def _unsettled(campaign: CampaignView, record: CampaignRow) -> dict[str, object]:
    """What may change only before the first judgment: the options, the basis, and whether documents are known."""
    values: dict[str, object] = {}
    said = dict(record.options or {})
    if any(campaign.options.get(name) != value for name, value in said.items()):
        values["options"] = {**campaign.options, **said}
        options_of(replace(campaign, options={**campaign.options, **said}))
    if record.documents_known is False and campaign.documents_known:
        values["documents_known"] = False
    if record.basis is not None and record.basis != campaign.basis:
        values["basis"] = record.basis
    if values and campaign.data_version > 0:
        raise SettledAlready(f"the campaign has data already, and the files say otherwise of its {', '.join(values)}")
    return values


def _check_spans(intake: Intake, campaign_id: int) -> None:
    """Hold every marked span against the texts it was marked on, where this import brings the one or the other."""
    if intake.span_fields:
        found = chain(_outside(intake, campaign_id), _outside_of_new_texts(intake, campaign_id))
        places = tuple(islice(found, merge.MOST_PLACES))
        if places:
            raise Invalid("spans do not fit the texts; nothing was stored", places=places)


def _outside(intake: Intake, campaign_id: int) -> Iterator[Place]:
    protocol, options = intake.judged_by()
    found = judgments.reaching_out(intake.session, campaign_id, merge.MOST_PLACES)
    for answer in judgments.answers(intake.session, campaign_id, among=found) if found else ():
        payload = protocol.payload.model_validate(answer.payload)
        try:
            protocol.check(payload, Shown(answer.source, answer.text), options)
        except Invalid as error:
            file, line = judgments.staged_at(intake.session, answer.judgment_id)
            yield from (Place((file, line, *place.loc), place.msg) for place in error.places)


def _outside_of_new_texts(intake: Intake, campaign_id: int) -> Iterator[Place]:
    protocol, options = intake.judged_by()
    for blind in judgments.judged_blind(intake.session, campaign_id):
        payload = protocol.payload.model_validate(blind.payload)
        shown = Shown(source=blind.text) if blind.of_source else Shown(text=blind.text)
        try:
            protocol.check(payload, shown, options)
        except Invalid as error:
            for place in error.places:
                said = f"a span that was marked before, on {blind.address}, {place.msg}"
                yield Place((blind.file, blind.line, *place.loc), said)
