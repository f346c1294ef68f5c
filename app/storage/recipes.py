"""Queries about the recipes that campaigns define under their own names, with all revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import recipes

RecipeRecord = sa.Row[Any]
LATEST = """
SELECT DISTINCT ON (name COLLATE "C") name, revision, choices, actor, at FROM recipes
WHERE campaign_id = :campaign AND name COLLATE "C" > :after ORDER BY name COLLATE "C", revision DESC LIMIT :limit"""


def insert_recipe_revision(
    session: Session, campaign_id: int, *, name: str, revision: int, choices: Mapping[str, object], actor: str
) -> None:
    """Store a revision; the caller must have locked the campaign's row, so that revisions are numbered in order."""
    values = {"campaign_id": campaign_id, "name": name, "revision": revision, "choices": dict(choices), "actor": actor}
    session.execute(sa.insert(recipes).values(**values, at=sa.func.clock_timestamp()))


def find_recipe(session: Session, campaign_id: int, name: str, *, revision: int | None = None) -> RecipeRecord | None:
    """Return a recipe of a campaign by name: the given revision, or the latest one."""
    query = sa.select(recipes).where(recipes.c.campaign_id == campaign_id, recipes.c.name == name)
    if revision is not None:
        query = query.where(recipes.c.revision == revision)
    return session.execute(query.order_by(recipes.c.revision.desc()).limit(1)).one_or_none()


def load_recipes_page(session: Session, campaign_id: int, *, after: str | None, limit: int) -> list[RecipeRecord]:
    """Return the latest revision of each recipe by name after `after`, at most `limit`."""
    keys = {"campaign": campaign_id, "after": after or "", "limit": limit}
    return list(session.execute(sa.text(LATEST), keys))
