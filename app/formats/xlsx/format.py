"""`xlsx`: a spreadsheet with one sheet per rater, for raters who work in one; for protocols with a single number.

A row is one output: its number, two texts, and the cell for the score, which is the only editable one and accepts only
values on the scale. Texts are in the order in which the task shows them, and headings do not reveal the source if the
protocol hides it. Three hidden columns identify the judgment by address: the public name of the task, the item, the
segment. The file contains neither systems nor roles. Existing scores are filled in. A cell without a score is not an
answer. Cells that a spreadsheet would take for a formula start with an apostrophe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app import protocols
from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, JudgmentRow, LineLocation, ReadContext, ReadLog, Record, ShownOutputRow
from app.formats.kit.numbers import parse_number
from app.formats.kit.reading import refuse_file
from app.formats.xlsx.reader import SheetRow, read_sheet_rows
from app.formats.xlsx.writer import JUDGED_BY, Address, write_workbook

UNANSWERED = "outputs without a score"


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield the scores in the sheets as judgments of the campaign's tasks. Raises Invalid with every bad line."""
    if context.options:
        raise Invalid(f"xlsx takes no options, not {min(context.options)[:40]!r}")
    if context.protocol not in JUDGED_BY:
        raise Invalid(f"a spreadsheet is read into a campaign by {' or '.join(JUDGED_BY)} whose tasks it was made of")
    shown = {(row.task, row.item_position, row.position): row for row in context.shown()}
    seen: dict[Address, LineLocation] = {}
    if not shown:
        refuse_file(
            log, LineLocation(files[0].name if files else "", 0), "the campaign has no tasks that sheets could be about"
        )
    for file in files:
        for row in read_sheet_rows(file, context.limits, log):
            try:
                judgment = _judgment(row, shown, context.protocol, log)
                if judgment is not None and seen.setdefault(row.address, row.at) is not row.at:
                    raise ValueError(f"is about the same output as line {seen[row.address].line}")
            except ValueError as fault:
                log.record_bad_line(row.at, f"sheet {row.sheet}, row {row.number}: {fault}")
                continue
            if judgment is not None:
                yield judgment
    log.raise_bad_lines()


def _judgment(
    row: SheetRow, shown: Mapping[Address, ShownOutputRow], protocol: str, log: ReadLog
) -> JudgmentRow | None:
    """Return the judgment of a row; None if it was not filled in. Raises ValueError."""
    if row.score is None or row.score == "":
        log.notes[UNANSWERED] += 1
        return None
    place = shown.get(row.address)
    if place is None or place.rater is None:
        raise ValueError("no task of this campaign shows this; the hidden columns must stay as they are")
    score = parse_number(str(row.score).strip())
    payload = {"protocol": protocol, "score": score}
    scale = protocols.get_protocol(protocol).scale
    if scale is not None and not scale.minimum <= score <= scale.maximum:
        raise ValueError(f"the score must be from {scale.minimum:g} to {scale.maximum:g}, not {score:g}")
    return JudgmentRow(
        row.at,
        place.task_key,
        place.item,
        place.systems,
        place.document,
        place.position,
        place.rater,
        payload,
        role=place.role,
        item_position=place.item_position,
    )


FORMAT = Format(
    name="xlsx", title="Spreadsheet, one sheet a rater", read=read, write_book=write_workbook, judged_by=JUDGED_BY
)
