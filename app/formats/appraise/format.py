"""`appraise`: batches for Appraise (JSON) as a test set, or its results (CSV) as judgments.

A batch is `{"items": […], "task": {…}}`. An item shows `sourceText` (`segmentText` of pairs) and `targetText` of
`targetID` at a place of `documentID`, which has marks as in `esa`. Segments are numbered by the longest run of a
document's items in any task; if a task shows fewer, their sources tell which they are. `sysA+sysB` are identical
outputs, stored for each system. Copies (BAD, REF), whole documents, tutorials, `#dup` and `#incomplete` are left out
and counted; copies among the items of a document count for its positions. Items without `documentID` belong to a test
set with unknown documents: `itemID` is the line; if batches give other sources the same number, segments are identified
by their sources. `<br>` is one character, a line end. Errors in `mqm` are prefilled: they are shown with the output,
and their ends are exclusive as in `esa`.

Source: Examples (MQM+ESA, Document, DocumentSQM+Context, Direct, Data, PairwiseDocument) of AppraiseDev/Appraise.
Results are read as `esa` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.errors import Invalid
from app.formats.appraise.batches import AppraiseBatchReader
from app.formats.appraise.writer import write_file_tree
from app.formats.base import CampaignRow, Format, InputFile, ReadContext, ReadLog, Record
from app.formats.esa import format as esa
from app.formats.kit.campaigns_in_file import OPTION
from app.formats.kit.reading import read_byte_blocks
from app.formats.kit.whitespace import WhitespaceStripper

OPTIONS = {
    "split": OPTION + " (results only)",
    "protocol": "of a new campaign: mqm where raters marked errors only; esa otherwise",
}


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Read batches as a test set, or results as judgments. Raises Invalid with all bad lines, unless skipped."""
    if not _are_batches(files, context):
        yield from esa.read(files, context, log)
        return
    unknown = sorted(set(context.options) - {"protocol"})
    if unknown:
        raise Invalid(f"batches of appraise have no option {unknown[0][:40]!r}; there is protocol")
    batches = AppraiseBatchReader(context, log)
    batches.scan_document_lengths_and_languages(files)
    log.raise_bad_lines()
    protocol = context.protocol or context.options.get("protocol", "esa")
    known = None if batches.documents_known else False
    yield CampaignRow(batches.at, protocol, *batches.languages(), documents_known=known)
    strip = WhitespaceStripper(log)
    for file in files:
        for record in batches.read(file):
            yield strip(record)
    log.raise_bad_lines()


def read_by_campaign(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield one stream of records for each campaign in the results."""
    if _are_batches(files, context):
        raise Invalid("batches of one import are of one language pair; import those of others by themselves")
    yield from esa.read_by_campaign(files, context, log)


def _are_batches(files: Sequence[InputFile], context: ReadContext) -> bool:
    """Return whether the files begin as JSON does. Raises Invalid if only some do."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"appraise has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    quiet = ReadLog(skip_bad_lines=True)
    begins_as_json = {
        next(read_byte_blocks(file, context.limits, quiet), b"").lstrip()[:1] in (b"[", b"{") for file in files
    }
    if len(begins_as_json) > 1:
        raise Invalid("import batches and results one after the other, not at once")
    return True in begins_as_json


FORMAT = Format(
    name="appraise",
    title="Batches and results of Appraise",
    read=read,
    parts=read_by_campaign,
    write_file_tree=write_file_tree,
    options=OPTIONS,
)
