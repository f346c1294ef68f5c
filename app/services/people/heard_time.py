"""How long raters listened to media files, by day: in seconds of the files, whatever the playback speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, timedelta
from itertools import groupby

from app.stats.timing.listening import PlaybackEvent, iterate_heard_intervals
from app.storage.db import Session
from app.storage.media import media_queries


def load_heard_seconds_by_day(
    session: Session, campaign_id: int, raters: Sequence[int] | None, *, offset: int
) -> Mapping[int, Mapping[date, float]]:
    """Return seconds by rater and day. An interval counts for the day on which it began. raters: None for all.

    offset: minutes by which the days are ahead of UTC.
    """
    heard: dict[int, dict[date, float]] = {}
    events = media_queries.stream_play_events(session, campaign_id, raters)
    for (rater, _, _), of_file in groupby(events, key=lambda row: (row.rater_id, row.task_id, row.media)):
        told = (PlaybackEvent(row.session, row.kind, row.at_ms, row.media_ms, row.received_at) for row in of_file)
        for start, end, began in iterate_heard_intervals(told):
            if began.received_at is not None:
                day = (began.received_at.astimezone(UTC) + timedelta(minutes=offset)).date()
                days = heard.setdefault(rater, {})
                days[day] = days.get(day, 0.0) + (end - start) / 1000
    return heard
