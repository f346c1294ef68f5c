"""Imports: announce, receive files, commit; or all at once from local files. Each import is all or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from itertools import chain

from app import formats
from app.domain.errors import Forbidden, Invalid, NotFound, Place
from app.domain.keys import convert_name_to_key
from app.formats.base import MOST_ERRORS, CampaignRow, InputFile, ReadContext, ReaderLimits, ReadLog, Record
from app.reports import ingest
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import NewCampaign, create_campaign, get_campaign
from app.services.data import exports
from app.services.data.import_options import (
    FormatNotReadable,
    check_import_options,
    choose_default_basis,
    make_campaign_rows_from_options,
    peek_campaign_row,
    split_import_options,
)
from app.services.data.isolated import dispatch as isolated_reading
from app.services.data.parallel import dispatch as parallel_reading
from app.services.data.parallel.dispatch import RemoteRecords
from app.services.data.record_import import Progress, RunningImport, import_records
from app.storage import campaigns, test_sets
from app.storage.db import Database, Session
from app.storage.imports import imports, staging

SPLIT = "split"
MOST_LOOKED_THROUGH = 200_000  # texts of one import; the report on a larger test set needs a request of its own


class ImportHasNoFiles(Invalid):
    """This import has no files yet."""

    published = "NothingArrived"


class ImportIsEmpty(Invalid):
    """The files contain nothing that could be stored."""

    published = "HoldsNothing"


class SplitImportForbidden(Forbidden):
    """This credential is valid for one campaign only, so files cannot be split into others."""

    published = "BoundToOne"


@dataclass(frozen=True, slots=True)
class ImportFileView:
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
    files: tuple[ImportFileView, ...]
    report: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """An import as an entry of a list."""

    public_id: str
    format: str
    options: Mapping[str, str]
    state: str
    created_at: datetime


def create_import(session: Session, campaign: str, *, format: str, options: Mapping[str, str]) -> ImportView:
    """Announce an import into a campaign, whose files follow. Raises Invalid for an unknown format or option."""
    check_import_options(format, options)
    row = campaigns.load_campaign(session, campaign)
    public_id = f"i_{secrets.token_hex(16)}"
    imports.insert_import(session, campaign_id=row.id, public_id=public_id, format=format, options=options)
    return get_import(session, campaign, public_id)


def get_import(session: Session, campaign: str, public_id: str) -> ImportView:
    """Return an import with its files and, once committed, its report. Raises NotFound."""
    row = imports.load_import(session, campaigns.load_campaign(session, campaign).id, public_id)
    arrived = tuple(ImportFileView(f.name, f.size, f.sha256.hex()) for f in imports.load_import_files(session, row.id))
    return ImportView(row.public_id, row.format, row.options, row.state, arrived, row.report)


def list_imports(session: Session, campaign: str, *, after: str | None, limit: int) -> list[ImportSummary]:
    """List imports in the order in which they were announced, without files and reports. Raises NotFound."""
    rows = imports.load_imports_page(session, campaigns.load_campaign(session, campaign).id, after=after, limit=limit)
    return [ImportSummary(row.public_id, row.format, row.options, row.state, row.created_at) for row in rows]


def list_import_files(
    session: Session, campaign: str, public_id: str, *, after: str | None, limit: int
) -> list[ImportFileView]:
    """List the files of an import by name. Raises NotFound."""
    row = imports.load_import(session, campaigns.load_campaign(session, campaign).id, public_id)
    files = imports.load_import_files_page(session, row.id, after=after, limit=limit)
    return [ImportFileView(f.name, f.size, f.sha256.hex()) for f in files]


def add_import_file(
    session: Session, campaign: str, public_id: str, name: str, chunks: Iterable[bytes]
) -> ImportFileView:
    """Receive a file of an import. Raises Conflict after its commit, and for different bytes under a known name."""
    row = imports.load_import(session, campaigns.load_campaign(session, campaign).id, public_id, lock=True)
    if row.state != "receiving":
        raise imports.ImportAlreadyCommitted
    stored = imports.store_import_file(session, row.id, name, chunks)
    return ImportFileView(stored.name, stored.size, stored.sha256.hex())


def commit_import(
    database: Database,
    campaign: str,
    public_id: str,
    *,
    dry_run: bool,
    skip_bad_lines: bool,
    actor: str,
    bound: bool = False,
) -> dict[str, object]:
    """Read the files of an import, store their contents, and return the report.

    A second commit of the same import returns the stored report. bound: the caller may access only this campaign, so
    files cannot be split into others. Large files are read by a separate process.

    Raises Invalid, which names file and line, SplitImportForbidden and ReaderLost.
    """
    with database.transaction() as session:
        row = imports.load_import(session, campaigns.load_campaign(session, campaign).id, public_id, lock=True)
        if row.state == "committed":
            return dict(row.report or {})
        arrived = imports.load_import_files(session, row.id)
        if not arrived:
            raise ImportHasNoFiles
        files = [InputFile(f.name, partial(imports.open_import_file, session, row.id, f.name)) for f in arrived]
        log = ReadLog(skip_bad_lines=skip_bad_lines)
        target = get_campaign(session, campaign)
        if SPLIT in row.options:
            stored = _store_parts(
                session,
                target.key,
                row.format,
                files,
                row.options,
                log,
                actor=actor,
                bound=bound,
                isolate_large_files=True,
            )
        else:
            records = _records(session, row.format, files, row.options, log, known=target, isolate_large_files=True)
            stored = _store(session, target, row.format, records, log, actor=actor)
        report = {**_report(row.format, files, stored, log), "ingest": _inspect_test_set(session, target.key, stored)}
        if dry_run:
            session.rollback()
            return {**report, "dry_run": True}
        imports.commit_import_and_drop_files(session, row.id, report)
        return report


def import_local_files(
    database: Database,
    campaign: str,
    *,
    format: str,
    files: Sequence[InputFile],
    options: Mapping[str, str],
    dry_run: bool,
    skip_bad_lines: bool,
    actor: str,
    progress: Progress | None = None,
    bound: bool = False,
) -> dict[str, object]:
    """Create or fill a campaign from local files in one transaction, and return the report.

    With the option `split`, the files fill one campaign for each value, `KEY-value`: all of them, or none.
    """
    with database.transaction() as session:
        return run_import_in_transaction(
            session,
            campaign,
            format=format,
            files=files,
            options=options,
            dry_run=dry_run,
            skip_bad_lines=skip_bad_lines,
            actor=actor,
            progress=progress,
            bound=bound,
        )


def run_import_in_transaction(
    session: Session,
    campaign: str,
    *,
    format: str,
    files: Sequence[InputFile],
    options: Mapping[str, str],
    dry_run: bool,
    skip_bad_lines: bool,
    actor: str,
    progress: Progress | None = None,
    bound: bool = False,
    isolate_large_files: bool = False,
) -> dict[str, object]:
    """Run an import within the current transaction. dry_run rolls it back.

    isolate_large_files: a separate process reads large files, because this one also answers other requests.
    """
    check_import_options(format, options)
    log = ReadLog(skip_bad_lines=skip_bad_lines)
    if SPLIT in options:
        stored = _store_parts(
            session,
            campaign,
            format,
            files,
            options,
            log,
            actor=actor,
            progress=progress,
            bound=bound,
            isolate_large_files=isolate_large_files,
        )
    else:
        known = _find_campaign(session, campaign)
        records = _records(session, format, files, options, log, known=known, isolate_large_files=isolate_large_files)
        view, records = _campaign(session, campaign, known, records, log, actor=actor)
        stored = _store(session, view, format, records, log, actor=actor, progress=progress)
    report = {**_report(format, files, stored, log), "ingest": _inspect_test_set(session, campaign, stored)}
    if dry_run:
        session.rollback()
        return {**report, "dry_run": True}
    return report


def _find_campaign(session: Session, campaign: str) -> CampaignInfo | None:
    try:
        return get_campaign(session, campaign)
    except NotFound:
        return None


def _records(
    session: Session,
    format: str,
    files: Sequence[InputFile],
    options: Mapping[str, str],
    log: ReadLog,
    *,
    known: CampaignInfo | None,
    isolate_large_files: bool,
) -> Iterator[Record | RemoteRecords]:
    """Yield the records of the files, after those made from the caller's options about the campaign."""
    reader = formats.get_format(format)
    if reader.read is None:
        raise FormatNotReadable(format)
    own, about = split_import_options(reader, options)
    protocol = known.protocol if known else about.get("protocol")
    outline = (
        partial(test_sets.load_test_document_sizes, session, campaigns.load_campaign(session, known.key).id)
        if known
        else tuple
    )
    shown = partial(exports.stream_shown_output_rows, session, known.key) if known else tuple
    context = ReadContext(own, ReaderLimits(), protocol, outline, shown)
    read = (
        isolated_reading.read_records_isolated
        if isolate_large_files and isolated_reading.is_isolation_worthwhile(reader, files, context.limits)
        else parallel_reading.read_records_parallel
    )
    return chain(
        make_campaign_rows_from_options(about), _require_records(read(reader, files, context, log), files, log)
    )


