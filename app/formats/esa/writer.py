"""Write `esa`: the columns of Appraise from judgments with marked errors.

Documents of an account follow each other, and each is numbered as its segments are, because readers derive the position
of a segment from that. Several answers to one output other than re-submissions cannot be distinguished, and are
counted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

from app.domain.keys import convert_name_to_key
from app.formats.base import JudgmentRow, Record
from app.formats.esa.names import EsaNamesByKey
from app.formats.kit.appraise_spans import format_appraise_spans
from app.formats.kit.judgments_to_write import NOWHERE
from app.formats.kit.records import decode_record, encode_record, make_record_identity_key
from app.formats.kit.references_judged import NO_SYSTEM, list_judgment_systems_or_reference
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import canonical_json

TYPES = {"rating": "TGT", "degraded": "BAD", "reference": "REF", "repeat": "CHK"}
PROTOCOLS = ("esa", "mqm")
PREFIX = "plumbline."
WHOLE = 0
_COPY = re.compile(r"(bad|ref)[A-Za-z0-9._-]*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PLACED = "plumbline"  # in the column `batch` if the column `item` holds the position within the document
Shown = Sequence[str]


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
    """Write one row per answer, including re-submissions; data without a column is counted in `lost`."""
    lost = Counter() if lost is None else lost
    with ExternalSorter() as judgments, ExternalSorter() as rows:
        names = EsaNamesByKey(lost)
        for record in records:
            if isinstance(record, JudgmentRow):
                judgments.add(f"{make_record_identity_key(record)}\0\0{encode_record(record)}".encode())
            else:
                names.add_record(record)
        shown = _Places()
        for row in _rows(judgments, names, lost):
            shown.add(row)
            rows.add(row)
        yield from _number_documents(rows, lost, placed=shown.in_part())
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _rows(judgments: Iterable[bytes], names: EsaNamesByKey, lost: Counter[str]) -> Iterator[bytes]:
    """Yield the rows of all answers: every revision if times distinguish them, otherwise the latest."""
    split = (entry.decode().rpartition("\0\0") for entry in judgments)
    for _, group in groupby(split, key=lambda parts: parts[0].split("\0")[1:5]):
        answer_records = [decode_record(json.loads(text), NOWHERE) for _, _, text in group]
        revisions = [record for record in answer_records if isinstance(record, JudgmentRow)]
        last = revisions[-1]
        if not _writable(last, names, lost):
            continue
        times = [one.submitted_at for one in revisions if one.submitted_at is not None]
        if len(times) < len(revisions) or any(a >= b for a, b in pairwise(times)):
            lost["superseded revisions"] += len(revisions) - 1
            revisions = [last]
        for revision in revisions:
            yield _row(revision, _answer_key(last, names), names, lost)


def _writable(judgment: JudgmentRow, names: EsaNamesByKey, lost: Counter[str]) -> bool:
    if judgment.payload.get("protocol") not in PROTOCOLS:
        lost["judgments that are neither ESA nor MQM"] += 1
        return False
    if judgment.role not in TYPES:
        lost[f"judgments of the kind {judgment.role}"] += 1
        return False
    if (judgment.task, judgment.item, judgment.position, judgment.rater) in names.voided:
        lost["voided judgments"] += 1
        return False
    lost["tasks of judgments"] += judgment.task != judgment.rater
    lost["that a task was rejected"] += not judgment.accepted
    lost[NO_SYSTEM] += not judgment.systems
    lost["what else is kept with judgments"] += bool(set(judgment.meta or {}) - {"itemID"})
    return True


def _answer_key(judgment: JudgmentRow, names: EsaNamesByKey) -> tuple[str, ...]:
    """Return what identifies an answer: account, target, type, document with its marks, and padded position."""
    systems = sorted(names.system_name(key) for key in list_judgment_systems_or_reference(judgment))
    name = f"{names.document_name(judgment.document)}#{systems[0]}"
    copy = _copy(judgment, f"{'+'.join(systems)}:{names.document_name(judgment.document)}")
    if copy:
        name = f"{name}#{copy}"
    targets = "+".join(f"{PREFIX}{system}" for system in systems)
    place = f"{judgment.position or WHOLE:010d}"
    return names.rater_name(judgment.rater), targets, TYPES[judgment.role], name, place


def _copy(judgment: JudgmentRow, plain: str) -> str:
    """Return the mark that distinguishes a copy from others, empty if its type is enough.

    plain: readers' name of the original, from which they make the key of the copy.
    """
    of = str((judgment.item_meta or {}).get("of", ""))
    candidates = [judgment.item.removeprefix(f"{of}:"), judgment.item.rpartition("~")[0].rpartition(":")[2]]
    for mark in candidates if of else ():
        if judgment.item in (f"{of}:{mark}", convert_name_to_key(f"{plain}:{mark}")) and mark == mark.casefold():
            if _COPY.fullmatch(mark):
                return mark
            if mark == judgment.role:
                return ""
    if judgment.role != "degraded":
        return ""
    return f"bad-{re.sub(r'[^a-z0-9._-]', '', judgment.item.casefold())}"[:100]


def _row(judgment: JudgmentRow, where: tuple[str, ...], names: EsaNamesByKey, lost: Counter[str]) -> bytes:
    """Return the row without its number: fields joined by NUL that sort in the order of the file."""
    score, kept = judgment.payload.get("score", 0), (judgment.meta or {}).get("itemID")
    number = str(kept) if isinstance(kept, str | int) and str(kept).isascii() and str(kept).isdigit() else ""
    cells = (
        *names.languages(),
        repr(int(score)) if isinstance(score, float) and score.is_integer() else str(score),
        canonical_json(format_appraise_spans(judgment.payload.get("errors"), lost)),
        _seconds(judgment.started_at),
        _seconds(judgment.submitted_at),
    )
    account, target, kind, name, place = where
    order = f"{judgment.task}:{judgment.item}", f"{_microseconds(judgment.submitted_at or _EPOCH):017d}"
    document = name.partition("#")[0]
    return "\0".join((account, document, target, kind, name, place, *order, number[:9], *cells)).encode()


def _seconds(time: datetime | None) -> str:
    """Format Unix seconds, with as many digits as needed.

    >>> _seconds(datetime(1970, 1, 1, 0, 1, 0, 500_000, tzinfo=UTC))
    '60.5'
    """
    if time is None:
        return ""
    whole, rest = divmod(_microseconds(time), 1_000_000)
    return f"{whole}.{f'{rest:06d}'.rstrip('0') or '0'}"


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)


class _Places:
    """The segments of its document that each presentation shows."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ...], set[int]] = {}

    def add(self, row: bytes) -> None:
        """Add a row."""
        account, document, *shown, place = row.decode().split("\0", 6)[:6]
        if int(place) != WHOLE:
            self._shown.setdefault((document, account, *shown), set()).add(int(place))

    def in_part(self) -> bool:
        """Return whether a presentation shows only part of a document, so that runs do not identify segments."""
        longest: dict[str, int] = {}
        for (document, *_), positions in self._shown.items():
            longest[document] = max(longest.get(document, 0), *positions)
        return any(len(positions) < longest[document] for (document, *_), positions in self._shown.items())


