"""A database with organizations beside the default one."""

from __future__ import annotations

from app.storage.current_organization import organization_schema

OURS, TWIN, OTHER = 0, 1, 2
KEYS = {TWIN: "twin", OTHER: "other"}


def within(url: str, organization: int) -> str:
    """The address of the database for who works in one organization's schema."""
    mark = "&" if "?" in url else "?"
    return f"{url}{mark}options=-csearch_path%3D{organization_schema(organization)}"
