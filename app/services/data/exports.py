"""Exports: a campaign's texts, judgments and metadata in a writable format. What the format cannot hold is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from pydantic import BaseModel, Field

from app import formats
from app.domain.comments import ON_OUTPUT, ON_SCREEN
from app.domain.errors import Invalid
from app.domain.questionnaires import NAME as QUESTIONNAIRES
from app.formats.base import (
    CampaignContents,
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    LineLocation,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    Record,
    ScreenComparisonRow,
    SegmentRow,
    ShownOutputRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.reports.inputs.campaign import CampaignInfo
from app.reports.inputs.scores import hash_campaign_score_profile
from app.reports.kit.render import parquet
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.display_settings import SLIDER_COLORS
from app.services.data.known_answer_documents import list_documents_with_unfit_known_answers
from app.services.data.ratings_table import stream_ratings_csv
from app.services.data.tar_stream import stream_tar
from app.stats.ratings import RatingRole
from app.storage import campaigns, exports
from app.storage.db import Database, Session

HERE = LineLocation("export", 0)
SURPLUS = "surplus: nobody counts it"
TAR = "application/x-tar"
BUNDLE = "bundle"
"""The name for what `app.services.data.bundle` makes. It is here so that the command need not import all reports."""
MEDIA_TYPES: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": parquet.MEDIA_TYPE,
    "tar": TAR,
    "tsv": "text/tab-separated-values; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Media types of exported files, by the extension of their names (IANA's registry of media types)."""
Address = tuple[str, str, int | None, str]
ROLE_NAMES = {role.value: role.name.lower() for role in RatingRole}


class FormatNotWritable(Invalid):
    """This format cannot be written."""

    published = "NotWritable"


Files = Iterator[tuple[str, Iterable[bytes]]]


@dataclass(frozen=True, slots=True)
class ExportFileType:
    """The type of an export. suffix: the end of the file's name.

    files: whether it is several files in one tar archive.
    """

    suffix: str
    files: bool

    @property
    def media_type(self) -> str:
        """The media type of the extension. Raises KeyError for an unknown extension."""
        return MEDIA_TYPES[self.suffix.rpartition(".")[2]]


def get_export_file_type(format: str) -> ExportFileType:
    """Return the file type in which a format is written. Raises NotFound, FormatNotWritable, or ParquetNotInstalled."""
    if format in EXTRAS:
        if format in PARQUET:
            parquet.check_parquet_installed()
        return ExportFileType(SUFFIXES.get(format, format), files=False)
    writer = formats.get_format(format)
    if not (writer.write or writer.write_book or writer.write_file_tree):
        raise FormatNotWritable(format)
    suffix = writer.suffix or writer.name
    return ExportFileType(
        f"{suffix}.tar" if writer.write_file_tree else suffix, files=writer.write_file_tree is not None
    )


def list_writable_formats() -> list[str]:
    """List the formats that this installation can write; those that lack an optional dependency are left out."""
    names = [name for name, one in formats.ALL.items() if one.write or one.write_book or one.write_file_tree]
    return sorted([*names, *(name for name in EXTRAS if name not in PARQUET or parquet.is_parquet_installed())])