def _require_records(
    records: Iterable[Record | RemoteRecords], files: Sequence[InputFile], log: ReadLog
) -> Iterator[Record | RemoteRecords]:
    """Yield the records. At the end, raise ImportIsEmpty if the files said at most how to read them."""
    some = False
    for record in records:
        some = some or not isinstance(record, CampaignRow) or record.name is not None
        yield record
    if not some and not log.n_bad:
        raise _empty_import_error(files)


def _empty_import_error(files: Sequence[InputFile]) -> ImportIsEmpty:
    return ImportIsEmpty(places=tuple(Place((one.name, 1), "holds nothing") for one in files[:MOST_ERRORS]))


def _store(
    session: Session,
    campaign: CampaignInfo,
    format: str,
    records: Iterable[Record | RemoteRecords],
    log: ReadLog,
    *,
    actor: str,
    progress: Progress | None = None,
) -> Mapping[str, object]:
    intake = RunningImport(
        session,
        campaign,
        actor=actor,
        audit_details=f"import of {format}",
        progress=progress,
        checks_known_answers=True,
    )
    reader = formats.get_format(format)
    return import_records(intake, records, log, by_document=reader.by_document, by_segment=reader.by_segment)


def _store_parts(
    session: Session,
    campaign: str,
    format: str,
    files: Sequence[InputFile],
    options: Mapping[str, str],
    log: ReadLog,
    *,
    actor: str,
    progress: Progress | None = None,
    bound: bool,
    isolate_large_files: bool,
) -> Mapping[str, object]:
    """Fill one campaign for each value that the files are split by, and return what was stored in each."""
    if bound:
        raise SplitImportForbidden
    wanted = formats.get_format(format)
    if wanted.parts is None:
        raise FormatNotReadable(f"{format} cannot be split")
    stored: dict[str, object] = {}
    own, about = split_import_options(wanted, options)
    context = ReadContext(own, ReaderLimits(), about.get("protocol"))
    read = (
        partial(isolated_reading.read_by_campaign_isolated, wanted)
        if isolate_large_files and isolated_reading.is_isolation_worthwhile(wanted, files, context.limits)
        else wanted.parts
    )
    for value, part_records in read(files, context, log):
        key, part = (
            f"{campaign}-{convert_name_to_key(value)}",
            chain(make_campaign_rows_from_options(about), part_records),
        )
        view, records = _campaign(session, key, _find_campaign(session, key), part, log, actor=actor, series=campaign)
        stored[key] = _store(session, view, format, records, log, actor=actor, progress=progress)
        staging.drop_staging_tables(session)
    if not stored and not log.n_bad:
        raise _empty_import_error(files)
    return {"campaigns": stored}


