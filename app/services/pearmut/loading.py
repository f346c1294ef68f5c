"""Loading a campaign of Pearmut: test set, raters, plan and codes, in one transaction."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.errors import Conflict, NotFound
from app.domain.keys import convert_name_to_key
from app.formats.base import InputFile
from app.services.access import tokens
from app.services.access.tokens import Caller
from app.services.data import imports
from app.services.pearmut.campaign_file import CampaignFile, CampaignFileUser, shuffle_models
from app.services.pearmut.loaded_campaign import PearmutCampaign, parse_pearmut_campaign
from app.services.pearmut.plan import freeze_pearmut_plan
from app.services.pearmut.questionnaires import make_questionnaires_setting
from app.services.people import raters
from app.services.people.raters import Enrolment
from app.services.plans.campaign_states import change_campaign_state
from app.storage import campaigns, pearmut
from app.storage import plans as stored_plans
from app.storage import raters as stored_raters
from app.storage.current_organization import DEFAULT, current_organization_number
from app.storage.db import Session
from app.storage.imports import staging

FORMAT = "pearmut"
WEAK = "user names that are no longer credentials: each user has a new link"
NEW_DASHBOARD = "links of the dashboard that no longer work: it has a new one"


class PearmutCampaignExists(Conflict):
    """A campaign with this key exists already."""


class UserNamesNeedDefaultOrganization(Conflict):
    """Names of users are credentials in the default organization only: they do not say whose they are."""

    published = "UserNamesAmbiguous"


@dataclass(frozen=True, slots=True)
class PearmutUserLink:
    """How a user opens the pages. credential: identifies the user in addresses; it is shown once."""

    user: str
    rater: str
    credential: str

    def __repr__(self) -> str:
        """Return a text without the credential, so that no log or trace can contain it."""
        return f"PearmutUserLink({self.rater!r})"


@dataclass(frozen=True, slots=True)
class AddedCampaign:
    """What was loaded. token: for the dashboard; it is shown once. unused: counts of what has no effect here."""

    key: str
    name: str
    campaign_id: int
    token: str
    links: tuple[PearmutUserLink, ...]
    documents: int
    unused: Mapping[str, int]
    report: Mapping[str, object]

    def __repr__(self) -> str:
        """Return a text without the token, so that no log or trace can contain it."""
        return f"AddedCampaign({self.key!r})"


def add_pearmut_campaign(
    session: Session, campaign: CampaignFile, *, by: Caller, actor: str, old_ids: bool = False, shuffled: bool = False
) -> AddedCampaign:
    """Load a campaign and open it.

    old_ids: whether the file's user names and dashboard token are credentials, even if they are easy to guess.
    shuffled: whether the order of models is already drawn.

    Raises Invalid, and PearmutCampaignExists.
    """
    if old_ids and current_organization_number() != DEFAULT:
        raise UserNamesNeedDefaultOrganization
    key = convert_name_to_key(campaign.campaign_id)
    _check_new(session, key)
    if campaign.info.get("shuffle", True) and not shuffled:
        shuffle_models(campaign)
    users = _name_users(campaign)
    loaded_json = _strip_credentials(campaign, [name for name, _, _ in users])
    body = json.dumps(loaded_json, ensure_ascii=False)
    report = imports.run_import_in_transaction(
        session,
        key,
        format=FORMAT,
        files=[InputFile("campaign.json", partial(io.BytesIO, body.encode("utf-8", "surrogatepass")))],
        options={},
        dry_run=False,
        skip_bad_lines=False,
        actor=actor,
    )
    staging.drop_staging_tables(session)
    row = campaigns.load_campaign(session, key, lock=True)
    loaded = parse_pearmut_campaign(key, row.id, loaded_json)
    settings = {**row.settings, "presentation": "side_by_side", **make_questionnaires_setting(campaign.aside)}
    campaigns.update_campaign(session, row.id, {"settings": settings, "name": campaign.campaign_id})
    given = campaign.token if old_ids else None
    token_hash = hashlib.sha256(given.encode()).digest() if given else None
    pearmut.insert_pearmut_campaign(session, row.id, loaded=body, token_hash=token_hash, old_ids=old_ids)
    links = []
    for n, (name, rater, user) in enumerate(users):
        weak = old_ids and user.user_id is not None
        links.append(add_user(session, loaded, n, name, rater, user, by=by, old_id=weak))
    freeze_pearmut_plan(session, loaded, {name: rater for name, rater, _ in users}, actor=actor)
    change_campaign_state(session, key, "open", actor=actor, media_follow=True)
    token = (
        given
        or tokens.create_token_unchecked(
            session, role="manager", name="Pearmut's dashboard", campaign=key, expires_at=None, actor=actor
        ).secret
    )
    unused = {**campaign.unused}
    if not old_ids:
        named = sum(user.user_id is not None for user in campaign.users)
        unused |= {what: n for what, n in ((WEAK, named), (NEW_DASHBOARD, int(campaign.token is not None))) if n}
    return AddedCampaign(key, campaign.campaign_id, row.id, token, tuple(links), len(loaded.planned), unused, report)


def add_user(
    session: Session,
    loaded: PearmutCampaign,
    position: int,
    name: str,
    rater: str,
    user: CampaignFileUser,
    *,
    by: Caller,
    old_id: bool = False,
) -> PearmutUserLink:
    """Enrol a user with a credential and both codes. old_id: whether the name is a credential, too."""
    enrolment = Enrolment(capacity=_capacity(loaded), attributes={})
    raters.put_rater(session, loaded.key, rater, enrolment, given_fields=frozenset(), has_seen_version=None, by=by)
    rater_id = stored_raters.load_rater(session, loaded.campaign_id, rater).id
    issued = tokens.create_token_unchecked(
        session, role="rater", name="Pearmut", campaign=loaded.key, rater=rater, expires_at=None, actor=by.actor
    )
    caller = tokens.authenticate_secret(session, issued.secret)
    values = {
        "position": position,
        "user_id": name,
        "token_id": caller.token_id if old_id else None,
        "code_pass": user.token_pass or secrets.token_hex(5),
        "code_fail": user.token_fail or secrets.token_hex(5),
    }
    pearmut.insert_pearmut_user(session, loaded.campaign_id, rater_id, values)
    if stored_plans.find_plan_in_force(session, loaded.campaign_id) is not None:
        stored_plans.add_rater_to_task_pool(session, loaded.campaign_id, rater_id)
    return PearmutUserLink(name, rater, name if old_id else issued.secret)


def _capacity(loaded: PearmutCampaign) -> int | None:
    """Return the capacity for `docs_per_user` in items, if all documents have the same number."""
    cap, sizes = loaded.info.get("docs_per_user"), {len(one.systems) for one in loaded.planned.values()}
    if not isinstance(cap, int) or not loaded.is_single_stream or len(sizes) != 1:
        return None
    return cap * sizes.pop()


def _check_new(session: Session, key: str) -> None:
    try:
        campaigns.load_campaign(session, key)
    except NotFound:
        return
    raise PearmutCampaignExists(key)


def _name_users(campaign: CampaignFile) -> list[tuple[str, str, CampaignFileUser]]:
    """Return for each user the name in Pearmut, the rater's key, and the entry in the file."""
    taken = {user.user_id for user in campaign.users}
    numbers = (f"user-{n}" for n in range(1, 2 * len(campaign.users) + 1))
    free = (name for name in numbers if name not in taken)
    names = [user.user_id or next(free) for user in campaign.users]
    return [(name, convert_name_to_key(name), user) for name, user in zip(names, campaign.users, strict=True)]


def _strip_credentials(campaign: CampaignFile, names: Sequence[str]) -> dict[str, object]:
    """Return what is stored: the campaign as Pearmut has it after loading, without credentials."""
    data = campaign.tasks[0] if campaign.is_single_stream else dict(zip(names, campaign.tasks, strict=True))
    info = {name: value for name, value in campaign.info.items() if name != "users"}
    return {"campaign_id": campaign.campaign_id, "info": info, "data": data, **campaign.aside}
