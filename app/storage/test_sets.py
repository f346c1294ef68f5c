"""Systems, documents, segments, references, outputs and prefilled spans, written one object at a time.

Imports use staging tables; this module stores single objects by key. A text that was judged, or that a task shows, does
not change: texts are deleted and stored again only as long as no rater has seen them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.errors import NotFound
from app.storage.db import Session
from app.storage.query_planning import execute_full_scan
from app.storage.tables import (
    documents,
    item_credits,
    items,
    outputs,
    reference_texts,
    segments,
    systems,
    variants,
)

Row = sa.Row[Any]
PREFILL = "prefill"
DEFAULT_PREFILL = "default"


class SystemNotFound(NotFound):
    """There is no such system in this campaign."""


class DocumentNotFound(NotFound):
    """There is no such document in this campaign."""


def find_system(session: Session, campaign_id: int, key: str) -> Row | None:
    """Return a system by its key."""
    return _load_row(session, systems, campaign_id, key)


def find_document(session: Session, campaign_id: int, key: str) -> Row | None:
    """Return a document by its key."""
    return _load_row(session, documents, campaign_id, key)


def load_systems_page(session: Session, campaign_id: int, *, after: str | None, limit: int) -> list[Row]:
    """Return systems by key after `after`."""
    return _page(session, systems, campaign_id, after, limit)


def load_documents_page(
    session: Session, campaign_id: int, *, kind: str | None = None, after: str | None, limit: int
) -> list[Row]:
    """Return documents by key after `after`. kind: only this kind."""
    return _page(session, documents, campaign_id, after, limit, *(() if kind is None else (documents.c.kind == kind,)))


def load_known_answer_documents(session: Session, campaign_id: int) -> list[Row]:
    """Return the documents outside the test set, by key: those of the tutorial and of attention checks."""
    kinds = documents.c.kind.in_(("tutorial", "attention"))
    query = sa.select(documents).where(documents.c.campaign_id == campaign_id, kinds)
    return list(session.execute(query.order_by(documents.c.key.collate("C"))))


def load_system_documents_page(
    session: Session, campaign_id: int, system_id: int, *, after: str | None, limit: int
) -> list[Row]:
    """Return documents with outputs of a system, by key after `after`, with numbers of outputs and segments."""
    # First sort the documents (OFFSET 0 keeps the planner from doing so later), then test them one by one until the
    # page is full. Join by keys: with a constant campaign or system, statistics that do not know it would make the
    # query read all of its outputs for each document.
    key = documents.c.key.collate("C")
    in_order = sa.select(documents).where(documents.c.campaign_id == campaign_id).order_by(key).offset(0)
    ordered = (in_order if after is None else in_order.where(key > after)).subquery("ordered")
    here = sa.and_(
        outputs.c.campaign_id == segments.c.campaign_id,
        outputs.c.segment_id == segments.c.id,
        outputs.c.system_id == systems.c.id,
    )
    of_document = sa.and_(segments.c.campaign_id == ordered.c.campaign_id, segments.c.document_id == ordered.c.id)
    both = segments.join(outputs, here)
    theirs = sa.select(segments.c.id).select_from(both).where(of_document)
    counted = sa.select(sa.func.count())
    written = counted.select_from(both).where(of_document, outputs.c.text.is_not(None))
    query = (
        sa.select(
            ordered.c.key.label("document"),
            counted.select_from(segments).where(of_document).scalar_subquery().label("segments"),
            written.scalar_subquery().label("outputs"),
        )
        .select_from(ordered.join(systems, systems.c.campaign_id == ordered.c.campaign_id))
        .where(systems.c.id == system_id)
        .where(theirs.limit(1).scalar_subquery().is_not(None))
        .order_by(ordered.c.key.collate("C"))
        .limit(limit)
    )
    return list(session.execute(query))


def upsert_system_or_document(
    session: Session, table: sa.Table, campaign_id: int, key: str, values: Mapping[str, object]
) -> int:
    """Store a system or document, or overwrite its fields; return its id."""
    statement = insert(table).values(campaign_id=campaign_id, key=key, **values)
    stored = statement.on_conflict_do_update(index_elements=["campaign_id", "key"], set_=dict(values))
    return int(session.execute(stored.returning(table.c.id)).scalar_one())


def load_segments(session: Session, campaign_id: int, document_id: int) -> list[Row]:
    """Return the segments of a document in order, with their references by name."""
    named = (
        sa.select(sa.func.jsonb_object_agg(reference_texts.c.name, reference_texts.c.text))
        .where(reference_texts.c.campaign_id == campaign_id, reference_texts.c.segment_id == segments.c.id)
        .scalar_subquery()
    )
    columns = (segments.c.id, segments.c.position, segments.c.source, segments.c.meta)
    query = sa.select(*columns, sa.func.coalesce(named, sa.text("'{}'::jsonb")).label("references"))
    mine = (segments.c.campaign_id == campaign_id, segments.c.document_id == document_id)
    return list(session.execute(query.where(*mine).order_by(segments.c.position)))


def replace_segments(
    session: Session, campaign_id: int, document_id: int, texts: Sequence[tuple[str | None, Mapping[str, str], object]]
) -> None:
    """Replace the segments of a document; texts: (source, references by name, meta) from position 1."""
    mine = (segments.c.campaign_id == campaign_id, segments.c.document_id == document_id)
    ids = sa.select(segments.c.id).where(*mine)
    delete_references = sa.delete(reference_texts).where(reference_texts.c.campaign_id == campaign_id)
    session.execute(delete_references.where(reference_texts.c.segment_id.in_(ids)))
    session.execute(sa.delete(segments).where(*mine))
    keys = {"campaign_id": campaign_id, "document_id": document_id}
    rows = [{**keys, "position": n, "source": source, "meta": meta} for n, (source, _, meta) in enumerate(texts, 1)]
    if rows:
        session.execute(sa.insert(segments), rows)
    stored = {row.position: row.id for row in load_segments(session, campaign_id, document_id)}
    named = [
        {"campaign_id": campaign_id, "segment_id": stored[n], "name": name, "text": text}
        for n, (_, references, _) in enumerate(texts, 1)
        for name, text in references.items()
    ]
    if named:
        session.execute(sa.insert(reference_texts), named)


def load_outputs_of_system_on_document(
    session: Session, campaign_id: int, system_id: int, document_id: int
) -> list[Row]:
    """Return a system's outputs on a document, one row per segment in order; text is None if an output is missing."""
    spans = variants.c.spans.label("prefill")
    query = (
        sa.select(
            *(segments.c.id.label("segment_id"), outputs.c.id, outputs.c.text, outputs.c.sha256, outputs.c.alignment),
            spans,
        )
        .select_from(segments)
        .outerjoin(
            outputs,
            sa.and_(
                outputs.c.campaign_id == campaign_id,
                outputs.c.segment_id == segments.c.id,
                outputs.c.system_id == system_id,
            ),
        )
        .outerjoin(
            variants,
            sa.and_(
                variants.c.campaign_id == campaign_id,
                variants.c.output_id == outputs.c.id,
                variants.c.kind == PREFILL,
                variants.c.name == DEFAULT_PREFILL,
            ),
        )
    )
    mine = (segments.c.campaign_id == campaign_id, segments.c.document_id == document_id)
    return list(session.execute(query.where(*mine).order_by(segments.c.position)))


