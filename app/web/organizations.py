"""The organization of a request: its credential determines it before anything is read (decision 46).

Until then, a request works for the default organization, whose credentials have no mark. After a request has read
tables of one organization, it cannot switch to another (`app.storage.current_organization`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Path, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.services.access.organization_prefixes import parse_organization_number
from app.storage.current_organization import (
    DEFAULT,
    current_organization_number,
    organization_number_from_row_id,
    switch_current_organization,
    use_organization,
)
from app.storage.db import Database
from app.storage.organization_list import KNOWN_FOR, OrganizationRecord, list_nondefault_organizations


class OrganizationMiddleware:
    """Lets each request choose its organization, once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        with use_organization(DEFAULT):
            await self.app(scope, receive, send)


class OrganizationDirectory:
    """The existing organizations, read again after a few seconds, and only if a request names one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: tuple[float, Sequence[OrganizationRecord]] = (-KNOWN_FOR, ())

    def _list(self) -> Sequence[OrganizationRecord]:
        """Return the list of a few seconds ago. No request waits for another's query, which may need a connection."""
        looked, records = self._seen
        if (begun := time.monotonic()) - looked >= KNOWN_FOR:
            with use_organization(DEFAULT), self._database.transaction() as session:
                records = list_nondefault_organizations(session)
            self._seen = begun, records
        return records

    def has(self, number: int) -> bool:
        """Tell whether there is an organization with this number."""
        return number == DEFAULT or any(one.number == number for one in self._list())

    def find_number_by_key(self, key: str | None) -> int | None:
        """Return the number of an organization, or None if no organization has this key. The default one has no key."""
        return DEFAULT if key is None else next((one.number for one in self._list() if one.key == key), None)

    def find_name_for_current_request(self) -> str | None:
        """Return the name of this request's organization; empty for the default one, None if there is no other one."""
        records = self._list()
        names = {one.number: one.name for one in records}
        return names.get(current_organization_number(), "") if records else None

    def find_key_by_number(self, number: int) -> str | None:
        """Return the key of an organization; None for the default one, and for one that no longer exists."""
        return None if number == DEFAULT else next((one.key for one in self._list() if one.number == number), None)


def get_organization_directory(request: Request) -> OrganizationDirectory:
    """Return the organizations of this installation."""
    directory: OrganizationDirectory = request.app.state.organizations
    return directory


def use_organization_of_credential(request: Request, credential: str) -> None:
    """From now on, work for the organization that a credential names.

    If no organization has this number, the request stays with the default one, which does not know the credential.
    """
    _enter(request, parse_organization_number(credential))


def use_organization_from_row_id(request: Request, row_id: int) -> None:
    """From now on, work for the organization of a row, given by the row's number."""
    _enter(request, organization_number_from_row_id(row_id))


def _enter(request: Request, number: int) -> None:
    if number != current_organization_number():  # otherwise already entered, and kept even if removed meanwhile
        switch_current_organization(number if get_organization_directory(request).has(number) else DEFAULT)


def use_organization_of_archive(
    request: Request,
    address: Annotated[
        str,
        Path(alias="archive", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Key of the archive.", examples=["x" * 22]),
    ],
) -> str:
    """Return the address of a public archive, and work for its organization from now on."""
    use_organization_of_credential(request, address)
    return address


ArchiveAddress = Annotated[str, Depends(use_organization_of_archive)]
