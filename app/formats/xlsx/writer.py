"""Write `xlsx`: one sheet per rater, with what their tasks show."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from app import protocols
from app.domain.spreadsheet_cells import escape_formula, is_formula
from app.formats.base import (
    BY_METRICS,
    CampaignContents,
    CampaignRow,
    JudgmentRow,
    MetricScoreRow,
    RaterRow,
    ShownOutputRow,
    VoidedJudgmentRow,
)

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

JUDGED_BY = ("da", "xsts")
NO_TASKS = "tasks that are no rater's yet"
NEUTRALIZED = "cells that a spreadsheet would take for formulas, with an apostrophe in front"
LONGEST_CELL = 32_767  # characters, limit of the format
NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, §2.2; CR would become a LF
REPLACED, CUT = "characters that a cell cannot hold: blanks instead", "texts that are too long for a cell: cut"
SCORE, FIRST_HIDDEN = 4, 5  # columns
HIDDEN = ("task", "item", "segment")
WIDTHS = {"A": 6, "B": 60, "C": 60, "D": 10}
BLOCK = 1 << 18
Address = tuple[str, int, int]
Scores = Mapping[tuple[str, str, int, str], float]


def write_workbook(contents: CampaignContents, lost: Counter[str]) -> Iterator[bytes]:
    """Write the workbook; data without a place in it is counted in `lost`."""
    from openpyxl import Workbook
    from openpyxl.workbook.protection import WorkbookProtection

    protocol, names, scores = _survey_contents(contents, lost)
    book = Workbook()
    book.remove(book.worksheets[0])
    book.security = WorkbookProtection(lockStructure=True)
    if protocol in JUDGED_BY:
        for rater, rows in groupby(contents.shown(), key=lambda row: row.rater):
            if rater is None:
                lost[NO_TASKS] += len({row.task for row in rows})
                continue
            _sheet(_add_sheet(book, names.get(rater, rater)), rows, protocol, scores, lost)
    if not book.worksheets:
        book.create_sheet("empty")["A1"] = "There are no tasks of raters who could work in a spreadsheet."
    with tempfile.TemporaryFile() as file:
        book.save(file)
        file.seek(0)
        while block := file.read(BLOCK):
            yield block


def _survey_contents(contents: CampaignContents, lost: Counter[str]) -> tuple[str, Mapping[str, str], Scores]:
    """Return the protocol, names of raters, and existing scores: the latest of each address."""
    protocol, names = "", {}
    latest_scores: dict[tuple[str, str, int, str], tuple[int, float]] = {}
    voided = set()
    for record in contents.records():
        if isinstance(record, CampaignRow):
            protocol = record.protocol or ""
        elif isinstance(record, RaterRow):
            names[record.key] = record.name
        elif isinstance(record, VoidedJudgmentRow):
            voided.add((record.task, record.item, record.position, record.rater))
        elif isinstance(record, JudgmentRow):
            score = record.payload.get("score")
            if protocol not in JUDGED_BY or record.position is None or not isinstance(score, int | float):
                lost["judgments that are not one number of a segment"] += 1
                continue
            address = record.task, record.item, record.position, record.rater
            lost["superseded revisions"] += address in latest_scores
            latest_scores[address] = max(latest_scores.get(address, (0, 0.0)), (record.revision or 1, float(score)))
        elif isinstance(record, MetricScoreRow):
            lost[BY_METRICS] += 1
        else:
            lost["what is known of systems, documents and texts beside what tasks show"] += 1
    if protocol not in JUDGED_BY:
        lost[f"tasks of {protocol or 'a protocol that nobody said'}: not by {' or '.join(JUDGED_BY)}"] += 1
    lost["voided judgments"] += len(voided & latest_scores.keys())
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]
    return protocol, names, {address: score for address, (_, score) in latest_scores.items() if address not in voided}


def _add_sheet(book: Workbook, name: str) -> Worksheet:
    """Add a sheet with the name of a rater, as far as sheet names allow."""
    plain = "".join(c if c.isprintable() and c not in "[]:*?/\\'" else "_" for c in name)[:24] or "rater"
    taken = {sheet.title.casefold() for sheet in book.worksheets}
    title, n = plain, 1
    while title.casefold() in taken:
        n += 1
        title = f"{plain} {n}"
    sheet: Worksheet = book.create_sheet(title)
    return sheet


def _sheet(sheet: Worksheet, rows: Iterable[ShownOutputRow], protocol: str, scores: Scores, lost: Counter[str]) -> None:
    from openpyxl.styles import Alignment, Font, Protection

    hides = protocols.get_protocol(protocol).hides_source
    heading = ("No.", "Text 1", "Text 2", "Score") if hides else ("No.", "Source", "Translation", "Score")
    _write(sheet, 1, (*heading, *HIDDEN), lost)
    last = 1
    for last, row in enumerate(rows, 2):
        texts = [row.source or "", row.text or ""]
        if row.side_order == 1:
            texts.reverse()
        score = scores.get((row.task_key, row.item, row.position, row.rater or ""))
        _write(sheet, last, (last - 1, *texts, score, row.task, row.item_position, row.position), lost)
        for column in (2, 3):
            sheet.cell(last, column).alignment = Alignment(wrap_text=True, vertical="top")
        sheet.cell(last, SCORE).protection = Protection(locked=False)
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    _guard(sheet, last, protocol)


def _write(sheet: Worksheet, number: int, values: Sequence[str | float | None], lost: Counter[str]) -> None:
    for column, value in enumerate(values, 1):
        cell = sheet.cell(number, column)
        if isinstance(value, str):
            lost[NEUTRALIZED] += is_formula(value)
            kept, n = NO_XML.subn(" ", escape_formula(value))
            lost[REPLACED] += n
            lost[CUT] += len(kept) > LONGEST_CELL
            cell.value = kept[:LONGEST_CELL]
            cell.data_type = "s"
        else:
            cell.value = value
    for what in (NEUTRALIZED, REPLACED, CUT):
        if not lost[what]:
            del lost[what]


def _guard(sheet: Worksheet, last: int, protocol: str) -> None:
    """Lock everything except the scores, restrict these to the scale, and hide the address columns."""
    from openpyxl.worksheet.datavalidation import DataValidation

    scale = protocols.get_protocol(protocol).scale
    if scale is not None:
        low, high = f"{scale.minimum:g}", f"{scale.maximum:g}"
        kind: Literal["whole", "decimal"] = "whole" if scale.step == 1 else "decimal"
        check = DataValidation(type=kind, operator="between", formula1=low, formula2=high, allow_blank=True)
        check.errorTitle, check.error = "Score", f"A number from {low} to {high}."
        check.showErrorMessage = True
        sheet.add_data_validation(check)
        check.add(f"D2:D{max(last, 2)}")
    for letter, width in WIDTHS.items():
        sheet.column_dimensions[letter].width = width
    for letter in "EFG":
        sheet.column_dimensions[letter].hidden = True
    sheet.freeze_panes = "A2"
    sheet.protection.sheet = True
    sheet.protection.formatColumns = True  # locked, so that hidden columns stay hidden
