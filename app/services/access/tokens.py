"""Bearer tokens: 256 random bits, shown once and stored as a hash; with a role and maybe a campaign and an expiry."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args

from app.domain.errors import Forbidden, Invalid, NotFound, Place, Unauthorized
from app.services.access.organization_prefixes import MARK_PATTERN, make_organization_token_prefix
from app.services.campaigns import audit
from app.storage import campaigns, clock, raters, teams, tokens
from app.storage.db import Database, Session
from app.storage.sorting import SortCursor

Role = Literal["admin", "manager", "coordinator", "viewer", "frontend", "rater"]
Given = Literal["admin", "manager", "coordinator", "viewer", "frontend"]  # raters get theirs by a link or an invitation
ROLES: tuple[Role, ...] = get_args(Role)
GIVEN: tuple[Given, ...] = get_args(Given)
TokenSort = Literal["prefix", "made", "-made"]
LONGEST_NAME = 200
FIRST_ADMIN_DAYS = 1
_TOKEN = re.compile(rf"{MARK_PATTERN}(?P<prefix>[0-9a-f]{{12}})_[A-Za-z0-9_-]{{43}}")

# Roles that each role includes: a manager can do what viewers, coordinators and front ends can. Only raters judge.
INCLUDES: Mapping[Role, frozenset[Role]] = MappingProxyType(
    {
        "admin": frozenset(GIVEN),
        "manager": frozenset({"manager", "viewer", "coordinator", "frontend"}),
        "coordinator": frozenset({"coordinator"}),
        "viewer": frozenset({"viewer"}),
        "frontend": frozenset({"frontend"}),
        "rater": frozenset({"rater"}),
    }
)
# Roles whose tokens a role may create, see and revoke, only within its own campaign if it is bound to one.
MANAGES: Mapping[Role, frozenset[Role]] = MappingProxyType(
    {"admin": frozenset(ROLES), "manager": frozenset({"coordinator", "viewer", "frontend", "rater"})}
)


class BadCredential(Unauthorized):
    """There is no such credential, or it has expired or been revoked."""


class LinkAlreadyOpened(Unauthorized):
    """This link was opened before, and it works only once; go back to that browser, or ask for a new link."""

    published = "LinkOpened"


class GrantExceedsRights(Forbidden):
    """You cannot give rights that you do not have."""

    published = "BeyondYourRights"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends the request. campaign: the only one for which this credential is valid, None for all.

    team: whose enrolments a coordinator sees. rater: who owns the credential, if the role is rater. answers_since: the
    credential shows no answers from before this time, because its creator may not see them. check_due: whether the
    identity provider must confirm this person before the request continues. session_id: of the browser session that a
    token opened; None for a request with a token, or for an account.
    """

    token_id: int
    prefix: str
    role: Role
    name: str
    campaign: str | None
    expires_at: datetime | None
    team: str | None = None
    rater: str | None = None
    campaign_id: int | None = None
    rater_id: int | None = None
    answers_since: datetime | None = None
    check_due: bool = False
    session_id: int | None = None

    @property
    def actor(self) -> str:
        """Who acts, as data versions record it."""
        return f"token:{self.prefix}" if self.prefix else audit.OPERATOR

    def has_rights_of(self, role: Role) -> bool:
        """Return whether this caller has the rights of a role."""
        return role in INCLUDES[self.role]

    def can_manage_tokens(self, role: str, campaign: str | None) -> bool:
        """Return whether this caller may create, see and revoke tokens of a role for a campaign."""
        return role in MANAGES.get(self.role, frozenset()) and self.campaign in (None, campaign)

    def can_lead_team(self, team: str | None) -> bool:
        """Return whether this caller may see and manage the enrolments of a team; None: enrolments without a team."""
        return self.has_rights_of("manager") or (self.role == "coordinator" and team is not None and team == self.team)


# The operator at the command line, who may do everything.
THE_OPERATOR = Caller(0, "", "admin", "", None, None)


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as its manager sees it. last_used_at: accurate to five minutes; None: never used."""

    prefix: str
    role: Role
    campaign: str | None
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    live: bool
    team: str | None
    rater: str | None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which is stored nowhere and cannot be shown again."""

    token: TokenView
    secret: str

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return f"Issued({self.token!r})"


