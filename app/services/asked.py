"""Reports of every kind: found in the store by what they are a function of, or computed and stored.

The key of a report is its kind and the kind's version, the campaigns with the data version of each, the question and
its seed. The same key is the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app.domain.errors import Invalid, NotFound, Place
from app.services import jobs, kinds, recipes
from app.services.gate import GATE
from app.services.jobs import JobView
from app.services.kinds._base import Kind, Work
from app.services.redaction import hidden
from app.services.reports import Question, StoredReport, question
from app.storage import jobs_queue, reports
from app.storage.db import Database, Session
from app.storage.staging import json_text

Over = Literal["campaign", "campaigns"]
Progress = Callable[[int, int], None]
MOST_CAMPAIGNS = 20


class NoSuchReport(NotFound):
    """There is no report of this kind."""


class Stopped(Exception):
    """Whoever asked does not wait any longer; nothing is stored."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A kind of report, about which campaigns, and the question.

    as_of: a data version, or a time for each campaign's last version by then.
    """

    kind: Kind[Any, Any]
    campaigns: tuple[str, ...]
    asked: BaseModel
    as_of: int | datetime | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a question comes to: the key of its report, the data versions, and the report where it is stored."""

    key: reports.ReportKey
    about: tuple[Question, ...]
    body: bytes | None

    def stored(self, body: bytes) -> StoredReport:
        """The report with its ETag."""
        return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], self.about[0].version)


def kind_of(name: str, over: Over = "campaign") -> Kind[Any, Any]:
    """The kind of that name. Raises NoSuchReport."""
    found = kinds.ALL.get(f"{over}/{name}")
    if found is None:
        there = sorted(kind.name for kind in kinds.ALL.values() if kind.over == over)
        raise NoSuchReport(f"there are: {', '.join(there)}")
    return found


def kind_of_job(name: str) -> Kind[Any, Any]:
    """The kind of report that a job makes, by the name that the store has for it."""
    return GATE if name == f"{GATE.over}/{GATE.name}" else kinds.ALL[name]


def asked_of(kind: Kind[Any, Any], given: Mapping[str, object], *, place: str = "query") -> BaseModel:
    """The question in names and values. Raises Invalid, naming each that is wrong."""
    unknown = [Place((place, name), _there_are(kind)) for name in given if name not in kind.asked.model_fields]
    if unknown:
        raise Invalid(f"the {place} is not valid", places=tuple(unknown[:20]))
    try:
        asked: BaseModel = kind.asked.model_validate(given)
    except ValidationError as error:
        places = [Place((place, *map(str, each["loc"])), each["msg"]) for each in error.errors()[:20]]
        raise Invalid(f"the {place} is not valid", places=tuple(places)) from None
    return asked


def _there_are(kind: Kind[Any, Any]) -> str:
    known = ", ".join(kind.asked.model_fields)
    return f"unknown; there are: {known}" if known else "there are none here"


def campaigns_of(kind: Kind[Any, Any], campaigns: Sequence[str], asked: BaseModel) -> tuple[str, ...]:
    """All campaigns that a report reads, each once: those that it is over, and those that its question names."""
    also = () if kind.also is None else kind.also(asked)
    return tuple(dict.fromkeys((*campaigns, *also)))


def find(session: Session, asking: Asking) -> Found:
    """The key of a report, and its bytes where it is stored.

    Raises NotFound for an unknown campaign, Invalid for a version that cannot be.
    """
    if len(asking.campaigns) > 1 and isinstance(asking.as_of, int):
        what = "must be a time: each of several campaigns counts its own versions"
        raise Invalid("the query is not valid", places=(Place(("query", "as_of"), what),))
    about = told(asking.kind, [question(session, campaign, asking.as_of) for campaign in asking.campaigns])
    key = key_of(session, asking.kind, about, asking.asked)
    return Found(key, about, reports.find(session, key))


def told(kind: Kind[Any, Any], about: Sequence[Question]) -> tuple[Question, ...]:
    """The campaigns with those of their settings that a report of this kind reads, and no others."""
    return tuple(replace(one, campaign=replace(one.campaign, settings=_read(kind, one))) for one in about)


def _read(kind: Kind[Any, Any], one: Question) -> dict[str, object]:
    return {name: value for name, value in sorted(one.campaign.settings.items()) if name in kind.settings}


