"""The media of a task, as signed addresses for the rater who has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.errors import Forbidden
from app.domain.media_types import ShownMedia
from app.services.campaigns.media_rules import MediaPlaybackRules
from app.services.media.library import MediaContent
from app.services.media.listening import load_heard_intervals
from app.services.media.media_settings import MediaSettings
from app.services.media.signing import MediaAddressSigner, SignedMediaQuery, open_signed_media
from app.services.people.raters import ActingRater
from app.services.tasks.task_content import TaskContent, load_task_content
from app.services.tasks.tasks import load_own_task
from app.stats.timing.listening import HeardIntervals
from app.storage import campaigns
from app.storage.db import Session
from app.storage.media.media_queries import MediaNotFound


@dataclass(frozen=True, slots=True)
class SignedTaskMediaFile:
    """A file that a task shows, and the signature that lets its rater read it.

    heard: whether it was once played to the end. plays_left: how often it may still be played; None means no limit.
    """

    media: str
    signed: SignedMediaQuery
    heard: bool = False
    plays_left: int | None = None


@dataclass(frozen=True, slots=True)
class SignedTaskMediaFiles:
    """All files of a task, each once, and when their addresses expire. rules: those of the campaign."""

    expires_at: datetime
    rules: MediaPlaybackRules
    media: tuple[SignedTaskMediaFile, ...]


class NoMediaPlaysLeft(Forbidden):
    """You have played this file as often as the campaign allows."""

    published = "MediaPlaysUsed"


def sign_task_media(
    session: Session, media_settings: MediaSettings, task: str, *, rater: ActingRater
) -> SignedTaskMediaFiles:
    """Sign the addresses of the files that a task shows. Raises TaskNotFound if the rater never had the task."""
    row = load_own_task(session, task, rater)
    rules = MediaPlaybackRules.from_settings(campaigns.load_campaign(session, rater.campaign).settings)
    until = datetime.now(UTC).replace(microsecond=0) + media_settings.lifetime
    media = {one.id: one for one in list_shown_media(load_task_content(session, task)) if one.id is not None}
    if not media:
        return SignedTaskMediaFiles(until, rules, ())
    heard = load_heard_intervals(session, rater.campaign_id, row.id, rater.rater_id, list(media))
    signer = MediaAddressSigner.load(session, task, rater)
    shown = [
        SignedTaskMediaFile(
            public_id, signer.sign(public_id, until), *_playback_state(heard[public_id], file.duration_ms, rules)
        )
        for public_id, file in media.items()
    ]
    captions = dict.fromkeys(file.captions for file in media.values() if file.captions is not None)
    beside = [SignedTaskMediaFile(public_id, signer.sign(public_id, until)) for public_id in captions]
    return SignedTaskMediaFiles(until, rules, (*shown, *beside))


def _playback_state(
    heard: HeardIntervals, duration_ms: int | None, rules: MediaPlaybackRules
) -> tuple[bool, int | None]:
    """Return whether a file was heard to the end, and how often it may still be played."""
    if duration_ms is None:
        return False, None
    most = rules.most_plays
    left = (
        None
        if most is None
        else next((most - n for n in range(most) if not heard.are_plays_used_up(duration_ms, n + 1)), 0)
    )
    return heard.covers_whole_file(duration_ms), left


def open_task_media(
    session: Session,
    media_settings: MediaSettings,
    task: str,
    public_id: str,
    signed: SignedMediaQuery,
    *,
    rater: ActingRater,
) -> MediaContent:
    """Open the file at a signed address. Raises TaskNotFound, MediaAddressEnded, MediaNotFound, NoMediaPlaysLeft."""
    row = load_own_task(session, task, rater)
    if not signed.signature:  # an address without a signature names no file
        raise MediaNotFound
    content = open_signed_media(session, media_settings, task, public_id, signed, rater=rater)
    rules = MediaPlaybackRules.from_settings(campaigns.load_campaign(session, rater.campaign).settings)
    if rules.most_plays is not None and content.duration_ms is not None:
        heard = load_heard_intervals(session, rater.campaign_id, row.id, rater.rater_id, [public_id])
        if heard[public_id].are_plays_used_up(content.duration_ms, rules.most_plays):
            raise NoMediaPlaysLeft
    return content


def list_shown_media(content: TaskContent) -> Iterator[ShownMedia]:
    """Yield the files shown in place of a task's texts, in the order of the screens."""
    for item in content.items.values():
        for segment in item.segments:
            yield from (media for media in (segment.source_media, segment.text_media) if media is not None)
