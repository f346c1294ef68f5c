"""The steps for the campaigns of a series, one campaign after the other. Each step continues where it was interrupted.

A backend carries them out, on the database or over HTTP. What already agrees with the manifest does not change. A
contradiction is an error that names the place in the manifest.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.errors import AppError, Conflict, Place
from app.formats.base import InputFile
from app.services.plans.plans import LARGEST_SEED
from app.services.series.manifest import Manifest, ManifestCampaign, ManifestImport, ManifestRater

STEPS = ("create", "plan", "open")
COMPARED = ("protocol", "series", "basis", "source_language", "target_language")
PLANNABLE = frozenset({"draft", "planned"})


class CampaignDiffersFromManifest(Conflict):
    """The campaign exists already and differs from the manifest."""

    published = "OtherwiseThere"


class ManifestDesignMissing(Conflict):
    """The manifest has no design for this campaign."""

    published = "NoDesign"


@dataclass(frozen=True, slots=True)
class ExistingCampaign:
    """A campaign as it exists. fields: values by name."""

    state: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FrozenPlanSummary:
    """Summary of a plan."""

    version: int | None
    hash: str
    seed: int


@dataclass(frozen=True, slots=True)
class IssuedRaterLink:
    """A new link with its secret."""

    campaign: str
    rater: str
    link: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome for one thing. changed: False if it already was as wanted."""

    campaign: str
    what: str
    changed: bool


class SeriesBackend(Protocol):
    """Carries out the steps."""

    def find_campaign(self, key: str) -> ExistingCampaign | None:
        """Return a campaign, None if it does not exist."""

    def create_campaign(self, series: str, wanted: ManifestCampaign) -> None:
        """Create a campaign."""

    def import_files(self, campaign: str, files: ManifestImport, inputs: Sequence[InputFile]) -> Mapping[str, object]:
        """Import files, and return what was stored, by noun."""

    def ensure_team(self, campaign: str, team: str) -> None:
        """Create a team if it does not exist."""

    def put_rater(self, campaign: str, rater: ManifestRater) -> None:
        """Enrol a rater. An identical enrolment changes nothing."""

    def find_plan_in_force(self, campaign: str) -> FrozenPlanSummary | None:
        """Return the plan in force, None if there is none."""

    def compile_and_freeze_plan(
        self, campaign: str, design: Mapping[str, object], *, dry_run: bool
    ) -> FrozenPlanSummary:
        """Compile a design, and freeze it unless it is a dry run."""

    def open_campaign(self, campaign: str) -> None:
        """Open a campaign."""

    def load_raters_having_working_links(self, campaign: str) -> frozenset[str]:
        """Return the raters who have a working link or token."""

    def create_rater_link(self, campaign: str, rater: str, days: int) -> tuple[str, datetime | str]:
        """Create a new link for a rater, and return it with its expiry."""

    def load_progress(self, campaign: str) -> Mapping[str, object]:
        """Return the progress of a campaign."""


FindFiles = Callable[[ManifestImport], Sequence[InputFile]]


def create_and_fill_campaigns(
    backend: SeriesBackend, manifest: Manifest, find_files: FindFiles
) -> Iterator[StepOutcome]:
    """Create the campaigns, import their files and enrol their raters. Raises AppError, which names the place."""
    for n, wanted in enumerate(manifest.campaigns):
        with add_manifest_place_to_errors(manifest, n):
            known = backend.find_campaign(wanted.key)
            if known is None:
                backend.create_campaign(manifest.series, wanted)
            else:
                _check(known, manifest.series, wanted)
        yield StepOutcome(wanted.key, "created", known is None)
        draft = known is None or known.state == "draft"
        for i, files in enumerate(wanted.files if draft else ()):
            with add_manifest_place_to_errors(manifest, n, "files", i):
                stored = backend.import_files(wanted.key, files, find_files(files))
            counts = ", ".join(f"{count} {noun}" for noun, count in stored.items() if count and noun != "data_version")
            yield StepOutcome(wanted.key, f"files {i + 1}: {counts or 'nothing new'}", bool(counts))
        yield from _enrol(backend, manifest, n)


