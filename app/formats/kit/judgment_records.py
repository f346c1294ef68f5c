"""Records from sorted rows: declarations if more than a key is known, texts, judgments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from operator import attrgetter
from typing import Literal

from app.domain.keys import convert_name_to_key
from app.formats.base import (
    DocumentRecord,
    JudgmentRow,
    OutputRow,
    RaterRow,
    ReadLog,
    Record,
    RoleName,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.names import KeyAssigner
from app.formats.kit.sortable_rows import TEXT, SortableRow, unpack_unix_time

Again = Literal["revision", "repeat"]
Payload = Callable[[SortableRow, str | None], Mapping[str, object]]
MOST_ALIKE = 1000


class JudgmentTableRecordMaker:
    """Makes the records of one campaign's rows.

    payload: makes the payload of a row, given the text that was shown, if known; raises ValueError. again: the meaning
    of a second answer of one rater to one output: a re-submission, or a separate rating.
    """

    def __init__(self, log: ReadLog, payload: Payload, again: Again) -> None:
        self._log, self._payload, self._again = log, payload, again
        self._systems, self._raters = KeyAssigner("system", log), KeyAssigner("rater", log)
        self._documents = KeyAssigner("document", log)
        self._told: set[str] = set()
        self._tasks, self._items = KeyAssigner("task", log, report=False), KeyAssigner("item", log, report=False)

    def make_records(self, rows: Iterable[SortableRow]) -> Iterator[Record]:
        """Yield all records of sorted rows."""
        for _, document in groupby(rows, key=attrgetter("document")):
            first, all_rows = _peek_first_row(document)
            key, _ = self._documents.assign_key(first.document)
            if key != first.document or first.domain:
                yield DocumentRecord(first.line_location, key, first.document, domain=first.domain or None)
            for _, segment in groupby(all_rows, key=attrgetter("position")):
                yield from self._segment(key, segment)

    def _segment(self, document: str, rows: Iterator[SortableRow]) -> Iterator[Record]:
        source = ""
        for _, output in groupby(rows, key=attrgetter("system")):
            target = ""
            for _, answers in groupby(output, key=attrgetter("judgment_identity")):
                distinct_rows = self._distinct_answers(answers)
                first = distinct_rows[0]
                if first.source not in ("", source) and int(first.position):
                    source = first.source
                    yield SegmentRow(first.line_location, document, int(first.position), source[1:])
                if first.target not in ("", target) and int(first.position):
                    target = first.target
                    yield from self._outputs(first, document)
                if first.kind != TEXT:
                    yield from self._judgments(distinct_rows, document, target)

    def _distinct_answers(self, rows: Iterator[SortableRow]) -> list[SortableRow]:
        """Return the different answers at one address, as many as are allowed; for texts only the first."""
        distinct_rows: dict[tuple[str, ...], SortableRow] = {}
        for row in rows:
            if distinct_rows.setdefault(row.answer, row) is not row:
                self._log.repaired["rows that stand twice alike"] += 1
            elif len(distinct_rows) > MOST_ALIKE:
                self._log.record_bad_line(
                    row.line_location, f"more than {MOST_ALIKE} answers of one rater to one output"
                )
                distinct_rows.popitem()
        return list(distinct_rows.values())

    def _outputs(self, row: SortableRow, document: str) -> Iterator[Record]:
        for name in row.system.split("+"):
            yield from self._system(row, name)
            yield OutputRow(
                row.line_location, self._systems.assign_key(name)[0], document, int(row.position), row.target[1:]
            )

    def _system(self, row: SortableRow, name: str) -> Iterator[Record]:
        key, is_new = self._systems.assign_key(name)
        if is_new:
            yield SystemRecord(row.line_location, key, name)

    def _judgments(self, rows: list[SortableRow], document: str, target: str) -> Iterator[Record]:
        first = rows[0]
        rater, _ = self._raters.assign_key(first.rater)
        for name in first.system.split("+"):
            yield from self._system(first, name)
        if len(rows) > 1:
            what = "re-submissions: the latest counts" if self._again == "revision" else "repeats: ratings of their own"
            self._log.notes[what] += len(rows) - 1
        for n, row in enumerate(rows, 1):
            if n > 1 and self._again == "revision" and row.ended == rows[n - 2].ended:
                self._log.record_bad_line(
                    row.line_location, f"answers otherwise than line {rows[n - 2].line} of {row.file}, at the same time"
                )
                continue
            judgment = self._judgment(row, n, document, rater, target)
            if judgment is None:
                continue
            if rater not in self._told and (rater != row.rater or row.person):
                yield RaterRow(row.line_location, rater, row.rater, row.person or None)
            self._told.add(rater)
            yield judgment

    def _judgment(self, row: SortableRow, n: int, document: str, rater: str, target: str) -> JudgmentRow | None:
        shown = target[1:] if target and row.role != "degraded" else None
        try:
            payload = self._payload(row, shown)
        except ValueError as fault:
            self._log.record_bad_line(row.line_location, str(fault))
            return None
        again = n > 1 and self._again == "repeat"
        plain = f"{row.system}:{row.document}"
        name = f"{plain}:{row.presented}" if row.presented else plain
        role: RoleName = "repeat" if again and row.role == "rating" else row.role  # type: ignore[assignment]  # as sorted
        return JudgmentRow(
            row.line_location,
            self._tasks.assign_key(row.task)[0],
            self._items.assign_key(f"{name}:{n}" if again else name)[0],
            tuple(sorted(self._systems.assign_key(system)[0] for system in row.system.split("+"))),
            document,
            int(row.position) or None,
            rater,
            payload,
            role=role,
            started_at=unpack_unix_time(row.started),
            submitted_at=unpack_unix_time(row.ended),
            item_meta={"of": convert_name_to_key(plain)} if row.presented or again else None,
            meta=json.loads(row.meta) if row.meta else None,
        )


def _peek_first_row(rows: Iterator[SortableRow]) -> tuple[SortableRow, Iterator[SortableRow]]:
    """Return the first row, and an iterator of all rows including it."""
    first = next(rows)
    return first, chain((first,), rows)