def replace_outputs(
    session: Session,
    campaign_id: int,
    system_id: int,
    texts: Sequence[tuple[int, str | None, Sequence[Mapping[str, object]] | None, str | None]],
) -> None:
    """Replace a system's outputs; texts: (segment id, text or None, prefilled spans or None, alignment or None)."""
    delete_outputs_of_system_on_segments(session, campaign_id, system_id, [segment_id for segment_id, *_ in texts])
    there = [(n, text, alignment) for n, text, _, alignment in texts if text is not None]
    insert_outputs(session, campaign_id, system_id, there)
    query = sa.select(outputs.c.segment_id, outputs.c.id).where(
        outputs.c.campaign_id == campaign_id, outputs.c.system_id == system_id
    )
    stored = {row.segment_id: row.id for row in session.execute(query)}
    filled = [
        {
            "campaign_id": campaign_id,
            "output_id": stored[segment_id],
            "kind": PREFILL,
            "name": DEFAULT_PREFILL,
            "spans": list(spans),
        }
        for segment_id, text, spans, _ in texts
        if text is not None and spans is not None
    ]
    if filled:
        session.execute(sa.insert(variants), filled)


def insert_outputs(
    session: Session, campaign_id: int, system_id: int, texts: Sequence[tuple[int, str, str | None]]
) -> None:
    """Store outputs that do not exist yet; texts: (segment id, text, alignment or None)."""
    keys = {"campaign_id": campaign_id, "system_id": system_id}
    rows = [
        {
            **keys,
            "segment_id": n,
            "text": text,
            "sha256": hashlib.sha256(text.encode()).digest(),
            "alignment": alignment,
        }
        for n, text, alignment in texts
    ]
    if rows:
        session.execute(sa.insert(outputs), rows)


