"""Which role a person has by the groups that an identity provider names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.domain.errors import Invalid
from app.domain.keys import is_key

PersonRole = Literal["admin", "manager", "coordinator", "viewer"]
ROLES_OF_PEOPLE: tuple[PersonRole, ...] = get_args(PersonRole)
FORM = "role, role/campaign, or coordinator/campaign/team"


class BadGroupRole(Invalid):
    """A group's role is not one that people can have."""


@dataclass(frozen=True, slots=True)
class GroupRole:
    """What the members of a group may do. campaign: the only one they see; None for all. team: of a coordinator."""

    group: str
    role: PersonRole
    campaign: str | None = None
    team: str | None = None


def parse_group_roles(given: Mapping[str, str]) -> tuple[GroupRole, ...]:
    """From groups to roles, as the settings have them; the order stays. Raises BadGroupRole.

    >>> parse_group_roles({"mt": "manager", "bonn": "coordinator/ted-ende/bonn"})[1].team
    'bonn'
    """
    return tuple(_parse(group, value) for group, value in given.items())


def _parse(group: str, value: str) -> GroupRole:
    role, *bound = value.split("/")
    for known in ROLES_OF_PEOPLE:
        if known == role and len(bound) == 2 * (role == "coordinator") and all(map(is_key, bound)):
            return GroupRole(group, known, *bound)
        if known == role != "coordinator" and len(bound) == 1 and is_key(bound[0]):
            return GroupRole(group, known, bound[0])
    raise BadGroupRole(f"each group has one of {', '.join(ROLES_OF_PEOPLE)}, as {FORM}")


def match_group_roles(roles: Sequence[GroupRole], groups: Collection[str]) -> list[GroupRole]:
    """The roles that somebody of these groups can have, the first of the settings first."""
    return [role for role in roles if role.group in groups]
