"""What a rater has heard of the files in a task, from the activity log."""

from __future__ import annotations

from collections.abc import Sequence

from app.stats.timing.listening import HeardStretches, PlaybackEvent, find_heard_stretches
from app.storage.db import Session
from app.storage.media import rows


def load_heard_stretches(
    session: Session, campaign_id: int, task_id: int, rater_id: int, media: Sequence[str]
) -> dict[str, HeardStretches]:
    """Load what a rater has heard of some files in a task, by their ids."""
    events: dict[str, list[PlaybackEvent]] = {public_id: [] for public_id in media}
    for row in rows.load_play_events_of_rater(session, campaign_id, task_id, rater_id):
        if row.media in events:
            events[row.media].append(PlaybackEvent(row.session, row.kind, row.at_ms, row.media_ms))
    return {public_id: find_heard_stretches(of) for public_id, of in events.items()}
