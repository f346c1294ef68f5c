"""The stability report: would the ranking hold if the study were repeated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from app.domain.errors import Invalid, Place
from app.domain.recipe import Recipe
from app.reports.inputs import named_recipes
from app.reports.inputs.exclusions_and_lock import (
    ExclusionsAndLock,
    add_standing_exclusions,
    load_exclusions_and_lock,
    parse_stored_recipe,
)
from app.reports.inputs.ratings_file_totals import list_sums_cache_key_parts
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, SingleTableHeadings
from app.reports.stability.charts import plot_stability_curves
from app.reports.stability.input import (
    StudySimulationInput,
    check_duckdb_for_study_simulation,
    load_study_simulation_input,
)
from app.reports.stability.options import StabilityIn
from app.reports.stability.tables import (
    EXPLAINED,
    list_stability_warnings,
    make_caption,
    make_csv_rows,
    make_narrow_tables,
    make_tables,
)
from app.reports.stability.view import (
    OmittedDocuments,
    StabilityCurveView,
    StabilityPointView,
    StabilityRequestView,
    StabilityView,
    StudyDesignView,
    WorkEntropyView,
)
from app.stats.normalize import normalize_ratings
from app.stats.stability import curves
from app.stats.stability.chunks import STABILITY_VERSION, ChunkOutcome, StabilitySimulator
from app.stats.stability.curves import FIXED_POOL, StabilityCurve, make_impossible_design_error, requires_every_point
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments
from app.stats.stability.pairs import choose_max_reported_rank_distance
from app.stats.stability.request import StabilityRequest, StudyDesign
from app.storage.db import Session

EARLIER = "stability"
"""The name of this report's jobs from before it was named like other reports."""
_REQUEST: TypeAdapter[StabilityRequest] = TypeAdapter(StabilityRequest)
_OF_RATERS = "the raters of each bucket are the same people in every study, so other raters may agree less"


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: StabilityIn
) -> ReportComputation[StabilityView]:
    recipe = named_recipes.resolve_recipe(session, snapshots[0].campaign.key, options.recipe, place=("body", "recipe"))
    return _work(session, snapshots[0], recipe, options.to_request())


def make_computation_of_legacy_job(
    session: Session, snapshot: CampaignSnapshot, given: Mapping[str, Any]
) -> ReportComputation[StabilityView]:
    """Make the work of a job with the name `EARLIER`, from the request that it stores."""
    return _work(session, snapshot, parse_stored_recipe(given["recipe"]), _REQUEST.validate_python(given["request"]))


def _work(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe, request: StabilityRequest
) -> ReportComputation[StabilityView]:
    """Load the data that a request needs; the chunks are those of the simulator.

    Raises Invalid if the request does not fit the data.
    """
    exclusions_and_lock = load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    given = load_study_simulation_input(session, snapshot, recipe, add_standing_exclusions(recipe, exclusions_and_lock))
    rated = given.data if isinstance(given.data, MultiplyRatedDocuments) else given.data.data
    resolved, misfits = _drop_impossible_designs(request.resolve(len(rated.documents), len(rated.systems)), given)
    notes = (
        _list_rating_notes(recipe, exclusions_and_lock) + _list_pair_notes(resolved, len(rated.systems)) + given.notes
    )
    studies = StudyChunkComputer(StabilitySimulator(given.data, resolved))
    finish = partial(_result, _Origin(snapshot, recipe, given.data_hash, misfits, notes), studies.simulator)
    return ReportComputation(len(studies.simulator.chunks), studies.compute_chunk, finish)


@dataclass(frozen=True, slots=True)
class StudyChunkComputer:
    """The chunks. Any process can compute them: each is a function of the data, the request and its number."""

    simulator: StabilitySimulator

    def compute_chunk(self, number: int) -> bytes:
        """Return the findings of a chunk's studies. Raises Invalid at once for what the final step would reject."""
        outcome = self.simulator.run_chunk(number)
        if outcome.why is not None and requires_every_point(self.simulator.request):
            raise make_impossible_design_error(self.simulator.chunks[number].documents, outcome.why)
        return outcome.to_bytes()


@dataclass(frozen=True, slots=True)
class _Origin:
    """The origin of a report. misfits: designs that a lenient request leaves out. notes: for its warnings."""

    about: CampaignSnapshot
    recipe: Recipe
    data_hash: str
    misfits: tuple[StabilityCurve, ...]
    notes: tuple[str, ...]


def _list_rating_notes(recipe: Recipe, exclusions_and_lock: ExclusionsAndLock) -> tuple[str, ...]:
    """Return notes on the ratings that are used."""
    notes = [] if recipe.repeats == "average" else ["several ratings of one output by one rater count as their mean"]
    others = {each.exclusion for each in exclusions_and_lock.exclusions if not each.withdrawal}
    ignored = 0 if recipe.standing else len(others - set(recipe.exclude))
    if ignored:
        what = "the standing exclusion is" if ignored == 1 else f"{ignored} standing exclusions are"
        notes.append(
            f"{what} not applied, because recipe {recipe.name} does not apply them; use a recipe that does, or compare "
            "with the ranking by this one"
        )
    return tuple(notes)


def _list_pair_notes(request: StabilityRequest, systems: int) -> tuple[str, ...]:
    """Note if some pairs of systems are left out to keep the report short."""
    reach = choose_max_reported_rank_distance(request, systems)
    if reach == systems - 1:
        return ()
    if not reach:
        return ("how often each pair is claimed is not reported: there are too many systems and points",)
    places = "next to each other" if reach == 1 else f"at most {reach} places apart"
    return (f"how often a pair is claimed is reported for systems {places} in the ranking by all ratings",)


