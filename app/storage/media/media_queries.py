"""Queries about media: the files of campaigns, uploads under way, and the key for signed addresses."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.domain.media_elements import OPENING, parse_media_element
from app.domain.media_types import MediaFacts
from app.storage.optional_filters import join_optional_conditions
from app.storage.query_planning import execute_full_scan
from app.storage.tables import activity, campaigns, media_files, media_uploads, signing_keys

MediaRow = sa.Row[Any]
UploadRow = sa.Row[Any]
PlayEventRow = sa.Row[Any]


class MediaNotFound(NotFound):
    """The campaign has no media of this name."""


class MediaUploadNotFound(NotFound):
    """There is no such upload, or it is complete."""


@dataclass(frozen=True, slots=True)
class NewMediaFile:
    """A file to register: name, hash and size, and facts about its content. given: hash of the file as sent."""

    name: str
    sha256: bytes
    given: bytes
    size: int
    facts: MediaFacts


def find_media_by_name(session: Session, campaign_id: int, name: str, *, lock: bool = False) -> MediaRow | None:
    """Return the file with a name."""
    here = (media_files.c.campaign_id == campaign_id) & (media_files.c.name == name)
    query = sa.select(media_files).where(here)
    return session.execute(query.with_for_update() if lock else query).one_or_none()


def load_media_by_name(session: Session, campaign_id: int, name: str, *, lock: bool = False) -> MediaRow:
    """Return the file with a name. Raises MediaNotFound."""
    row = find_media_by_name(session, campaign_id, name, lock=lock)
    if row is None:
        raise MediaNotFound
    return row


def load_media_page(session: Session, campaign_id: int, *, after: str | None, limit: int | None) -> Sequence[MediaRow]:
    """Return files by name, after one name."""
    order = media_files.c.name.collate("C")
    query = sa.select(media_files).where(media_files.c.campaign_id == campaign_id).order_by(order).limit(limit)
    return session.execute(query if after is None else query.where(order > after)).all()


def find_media_by_public_id(session: Session, public_id: str) -> MediaRow | None:
    """Return the file that raters know under this id."""
    return session.execute(sa.select(media_files).where(media_files.c.public_id == public_id)).one_or_none()


def load_named_media(session: Session, campaign_id: int, names: Sequence[str]) -> dict[str, MediaRow]:
    """Return those of the named files that exist."""
    here = (media_files.c.campaign_id == campaign_id) & media_files.c.name.in_(names)
    return {row.name: row for row in session.execute(sa.select(media_files).where(here))}


def insert_media(session: Session, campaign_id: int, new: NewMediaFile, *, actor: str) -> bool:
    """Register a file; return False if the name is taken."""
    facts = {name: getattr(new.facts, name) for name in MediaFacts.__slots__}
    values = {"name": new.name, "sha256": new.sha256, "given": new.given, "size": new.size, "actor": actor, **facts}
    statement = (
        insert(media_files)
        .values(campaign_id=campaign_id, public_id=_new_public_id(), **values)
        .on_conflict_do_nothing(index_elements=["campaign_id", "name"])
        .returning(media_files.c.id)
    )
    return session.execute(statement).one_or_none() is not None


def copy_media(session: Session, names: Sequence[str], *, source: int, target: int, actor: str) -> int:
    """Register stored files of a campaign in another one, with their captions; return their number.

    Raters of the other campaign know the files under different ids.
    """
    wanted = set(names) | {row.captions for row in load_named_media(session, source, names).values() if row.captions}
    of_bytes = ("name", "sha256", "given", "media_type", "size")
    copied = (*of_bytes, "duration_ms", "width", "height", "captions", "transcript")
    files = load_named_media(session, source, sorted(wanted)).values()
    for row in files:
        values = {name: getattr(row, name) for name in copied}
        new = {"campaign_id": target, "public_id": _new_public_id(), "actor": actor, **values}
        session.execute(insert(media_files).values(new).on_conflict_do_nothing(index_elements=["campaign_id", "name"]))
    return len(files)


def update_media_captions_or_transcript(session: Session, media_id: int, values: Mapping[str, object]) -> None:
    """Set captions or transcript."""
    session.execute(sa.update(media_files).where(media_files.c.id == media_id).values(**values))


def delete_media(session: Session, media_id: int) -> None:
    """Remove a file from the table."""
    session.execute(sa.delete(media_files).where(media_files.c.id == media_id))


def _new_public_id() -> str:
    return f"m_{secrets.token_hex(16)}"


_ELEMENTS = rf"""
SELECT d.key || ', segment ' || g.position AS place, g.source AS text FROM segments g
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE g.campaign_id = :campaign AND g.source ~* '{OPENING}'
UNION ALL
SELECT s.key || ' on ' || d.key || ', segment ' || g.position, o.text FROM outputs o
JOIN systems s ON s.campaign_id = o.campaign_id AND s.id = o.system_id
JOIN segments g ON g.campaign_id = o.campaign_id AND g.id = o.segment_id
JOIN documents d ON d.campaign_id = g.campaign_id AND d.id = g.document_id
WHERE o.campaign_id = :campaign AND o.text ~* '{OPENING}'"""


def load_media_uses(session: Session, campaign_id: int) -> Iterator[tuple[str, str]]:
    """Yield each text of a campaign that is a media element, as (its place, the name of the file)."""
    for row in execute_full_scan(session, _ELEMENTS, {"campaign": campaign_id}, batch=1000):
        if (element := parse_media_element(row.text)) is not None:
            yield row.place, element.name


def load_file_names_captioned_by(session: Session, campaign_id: int, captions: str) -> list[str]:
    """Return the names of the files that have these captions."""
    here = (media_files.c.campaign_id == campaign_id) & (media_files.c.captions == captions)
    return list(session.execute(sa.select(media_files.c.name).where(here).order_by(media_files.c.name)).scalars())


def insert_upload(
    session: Session, campaign_id: int, *, name: str, size: int, sha256: bytes | None, actor: str
) -> UploadRow:
    """Announce a file that will arrive in parts."""
    values = {"name": name, "size": size, "sha256": sha256, "actor": actor}
    statement = sa.insert(media_uploads).values(
        campaign_id=campaign_id, public_id=f"u_{secrets.token_hex(16)}", **values
    )
    return session.execute(statement.returning(media_uploads)).one()


def load_upload(session: Session, campaign_id: int, public_id: str, *, lock: bool = False) -> UploadRow:
    """Return an upload under way. Raises MediaUploadNotFound."""
    here = (media_uploads.c.campaign_id == campaign_id) & (media_uploads.c.public_id == public_id)
    query = sa.select(media_uploads).where(here)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise MediaUploadNotFound
    return row


def load_unfinished_uploads(
    session: Session, campaign_id: int, *, after: int | None, limit: int
) -> Sequence[UploadRow]:
    """Return uploads under way, in the order of their announcement."""
    query = sa.select(media_uploads).where(media_uploads.c.campaign_id == campaign_id)
    query = query if after is None else query.where(media_uploads.c.id > after)
    return session.execute(query.order_by(media_uploads.c.id).limit(limit)).all()


def delete_upload_row(session: Session, upload_id: int) -> None:
    """Delete an upload that is complete or given up."""
    session.execute(sa.delete(media_uploads).where(media_uploads.c.id == upload_id))


def delete_abandoned_uploads(session: Session, days: int, continued: Collection[str]) -> list[str]:
    """Give up uploads announced this many days ago, except those that still continue; return their ids."""
    old = media_uploads.c.created_at < sa.func.now() - sa.func.make_interval(0, 0, 0, days)
    given_up = sa.delete(media_uploads).where(old, media_uploads.c.public_id.not_in(continued))
    return list(session.execute(given_up.returning(media_uploads.c.public_id)).scalars())


def load_play_events_of_rater(
    session: Session, campaign_id: int, task_id: int, rater_id: int
) -> Sequence[PlayEventRow]:
    """Return the playback events of a rater's pages in a task, in order within each page."""
    here = (activity.c.campaign_id == campaign_id) & (activity.c.task_id == task_id) & (activity.c.rater_id == rater_id)
    told = activity.c.media.is_not(None) & activity.c.media_ms.is_not(None)
    query = sa.select(activity).where(here, told).order_by(activity.c.session, activity.c.seq)
    return session.execute(query).all()