def delete_outputs_of_system_on_segments(
    session: Session, campaign_id: int, system_id: int, segment_ids: Sequence[int]
) -> None:
    """Delete outputs of a system, and their variants."""
    mine = (
        outputs.c.campaign_id == campaign_id,
        outputs.c.system_id == system_id,
        outputs.c.segment_id.in_(list(segment_ids)),
    )
    ids = sa.select(outputs.c.id).where(*mine)
    session.execute(sa.delete(variants).where(variants.c.campaign_id == campaign_id, variants.c.output_id.in_(ids)))
    session.execute(sa.delete(outputs).where(*mine))


def is_document_shown_in_task(
    session: Session, campaign_id: int, document_id: int, *, system_id: int | None = None
) -> bool:
    """Tell whether a task shows a document, or a system's outputs on it."""
    query = sa.select(items.c.id).where(items.c.campaign_id == campaign_id, items.c.document_id == document_id)
    if system_id is not None:
        credited = sa.select(item_credits.c.item_id).where(
            item_credits.c.campaign_id == campaign_id, item_credits.c.system_id == system_id
        )
        query = query.where(items.c.id.in_(credited))
    return session.execute(query.limit(1)).first() is not None


def has_document_outputs(session: Session, campaign_id: int, document_id: int) -> bool:
    """Tell whether any system has an output on a document."""
    query = (
        sa.select(outputs.c.id)
        .join(segments, sa.and_(segments.c.campaign_id == campaign_id, segments.c.id == outputs.c.segment_id))
        .where(outputs.c.campaign_id == campaign_id, segments.c.document_id == document_id)
    )
    return session.execute(query.limit(1)).first() is not None


def has_system_items_or_outputs(session: Session, campaign_id: int, system_id: int) -> bool:
    """Tell whether a system is credited with an item, or has outputs."""
    joined = items.join(item_credits, item_credits.c.item_id == items.c.id)
    credit = sa.select(items.c.id).select_from(joined)
    credit = credit.where(items.c.campaign_id == campaign_id, item_credits.c.system_id == system_id)
    output = sa.select(outputs.c.id).where(outputs.c.campaign_id == campaign_id, outputs.c.system_id == system_id)
    return any(session.execute(query.limit(1)).first() is not None for query in (credit, output))


def delete_document(session: Session, campaign_id: int, document_id: int) -> None:
    """Delete a document without outputs, together with its segments."""
    replace_segments(session, campaign_id, document_id, ())
    mine = (documents.c.campaign_id == campaign_id, documents.c.id == document_id)
    session.execute(sa.delete(documents).where(*mine))


def delete_system(session: Session, campaign_id: int, system_id: int) -> None:
    """Delete a system without outputs."""
    session.execute(sa.delete(systems).where(systems.c.campaign_id == campaign_id, systems.c.id == system_id))


def _load_row(session: Session, table: sa.Table, campaign_id: int, key: str) -> Row | None:
    query = sa.select(table).where(table.c.campaign_id == campaign_id, table.c.key == key)
    return session.execute(query).one_or_none()


def _page(
    session: Session,
    table: sa.Table,
    campaign_id: int,
    after: str | None,
    limit: int,
    *conditions: sa.ColumnElement[bool],
) -> list[Row]:
    key = table.c.key.collate("C")
    query = sa.select(table).where(table.c.campaign_id == campaign_id, *conditions).order_by(key).limit(limit)
    return list(session.execute(query if after is None else query.where(key > after)))


@dataclass(frozen=True, slots=True)
class SegmentWithOutputs:
    """A segment with all its texts. references, outputs: texts by name, by system."""

    document: str
    position: int
    source: str | None
    references: Mapping[str, str]
    outputs: Mapping[str, str]


