"""The stability report: would the ranking hold if the study were run again?

`prepared` reads what the chunks of a request need; a chunk is then a pure function of that and its number, whoever
computes it. `report` does all of it here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter

from app.domain.errors import Invalid, Place
from app.domain.recipe import Recipe
from app.reports.kit.report import StoredReport, Work
from app.reports.source import named_recipes
from app.reports.source.data_hash import data_hash
from app.reports.source.recipe_ratings import load
from app.reports.source.registration import Registration, applied, registered, stored_recipe
from app.reports.source.snapshot import Snapshot, snapshot
from app.services.jobs import jobs
from app.services.jobs.jobs import JobView
from app.services.stability_view import CurveView, DesignView, LeftOut, PointView, RequestView, StabilityView, Uneven
from app.stats.normalize import normalize, per_rater
from app.stats.ratings import Ratings
from app.stats.selection import select, without
from app.stats.stability import curves
from app.stats.stability.chunks import METHOD_VERSION, Outcome, Simulator
from app.stats.stability.curves import FIXED_POOL, Curve, Execute, Progress, in_order, is_fatal, misfit
from app.stats.stability.extraction import multiply_rated
from app.stats.stability.pairs import reach_of
from app.stats.stability.request import Request, StudyDesign
from app.storage import reports, side_tables, texts
from app.storage.db import Database, Session
from app.storage.imports.staging import json_text

KIND = "stability"
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_OF_RATERS = "the raters of each bucket are the same people in every study"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request about a campaign. recipe: the name of one; it says which rows and scores are read."""

    request: Request
    recipe: str = "srp-paper"


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that the answer to a request is a function of.

    simulator: computes its chunks; None where `body`, the report, is stored already. misfits: designs that a lenient
    request leaves out.
    """

    key: reports.ReportKey
    about: Snapshot
    recipe: Recipe
    simulator: Simulator | None
    data_hash: str
    misfits: tuple[Curve, ...]
    warnings: tuple[str, ...]
    body: bytes | None


def prepared(database: Database, campaign: str, asked: Asked, *, as_of: int | datetime | None = None) -> Prepared:
    """Read what a request needs.

    Raises NotFound for an unknown campaign, NoSuchRecipe, Invalid where the request does not fit the data.
    """
    key, about, recipe, body = located(database, campaign, asked, as_of=as_of)
    if body is not None:
        return Prepared(key, about, recipe, None, "", (), (), body)
    return _ready(database, key, about, recipe, asked.request)


def located(
    database: Database, campaign: str, asked: Asked, *, as_of: int | datetime | None = None
) -> tuple[reports.ReportKey, Snapshot, Recipe, bytes | None]:
    """The key of a report, what it is about, by which recipe, and its bytes where it is stored.

    Raises NotFound for an unknown campaign, NoSuchRecipe.
    """
    with database.transaction(snapshot=True) as session:
        about = snapshot(session, campaign, as_of)
        recipe = named_recipes.find(session, campaign, asked.recipe, place=("body", "recipe"))
        key = _key(about, recipe, asked.request)
        return key, about, recipe, reports.find(session, key)


def _ready(database: Database, key: reports.ReportKey, about: Snapshot, recipe: Recipe, request: Request) -> Prepared:
    with database.transaction() as session:
        stands = registered(session, about.campaign_id, about.version)
        rows = load(session, about, recipe)
        digest = _digest(session, about, without(rows, applied(recipe, stands).exclude))
    selection = select(rows, applied(recipe, stands))
    used = selection.ratings.where(selection.ranked)
    data = multiply_rated(used)
    resolved, misfits = _checked(request.resolved(len(data.documents), len(data.systems)), used)
    said = _said(recipe, stands) + _not_told(resolved, len(data.systems))
    return Prepared(key, about, recipe, Simulator(data, resolved), digest, misfits, said, None)


def _said(recipe: Recipe, stands: Registration) -> tuple[str, ...]:
    """What is to be known of the ratings that are read."""
    found = [] if recipe.repeats == "average" else ["several ratings of one output by one rater count as their mean"]
    others = {one.exclusion for one in stands.exclusions if not one.withdrawal}
    ignored = 0 if recipe.standing else len(others - set(recipe.exclude))
    if ignored:
        what = "the standing exclusion is" if ignored == 1 else f"{ignored} standing exclusions are"
        found.append(f"{what} not applied: recipe {recipe.name} does not take them")
    return tuple(found)


def _not_told(request: Request, systems: int) -> tuple[str, ...]:
    """Whether some pairs of systems are left out, so that the report does not become too long."""
    reach = reach_of(request, systems)
    if reach == systems - 1:
        return ()
    if not reach:
        return ("how often each pair is claimed is not told: there are too many systems and points",)
    places = "next to each other" if reach == 1 else f"at most {reach} places apart"
    return (f"how often a pair is claimed is told of systems {places} in the ranking by all ratings",)


def long_answer(
    database: Database,
    campaign: str,
    asked: Asked,
    *,
    as_of: int | datetime | None = None,
    ask: jobs.Ask = jobs.ask,
) -> StoredReport | JobView:
    """The report where it is stored, else the job that makes it.

    Raises NotFound for an unknown campaign, NoSuchRecipe, and what a worker has found the request to be refused for.
    """
    key, about, recipe, body = located(database, campaign, asked, as_of=as_of)
    if body is not None:
        return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], about.version)
    given = {"request": _REQUEST.dump_python(asked.request, mode="json"), "recipe": recipe.as_json()}
    versions = {about.campaign.key: about.version}
    return ask(database, jobs.Request(KIND, key, versions, given, weight="heavy"))


def work(database: Database, request: jobs.Request) -> Work[StabilityView]:
    """What remains to be done for a job once the data are read: its chunks are those of the simulator.

    Raises as `prepared`.
    """
    ((campaign, version),) = request.campaigns.items()
    with database.transaction(snapshot=True) as session:
        about = snapshot(session, campaign, version)
    recipe = stored_recipe(request.given["recipe"])
    made = _ready(database, request.key, about, recipe, _REQUEST.validate_python(request.given["request"]))
    simulator = made.simulator
    assert simulator is not None  # noqa: S101  (as it is made ready above)

    def chunk(n: int) -> bytes:
        outcome = simulator.run(n)
        if outcome.why is not None and is_fatal(simulator.request):
            # The end would say the same, after all the others.
            raise misfit(simulator.chunks[n].documents, outcome.why)
        return outcome.to_bytes()

    def finish(parts: Sequence[bytes]) -> StabilityView:
        def given(_: Simulator, numbers: Iterable[int]) -> curves.Outcomes:
            yield from ((n, Outcome.from_bytes(body)) for n, body in zip(numbers, parts, strict=True))

        return _view(made, simulator, curves.run(simulator, execute=given))

    return Work(len(simulator.chunks), chunk, finish)


def _digest(session: Session, about: Snapshot, rows: Ratings) -> str:
    documents = side_tables.documents(session, about.campaign_id, rows.labels)
    return data_hash(rows, documents, texts.system_words(session, about.campaign_id))


def report(
    database: Database,
    campaign: str,
    asked: Asked,
    *,
    as_of: int | datetime | None = None,
    on_progress: Progress = lambda _done, _total: None,
    should_stop: Callable[[], bool] = lambda: False,
    execute: Execute = in_order,
) -> StoredReport:
    """The stability report of a campaign, from the store or computed and stored.

    Parameters
    ----------
    on_progress : told how many chunks are done, of how many; not called where the report is stored already.
    should_stop : asked after every chunk. execute : computes chunks; it changes nothing in the report.

    Raises
    ------
    Stopped
        `should_stop` said so; nothing is stored.
    NotFound, NoSuchRecipe, NotMultiplyRated, Invalid
        As `prepared`, or a design that the raters of the campaign cannot have.
    """
    made = prepared(database, campaign, asked, as_of=as_of)
    body = made.body
    if body is None:
        body = computed(made, on_progress=on_progress, should_stop=should_stop, execute=execute)
        with database.transaction() as session:
            reports.store(session, made.key, body)
            body = reports.find(session, made.key) or body
    return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], made.about.version)


def computed(
    made: Prepared, *, on_progress: Progress, should_stop: Callable[[], bool], execute: Execute = in_order
) -> bytes:
    """The bytes of a report that is not stored yet. Raises as `report`."""
    if made.simulator is None:
        raise ValueError("the report is stored already")
    found = curves.run(made.simulator, on_progress=on_progress, should_stop=should_stop, execute=execute)
    return _view(made, made.simulator, found).model_dump_json().encode()


def _view(made: Prepared, simulator: Simulator, found: tuple[Curve, ...]) -> StabilityView:
    data, request = simulator.data, simulator.request
    sizes = [int((data.bucket == bucket).sum()) for bucket in range(len(data.pools))]
    return StabilityView(
        campaign=made.about.campaign.key,
        data_version=made.about.version,
        data_hash=made.data_hash,
        method_version=METHOD_VERSION,
        request=_shown(request, made.recipe),
        seed=request.seed,
        higher_is_better=data.higher_is_better,
        systems=list(data.systems),
        documents_available=len(data.documents),
        buckets=sizes,
        raters=len(data.raters),
        left_out=[LeftOut(reason=dropped.reason, n=dropped.n) for dropped in data.left_out],
        curves=[_curve(curve) for curve in (*found, *made.misfits)],
        warnings=[f"{FIXED_POOL}: {_OF_RATERS}", *made.warnings],
    )


def _shown(request: Request, recipe: Recipe) -> RequestView:
    return RequestView(
        designs=[_design(design) for design in request.designs],
        documents=list(request.counts),
        studies=request.studies,
        studies_per_document_set=request.per_set,
        pairs=request.pairs,
        permutations=request.permutations,
        alpha=request.alpha,
        two_sided=request.two_sided,
        plus_one=request.plus_one,
        signs=request.signs,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
    )


def _curve(curve: Curve) -> CurveView:
    points = [PointView.model_validate(point) for point in curve.points]
    return CurveView(design=_design(curve.design), points=points, why=curve.why, pairs=list(curve.pairs))


def _design(design: StudyDesign) -> DesignView:
    assignment = design.assignment
    return DesignView(
        grouping=assignment.grouping,
        balance="full" if assignment.entropy is None else Uneven(entropy=assignment.entropy),
        ratings_per_item=assignment.ratings,
        normalize=design.normalize,
    )


def _checked(request: Request, used: Ratings) -> tuple[Request, tuple[Curve, ...]]:
    """The request without designs whose normalization these scores cannot have, and those with the reason.

    Raises Invalid where there are any and the request is not lenient.
    """
    refused: dict[str, str] = {}
    moments = per_rater(used)
    for method in dict.fromkeys(design.normalize for design in request.designs):
        try:
            normalize(used, method, moments=moments, sd0="zero")
        except Invalid as error:
            refused[method] = error.detail or error.title()
    fitting = tuple(design for design in request.designs if design.normalize not in refused)
    if refused and not (request.lenient and fitting):
        places = tuple(Place(("body", "designs"), f"{method}: {why}") for method, why in refused.items())
        raise Invalid("a design does not fit the data", places=places)
    out = tuple(Curve(d, (), refused[d.normalize]) for d in request.designs if d.normalize in refused)
    return replace(request, designs=fitting), out


def _key(about: Snapshot, recipe: Recipe, request: Request) -> reports.ReportKey:
    # The request is hashed as it was asked: what it leaves open follows from the data version.
    digest = hashlib.sha256(json_text([recipe.name, recipe.hash, _plain(request)]).encode()).hexdigest()
    return reports.ReportKey(about.campaign_id, KIND, about.version, digest, request.seed, METHOD_VERSION)


def _plain(request: Request) -> list[object]:
    designs = [
        [d.assignment.grouping, d.assignment.entropy, d.assignment.ratings, d.normalize] for d in request.designs
    ]
    drawn = [request.documents and list(request.documents), request.studies, request.per_set, request.pairs]
    tested = [request.permutations, request.alpha, request.two_sided, request.plus_one, request.signs]
    return [designs, *drawn, *tested, request.lenient]
