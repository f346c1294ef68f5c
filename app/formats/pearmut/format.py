"""`pearmut`: a campaign for Pearmut (JSON) as a test set, and its logs (JSONL) as judgments.

An item has `src`, optionally `ref`, and `tgt`: model → text; a document is a list of items, a task a list of documents,
and `data` contains documents, tasks, or tasks by user. `item_id` identifies a segment: a document has the name of its
first item, without the `_#_0` or `-0` at its end. Documents with checks or forms (`validation`, `form`, welcome, random
and goodbye items) are left out and counted. A line of the log contains the answers of `user_id` to the document
`item_i`, by model: an answer about a model that was not shown is refused. `"annotation": "__RESET__"` withdraws the
earlier answers of its user (of all, if it is null) to that item. Later answers are re-submissions.

`/download-campaigns` is a list of campaigns, `/download-annotations` an object of logs by campaign: both are read.
Offsets count UTF-16 units of the text (`spans`). Both ends are inclusive; a start at the end of the text is
`[missing]`, an omission without a position; a larger one is another token shown there, an error without a position.
Errors in `error_spans` of an item are shown with the output.

Source: README, server/utils.py, web/src and examples/annotated_cache of zouharvi/pearmut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, ReadContext, ReadLog, Record
from app.formats.kit.reading import read_byte_blocks
from app.formats.kit.whitespace import WhitespaceStripper
from app.formats.pearmut.items import BY_CRITERIA, PROTOCOLS, PearmutItemReader
from app.formats.pearmut.log import PearmutLogReader, is_downloaded_log
from app.formats.pearmut.writer import write_file_tree

OPTIONS = {
    "human": "names of the models that are human, with commas",
    "pearmut": "version of Pearmut that logged the errors, for example 1.1.4; up to that, places count no line ends",
    "campaign": "campaign_id of the one to read, where a file has several",
}


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Read campaign files as a test set, logs as judgments. Raises Invalid with all bad lines, unless skipped."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"pearmut has no option {unknown[0][:40]!r}; there is {', '.join(OPTIONS)}")
    logs = [file for file in files if _is_log(file, context)]
    items = PearmutItemReader(context, log)
    strip = WhitespaceStripper(log)
    for file in (file for file in files if file not in logs):
        for record in items.read_test_set(file):
            yield strip(record)
    log.raise_bad_lines()
    protocol = context.protocol or items.protocol
    known = {*PROTOCOLS.values(), BY_CRITERIA}
    if logs and protocol not in known:
        there = ", ".join(sorted(known))
        raise Invalid(f"the log does not say by what it judges: import the campaign's file, or say protocol={there}")
    for file in logs:
        for record in PearmutLogReader(protocol or "", items, context, log).read(file):
            yield strip(record)
    log.raise_bad_lines()


def _is_log(file: InputFile, context: ReadContext) -> bool:
    """Return whether the first line is an answer, or the file an object of logs; members of campaigns differ."""
    if is_downloaded_log(file, context.limits):
        return True
    quiet = ReadLog(skip_bad_lines=True)
    head = next(read_byte_blocks(file, context.limits, quiet), b"").partition(b"\n")[0]
    return b'"annotation"' in head and b'"campaign_id"' not in head and b'"info"' not in head


FORMAT = Format(
    name="pearmut", title="Campaigns and logs of Pearmut", read=read, write_file_tree=write_file_tree, options=OPTIONS
)
