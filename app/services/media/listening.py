"""What a rater has heard of the files in a task, from the activity log."""

from __future__ import annotations

from collections.abc import Sequence

from app.stats.timing.listening import HeardIntervals, PlaybackEvent, find_heard_intervals
from app.storage.db import Session
from app.storage.media import media_queries


def load_heard_intervals(
    session: Session, campaign_id: int, task_id: int, rater_id: int, media: Sequence[str]
) -> dict[str, HeardIntervals]:
    """Load what a rater has heard of some files in a task, by their ids."""
    events: dict[str, list[PlaybackEvent]] = {public_id: [] for public_id in media}
    for row in media_queries.load_play_events_of_rater(session, campaign_id, task_id, rater_id):
        if row.media in events:
            events[row.media].append(PlaybackEvent(row.session, row.kind, row.at_ms, row.media_ms))
    return {public_id: find_heard_intervals(of) for public_id, of in events.items()}
