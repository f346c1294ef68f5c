"""The steps of a series on the database, each in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from app.domain.errors import NotFound
from app.formats.base import InputFile
from app.services.access import tokens
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.services.data import import_options, imports
from app.services.people import rater_links, raters, teams
from app.services.plans import campaign_states, plans
from app.services.plans.plans import PlanView
from app.services.series.manifest import ManifestCampaign, ManifestImport, ManifestRater
from app.services.series.steps import ExistingCampaign, FrozenPlanSummary
from app.services.tasks import progress
from app.services.tasks.progress import ProgressVisibility
from app.storage.db import Database
from app.storage.sorting import SortCursor

PAGE = 200


class DatabaseSeriesBackend:
    """Carries out the steps as the operator. address: makes the link for a secret."""

    def __init__(self, database: Database, *, actor: str, by: Caller, address: Callable[[str], str]) -> None:
        self._database, self._actor, self._by, self._address = database, actor, by, address

    def find_campaign(self, key: str) -> ExistingCampaign | None:
        """Return a campaign, None if it does not exist."""
        with self._database.transaction(snapshot=True) as session:
            try:
                view = campaigns.get_campaign(session, key)
            except NotFound:
                return None
        named = ("protocol", "series", "basis", "source_language", "target_language", "options")
        return ExistingCampaign(view.state, {name: getattr(view, name) for name in named})

    def create_campaign(self, series: str, wanted: ManifestCampaign) -> None:
        """Create a campaign."""
        said = wanted.model_dump(exclude={"files", "raters", "design", "basis"})
        basis = wanted.basis or import_options.choose_default_basis(wanted.protocol)
        with self._database.transaction() as session:
            campaigns.create_campaign(session, NewCampaign(**said, basis=basis, series=series), actor=self._actor)

    def import_files(self, campaign: str, files: ManifestImport, inputs: Sequence[InputFile]) -> Mapping[str, object]:
        """Import files, and return what was stored, by noun."""
        report = imports.import_local_files(
            self._database,
            campaign,
            format=files.format,
            files=inputs,
            options=files.options,
            dry_run=False,
            skip_bad_lines=files.skip_bad_lines,
            actor=self._actor,
        )
        stored = report["stored"]
        return stored if isinstance(stored, dict) else {}

    def ensure_team(self, campaign: str, team: str) -> None:
        """Create a team if it does not exist."""
        with self._database.transaction() as session:
            try:
                teams.get_team(session, campaign, team, by=self._by)
            except NotFound:
                teams.put_team(session, campaign, team, team, by=self._by)

    def put_rater(self, campaign: str, rater: ManifestRater) -> None:
        """Enrol a rater. An identical enrolment changes nothing."""
        with self._database.transaction() as session:
            raters.put_rater(
                session,
                campaign,
                rater.key,
                rater.to_enrolment(),
                given_fields=rater.stated_identity_fields,
                has_seen_version=None,
                by=self._by,
            )

    def find_plan_in_force(self, campaign: str) -> FrozenPlanSummary | None:
        """Return the plan in force, None if there is none."""
        with self._database.transaction(snapshot=True) as session:
            try:
                return _make_frozen_plan(plans.get_plan(session, campaign))
            except NotFound:
                return None

    def compile_and_freeze_plan(
        self, campaign: str, design: Mapping[str, object], *, dry_run: bool
    ) -> FrozenPlanSummary:
        """Compile a design, and freeze it unless it is a dry run."""
        with self._database.transaction() as session:
            given = dict(design)
            return _make_frozen_plan(
                plans.compile_and_freeze_plan(session, campaign, given, dry_run=dry_run, actor=self._actor)
            )

    def open_campaign(self, campaign: str) -> None:
        """Open a campaign."""
        with self._database.transaction() as session:
            campaign_states.change_campaign_state(session, campaign, "open", actor=self._actor)

    def load_raters_having_working_links(self, campaign: str) -> frozenset[str]:
        """Return the raters who have a working link or token."""
        keys: set[str] = set()
        after: SortCursor | None = None
        with self._database.transaction(snapshot=True) as session:
            while page := tokens.list_tokens(session, by=None, after=after, limit=PAGE):
                mine = (one for one in page if one.live and one.campaign == campaign)
                keys |= {one.rater for one in mine if one.rater is not None}
                after = (None, page[-1].prefix)
        return frozenset(keys)

    def create_rater_link(self, campaign: str, rater: str, days: int) -> tuple[str, datetime]:
        """Create a new link for a rater, and return it with its expiry."""
        with self._database.transaction() as session:
            made = rater_links.renew_rater_link(session, campaign, rater, days=days, by=self._by)
        return self._address(made.secret), made.expires_at

    def load_progress(self, campaign: str) -> Mapping[str, object]:
        """Return the progress of a campaign."""
        visibility = ProgressVisibility(raters=True, systems=True, team=None)
        with self._database.transaction(snapshot=True) as session:
            seen = progress.load_progress_fingerprint(session, campaign, visibility)
            return progress.make_campaign_progress(session, seen, visibility).model_dump(mode="json")


def _make_frozen_plan(view: PlanView) -> FrozenPlanSummary:
    return FrozenPlanSummary(view.version, view.hash, view.seed)
