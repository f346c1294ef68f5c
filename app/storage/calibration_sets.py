"""Calibration sets: pairs of texts with a consensus score, in versions; a used version never changes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from app.domain.errors import NotFound
from app.storage.db import Session
from app.storage.tables import calibration_pairs, calibration_sets

Row = sa.Row[Any]


class CalibrationSetNotFound(NotFound):
    """There is no such calibration set."""

    published = "SetNotFound"


def find_calibration_set(session: Session, key: str, version: int | None = None, *, lock: bool = False) -> Row | None:
    """Return a version of a set, by default the latest."""
    query = sa.select(calibration_sets).where(calibration_sets.c.key == key)
    query = query.order_by(calibration_sets.c.version.desc()).limit(1)
    if version is not None:
        query = query.where(calibration_sets.c.version == version)
    return session.execute(query.with_for_update() if lock else query).one_or_none()


def load_calibration_set(session: Session, key: str, version: int | None = None) -> Row:
    """Return a version of a set, by default the latest. Raises CalibrationSetNotFound."""
    row = find_calibration_set(session, key, version)
    if row is None:
        raise CalibrationSetNotFound
    return row


def load_calibration_sets_page(session: Session, *, after: str | None, limit: int) -> list[Row]:
    """Return sets by key after `after`, each in its latest version, with the number of its pairs."""
    key = calibration_sets.c.key.collate("C")
    n = sa.select(sa.func.count()).where(calibration_pairs.c.set_id == calibration_sets.c.id).scalar_subquery()
    later = calibration_sets.alias("later")
    newer = sa.exists().where(later.c.key == calibration_sets.c.key, later.c.version > calibration_sets.c.version)
    query = sa.select(calibration_sets, n.label("pairs")).where(~newer).order_by(key).limit(limit)
    return list(session.execute(query if after is None else query.where(key > after)))


def load_text_pairs_of_set(session: Session, set_id: int) -> list[Row]:
    """Return the pairs of a version, in their order."""
    query = sa.select(calibration_pairs).where(calibration_pairs.c.set_id == set_id)
    return list(session.execute(query.order_by(calibration_pairs.c.n)))


def insert_calibration_set(session: Session, *, key: str, version: int, protocol: str, actor: str) -> int:
    """Insert a new version of a set and return its id."""
    values = {"key": key, "version": version, "protocol": protocol, "actor": actor}
    return int(
        session.execute(sa.insert(calibration_sets).values(values).returning(calibration_sets.c.id)).scalar_one()
    )


def update_calibration_set(session: Session, set_id: int, values: Mapping[str, object]) -> None:
    """Overwrite fields of a version that has not been used."""
    session.execute(sa.update(calibration_sets).where(calibration_sets.c.id == set_id).values(**values))


def replace_calibration_pairs(session: Session, set_id: int, given: Sequence[Mapping[str, object]]) -> None:
    """Replace the pairs of a version."""
    session.execute(sa.delete(calibration_pairs).where(calibration_pairs.c.set_id == set_id))
    session.execute(sa.insert(calibration_pairs), [{"set_id": set_id, "n": n, **one} for n, one in enumerate(given, 1)])


def freeze_calibration_set(session: Session, set_id: int) -> None:
    """Freeze this version: from now on it cannot change."""
    query = sa.update(calibration_sets).where(calibration_sets.c.id == set_id, calibration_sets.c.frozen_at.is_(None))
    session.execute(query.values(frozen_at=sa.func.now()))
