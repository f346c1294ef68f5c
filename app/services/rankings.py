"""Rankings that take long: the job that makes one, with the bytes that it would have if it were made at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from app.domain.recipe import Recipe
from app.services import jobs, reports
from app.services.expected_time import AT_ONCE, Size, seconds_to_rank
from app.services.jobs import AskedOtherwise, JobView
from app.services.kinds._base import Work, whole
from app.services.registered import stored_recipe
from app.services.reports import StoredReport
from app.storage.db import Database, Session

KIND = reports.RANKING


def long_answer(
    database: Database, campaign: str, *, recipe: Recipe, as_of: int | datetime | None = None
) -> StoredReport | JobView:
    """The ranking where it is stored or quickly made, else the job that makes it.

    Raises as `reports.ranking`, and what a worker has found the recipe to be refused for.
    """
    with database.transaction(snapshot=True) as session:
        wanted = reports.located(session, campaign, recipe, as_of)
        is_long = wanted.body is None and take_long(session, wanted.about.campaign_id, [recipe])
    if not is_long:
        return reports.made(database, wanted)
    about, given = wanted.about, {"recipe": recipe.as_json()}
    return jobs.ask(database, jobs.Request(KIND, wanted.key, {about.campaign.key: about.version}, given))


def take_long(session: Session, campaign_id: int, recipes: Iterable[Recipe]) -> bool:
    """Whether ranking a campaign by these, one after another, is expected to be worth a job."""
    size = Size.of(session, campaign_id)
    return sum(seconds_to_rank(size, recipe) for recipe in recipes) > AT_ONCE


def work(database: Database, request: jobs.Request) -> Work[bytes]:
    """What remains to be done for a job once the data are read. Raises AskedOtherwise, and as `reports.read`."""
    ((campaign, version),) = request.campaigns.items()
    with database.transaction() as session:
        about = reports.question(session, campaign, version)
        material = reports.read(session, about, stored_recipe(request.given["recipe"]))
    if material.key != request.key:
        raise AskedOtherwise
    return whole(material.body)
