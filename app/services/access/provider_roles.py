"""The role of a person, which follows from the groups that the identity provider names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.domain.errors import Invalid
from app.domain.keys import is_key, is_valid_organization_key

PersonRole = Literal["admin", "manager", "coordinator", "viewer"]
ROLES_OF_PEOPLE: tuple[PersonRole, ...] = get_args(PersonRole)
FORM = "role, role/campaign, or coordinator/campaign/team; with ORGANIZATION: before it for one of several"
OWNER = "owner"  # another name for an organization's admin


class BadGroupRole(Invalid):
    """A group's role is not one that people can have."""


@dataclass(frozen=True, slots=True)
class GroupRole:
    """What the members of a group may do. campaign: the only one they see; None for all. team: for a coordinator.

    organization: the key of their organization; None for the default one.
    """

    group: str
    role: PersonRole
    campaign: str | None = None
    team: str | None = None
    organization: str | None = None


def parse_group_roles(given: Mapping[str, str]) -> tuple[GroupRole, ...]:
    """Parse the mapping from groups to roles in the settings, and keep its order. Raises BadGroupRole.

    >>> parse_group_roles({"mt": "manager", "bonn": "coordinator/ted-ende/bonn"})[1].team
    'bonn'
    >>> [(one.organization, one.role) for one in parse_group_roles({"acme": "acme:owner"})]
    [('acme', 'admin')]
    """
    return tuple(_parse(group, value) for group, value in given.items())


def _parse(group: str, value: str) -> GroupRole:
    role, *bound = value.split("/")
    before, separator, role = role.rpartition(":")
    if separator and not is_valid_organization_key(before):
        raise BadGroupRole(f"{before!r} cannot be the key of an organization")
    role = "admin" if separator and role == OWNER else role
    campaign, team, *_ = (*bound, None, None)
    for known in ROLES_OF_PEOPLE:
        fits = len(bound) == 2 if role == "coordinator" else len(bound) <= 1
        if known == role and fits and all(map(is_key, bound)):
            return GroupRole(group, known, campaign, team, organization=before or None)
    raise BadGroupRole(f"each group has one of {', '.join(ROLES_OF_PEOPLE)}, as {FORM}")


def filter_roles_by_organization(roles: Sequence[GroupRole], organization: str | None) -> list[GroupRole]:
    """List the roles in one organization, in their order."""
    return [role for role in roles if role.organization == organization]


def list_organizations_of_groups(roles: Sequence[GroupRole], groups: Collection[str]) -> list[str | None]:
    """List the organizations in which members of these groups have a role, in the order of the settings."""
    return list(dict.fromkeys(role.organization for role in match_group_roles(roles, groups)))


def match_group_roles(roles: Sequence[GroupRole], groups: Collection[str]) -> list[GroupRole]:
    """List the roles that members of these groups can have, in the order of the settings."""
    return [role for role in roles if role.group in groups]