def issue_token(
    session: Session,
    *,
    role: Role,
    name: str = "",
    campaign: str | None = None,
    team: str | None = None,
    rater: str | None = None,
    expires_at: datetime | None = None,
    by: Caller | None = None,
) -> IssuedToken:
    """Create a token. by: who asks; None is the operator at the command line, who may do everything.

    team: for a coordinator. rater: the owner of a rater's token, required for this role and not allowed for others.

    Raises Forbidden for rights beyond those of `by`, NotFound for an unknown campaign, team or rater, Invalid for a bad
    name or time and for a team or rater that does not fit the role.
    """
    if by is not None:
        _check_within(by, role, campaign, expires_at)
    _check_bounds(role, campaign, team, rater)
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(places=(Place(("name",), f"must be at most {LONGEST_NAME} printable characters"),))
    if expires_at is not None and expires_at.tzinfo is None:
        raise Invalid(places=(Place(("expires_at",), "must have a time zone"),))
    return create_token_unchecked(
        session,
        role=role,
        name=name,
        campaign=campaign,
        team=team,
        rater=rater,
        expires_at=expires_at,
        actor=_actor(by),
    )


def check_future_expiry(session: Session, at: datetime) -> None:
    """Raise Invalid if the expiry in a request body is in the past."""
    if at <= clock.get_database_time(session):
        raise Invalid(places=(Place(("body", "expires_at"), "must be in the future"),))


def create_token_unchecked(
    session: Session,
    *,
    role: Role,
    name: str,
    campaign: str | None = None,
    team: str | None = None,
    rater: str | None = None,
    expires_at: datetime | None,
    actor: str,
    single_use: bool = False,
) -> IssuedToken:
    """Create a token after the caller has checked the rights. Raises NotFound.

    single_use: it opens one session, is not a credential by itself, and shows no answers from before its creation.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id if campaign is not None else None
    bound = {
        "campaign_id": campaign_id,
        "team_id": teams.load_team(session, campaign_id, team).id if campaign_id and team else None,
        "rater_id": raters.load_rater(session, campaign_id, rater).id if campaign_id and rater else None,
    }
    prefix, secret = generate_token_prefix_and_secret()
    values = {"role": role, "name": name, "expires_at": expires_at, "once": single_use}
    row = tokens.insert_token(session, prefix=prefix, digest=hash_secret(secret), values=values, bound=bound)
    given = {"token": prefix, "role": role, "expires_at": expires_at and expires_at.isoformat()}
    given |= {noun: key for noun, key in (("team", team), ("rater", rater)) if key is not None}
    audit.record_action(session, campaign_id, actor=actor, action="token made", what=given)
    return IssuedToken(_view(row), secret)


def generate_token_prefix_and_secret() -> tuple[str, str]:
    """Return the name of a new token and its secret of 256 random bits."""
    prefix, key = secrets.token_hex(6), base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    return prefix, f"{make_organization_token_prefix()}{prefix}_{key}"


def authenticate_secret(session: Session, secret: str) -> Caller:
    """Return who holds this secret. Raises BadCredential, always the same, whatever is wrong."""
    row = _authenticate(session, secret)
    if row.once:
        raise BadCredential
    tokens.note_token_use(session, row)
    return make_caller(row)


def authenticate_secret_at_sign_in(session: Session, secret: str) -> Caller:
    """Return who signs in with this secret. Raises BadCredential, LinkAlreadyOpened for a used one-time link."""
    row = _authenticate(session, secret)
    if row.once and not tokens.mark_token_session_opened(session, row.id):
        raise LinkAlreadyOpened
    tokens.note_token_use(session, row)
    return make_caller(row)


def _authenticate(session: Session, secret: str) -> tokens.TokenRecord:
    parts = _TOKEN.fullmatch(secret)
    row = tokens.find_token_by_prefix(session, parts["prefix"]) if parts else None
    known = row.hash if row is not None else bytes(32)
    if not hmac.compare_digest(hash_secret(secret), known) or row is None or not row.live:
        raise BadCredential
    return row


def parse_token_prefix(secret: str) -> str | None:
    """Return the name of the token that a secret belongs to; None if it is not a token's secret."""
    parts = _TOKEN.fullmatch(secret)
    return parts["prefix"] if parts else None


def is_credential_valid(database: Database, caller: Caller) -> bool:
    """Return whether a caller's credential is still valid, for answers that take long."""
    with database.transaction() as session:
        return tokens.is_token_live(session, caller.token_id)


