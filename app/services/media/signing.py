"""Media addresses for raters: signed, short-lived, and valid only for one rater's credential and one task."""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.errors import Forbidden
from app.services.media.library import MediaContent
from app.services.media.media_settings import MediaSettings
from app.services.people.raters import ActingRater
from app.storage.db import Session
from app.storage.media import media_queries

PURPOSE = "media addresses"


class MediaAddressEnded(Forbidden):
    """This address has expired or is for somebody else; load the task again."""


@dataclass(frozen=True, slots=True)
class SignedMediaQuery:
    """The part of an address after `?`. expires: seconds since 1970."""

    expires: int
    signature: str

    @property
    def query_string(self) -> str:
        """The text for the address."""
        return f"expires={self.expires}&signature={self.signature}"


@dataclass(frozen=True, slots=True)
class MediaAddressSigner:
    """Signs addresses for one rater's credential and one task."""

    key: bytes
    task: str
    rater_id: int
    token_id: int

    @classmethod
    def load(cls, session: Session, task: str, rater: ActingRater) -> MediaAddressSigner:
        """Make a signer with the installation's key."""
        return cls(media_queries.load_or_make_signing_key(session, PURPOSE), task, rater.rater_id, rater.token_id)

    def sign(self, public_id: str, until: datetime) -> SignedMediaQuery:
        """Sign an address of a file that works until a time."""
        expires = int(until.timestamp())
        return SignedMediaQuery(expires, self._signature(public_id, expires))

    def verify(self, public_id: str, signed: SignedMediaQuery) -> None:
        """Raise MediaAddressEnded unless this signer's key signed the address and it has not expired."""
        right = hmac.compare_digest(self._signature(public_id, signed.expires), signed.signature)
        if not right or signed.expires <= datetime.now(UTC).timestamp():
            raise MediaAddressEnded

    def _signature(self, public_id: str, expires: int) -> str:
        told = "\n".join((public_id, self.task, str(self.rater_id), str(self.token_id), str(expires)))
        digest = hmac.digest(self.key, told.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:24]).decode()


def open_signed_media(
    session: Session,
    media_settings: MediaSettings,
    task: str,
    public_id: str,
    signed: SignedMediaQuery,
    *,
    rater: ActingRater,
) -> MediaContent:
    """Open the file at a signed address. Raises MediaAddressEnded, MediaNotFound."""
    MediaAddressSigner.load(session, task, rater).verify(public_id, signed)
    row = media_queries.find_media_by_public_id(session, public_id)
    if row is None or row.campaign_id != rater.campaign_id:
        raise media_queries.MediaNotFound
    return MediaContent(media_settings, row.sha256, row.size, row.media_type, row.duration_ms)
