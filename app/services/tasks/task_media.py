"""The media of a task, for the rater who has it: signed addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.media_types import ShownMedia
from app.services.media.policy import MediaPolicy
from app.services.media.signing import AddressSigner, SignedAddress
from app.services.people.raters import ActingRater
from app.services.tasks.task_content import TaskContent, load_task_content
from app.services.tasks.tasks import load_own_task
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class TaskMediaAddress:
    """A file that a task shows, and what lets its rater read it."""

    media: str
    signed: SignedAddress


@dataclass(frozen=True, slots=True)
class TaskMediaAddresses:
    """All of a task's files, each once, and until when their addresses work."""

    expires_at: datetime
    media: tuple[TaskMediaAddress, ...]


def sign_task_media(session: Session, policy: MediaPolicy, task: str, *, rater: ActingRater) -> TaskMediaAddresses:
    """Addresses of what a task shows. Raises TaskNotFound for one that the rater never had."""
    load_own_task(session, task, rater)
    until = datetime.now(UTC).replace(microsecond=0) + policy.lifetime
    ids = list(dict.fromkeys(_ids(load_task_content(session, task))))
    if not ids:
        return TaskMediaAddresses(until, ())
    signer = AddressSigner.load(session, task, rater)
    return TaskMediaAddresses(until, tuple(TaskMediaAddress(one, signer.sign(one, until)) for one in ids))


def list_media(content: TaskContent) -> Iterator[ShownMedia]:
    """Files in the places of a task's texts, in the order of the screens."""
    for item in content.items.values():
        for segment in item.segments:
            yield from (media for media in (segment.source_media, segment.text_media) if media is not None)


def _ids(content: TaskContent) -> Iterator[str]:
    for media in list_media(content):
        yield from (one for one in (media.id, media.captions) if one is not None)
