"""Erasure of a rater: their identity is removed everywhere, and their judgments are kept under the pseudonym."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import Conflict
from app.services.access.tokens import Caller
from app.services.campaigns import audit, data_seals
from app.services.people.raters import PersonInOtherCampaign
from app.storage import campaigns, erasure, raters
from app.storage import purge as purging
from app.storage import tokens as stored
from app.storage.db import Session


class AmbiguousRaterKey(Conflict):
    """Raters of several campaigns have this key and are not known to be one person; name the campaign."""

    published = "SeveralRaters"


class ErasureRequired(Conflict):
    """This rater is not erased; erase them first."""

    published = "NotErased"


PER_ENTRY = 1000  # hashes in one row of the audit log


@dataclass(frozen=True, slots=True)
class ErasedAccount:
    """An account whose identity was removed."""

    campaign: str
    rater: str


def erase_rater(session: Session, key: str, *, campaign: str | None, by: Caller) -> list[ErasedAccount]:
    """Erase the rater with this key and every account of the same person. Repeating this changes nothing.

    campaign: which rater is meant, if several campaigns have one with this key. Raises RaterNotFound if the caller
    manages no such rater, AmbiguousRaterKey, and PersonInOtherCampaign if an account of the person is in a campaign
    that the caller does not manage.
    """
    if by.campaign is not None and campaign not in (None, by.campaign):
        raise raters.RaterNotFound
    accounts = _all_accounts(
        session, erasure.load_rater_accounts_of_key(session, key, campaign=by.campaign or campaign)
    )
    if by.campaign is not None and any(account.campaign != by.campaign for account in accounts):
        raise PersonInOtherCampaign
    known = [account for account in accounts if account.state != "erased"]
    for account in known:
        _forget(session, account, by)
    for person in sorted({account.person_id for account in accounts if account.person_id is not None}):
        if any(account.state != "erased" for account in accounts if account.person_id == person):
            erasure.replace_person_key(session, person, f"erased~{secrets.token_hex(8)}")
    return [ErasedAccount(account.campaign, account.key) for account in accounts]


def _all_accounts(session: Session, named: Sequence[erasure.AccountRecord]) -> list[erasure.AccountRecord]:
    """Return the named accounts and all other accounts of the same person, in the order of campaigns."""
    if not named:
        raise raters.RaterNotFound
    persons = {account.person_id for account in named}
    if len(named) > 1 and (len(persons) > 1 or None in persons):
        raise AmbiguousRaterKey
    if named[0].person_id is None:
        return list(named)
    return list(erasure.load_rater_accounts_of_person(session, named[0].person_id))


def _forget(session: Session, account: erasure.AccountRecord, by: Caller) -> None:
    row = campaigns.load_campaign(session, account.campaign, lock=True)
    stored.revoke_rater_tokens(session, row.id, account.id)
    erasure.erase_rater_account(session, account)
    if row.data_version:
        campaigns.take_next_data_version(session, row.id, actor=by.actor, what="raters")
    audit.record_action(session, row.id, actor=by.actor, action="rater erased", what={"rater": account.key})


def purge_rater_judgments(session: Session, campaign: str, key: str, *, actor: str) -> int:
    """Delete an erased rater's judgments with the schema owner's connection, and return how many answers there were.

    The audit log keeps the hash of each row. Rankings of earlier data versions lose the answers, too.

    Raises NotFound, and ErasureRequired, because a rater must be erased first.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    account = raters.load_rater(session, row.id, key)
    if account.state != "erased":
        raise ErasureRequired
    hashes = purging.purge_rater_data(session, row.id, account.id)
    if hashes:
        campaigns.take_next_data_version(session, row.id, actor=actor, what="purge")
    for first in range(0, len(hashes), PER_ENTRY):
        part = hashes[first : first + PER_ENTRY]
        gone = {one.row: one.hash for one in part}
        versions = {one.row: one.version for one in part if one.version is not None}
        what = {"rater": key, "rows": gone, "versions": versions}
        audit.record_action(session, row.id, actor=actor, action=data_seals.PURGED, what=what)
    return sum(not one.row.startswith("void ") for one in hashes)
