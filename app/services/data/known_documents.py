"""Documents with known answers, put one by one or imported: tutorials and attention checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice

from app.domain.attention import KIND as ATTENTION
from app.domain.errors import Invalid, Place
from app.reports.source.campaign import CampaignInfo
from app.services.people import tutorials
from app.services.people.known_answers import KnownSegment
from app.services.tasks.attention import list_attention_faults
from app.storage.db import Session
from app.storage.imports import known_documents

MOST_PLACES = 100
_FAULTS: Mapping[str, tuple[str, Callable[[CampaignInfo, Sequence[KnownSegment]], Iterator[Place]]]] = {
    tutorials.NAME: ("the tutorial is not valid", tutorials.list_tutorial_faults),
    ATTENTION: ("the attention check is not valid", list_attention_faults),
}
KINDS = tuple(_FAULTS)


def check_known_document(campaign: CampaignInfo, kind: str, segments: Sequence[KnownSegment]) -> None:
    """Raise Invalid, naming each place, unless the segments of a document of that kind say what they should."""
    title, list_faults = _FAULTS[kind]
    faults = [Place(("body", "segments", *place.loc), place.msg) for place in list_faults(campaign, segments)]
    if faults:
        raise Invalid(title, places=tuple(faults[:MOST_PLACES]))


def check_staged_known_documents(session: Session, campaign_id: int, campaign: CampaignInfo) -> None:
    """Raise Invalid, naming file and line, unless what an import says in documents with known answers can be kept.

    Once it is merged.
    """
    rows = known_documents.load_staged_known_segments(session, campaign_id, list(KINDS))
    faults = (
        place
        for (kind, _), segments in groupby(rows, key=lambda row: (row.kind, row.document))
        for place in _list_staged_faults(campaign, kind, list(segments))
    )
    places = tuple(islice(faults, MOST_PLACES))
    if places:
        raise Invalid("known answers are not valid; nothing was stored", places=places)


def _list_staged_faults(campaign: CampaignInfo, kind: str, rows: Sequence[known_documents.Row]) -> Iterator[Place]:
    segments = [KnownSegment(row.source, row.meta) for row in rows]
    for place in _FAULTS[kind][1](campaign, segments):
        row = rows[place.loc[0] if place.loc and isinstance(place.loc[0], int) else 0]
        where = (row.file, row.line) if row.file is not None else (row.document, row.position)
        yield Place((*where, *place.loc[1:]), place.msg)