def _campaign(
    session: Session,
    key: str,
    known: CampaignInfo | None,
    records: Iterator[Record | RemoteRecords],
    log: ReadLog,
    *,
    actor: str,
    series: str | None = None,
) -> tuple[CampaignInfo, Iterator[Record | RemoteRecords]]:
    """Return the campaign to fill. If it does not exist, create it from what the files say about it."""
    if known is not None:
        return known, records
    head, records = peek_campaign_row(records, log)
    new = NewCampaign(
        key=key,
        name=head.name,
        protocol=head.protocol or "",
        options=head.options or {},
        source_language=head.source_language,
        target_language=head.target_language,
        basis=head.basis or choose_default_basis(head.protocol),
        series=series,
    )
    return create_campaign(session, new, actor=actor), records


def _inspect_test_set(session: Session, campaign: str, stored: Mapping[str, object]) -> dict[str, object] | None:
    """Report on the test set if the import brought only texts."""
    texts = [n for noun in ("segments", "outputs") if isinstance(n := stored.get(noun), int)]
    if not any(texts) or stored.get("judgments") or sum(texts) > MOST_LOOKED_THROUGH:
        return None
    return asdict(ingest.make_ingest_report(session, campaign))


def _report(format: str, files: Sequence[InputFile], stored: Mapping[str, object], log: ReadLog) -> dict[str, object]:
    return {
        "format": format,
        "files": [f.name for f in files],
        "lines": log.lines,
        "stored": dict(stored),
        "mapped": {noun: dict(sorted(names.items())) for noun, names in sorted(log.mapped.items())},
        "repaired": dict(sorted(log.repaired.items())),
        "dropped": dict(sorted(log.dropped.items())),
        "notes": dict(sorted(log.notes.items())),
        "bad_lines": {"count": log.n_bad, "first": [{"loc": list(p.loc), "msg": p.msg} for p in log.bad]},
        "dry_run": False,
    }
