"""A campaign under several recipes, where that takes long: a job with a ranking a chunk, each stored as its own too."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

from app.domain.recipe import Recipe
from app.services import jobs, rankings, reports, side_by_side
from app.services.jobs import AskedOtherwise, JobView
from app.services.kinds._base import Work
from app.services.ranking_view import RankingView
from app.services.registered import stored_recipe
from app.services.reports import Question
from app.services.side_by_side import Column, SideBySide
from app.stats.result import METHOD_VERSION
from app.storage import reports as stored
from app.storage import texts
from app.storage.db import Database, Session
from app.storage.staging import json_text

KIND = "recipes"


class Part(BaseModel):
    """One ranking of a report, as it is kept."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    name: str
    view: RankingView | None
    why: str | None
    etag: str

    @classmethod
    def of(cls, column: Column) -> Self:
        """From a column."""
        return cls(name=column.name, view=column.view, why=column.why, etag=column.etag)


class Kept(BaseModel):
    """Rankings beside each other, as they are kept."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    subject: str
    parts: list[Part]


def read(body: bytes) -> SideBySide:
    """The rankings of a stored report."""
    kept = Kept.model_validate_json(body)
    return side_by_side.lay(kept.subject, [Column(one.name, one.view, one.why, one.etag) for one in kept.parts])


def long_answer(
    database: Database, campaign: str, names: Sequence[str], *, as_of: int | datetime | None = None
) -> SideBySide | JobView:
    """The rankings where they are stored or quickly made, else the job that makes them.

    Raises as `side_by_side.by_recipes`.
    """
    with database.transaction(snapshot=True) as session:
        about, wanted = side_by_side.located(session, campaign, names, as_of)
        missing = [one.recipe for one in wanted.values() if one.body is None]
        is_long = rankings.take_long(session, about.campaign_id, missing)
        key = _key(session, about, {name: one.recipe for name, one in wanted.items()})
        body = stored.find(session, key) if is_long else None
    if not is_long:
        return side_by_side.made(database, about, wanted)
    if body is not None:
        return read(body)
    given = {"recipes": [[name, one.recipe.as_json()] for name, one in wanted.items()]}
    return jobs.ask(database, jobs.Request(KIND, key, {about.campaign.key: about.version}, given))


def _key(session: Session, about: Question, chosen: Mapping[str, Recipe]) -> stored.ReportKey:
    named = [[name, recipe.name, recipe.hash] for name, recipe in chosen.items()]
    parts = [named, about.unsettled, texts.names_digest(session, about.campaign_id)]
    digest = hashlib.sha256(json_text(parts).encode()).hexdigest()
    return stored.ReportKey(about.campaign_id, KIND, about.version, f"sha256:{digest}", 0, METHOD_VERSION)


def work(database: Database, request: jobs.Request) -> Work[Kept]:
    """What remains to be done for a job: a ranking a chunk. Raises AskedOtherwise."""
    ((campaign, version),) = request.campaigns.items()
    chosen = {name: stored_recipe(recipe) for name, recipe in request.given["recipes"]}
    names = list(chosen)

    def asked() -> Question:
        with database.transaction(snapshot=True) as session:
            about = reports.question(session, campaign, version)
            if _key(session, about, chosen) != request.key:
                raise AskedOtherwise
        return about

    def chunk(n: int) -> bytes:
        recipe = chosen[names[n]]
        made = side_by_side.column(names[n], lambda: reports.ranking(database, campaign, recipe=recipe, as_of=version))
        asked()  # else names of today would stand under a key of yesterday's
        return Part.of(made).model_dump_json().encode()

    def finish(parts: Sequence[bytes]) -> Kept:
        return Kept(subject=side_by_side.subject(about), parts=[Part.model_validate_json(part) for part in parts])

    about = asked()
    return Work(len(names), chunk, finish)