def _number_documents(rows: Iterable[bytes], lost: Counter[str], *, placed: bool) -> Iterator[bytes]:
    """Yield the lines of the file; each document of an account is numbered after the previous one.

    placed: whether to write positions.
    """
    split = (row.decode().split("\0") for row in rows)
    for _, account in groupby(split, key=lambda row: row[0]):
        free = 1
        for _, shown in groupby(account, key=lambda row: row[1:5]):
            distinct_rows = _told_apart(shown, lost)
            first = _first_segment_number(distinct_rows, free)
            for row in distinct_rows:
                place = int(row[5]) or max(int(other[5]) for other in distinct_rows) + 1
                free = max(free, first + place)
                yield _line(row, first + place - 1, placed=placed)


def _told_apart(shown: Iterable[Shown], lost: Counter[str]) -> list[Shown]:
    """Return the rows about one presentation; readers would take further items or tasks about it for re-submissions."""
    distinct_rows: list[Shown] = []
    for _, same in groupby(shown, key=lambda row: row[5]):
        rows = list(same)
        kept = [row for row in rows if row[6] == rows[0][6]]
        lost["answers of one rater to one output in another task"] += len(rows) - len(kept)
        distinct_rows += kept
    return distinct_rows


def _first_segment_number(rows: Sequence[Shown], free: int) -> int:
    """Return the number of the first segment: that of the imported file, or else the next free one."""
    kept = {int(row[8]) + 1 - int(row[5]) if row[8] else 0 for row in rows if int(row[5])}
    first = kept.pop() if len(kept) == 1 else 0
    return first if first > 0 else free


def _line(row: Shown, number: int, *, placed: bool) -> bytes:
    account, _, target, kind, name, place, _, _, _, source, goal, score, marks, started, ended = row
    line = io.StringIO()
    whole = str(int(place) == WHOLE)
    cells = (account, target, number, kind, source, goal, score, name, whole, marks, started, ended)
    csv.writer(line, lineterminator="\n").writerow((*cells, PLACED, int(place)) if placed else cells)
    return line.getvalue().encode()
