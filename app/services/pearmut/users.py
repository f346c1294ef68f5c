"""Who sends a request: an annotator with a credential or an old name, or a manager with a campaign's token."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from app.domain.errors import NotFound
from app.services.access import tokens
from app.services.access.tokens import BadCredential, Caller
from app.services.pearmut.loaded_campaign import PearmutCampaign
from app.services.people.raters import ActingRater
from app.storage import pearmut
from app.storage import tokens as stored_tokens
from app.storage.db import Session


class PearmutUserUnknown(NotFound):
    """Unknown user ID. Maybe the campaign was restarted?"""


class PearmutTokenWrong(NotFound):
    """Invalid token"""


@dataclass(frozen=True, slots=True)
class PearmutUser:
    """An annotator. name: the user's name in Pearmut, which is not a credential unless it was one before."""

    loaded: PearmutCampaign
    name: str
    rater: ActingRater
    code_pass: str
    code_fail: str

    @classmethod
    def from_row(cls, loaded: PearmutCampaign, row: pearmut.Row, actor: str, token_id: int) -> PearmutUser:
        """Make a user from a stored row; the user acts with a credential."""
        rater = ActingRater(loaded.key, loaded.campaign_id, row.rater, row.rater_id, actor, token_id)
        return cls(loaded, row.user_id, rater, row.code_pass, row.code_fail)


def authenticate_user(session: Session, loaded: PearmutCampaign, credential: str) -> PearmutUser:
    """Return the user whose credential is in an address. Raises PearmutUserUnknown, whatever is wrong."""
    if tokens.parse_token_prefix(credential) is not None:
        try:
            caller = tokens.authenticate_secret(session, credential)
        except BadCredential:
            raise PearmutUserUnknown from None
        if caller.campaign_id != loaded.campaign_id or caller.rater_id is None:
            raise PearmutUserUnknown
        row = pearmut.find_user_of_rater(session, loaded.campaign_id, caller.rater_id)
        if row is None:
            raise PearmutUserUnknown
        return PearmutUser.from_row(loaded, row, caller.actor, caller.token_id)
    row = pearmut.find_user_by_pearmut_id(session, loaded.campaign_id, credential)
    if row is None or row.token_id is None or not stored_tokens.is_token_live(session, row.token_id):
        raise PearmutUserUnknown
    return PearmutUser.from_row(loaded, row, f"token:{row.prefix}", row.token_id)


def authenticate_dashboard(session: Session, loaded: PearmutCampaign, token: str) -> Caller:
    """Return the manager whose token this is. Raises PearmutTokenWrong."""
    if tokens.parse_token_prefix(token) is None:
        stored = pearmut.find_pearmut_campaign(session, loaded.campaign_id, loaded=False)
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        if stored is None or stored.token_hash is None or not hmac.compare_digest(digest, stored.token_hash):
            raise PearmutTokenWrong
        return Caller(0, "pearmut", "manager", "Pearmut's dashboard", loaded.key, None)
    try:
        caller = tokens.authenticate_secret(session, token)
    except BadCredential:
        raise PearmutTokenWrong from None
    if not caller.has_rights_of("manager") or caller.campaign not in (None, loaded.key):
        raise PearmutTokenWrong
    return caller
