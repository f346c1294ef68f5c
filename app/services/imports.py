"""Imports: announce, receive files, commit; or all at once from files at hand. All or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from app import formats
from app.domain.errors import Invalid, NotFound, Place
from app.formats._base import CampaignRow, Input, JudgmentRow, Limits, ReadContext, ReadLog, Record
from app.services.campaigns import CampaignView, NewCampaign, create, get
from app.services.intake import Intake, Progress, take_in
from app.storage import campaigns, imports
from app.storage.db import Database, Session


class NothingArrived(Invalid):
    """This import has no files yet."""


class NotReadable(Invalid):
    """This format cannot be read."""


@dataclass(frozen=True, slots=True)
class FileView:
    """A file that arrived."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ImportView:
    """An import under way or done."""

    public_id: str
    format: str
    options: Mapping[str, str]
    state: str
    files: tuple[FileView, ...]
    report: Mapping[str, object] | None


def announce(session: Session, campaign: str, *, format: str, options: Mapping[str, str]) -> ImportView:
    """Announce an import into a campaign; its files follow. Raises Invalid for an unknown format or option."""
    _check(format, options)
    row = campaigns.get(session, campaign)
    public_id = f"i_{secrets.token_hex(16)}"
    imports.add(session, campaign_id=row.id, public_id=public_id, format=format, options=options)
    return view(session, campaign, public_id)


def view(session: Session, campaign: str, public_id: str) -> ImportView:
    """An import with its files and, once committed, its report. Raises NotFound."""
    row = imports.get(session, campaigns.get(session, campaign).id, public_id)
    arrived = tuple(FileView(f.name, f.size, f.sha256.hex()) for f in imports.files(session, row.id))
    return ImportView(row.public_id, row.format, row.options, row.state, arrived, row.report)


def add_file(session: Session, campaign: str, public_id: str, name: str, chunks: Iterable[bytes]) -> FileView:
    """Receive one file of an import. Raises Conflict once it is committed, or for other bytes under a known name."""
    row = imports.get(session, campaigns.get(session, campaign).id, public_id, lock=True)
    if row.state != "receiving":
        raise imports.ImportCommitted
    stored = imports.add_file(session, row.id, name, chunks)
    return FileView(stored.name, stored.size, stored.sha256.hex())


def commit(
    database: Database, campaign: str, public_id: str, *, dry_run: bool, skip_bad_lines: bool, actor: str
) -> dict[str, object]:
    """Read the files of an import and store what they say; the report of it.

    A second commit of the same import answers with the stored report. Raises Invalid, naming file and line.
    """
    with database.transaction() as session:
        row = imports.get(session, campaigns.get(session, campaign).id, public_id, lock=True)
        if row.state == "committed":
            return dict(row.report or {})
        arrived = imports.files(session, row.id)
        if not arrived:
            raise NothingArrived
        files = [Input(f.name, partial(imports.stream, session, row.id, f.name)) for f in arrived]
        log = ReadLog(skip_bad_lines=skip_bad_lines)
        target = get(session, campaign)
        records = _records(row.format, files, row.options, log, protocol=target.protocol)
        report = _store(session, target, row.format, files, records, log, actor=actor)
        if dry_run:
            session.rollback()
            return {**report, "dry_run": True}
        imports.close(session, row.id, report)
        return report


def run(
    database: Database,
    campaign: str,
    *,
    format: str,
    files: Sequence[Input],
    options: Mapping[str, str],
    dry_run: bool,
    skip_bad_lines: bool,
    actor: str,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Create or fill a campaign from files at hand, in one transaction; the report of it."""
    _check(format, options)
    log = ReadLog(skip_bad_lines=skip_bad_lines)
    with database.transaction() as session:
        view = _known(session, campaign)
        records = _records(format, files, options, log, protocol=view.protocol if view else None)
        if view is None:
            head, records = _head(records, log)
            said = head.options or {}
            new = NewCampaign(key=campaign, name=head.name, protocol=head.protocol or "", options=said)
            view = create(session, new, actor=actor)
        report = _store(session, view, format, files, records, log, actor=actor, progress=progress)
        if dry_run:
            session.rollback()
            return {**report, "dry_run": True}
        return report


def _known(session: Session, campaign: str) -> CampaignView | None:
    try:
        return get(session, campaign)
    except NotFound:
        return None


def _records(
    format: str, files: Sequence[Input], options: Mapping[str, str], log: ReadLog, *, protocol: str | None
) -> Iterator[Record]:
    read = formats.get(format).read
    if read is None:
        raise NotReadable(format)
    return read(files, ReadContext(options, Limits(), protocol), log)


def _head(records: Iterator[Record], log: ReadLog) -> tuple[CampaignRow, Iterator[Record]]:
    """What the files say of the campaign, and all the records still: readers say it first, or each judgment does."""
    held: list[Record] = []
    for record in records:
        held.append(record)
        if isinstance(record, CampaignRow) and record.protocol:
            return record, chain(held, records)
        if isinstance(record, JudgmentRow):
            named = record.payload.get("protocol")
            return CampaignRow(record.at, protocol=named if isinstance(named, str) else None), chain(held, records)
    log.finish()
    raise Invalid("the files hold no judgments, so there is no campaign to create from them")


def _store(
    session: Session,
    campaign: CampaignView,
    format: str,
    files: Sequence[Input],
    records: Iterable[Record],
    log: ReadLog,
    *,
    actor: str,
    progress: Progress | None = None,
) -> dict[str, object]:
    intake = Intake(session, campaign, actor=actor, what=f"import of {format}", progress=progress)
    stored = take_in(intake, records, log)
    return {
        "format": format,
        "files": [f.name for f in files],
        "lines": log.lines,
        "stored": stored,
        "mapped": {noun: dict(sorted(names.items())) for noun, names in sorted(log.mapped.items())},
        "repaired": dict(sorted(log.repaired.items())),
        "dropped": dict(sorted(log.dropped.items())),
        "notes": dict(sorted(log.notes.items())),
        "bad_lines": {"count": log.n_bad, "first": [{"loc": list(p.loc), "msg": p.msg} for p in log.bad]},
        "dry_run": False,
    }


def _check(format: str, options: Mapping[str, str]) -> None:
    known = formats.get(format)
    if known.read is None:
        raise NotReadable(format)
    unknown = sorted(set(options) - set(known.options))
    if unknown:
        there = ", ".join(known.options) or "none"
        raise Invalid(
            "the options are not valid",
            places=tuple(Place(("options", name), f"there are: {there}") for name in unknown),
        )