STREAM = """
SELECT d.key, g.position, g.source,
       coalesce((SELECT jsonb_object_agg(r.name, r.text) FROM reference_texts r WHERE r.segment_id = g.id), '{}')
       AS refs,
       coalesce(o.texts, '{}') AS texts
FROM segments g JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id AND d.kind = 'test'
LEFT JOIN (SELECT x.segment_id, jsonb_object_agg(s.key, x.text) AS texts FROM outputs x
           JOIN systems s ON s.campaign_id = :campaign AND s.id = x.system_id AND s.state = 'active'
           WHERE x.campaign_id = :campaign GROUP BY x.segment_id) o ON o.segment_id = g.id
WHERE g.campaign_id = :campaign
ORDER BY d.position NULLS LAST, d.key COLLATE "C", g.position"""


OUTLINE = """
SELECT d.key, count(g.id) FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
WHERE d.campaign_id = :campaign AND d.kind = 'test'
GROUP BY d.id, d.key, d.position ORDER BY d.position NULLS LAST, d.key COLLATE "C" """


def load_test_document_sizes(session: Session, campaign_id: int) -> list[tuple[str, int]]:
    """Return the test documents in order, each with its number of segments."""
    return [(row[0], row[1]) for row in execute_full_scan(session, OUTLINE, {"campaign": campaign_id})]


def stream_test_set(session: Session, campaign_id: int) -> Iterator[SegmentWithOutputs]:
    """Stream the segments of the test documents in order, with the outputs of the systems that take part."""
    for row in execute_full_scan(session, STREAM, {"campaign": campaign_id}, batch=500):
        yield SegmentWithOutputs(*row)


def load_active_system_keys(session: Session, campaign_id: int) -> list[str]:
    """Return the keys of the systems that take part, sorted by code point."""
    query = sa.select(systems.c.key).where(systems.c.campaign_id == campaign_id, systems.c.state == "active")
    return sorted(session.execute(query).scalars())


def count_test_documents(session: Session, campaign_id: int) -> int:
    """Return the number of test documents."""
    query = sa.select(sa.func.count()).select_from(documents)
    mine = (documents.c.campaign_id == campaign_id, documents.c.kind == "test")
    return int(session.execute(query.where(*mine)).scalar_one())


def count_outputs_up_to(session: Session, campaign_id: int, *, most: int) -> int:
    """Count the outputs, up to `most`."""
    some = sa.select(sa.literal(1)).where(outputs.c.campaign_id == campaign_id).limit(most).subquery()
    return int(session.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def load_test_set_size(session: Session, campaign_id: int) -> tuple[int, int, int]:
    """Return the numbers of systems, of test documents, and of their segments."""
    of_systems = sa.select(sa.func.count()).select_from(systems).where(systems.c.campaign_id == campaign_id)
    mine = (documents.c.campaign_id == campaign_id, documents.c.kind == "test")
    of_segments = sa.select(sa.func.count()).select_from(
        segments.join(documents, documents.c.id == segments.c.document_id)
    )
    counts = (of_systems, of_segments.where(*mine))
    n_systems, n_segments = (int(session.execute(count).scalar_one()) for count in counts)
    return n_systems, count_test_documents(session, campaign_id), n_segments


def replace_prefills_with_spans_of_campaign(
    session: Session, campaign_id: int, rows: Sequence[tuple[int, Sequence[object], object]], *, source: str
) -> None:
    """Store another campaign's spans, to be shown with outputs, replacing others and all earlier ones from there.

    rows: (output id, spans, origin). source: the key of that campaign, which is `from` in the origins.
    """
    mine = (variants.c.campaign_id == campaign_id, variants.c.kind == PREFILL, variants.c.name == DEFAULT_PREFILL)
    there = sa.or_(variants.c.output_id.in_([row[0] for row in rows]), variants.c.how["from"].astext == source)
    session.execute(sa.delete(variants).where(*mine, there))
    keys = {"campaign_id": campaign_id, "kind": PREFILL, "name": DEFAULT_PREFILL}
    if rows:
        values = [{**keys, "output_id": output_id, "spans": list(spans), "how": how} for output_id, spans, how in rows]
        session.execute(sa.insert(variants), values)