def _beside(session: Session, kind: Kind[Any, Any], one: Question) -> list[object]:
    """What a report reads that the data version does not count; empty for most, so that their keys stay as they are."""
    settings = _read(kind, one)
    more = [] if kind.beside is None else list(kind.beside(session, one))
    return [*([one.unsettled] if one.unsettled else []), *([settings] if settings else []), *more]


def key_of(session: Session, kind: Kind[Any, Any], about: Sequence[Question], asked: BaseModel) -> reports.ReportKey:
    """What a report is a pure function of. Raises NoSuchRecipe.

    A campaign's own recipe can be given other choices under its name: what it stands for now is in the key, and so are
    the settings that the kind reads.
    """
    versions = [[one.campaign.key, one.version] for one in about]
    named = [name for name in str(getattr(asked, "recipe", None) or "").split(",") if name]
    hashes = [recipes.named(session, one.campaign.key, name).hash for one in about for name in named]
    beside = [_beside(session, kind, one) for one in about]
    parts = [versions, asked.model_dump(mode="json"), hashes, *([beside] if any(beside) else [])]
    digest = hashlib.sha256(json_text(parts).encode()).hexdigest()
    return reports.ReportKey(
        campaign_id=about[0].campaign_id,
        kind=f"{kind.over}/{kind.name}",
        data_version=about[0].version,
        recipe_hash=f"sha256:{digest}",
        seed=int(getattr(asked, "seed", 0)),
        method_version=kind.version,
    )


def report(
    database: Database,
    asking: Asking,
    *,
    on_progress: Progress = lambda _done, _total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> StoredReport:
    """The report, from the store or computed here and stored.

    Raises NotFound for an unknown campaign, Invalid where the question does not fit it, Stopped.
    """
    with database.transaction(snapshot=True) as session:
        found = find(session, asking)
    if found.body is not None:
        return found.stored(found.body)
    with database.transaction() as session:
        work = asking.kind.prepare(session, found.about, asking.asked)
    body = computed(work, on_progress=on_progress, should_stop=should_stop)
    return found.stored(keep(database, found.key, body))


def long_answer(database: Database, asking: Asking, *, ask: jobs.Ask = jobs.ask) -> StoredReport | JobView:
    """The report where it is stored or quickly made, else the job that makes it.

    Raises as `report`, and what a worker has found the question to be refused for.
    """
    kind = asking.kind
    if not kind.long and kind.takes_long is None:
        return report(database, asking)
    with database.transaction(snapshot=True) as session:
        found = find(session, asking)
        is_long = kind.long or (kind.takes_long is not None and kind.takes_long(session, found.about, asking.asked))
    if found.body is not None:
        return found.stored(found.body)
    if not is_long:
        return report(database, asking)
    given = asking.asked.model_dump(mode="json", exclude_unset=True)
    versions = {one.campaign.key: one.version for one in found.about}
    weight: jobs_queue.Weight = "heavy" if kind.long else "light"
    return ask(database, jobs.Request(found.key.kind, found.key, versions, given, kind.role, weight))


def computed(work: Work[Any], *, on_progress: Progress, should_stop: Callable[[], bool]) -> bytes:
    """All chunks, one after the other, and their end. Raises Stopped."""
    parts = []
    for number in range(work.n_chunks):
        if should_stop():
            raise Stopped
        parts.append(work.chunk(number))
        on_progress(number + 1, work.n_chunks)
    return finished(work, parts)


def finished(work: Work[Any], parts: Sequence[bytes]) -> bytes:
    """The bytes of a report from those of its chunks, in order."""
    made: BaseModel | bytes = work.finish(parts)
    return made if isinstance(made, bytes) else made.model_dump_json().encode()


def keep(database: Database, key: reports.ReportKey, body: bytes) -> bytes:
    """Store a report; the bytes that are stored under its key, which may be those of somebody who was faster."""
    with database.transaction() as session:
        reports.store(session, key, body)
        return reports.find(session, key) or body


def without_raters(kind: Kind[Any, Any], report: StoredReport) -> StoredReport:
    """The report as viewers see it, without who the raters are, under an ETag of its own."""
    view = kind.view.model_validate_json(report.body)
    blind = kind.blind(view) if kind.blind else kind.view.model_validate(hidden(view.model_dump(mode="json")))
    return StoredReport(blind.model_dump_json().encode(), f"{report.etag}.blind", report.data_version)
