"""Media on Pearmut's pages: their addresses are rewritten, so that they reveal no name, expire, and belong to one user.

The page identifies itself only by its own address, so the address of a file gives access to it. The signature covers
the file, the user's credential and the expiry. It is valid only as long as that credential.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.media_elements import parse_media_element
from app.domain.media_types import KINDS
from app.services.media.library import MediaContent
from app.services.media.media_settings import MediaSettings
from app.services.media.signing import PURPOSE, MediaAddressEnded
from app.services.pearmut.users import PearmutUser
from app.storage import tokens
from app.storage.db import Session
from app.storage.media import media_queries

LASTS = timedelta(hours=12)
"""The page never asks for a document's addresses again while it is open."""
_ADDRESS = re.compile(r"(\d{1,15})\.(\d{1,12})\.([A-Za-z0-9_-]{32})\.(m_[0-9a-f]{32})")
_TAGS = {"audio": "audio", "video": "video", "image": "img"}


@dataclass(frozen=True, slots=True)
class _AssetSigner:
    """Signs addresses for one credential. expires: seconds since 1970."""

    key: bytes
    token_id: int
    expires: int

    def address(self, public_id: str) -> str:
        return f"{self.token_id}.{self.expires}.{self.signature(public_id)}.{public_id}"

    def signature(self, public_id: str) -> str:
        told = f"pearmut\n{self.token_id}\n{self.expires}\n{public_id}".encode()
        return base64.urlsafe_b64encode(hmac.digest(self.key, told, "sha256")[:24]).decode()


def sign_asset_addresses(session: Session, user: PearmutUser, response: dict[str, Any]) -> dict[str, Any]:
    """Return a response with media addresses for this user; responses without media do not change."""
    items = [item for item in response.get("payload") or () if isinstance(item, dict)]
    texts = {text for item in items for text in _texts(item) if parse_media_element(text) is not None}
    if not texts:
        return response
    names = {text: element.name for text in texts if (element := parse_media_element(text)) is not None}
    files = media_queries.load_named_media(session, user.rater.campaign_id, sorted(set(names.values())))
    expires = int((datetime.now(UTC) + LASTS).timestamp())
    signer = _AssetSigner(media_queries.load_or_make_signing_key(session, PURPOSE), user.rater.token_id, expires)
    signed = {text: _element(text, files.get(name), signer) for text, name in names.items()}
    return {**response, "payload": [_replace_addresses(item, signed) for item in items]}


def _texts(item: Mapping[str, Any]) -> list[str]:
    of_systems = item["tgt"].values() if isinstance(item.get("tgt"), dict) else ()
    return [text for text in (item.get("src"), item.get("ref"), *of_systems) if isinstance(text, str)]


def _replace_addresses(item: dict[str, Any], signed: Mapping[str, str]) -> dict[str, Any]:
    told = {name: signed.get(item[name], item[name]) for name in ("src", "ref") if isinstance(item.get(name), str)}
    if isinstance(item.get("tgt"), dict):
        told["tgt"] = {model: signed.get(text, text) for model, text in item["tgt"].items()}
    return {**item, **told}


def _element(text: str, row: media_queries.MediaRow | None, signer: _AssetSigner) -> str:
    """Return the element for a text, without the file's name, followed by its transcript as plain text."""
    transcript = (element := parse_media_element(text)) and element.transcript
    after = "" if not transcript else f"<p>{transcript.replace('&', '&amp;').replace('<', '&lt;')}</p>"
    if row is None or (tag := _TAGS.get(KINDS[row.media_type])) is None:
        return after or "[file missing]"
    address = f"assets/{signer.address(row.public_id)}"
    return f'<img src="{address}">{after}' if tag == "img" else f'<{tag} src="{address}" controls></{tag}>{after}'


def parse_asset_token_id(address: str) -> int:
    """Return the number of the token for which an address was made. Raises MediaNotFound."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise media_queries.MediaNotFound
    return int(parts[1])


def open_asset(session: Session, media_settings: MediaSettings, address: str) -> MediaContent:
    """Open the file at an address. Raises MediaAddressEnded, MediaNotFound."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise media_queries.MediaNotFound
    token_id, expires, signature, public_id = int(parts[1]), int(parts[2]), parts[3], parts[4]
    signer = _AssetSigner(media_queries.load_or_make_signing_key(session, PURPOSE), token_id, expires)
    if not hmac.compare_digest(signer.signature(public_id), signature) or expires <= datetime.now(UTC).timestamp():
        raise MediaAddressEnded
    if not tokens.is_token_live(session, token_id):
        raise MediaAddressEnded
    row = media_queries.find_media_by_public_id(session, public_id)
    if row is None:
        raise media_queries.MediaNotFound
    return MediaContent(media_settings, row.sha256, row.size, row.media_type, row.duration_ms)
