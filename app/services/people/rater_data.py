"""A rater's own data: everything that is stored about them, streamed as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from app.services.people.raters import ActingRater
from app.storage import rater_data
from app.storage.db import Database, Session


def export_rater_data(database: Database, rater: ActingRater) -> Iterator[bytes]:
    """Stream `{"rater": {…}, "consents": […], …, "judgments": […], …}` from one snapshot.

    A front end gets neither the rater's identity nor their credentials. A coordinator's link shows no answers from
    before its creation.
    """
    own = rater.through is None
    with database.transaction(snapshot=True) as session:
        yield b'{"rater": ' + _json(
            rater_data.load_account_and_enrolment(session, rater.campaign_id, rater.rater_id, identity=own)
        )
        for name, query in rater_data.LISTS.items():
            if name == rater_data.CREDENTIALS and not own:
                continue
            yield f',\n"{name}": ['.encode()
            yield from _items(session, query, rater)
            yield b"]"
        yield b"}\n"


def _items(session: Session, query: str, rater: ActingRater) -> Iterator[bytes]:
    between = b"\n"
    for row in rater_data.stream_rater_rows(
        session, query, rater.campaign_id, rater.rater_id, since=rater.answers_since
    ):
        yield between + _json(row)
        between = b",\n"


def _json(row: rater_data.Row) -> bytes:
    return json.dumps(row._asdict(), ensure_ascii=False, allow_nan=False, default=_time).encode()


def _time(value: object) -> str:
    """Write times as the API does; no other value here needs conversion to JSON."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
