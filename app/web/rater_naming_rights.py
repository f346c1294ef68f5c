"""Options that name raters, which viewers may not use: a response would reveal which raters exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.reports.kit.report import Report
from app.services.access.tokens import Caller
from app.web.access import RoleLacksRights


def check_may_specify_raters(caller: Caller, kind: Report[Any, Any], given: Iterable[str]) -> None:
    """Raise RoleLacksRights if a viewer names raters, known or not. given: fields of the request."""
    named = sorted(kind.naming.intersection(given))
    if named and not caller.has_rights_of("manager"):
        raise RoleLacksRights(f"to name raters under {named[0]} needs the rights of a manager; yours is {caller.role}")
