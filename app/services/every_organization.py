"""List of organizations, for work that is done in each of them: sweeps, webhooks, metrics, backups."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from app.storage.current_organization import DEFAULT, use_organization
from app.storage.db import Database, OrganizationGone
from app.storage.organization_list import list_nondefault_organizations

T = TypeVar("T")


def list_open_organization_numbers(database: Database) -> list[int]:
    """Return the numbers of the default organization and of all other open ones."""
    with use_organization(DEFAULT), database.transaction() as session:
        return [DEFAULT, *(one.number for one in list_nondefault_organizations(session))]


def run_for_each_organization(database: Database, work: Callable[[], T]) -> list[T]:
    """Run some work in each organization, the default one first, and return the results.

    An organization that is removed in the meantime is skipped.
    """
    outcomes = []
    for number in list_open_organization_numbers(database):
        with use_organization(number), suppress(OrganizationGone):
            outcomes.append(work())
    return outcomes