def export_campaign(
    database: Database, campaign: str, format: str, *, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """Stream a campaign as the bytes of a file, from one snapshot. `lost` counts what the format cannot hold.

    A format with several files is sent as one tar archive. Raises NotFound for an unknown campaign or format, and
    FormatNotWritable, before the first byte.
    """
    lost = Counter() if lost is None else lost
    if get_export_file_type(format).files:
        return stream_tar(export_campaign_files(database, campaign, format, lost=lost))
    with database.transaction() as session:
        campaigns.load_campaign(session, campaign)
    return _stream(database, campaign, format, lost)


class ExportLosses(BaseModel):
    """What a format cannot carry of a campaign."""

    format: str
    losses: dict[str, int] = Field(description="How much the file does not hold, by kind; {} if it holds everything.")


def stream_export_losses(database: Database, campaign: str, format: str) -> Iterator[bytes]:
    """Yield only the counts of what the format cannot hold, as JSON, after making the export and discarding it.

    Raises the errors of `export_campaign`.
    """
    lost = Counter[str]()
    made = export_campaign(database, campaign, format, lost=lost)

    def counted() -> Iterator[bytes]:
        for _ in made:
            yield b""
        yield ExportLosses(format=format, losses=dict(sorted(lost.items()))).model_dump_json().encode()

    return counted()


def export_campaign_files(database: Database, campaign: str, format: str, *, lost: Counter[str] | None = None) -> Files:
    """Yield a campaign's files with their paths; read each before the next. Raises the errors of `export_campaign`."""
    if not get_export_file_type(format).files:
        raise FormatNotWritable(f"{format} is one file")
    with database.transaction() as session:
        campaigns.load_campaign(session, campaign)
    return _files(database, campaign, format, Counter() if lost is None else lost)


def _files(database: Database, campaign: str, format: str, lost: Counter[str]) -> Files:
    write = formats.get_format(format).write_file_tree
    with database.transaction(snapshot=True) as session:
        _count_beside(session, campaign, format, lost)
        if write is not None:
            yield from write(load_campaign_contents(session, campaign), lost)


def _stream(database: Database, campaign: str, format: str, lost: Counter[str]) -> Iterator[bytes]:
    with database.transaction(snapshot=True) as session:
        _count_beside(session, campaign, format, lost)
        yield from export_single_file(session, campaign, format, lost)


def _count_beside(session: Session, campaign: str, format: str, lost: Counter[str]) -> None:
    """Count what no format can hold, and what only formats with complete records can."""
    row = campaigns.load_campaign(session, campaign)
    lost.update(exports.count_unexportable_data(session, row.id, row.data_version))
    whole = format not in EXTRAS and formats.get_format(format).whole
    compared = 0 if whole else exports.count_comparisons(session, row.id, row.data_version)
    lost.update({"comparisons of columns": compared} if compared else {})
    aligned = 0 if whole else exports.count_outputs_with_word_alignment(session, row.id)
    lost.update({"word alignments of outputs": aligned} if aligned else {})
    answered = 0 if whole else exports.count_answered_questionnaires(session, row.id)
    lost.update({"questionnaires that raters answered": answered} if answered else {})


def export_single_file(session: Session, campaign: str, format: str, lost: Counter[str]) -> Iterator[bytes]:
    """Write a format that is one file, from the snapshot of this transaction. Raises FormatNotWritable."""
    if format in EXTRAS:
        return EXTRAS[format](session, campaign)
    writer = formats.get_format(format)
    if writer.write is not None:
        return writer.write(load_campaign_records(session, campaign, comparisons=writer.whole), lost)
    if writer.write_book is None:
        raise FormatNotWritable(format)
    return writer.write_book(load_campaign_contents(session, campaign), lost)


def load_campaign_contents(session: Session, campaign: str, *, judged: bool = False) -> CampaignContents:
    """Return a campaign's contents, which can be read as long as the transaction lasts. Raises NotFound.

    judged: whether the shown outputs include only those that were judged, as in the records.
    """
    shown = partial(stream_shown_output_rows, session, campaign, judged=judged)
    return CampaignContents(campaign, partial(load_campaign_records, session, campaign), shown)


def load_campaign_records(session: Session, campaign: str, *, comparisons: bool = False) -> Iterator[Record]:
    """Yield every record of a campaign, declarations first. Comparisons of columns are included only on request."""
    row, view = campaigns.load_campaign(session, campaign), get_campaign(session, campaign)
    yield _campaign(view)
    profile = exports.find_weight_profile_id_by_digest(session, row.id, hash_campaign_score_profile(view))
    unfit = list_documents_with_unfit_known_answers(session, row.id, view)
    for query, build in (*_BUILDERS, *([(exports.COMPARISONS, _comparison)] if comparisons else [])):
        with closing(exports.stream_export_rows(session, query, row.id, row.data_version, profile=profile)) as rows:
            if query is exports.JUDGMENTS:
                surplus: dict[Address, VoidedJudgmentRow] = {}
                yield from _judgments(rows, surplus)
            elif query is exports.VOIDS:
                voids = {(one.task, one.item, one.position, one.rater): one for one in map(_void, rows)}
                yield from {**surplus, **voids}.values()
            elif query is exports.DOCUMENTS:
                yield from (_mark_unfit(one, unfit) for one in map(_document, rows))
            else:
                yield from map(build, rows)


def load_judgments_that_count(session: Session, campaign: str) -> Iterator[JudgmentRow]:
    """Yield the judgments of a campaign that count, with all revisions; none is surplus or set aside."""
    row, view = campaigns.load_campaign(session, campaign), get_campaign(session, campaign)
    profile = exports.find_weight_profile_id_by_digest(session, row.id, hash_campaign_score_profile(view))
    with closing(exports.stream_export_rows(session, exports.VOIDS, row.id, row.data_version)) as rows:
        aside = {_address(one) for one in rows}
    with closing(
        exports.stream_export_rows(session, exports.JUDGMENTS, row.id, row.data_version, profile=profile)
    ) as rows:
        yield from (_judgment(one) for one in rows if not one.surplus and _address(one) not in aside)


def _address(row: exports.Row) -> Address:
    return row.task, row.item, row.position, row.rater


def _judgments(rows: Iterator[exports.Row], surplus: dict[Address, VoidedJudgmentRow]) -> Iterator[JudgmentRow]:
    """Yield judgments. Surplus is left out if its address has other judgments; otherwise it is set aside.

    Formats cannot mark a judgment as surplus. Setting it aside keeps it, and it does not count either.
    """
    for address, group in groupby(rows, key=_address):
        revisions = list(group)
        counted = [row for row in revisions if not row.surplus]
        if not counted:
            surplus[address] = VoidedJudgmentRow(HERE, *address, SURPLUS, HERE.file)
        yield from map(_judgment, counted or revisions)


def stream_shown_output_rows(session: Session, campaign: str, *, judged: bool = False) -> Iterator[ShownOutputRow]:
    """Yield what tasks show, task by task. judged: only what was judged, as for tasks of an import."""
    row = campaigns.load_campaign(session, campaign)
    with closing(exports.stream_export_rows(session, exports.SHOWN, row.id, row.data_version, judged=judged)) as rows:
        for prefill in rows:
            values: dict[str, Any] = dict(prefill._mapping)
            values.update(systems=tuple(prefill.systems or ()), role=ROLE_NAMES[prefill.role])
            yield ShownOutputRow(**values)


def _campaign(view: CampaignInfo) -> CampaignRow:
    colors = view.settings.get(SLIDER_COLORS)
    return CampaignRow(
        at=HERE,
        protocol=view.protocol,
        source_language=view.source_language,
        target_language=view.target_language,
        basis=view.basis,
        name=view.name,
        options=view.options,
        documents_known=view.documents_known,
        questionnaires=view.settings.get(QUESTIONNAIRES) or None,  # type: ignore[arg-type]  # checked where it is set
        slider_colors=colors if isinstance(colors, bool) else None,
    )


def _none_if_empty(value: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return None for an empty mapping, so that a missing value is read back as missing."""
    return value or None


def _system(row: exports.Row) -> SystemRecord:
    return SystemRecord(HERE, row.key, row.name, row.kind, row.lab, tuple(row.tags))


def _document(row: exports.Row) -> DocumentRecord:
    return DocumentRecord(HERE, row.key, row.name, row.kind, row.domain, row.position, _none_if_empty(row.meta))


def _mark_unfit(document: DocumentRecord, unfit: frozenset[str]) -> DocumentRecord:
    """Mark a document as unfit if its known answers would otherwise make an import fail."""
    return replace(document, known_answers="unfit") if document.key in unfit else document


def _segment(row: exports.Row) -> SegmentRow:
    return SegmentRow(HERE, row.document, row.position, row.source, row.refs, _none_if_empty(row.meta))


def _output(row: exports.Row) -> OutputRow:
    prefill = None if row.prefill is None else tuple(row.prefill)
    return OutputRow(
        *(HERE, row.system, row.document, row.position, row.text, prefill),
        prefill_origin=row.prefill_origin,
        written=row.written,
        alignment=row.alignment,
    )


def _rater(row: exports.Row) -> RaterRow:
    return RaterRow(HERE, row.key, row.name, row.person, _none_if_empty(row.attributes), row.answered)


def _judgment(row: exports.Row) -> JudgmentRow:
    """Make the record of a judgment.

    A reference shown as an output is credited to no system; its item names the reference. The text of a degraded copy
    is stored with its judgments, because it is not an output. So are comments.
    """
    values: dict[str, Any] = dict(row._mapping)
    for name in ("surplus", "reference", "shown", "comment", "screen_comment"):
        del values[name]
    of_item = {} if row.reference is None else {"reference": row.reference}
    beside = {"shown": row.shown, ON_OUTPUT: row.comment, ON_SCREEN: row.screen_comment}
    of_answer = {name: said for name, said in beside.items() if said is not None}
    values.update(
        systems=tuple(row.systems or ()),
        role=ROLE_NAMES[row.role],
        task_meta=_none_if_empty(row.task_meta),
        item_meta=_none_if_empty({**row.item_meta, **of_item}),
        meta={**(row.meta or {}), **of_answer} or None,
    )
    return JudgmentRow(at=HERE, **values)


def _void(row: exports.Row) -> VoidedJudgmentRow:
    return VoidedJudgmentRow(HERE, row.task, row.item, row.position, row.rater, row.reason, row.actor)


def _comparison(row: exports.Row) -> ScreenComparisonRow:
    columns, preference = (tuple(map(tuple, value)) for value in (row.columns, row.preference))
    named = (row.task, row.screen, row.rater, row.document)
    return ScreenComparisonRow(HERE, *named, tuple(row.items), columns, preference, position=row.position)


def _metric(row: exports.Row) -> MetricScoreRow:
    return MetricScoreRow(HERE, **row._mapping)


_BUILDERS: tuple[tuple[str, Callable[[exports.Row], Record]], ...] = (
    (exports.SYSTEMS, _system),
    (exports.DOCUMENTS, _document),
    (exports.SEGMENTS, _segment),
    (exports.OUTPUTS, _output),
    (exports.RATERS, _rater),
    (exports.JUDGMENTS, _judgment),
    (exports.VOIDS, _void),
    (exports.METRICS, _metric),
)


def _judgments_parquet(session: Session, campaign: str) -> Iterator[bytes]:
    return parquet.convert_csv_to_parquet(export_single_file(session, campaign, "csv", Counter()), parquet.JUDGMENTS)


def _ratings_parquet(session: Session, campaign: str) -> Iterator[bytes]:
    return parquet.convert_csv_to_parquet(stream_ratings_csv(session, campaign), parquet.RATINGS)


PARQUET = frozenset({"parquet", "ratings-parquet"})
"""Formats that need the optional dependency `parquet`."""
SUFFIXES: Mapping[str, str] = {"ratings-csv": "ratings.csv", "ratings-parquet": "ratings.parquet"}
EXTRAS: Mapping[str, Callable[[Session, str], Iterator[bytes]]] = {
    "parquet": _judgments_parquet,
    "ratings-csv": stream_ratings_csv,
    "ratings-parquet": _ratings_parquet,
}
"""Exports derived from stored data that are not file formats and cannot be imported."""