_PLAYED = """
SELECT rater_id, task_id, media, session, kind, at_ms, media_ms, received_at FROM activity
WHERE campaign_id = :campaign AND media IS NOT NULL AND media_ms IS NOT NULL
  {only}
ORDER BY rater_id, task_id, media, session, seq"""


def stream_play_events(session: Session, campaign_id: int, raters: Sequence[int] | None) -> Iterator[PlayEventRow]:
    """Yield playback events, file by file within each task of each rater. raters: None for all."""
    keys = {"campaign": campaign_id, "raters": None if raters is None else list(raters)}
    only = join_optional_conditions({"raters": "rater_id = ANY(CAST(:raters AS bigint[]))"}, keys)
    yield from execute_full_scan(session, _PLAYED.format(only=only), keys, batch=5000)


def load_media_sizes_by_hash(session: Session) -> dict[bytes, int]:
    """Return the sizes of all registered files, by hash."""
    rows = session.execute(sa.select(media_files.c.sha256, media_files.c.size).distinct())
    return {bytes(row.sha256): row.size for row in rows}


def load_media_by_hashes(session: Session, hashes: Sequence[bytes]) -> Sequence[MediaRow]:
    """Return the files with these bytes, as (key of the campaign, name, hash)."""
    query = sa.select(campaigns.c.key, media_files.c.name, media_files.c.sha256).join_from(media_files, campaigns)
    ordered = query.where(media_files.c.sha256.in_(hashes)).order_by(campaigns.c.key, media_files.c.name)
    return list(session.execute(ordered))


def load_or_make_signing_key(session: Session, purpose: str) -> bytes:
    """Return this installation's key for a purpose (32 bytes), created at the first request."""
    known = sa.select(signing_keys.c.key).where(signing_keys.c.purpose == purpose)
    key = session.execute(known).scalar_one_or_none()
    if key is None:
        new = insert(signing_keys).values(purpose=purpose, key=secrets.token_bytes(32)).on_conflict_do_nothing()
        session.execute(new)
        key = session.execute(known).scalar_one()
    return bytes(key)
