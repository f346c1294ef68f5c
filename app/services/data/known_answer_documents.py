"""Documents with known answers, stored one by one or imported: tutorials and attention checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from app.domain.attention_checks import KIND as ATTENTION
from app.domain.errors import Invalid, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.people import tutorials
from app.services.people.known_answers import KnownAnswerSegment
from app.services.tasks.attention_checks import is_attention_check_meta_valid, list_attention_check_faults
from app.storage.db import Session
from app.storage.imports import known_answer_documents

MOST_PLACES = 100
_FAULTS: Mapping[str, tuple[str, Callable[[CampaignInfo, Sequence[KnownAnswerSegment]], Iterator[Place]]]] = {
    tutorials.NAME: ("the tutorial is not valid", tutorials.list_tutorial_faults),
    ATTENTION: ("the attention check is not valid", list_attention_check_faults),
}
KINDS = tuple(_FAULTS)


def check_known_answers(campaign: CampaignInfo, kind: str, segments: Sequence[KnownAnswerSegment]) -> None:
    """Raise Invalid, which names each fault, if the segments of a document of that kind are not valid."""
    title, list_faults = _FAULTS[kind]
    faults = [Place(("body", "segments", *place.loc), place.msg) for place in list_faults(campaign, segments)]
    if faults:
        raise Invalid(title, places=tuple(faults[:MOST_PLACES]))


def check_known_answers_and_count_unfit(session: Session, campaign_id: int, campaign: CampaignInfo) -> int:
    """Count imported documents whose known answers do not fit the protocol and are marked as unfit.

    Earlier versions accepted what this one refuses, and a campaign's export must be importable. Call this after the
    merge. Raises Invalid, which names file and line, for other documents whose known answers are not valid.
    """
    rows = known_answer_documents.load_stored_segments_of_staged_documents(session, campaign_id, list(KINDS))
    faults: list[Place] = []
    unfit = 0
    for (kind, _), group in groupby(rows, key=_by_document):
        segments = list(group)
        wrong = _list_staged_faults(campaign, kind, segments)
        if not segments[0].unfit:
            faults += wrong
        elif kind == ATTENTION and not all(is_attention_check_meta_valid(row.meta) for row in segments):
            faults += wrong  # no earlier version accepted this
        else:
            unfit += any(True for _ in wrong)
    if faults:
        raise Invalid("known answers are not valid; nothing was stored", places=tuple(faults[:MOST_PLACES]))
    return unfit


def list_documents_with_unfit_known_answers(
    session: Session, campaign_id: int, campaign: CampaignInfo
) -> frozenset[str]:
    """Return the keys of documents whose known answers do not fit the campaign's protocol."""
    rows = known_answer_documents.load_segments_of_document_kinds(session, campaign_id, list(KINDS))
    return frozenset(
        key
        for (kind, key), group in groupby(rows, key=_by_document)
        if any(_FAULTS[kind][1](campaign, [KnownAnswerSegment(row.source, row.meta) for row in group]))
    )


def _by_document(row: known_answer_documents.Row) -> tuple[str, str]:
    return row.kind, row.document


def _list_staged_faults(
    campaign: CampaignInfo, kind: str, rows: Sequence[known_answer_documents.Row]
) -> Iterator[Place]:
    segments = [KnownAnswerSegment(row.source, row.meta) for row in rows]
    for place in _FAULTS[kind][1](campaign, segments):
        row = rows[place.loc[0] if place.loc and isinstance(place.loc[0], int) else 0]
        where = (row.file, row.line) if row.file is not None else (row.document, row.position)
        yield Place((*where, *place.loc[1:]), place.msg)