def compile_campaign_plans(backend: SeriesBackend, manifest: Manifest) -> Iterator[StepOutcome]:
    """Compile each design, unless the plan in force is already its result. Raises AppError, which names the place."""
    for n, wanted in enumerate(manifest.campaigns):
        with add_manifest_place_to_errors(manifest, n, "design"):
            known = _find_campaign(backend, wanted)
            if known.state not in PLANNABLE:
                yield StepOutcome(wanted.key, f"is {known.state}; its plan stays", changed=False)
                continue
            if wanted.design is None:
                raise ManifestDesignMissing
            there = backend.find_plan_in_force(wanted.key)
            if there is not None:
                design = {"seed": there.seed, **wanted.design}
                if backend.compile_and_freeze_plan(wanted.key, design, dry_run=True).hash == there.hash:
                    yield StepOutcome(wanted.key, f"plan {there.version} stands", changed=False)
                    continue
            # With a known seed, compiling the same design again gives the same hash.
            seed = secrets.randbelow(LARGEST_SEED)
            made = backend.compile_and_freeze_plan(wanted.key, {"seed": seed, **wanted.design}, dry_run=False)
        yield StepOutcome(wanted.key, f"plan {made.version}, seed {made.seed}", changed=True)


def open_campaigns(backend: SeriesBackend, manifest: Manifest) -> Iterator[StepOutcome]:
    """Open planned campaigns; open, paused and closed ones do not change. Raises AppError, which names the place."""
    for n, wanted in enumerate(manifest.campaigns):
        with add_manifest_place_to_errors(manifest, n):
            state = _find_campaign(backend, wanted).state
            if state not in PLANNABLE:
                yield StepOutcome(wanted.key, f"is {state}", changed=False)
                continue
            backend.open_campaign(wanted.key)
        yield StepOutcome(wanted.key, "opened", changed=True)


def create_missing_rater_links(
    backend: SeriesBackend, manifest: Manifest, *, days: int, renew: bool
) -> Iterator[IssuedRaterLink]:
    """Create links for the manifest's raters who have no working link; renew: for all of them, ending earlier links."""
    for n, wanted in enumerate(manifest.campaigns):
        with add_manifest_place_to_errors(manifest, n):
            _find_campaign(backend, wanted)
            has = frozenset() if renew else backend.load_raters_having_working_links(wanted.key)
        for i, rater in enumerate(wanted.raters):
            if rater.key not in has and rater.state != "left":
                with add_manifest_place_to_errors(manifest, n, "raters", i):
                    link, ends = backend.create_rater_link(wanted.key, rater.key, days)
                yield IssuedRaterLink(wanted.key, rater.key, link, ends if isinstance(ends, str) else ends.isoformat())


def iterate_series_progress(
    backend: SeriesBackend, manifest: Manifest
) -> Iterator[tuple[str, Mapping[str, object] | None]]:
    """Yield key and progress of each campaign, None for one that does not exist."""
    for n, wanted in enumerate(manifest.campaigns):
        with add_manifest_place_to_errors(manifest, n):
            known = backend.find_campaign(wanted.key)
            done = None if known is None else backend.load_progress(wanted.key)
        yield wanted.key, done


@contextmanager
def add_manifest_place_to_errors(manifest: Manifest, n: int, *loc: str | int) -> Iterator[None]:
    """Context that adds the place in the manifest and the campaign to errors."""
    try:
        yield
    except AppError as error:
        where = ("campaigns", n, *loc)
        inner = tuple(Place((*where, *place.loc), place.msg) for place in error.places)
        error.places = inner or (Place(where, error.detail or error.title()),)
        error.detail = f"{manifest.campaigns[n].key}: {error.detail or error.title()}"
        raise


def _enrol(backend: SeriesBackend, manifest: Manifest, n: int) -> Iterator[StepOutcome]:
    wanted = manifest.campaigns[n]
    with add_manifest_place_to_errors(manifest, n, "raters"):
        for team in sorted({rater.team for rater in wanted.raters if rater.team is not None}):
            backend.ensure_team(wanted.key, team)
    for i, rater in enumerate(wanted.raters):
        with add_manifest_place_to_errors(manifest, n, "raters", i):
            backend.put_rater(wanted.key, rater)
    if wanted.raters:
        yield StepOutcome(wanted.key, f"{len(wanted.raters)} raters enrolled", changed=False)


def _find_campaign(backend: SeriesBackend, wanted: ManifestCampaign) -> ExistingCampaign:
    known = backend.find_campaign(wanted.key)
    if known is None:
        raise Conflict("there is no such campaign yet; run the step create first")
    return known


def _check(known: ExistingCampaign, series: str, wanted: ManifestCampaign) -> None:
    """Raise CampaignDiffersFromManifest if a campaign differs from the manifest."""
    says = {**wanted.model_dump(include=set(COMPARED), exclude_none=True), "series": series}
    places = [
        Place((name,), f"is {known.fields.get(name)}, the manifest says {says[name]}")
        for name in COMPARED
        if name in says and says[name] != known.fields.get(name)
    ]
    if wanted.options and dict(wanted.options) != known.fields.get("options"):
        places.append(Place(("options",), "are others"))
    if places:
        raise CampaignDiffersFromManifest(
            "; ".join(f"{place.loc[0]} {place.msg}" for place in places), places=tuple(places)
        )
