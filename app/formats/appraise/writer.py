"""Write `appraise`: the contents of tasks as batches (JSON), and answers as results (CSV, as `esa` writes them).

A task is a batch; without tasks, a document with all its outputs is one. Items are in the order in which they are
shown, segment by segment. Degraded copies are BAD, references in place of an output REF, repeats CHK, each with the
text that is shown. Line ends in texts become `<br>`, which Appraise counts as one character. The `documentID` of a copy
has a mark by which its results are identified.

Source: Examples/MQM+ESA in AppraiseDev/Appraise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from app.formats.appraise.batches import OURS
from app.formats.appraise.documents_as_tasks import list_outputs_by_document
from app.formats.base import CampaignContents, JudgmentRow, OutputRow, RaterRow, SegmentRow, ShownOutputRow
from app.formats.esa import writer as _esa_write
from app.formats.esa.names import EsaNamesByKey
from app.formats.esa.writer import PREFIX, TYPES
from app.formats.kit.references_judged import list_judgment_systems_or_reference
from app.formats.kit.strict_json import canonical_json

BREAK = "<br>"


def write_file_tree(contents: CampaignContents, lost: Counter[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield `batches.json` and `results.csv`; data without a place in them is counted in `lost`."""
    yield "batches.json", _batches(contents, lost)
    results = Counter[str]()
    yield "results.csv", _esa_write.write(contents.records(), results)
    for what, n in results.items():
        if what not in ("source texts", "texts of outputs"):  # batches contain them
            lost[what] = max(lost[what], n)
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _batches(contents: CampaignContents, lost: Counter[str]) -> Iterator[bytes]:
    names = _names(contents, lost)
    yield b"["
    between = "\n"
    shown = contents.shown()
    first = next(shown, None)
    of_tasks = list_outputs_by_document(contents) if first is None else chain((first,), shown)
    for number, (_, rows) in enumerate(groupby(of_tasks, key=lambda row: row.task_key), 1):
        items = [_item(n, row, names, lost) for n, row in enumerate(_showable(rows, lost), 1)]
        if items:
            yield f"{between}{canonical_json({'items': items, 'task': _task(number, len(items), names)})}".encode()
            between = ",\n"
    yield b"\n]\n"
    lost.update(names.lost)


def _names(contents: CampaignContents, lost: Counter[str]) -> EsaNamesByKey:
    """Collect the names of systems and documents; the items contain the texts."""
    names = EsaNamesByKey(Counter())
    for record in contents.records():
        if isinstance(record, OutputRow):
            lost["errors shown with outputs"] += record.prefill is not None
        elif isinstance(record, SegmentRow):
            lost["references and notes of segments"] += bool(record.references or record.meta)
        elif not isinstance(record, JudgmentRow | RaterRow):
            names.add_record(record)
    return names


def _showable(rows: Iterable[ShownOutputRow], lost: Counter[str]) -> Iterator[ShownOutputRow]:
    for row in rows:
        if row.role not in TYPES:
            lost[f"items of the kind {row.role}"] += 1
        elif row.text is None or row.source is None:
            lost["items whose texts are unknown"] += 1
        else:
            yield row


def _task(number: int, size: int, names: EsaNamesByKey) -> dict[str, object]:
    source, goal = names.languages()
    return {
        "batchNo": number,
        "batchSize": size,
        "randomSeed": 0,
        "requiredAnnotations": 1,
        "sourceLanguage": source,
        "targetLanguage": goal,
    }


def _item(number: int, row: ShownOutputRow, names: EsaNamesByKey, lost: Counter[str]) -> dict[str, object]:
    systems = sorted(names.system_name(key) for key in list_judgment_systems_or_reference(row))
    document = f"{names.document_name(row.document)}#{systems[0]}"
    if row.role in ("degraded", "reference"):
        document = f"{document}#{'bad' if row.role == 'degraded' else 'ref'}{row.item_position}"
    elif row.role == "repeat":
        lost["that an item repeats another of its task"] += 1
    return {
        "documentID": document,
        "isCompleteDocument": False,
        "itemID": number,
        "itemType": TYPES[row.role],
        "mqm": [],
        "sourceID": OURS,
        "sourceText": _convert_line_ends(row.source or "", lost),
        "targetID": "+".join(f"{PREFIX}{system}" for system in systems),
        "targetText": _convert_line_ends(row.text or "", lost),
        "_item": f"{row.document}:{row.position}",
    }


def _convert_line_ends(text: str, lost: Counter[str]) -> str:
    """Convert line ends as Appraise does; a `<br>` that is in the text already will be read as a line end."""
    lost["<br> that stands in a text"] += BREAK in text
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", BREAK)