def _result(origin: _Origin, simulator: StabilitySimulator, parts: Sequence[bytes]) -> StabilityView:
    drawn = curves.compute_stability_curves(simulator, enumerate(map(ChunkOutcome.from_bytes, parts)))
    data, request = simulator.document_rater_pools, simulator.request
    sizes = [int((data.bucket == bucket).sum()) for bucket in range(len(data.pools))]
    return StabilityView(
        campaign=origin.about.campaign.key,
        data_version=origin.about.version,
        data_hash=origin.data_hash,
        method_version=STABILITY_VERSION,
        request=_request(request, origin.recipe),
        seed=request.seed,
        higher_is_better=data.higher_is_better,
        systems=list(data.systems),
        documents_available=len(data.documents),
        buckets=sizes,
        raters=len(data.raters),
        left_out=[OmittedDocuments(reason=dropped.reason, n=dropped.n) for dropped in data.left_out],
        curves=[_curve(curve) for curve in (*drawn, *origin.misfits)],
        warnings=[f"{FIXED_POOL}: {_OF_RATERS}", *origin.notes],
    )


def _request(request: StabilityRequest, recipe: Recipe) -> StabilityRequestView:
    return StabilityRequestView(
        designs=[_design(design) for design in request.designs],
        documents=list(request.document_counts),
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


def _curve(curve: StabilityCurve) -> StabilityCurveView:
    points = [StabilityPointView.model_validate(point) for point in curve.points]
    return StabilityCurveView(design=_design(curve.design), points=points, why=curve.why, pairs=list(curve.pairs))


def _design(design: StudyDesign) -> StudyDesignView:
    assignment = design.assignment
    return StudyDesignView(
        grouping=assignment.grouping,
        balance="full" if assignment.entropy is None else WorkEntropyView(entropy=assignment.entropy),
        ratings_per_item=assignment.ratings,
        normalize=design.normalize,
    )


def _drop_impossible_designs(
    request: StabilityRequest, given: StudySimulationInput
) -> tuple[StabilityRequest, tuple[StabilityCurve, ...]]:
    """Return the request without designs whose normalization these scores do not allow, and these with the reason.

    Raises Invalid if there are any and the request is not lenient.
    """
    refused: dict[str, str] = {}
    for method in dict.fromkeys(design.normalize for design in request.designs):
        try:
            normalize_ratings(given.ratings, method, moments=given.moments, sd0="zero")
        except Invalid as error:
            refused[method] = error.detail or error.title()
    fitting = tuple(design for design in request.designs if design.normalize not in refused)
    if refused and not (request.lenient and fitting):
        places = tuple(Place(("body", "designs"), f"{method}: {why}") for method, why in refused.items())
        raise Invalid("a design does not fit the data", places=places)
    out = tuple(StabilityCurve(d, (), refused[d.normalize]) for d in request.designs if d.normalize in refused)
    return replace(request, designs=fitting), out


_DESIGN = {"grouping": "psxs", "balance": "full", "ratings_per_item": 1, "normalize": "z"}
_POINT: dict[str, Any] = {
    "documents": 20,
    "studies": 100,
    "document_sets": 2,
    "srp": 0.9418,
    "mc_error": 0.0102,
    "n_pairs": 4900,
    "mean_significant_pairs": 29.9,
    "share_without_significance": 0.0,
    "kendall_tau": 0.82,
    "pearson": 0.97,
    "sign_error_rate": 0.0007,
    "retained_claims": 29.8,
    "both_significant_srp": 0.04,
    "full_data_tau": 0.86,
    "same_claims_as_full_data": 0.0,
    "claimed": [0.97],
    "contradicted": [0.0],
    "warnings": [],
}
EXAMPLE: dict[str, Any] = {
    "campaign": "sxs-ende",
    "data_version": 2,
    "data_hash": "sha256:" + "5e" * 32,
    "method_version": "stability-2",
    "request": {
        "designs": [_DESIGN],
        "documents": [20],
        "studies": 100,
        "studies_per_document_set": 50,
        "pairs": "same_documents",
        "permutations": 500,
        "alpha": 0.05,
        "two_sided": True,
        "plus_one": True,
        "signs": "study",
        "recipe": "srp-paper",
        "recipe_hash": "sha256:" + "5e" * 32,
    },
    "seed": 1,
    "higher_is_better": False,
    "systems": ["GPT4-5shot", "ONLINE-W"],
    "documents_available": 30,
    "buckets": [3] * 10,
    "raters": 10,
    "left_out": [],
    "curves": [
        {
            "design": _DESIGN,
            "points": [_POINT],
            "pairs": [[0, 1]],
        }
    ],
    "warnings": ["a fixed rater pool cannot show rater × system variance"],
}
REPORT: Report[StabilityIn, StabilityView] = Report(
    name="stability",
    title="Stability",
    summary="Would the ranking hold if the study were run again?",
    options=StabilityIn,
    result=StabilityView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"documents": plot_stability_curves, "power": partial(plot_stability_curves, picture="power")},
    caption=make_caption,
    warnings=list_stability_warnings,
    long=True,
    version=STABILITY_VERSION,
    own_routes=True,
    options_in="body",
    single=SingleTableHeadings(
        "would the ranking hold if the study were run again?", "Stability of the ranking of {campaign}", long=True
    ),
    terminal=make_narrow_tables,
    terminal_notes=(EXPLAINED,),
    names_raters=False,
    extra_key=list_sums_cache_key_parts,
    check=check_duckdb_for_study_simulation,
)
