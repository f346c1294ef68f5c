"""Write `wmt-da`: the twelve columns from judgments of direct assessment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from app.formats.base import CampaignRow, JudgmentRow, Record
from app.formats.kit.judgments_to_write import RecordsToWrite, gather_records_to_write
from app.formats.kit.references_judged import NO_SYSTEM, list_judgment_systems_or_reference
from app.formats.wmt_da.rows import COLUMNS, ROLES, UNKNOWN

_TYPES = {role: kind for kind, role in ROLES.items()}


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
    """Write one row per judgment and system, in canonical order; data without a column is counted in `lost`."""
    lost = Counter() if lost is None else lost
    yield _line(COLUMNS)
    with gather_records_to_write(records, lost) as gathered:
        if gathered.campaign is not None and gathered.campaign.options:
            lost["options of the campaign: say again whether scores are standardised"] += 1
        for judged in gathered.iterate_judgments():
            yield from _rows(judged.judgment, gathered, lost)


def _rows(judgment: JudgmentRow, names: RecordsToWrite, lost: Counter[str]) -> Iterator[bytes]:
    kind, score = _TYPES.get(judgment.role), judgment.payload.get("score")
    by = judgment.payload.get("protocol", "da")
    if by != "da" or kind is None or isinstance(score, bool) or not isinstance(score, int | float):
        lost["judgments that are no direct assessments"] += 1
        return
    _count_losses(judgment, lost)
    worker = names.raters.get(judgment.rater, judgment.rater)
    document = names.documents.get(judgment.document, judgment.document)
    for key in list_judgment_systems_or_reference(judgment):
        system = names.systems.get(key, key)
        cells = _cells(judgment, names.campaign, system, worker, document, kind, float(score))
        yield _line(_cell(cell, lost) for cell in cells)


def _line(cells: Iterable[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


def _count_losses(judgment: JudgmentRow, lost: Counter[str]) -> None:
    if not judgment.systems:
        lost[NO_SYSTEM] += 1
    if not judgment.accepted:
        lost["that a task was rejected"] += 1
    if judgment.started_at or judgment.submitted_at:
        lost["times of judgments"] += 1
    if len(judgment.systems) > 1:
        lost["that identical outputs were judged once"] += 1


def _cells(
    judgment: JudgmentRow,
    campaign: CampaignRow | None,
    system: str,
    worker: str,
    document: str,
    kind: str,
    score: float,
) -> list[str]:
    task, item, meta = judgment.task_meta or {}, judgment.item_meta or {}, judgment.meta or {}
    bare = campaign is not None and campaign.documents_known is False and document == UNKNOWN
    sid = str(judgment.position) if bare else f"{document}.{judgment.position}"
    return [
        _text(task, "HITId", judgment.task),
        worker,
        (campaign and campaign.source_language) or "NA",
        (campaign and campaign.target_language) or "NA",
        _text(item, "item", "ad"),
        _text(item, "hit", "NA"),
        system,
        _text(item, "rid", judgment.item),
        kind,
        _text(meta, "sid", sid),
        repr(int(score) if score.is_integer() else score),
        _text(meta, "seconds", "NA"),
    ]


def _text(meta: Mapping[str, object], key: str, otherwise: str) -> str:
    value = meta.get(key)
    return otherwise if value is None or value == "" else str(value)


def _cell(text: str, lost: Counter[str]) -> str:
    """Return a cell, in double quotes if it has blanks; characters that would end it are replaced and counted."""
    if '"' in text or "\t" in text or "\n" in text or "\r" in text:
        lost["characters that a cell cannot hold"] += 1
        text = text.translate({ord('"'): "'", 9: " ", 10: " ", 13: " "})
    return f'"{text}"' if not text.isascii() or any(c.isspace() for c in text) else text
