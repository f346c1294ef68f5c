"""Magic links: a rater's token in the fragment of an address. A new link ends the earlier one."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Conflict, Invalid, Place
from app.services.access import tokens
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.people.raters import RaterErased
from app.storage import campaigns, clock, raters, teams
from app.storage import tokens as stored
from app.storage.db import Session

NAME = "link"
PAGE = 200
MOST_NAMED = 100  # faults that are named
WITH_LINKS = ("active", "paused")
_RUNS_IN_SPREADSHEETS = ("=", "+", "-", "@")


class RaterNotEnrolled(Conflict):
    """This rater is known from judgments only; enrol them first."""

    published = "NotEnrolled"


@dataclass(frozen=True, slots=True)
class RaterLink:
    """A new link. secret: in the link's fragment, stored nowhere. name, email: the rater's contact."""

    campaign: str
    rater: str
    secret: str
    expires_at: datetime
    name: str | None = None
    email: str | None = None

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return f"Link({self.rater!r})"


def renew_rater_link(session: Session, campaign: str, key: str, *, days: float, by: Caller) -> RaterLink:
    """Give a rater a new link. Earlier tokens and their sessions end at once.

    Raises NotFound if the caller may not manage the rater, RaterNotEnrolled, RaterErased.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    rater = raters.load_rater(session, row.id, key)
    if not by.can_lead_team(rater.team):
        raise raters.RaterNotFound
    if rater.state == "erased":
        raise RaterErased
    if rater.state is None:
        raise RaterNotEnrolled
    return replace_rater_token(
        session, campaign, rater, days=days, name=NAME, actor=by.actor, single_use=_opens_once(by)
    )


def _opens_once(by: Caller) -> bool:
    """Return whether links open once and hide earlier answers.

    Their creator, who may not see scores, cannot use them.
    """
    return not by.has_rights_of("manager")


def replace_rater_token(
    session: Session,
    campaign: str,
    rater: raters.RaterRecord,
    *,
    days: float,
    name: str,
    actor: str,
    single_use: bool = False,
) -> RaterLink:
    """Create a token for a rater that is valid for some days, and revoke all earlier ones."""
    ended = stored.revoke_rater_tokens(session, rater.campaign_id, rater.id)
    if ended:
        what = {"rater": rater.key, "tokens": ended}
        audit.record_action(session, rater.campaign_id, actor=actor, action="tokens revoked", what=what)
    expires_at = clock.get_database_time_after_days(session, days)
    issued = tokens.create_token_unchecked(
        session,
        role="rater",
        name=name,
        campaign=campaign,
        rater=rater.key,
        expires_at=expires_at,
        actor=actor,
        single_use=single_use,
    )
    return RaterLink(campaign, rater.key, issued.secret, expires_at, rater.contact_name, rater.contact_email)


def renew_rater_links(
    session: Session, campaign: str, team: str | None, keys: Sequence[str] | None = None, *, days: float, by: Caller
) -> list[RaterLink]:
    """Create links for all active or paused raters of a team; None: a coordinator's own team, or the whole campaign.

    keys: only these raters; each of them must be able to have a link.

    Raises NotFound for a team that the caller does not lead, Invalid naming each key that cannot have a link.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    only = team if by.has_rights_of("manager") else team or by.team
    if only is not None:
        teams.load_team(session, campaign_id, only)
        if not by.can_lead_team(only):
            raise teams.TeamNotFound
    accounts = (
        _accounts(session, campaign_id, only) if keys is None else _accounts_of_keys(session, campaign_id, only, keys)
    )
    return [
        replace_rater_token(session, campaign, rater, days=days, name=NAME, actor=by.actor, single_use=_opens_once(by))
        for rater in accounts
    ]


def _accounts(session: Session, campaign_id: int, team: str | None) -> list[raters.RaterRecord]:
    accounts: list[raters.RaterRecord] = []
    while page := raters.load_raters_page(
        session, campaign_id, after=(None, accounts[-1].key) if accounts else None, limit=PAGE, team=team, state=None
    ):
        accounts += page
    return [rater for rater in accounts if rater.state in WITH_LINKS]


def _accounts_of_keys(
    session: Session, campaign_id: int, team: str | None, keys: Sequence[str]
) -> list[raters.RaterRecord]:
    known = raters.load_raters_of_keys(session, campaign_id, keys)
    mine = {key: row for key, row in known.items() if team in (None, row.team)}
    faults = tuple(
        Place(("body", "raters", i), _no_link(mine.get(key)))
        for i, key in enumerate(keys)
        if key not in mine or mine[key].state not in WITH_LINKS
    )
    if faults:
        raise Invalid("no link was made because some of these raters cannot have one", places=faults[:MOST_NAMED])
    return [mine[key] for key in dict.fromkeys(keys)]


def _no_link(rater: raters.RaterRecord | None) -> str:
    if rater is None:
        return "there is no such rater, or it is not yours"
    return "is not enrolled" if rater.state is None else f"is {rater.state}"


def encode_links_csv(links: Sequence[RaterLink], address: Callable[[str], str]) -> bytes:
    """Encode rater, link, expiry and contact as CSV, one line each; formulas are escaped.

    address: makes a secret's link.
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\r\n")
    lines.writerow(("rater", "link", "expires_at", "name", "email"))
    for link in links:
        told = (link.rater, address(link.secret), link.expires_at.isoformat(), link.name or "", link.email or "")
        lines.writerow(f"'{cell}" if cell.startswith(_RUNS_IN_SPREADSHEETS) else cell for cell in told)
    return out.getvalue().encode()