def make_caller(row: tokens.TokenRecord) -> Caller:
    """Make the caller of a stored token."""
    bound = {name: getattr(row, name) for name in ("team", "rater", "campaign_id", "rater_id")}
    since = row.created_at if row.once else None
    return Caller(row.id, row.prefix, row.role, row.name, row.campaign, row.expires_at, **bound, answers_since=since)


def list_tokens(
    session: Session,
    *,
    by: Caller | None,
    after: SortCursor | None,
    limit: int,
    only: Collection[Role] | None = None,
    live: bool | None = None,
    sort: TokenSort = "prefix",
    q: str = "",
) -> list[TokenView]:
    """List the tokens that a caller (None: the operator) manages, in a given order, starting after a cursor.

    only: only these roles. live: only valid tokens, or only those that are not. q: words, each of which must be part of
    prefix, purpose, campaign, team or rater.
    """
    roles = frozenset(ROLES) if by is None else MANAGES.get(by.role, frozenset())
    rows = tokens.load_tokens_page(
        session,
        after=after,
        limit=limit,
        roles=roles if only is None else roles & frozenset(only),
        campaign=None if by is None else by.campaign,
        live=live,
        sort=sort,
        words=q.split(),
    )
    return [_view(row) for row in rows]


def make_token_cursor(token: TokenView, sort: TokenSort) -> SortCursor:
    """Return the cursor that points after a token in a sorted list."""
    return (None if sort == "prefix" else token.created_at.isoformat(), token.prefix)


def get_token(session: Session, prefix: str, *, by: Caller | None) -> TokenView:
    """Return a token that the caller manages, or the caller's own. Raises NotFound."""
    row = tokens.load_token_by_prefix(session, prefix)
    if by is not None and row.prefix != by.prefix and not by.can_manage_tokens(row.role, row.campaign):
        raise tokens.TokenNotFound
    return _view(row)


def revoke_token(session: Session, prefix: str, *, by: Caller | None) -> None:
    """Revoke a token that the caller manages, or the caller's own; at once and for good. Raises NotFound."""
    shown = get_token(session, prefix, by=by)
    if not tokens.mark_token_revoked(session, prefix):
        return
    campaign_id = campaigns.load_campaign(session, shown.campaign).id if shown.campaign is not None else None
    audit.record_action(session, campaign_id, actor=_actor(by), action="token revoked", what={"token": prefix})


def create_first_admin_token(session: Session) -> IssuedToken | None:
    """Create an admin token if there is no valid one, so that no default credential ever exists.

    It lasts for a day, because it was printed or written to a file and serves only to create another token.
    """
    tokens.lock_first_admin_creation(session)
    if tokens.has_live_admin(session):
        return None
    return issue_token(
        session,
        role="admin",
        name="first admin",
        expires_at=clock.get_database_time_after_days(session, FIRST_ADMIN_DAYS),
    )


def hash_secret(secret: str) -> bytes:
    """Return the stored hash of a secret. The secret has 256 random bits, so it needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _actor(by: Caller | None) -> str:
    return audit.OPERATOR if by is None else by.actor


def _check_within(by: Caller, role: Role, campaign: str | None, expires_at: datetime | None) -> None:
    if not by.can_manage_tokens(role, campaign):
        if by.campaign is not None and campaign not in (None, by.campaign):
            raise NotFound("campaign")
        raise GrantExceedsRights
    if by.expires_at is not None and (expires_at is None or expires_at > by.expires_at):
        raise GrantExceedsRights("a token cannot outlive the token that created it")


def _check_bounds(role: Role, campaign: str | None, team: str | None, rater: str | None) -> None:
    """Raise Invalid for a team or rater that does not fit the role."""
    places = []
    if team is not None and role != "coordinator":
        places.append(Place(("team",), "only a coordinator has a team"))
    if (rater is None) == (role == "rater"):
        places.append(Place(("rater",), "only a rater's token names a rater"))
    if campaign is None and (team is not None or rater is not None):
        places.append(Place(("campaign",), "teams and raters belong to one campaign"))
    if places:
        raise Invalid(places=tuple(places))


def _view(row: tokens.TokenRecord) -> TokenView:
    return TokenView(**{name: getattr(row, name) for name in TokenView.__slots__})
