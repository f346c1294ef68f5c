"""The steps of a series, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from app.cli.kit import long_reports
from app.cli.kit.progress_bar import show_progress_bar
from app.client.remote_server import RemoteServer, ServerRefusal
from app.domain.errors import Invalid, Place
from app.domain.keys import is_key
from app.formats.base import InputFile
from app.services.data.import_options import choose_default_basis
from app.services.series.manifest import ManifestCampaign, ManifestImport, ManifestRater
from app.services.series.steps import ExistingCampaign, FrozenPlanSummary

JSON = "application/json"


class RemoteSeriesBackend:
    """Carries out the steps with a token that is valid for all campaigns."""

    def __init__(self, remote: RemoteServer) -> None:
        self._remote = remote

    def find_campaign(self, key: str) -> ExistingCampaign | None:
        """Return a campaign; None if there is none."""
        stored = self._get_or_none(_path(key))
        return None if stored is None else ExistingCampaign(stored["state"], stored)

    def create_campaign(self, series: str, wanted: ManifestCampaign) -> None:
        """Create a campaign."""
        body = wanted.model_dump(mode="json", exclude={"files", "raters", "design"}, exclude_none=True)
        body |= {"series": series, "basis": wanted.basis or choose_default_basis(wanted.protocol)}
        self._remote.send_change("POST", "/v1/campaigns", {}, body)

    def import_files(self, campaign: str, files: ManifestImport, inputs: Sequence[InputFile]) -> Mapping[str, object]:
        """Announce an import, send its files and commit it; return what was stored, by noun."""
        names = {file.name.replace("/", ":"): file for file in inputs}
        wrong = tuple(Place((name,), "over HTTP a file's name is a key") for name in names if not is_key(name))
        if wrong:
            raise Invalid("some file names cannot be sent; rename the files", places=wrong)
        path = f"{_path(campaign)}/imports"
        announced = self._remote.send_change("POST", path, {}, {"format": files.format, "options": files.options})
        path = f"{path}/{json.loads(announced)['import']}"
        for name, file in names.items():
            with file.open() as body:
                self._remote.upload_file(f"{path}/files/{quote(name, safe='')}", body)
        query = {"skip_bad_lines": str(files.skip_bad_lines).lower()}
        stored: Mapping[str, object] = json.loads(self._remote.send_change("POST", f"{path}/commit", query))["stored"]
        return stored

    def ensure_team(self, campaign: str, team: str) -> None:
        """Create a team unless it exists."""
        path = f"{_path(campaign)}/teams/{quote(team, safe='')}"
        if self._get_or_none(path) is None:
            self._remote.send_change("PUT", path, {}, {"name": team})

    def put_rater(self, campaign: str, rater: ManifestRater) -> None:
        """Enrol a rater; repeating this changes nothing."""
        left_out = {"key", *({"person", "contact"} - rater.stated_identity_fields)}
        body = rater.model_dump(mode="json", exclude=left_out)
        self._remote.send_change("PUT", f"{_path(campaign)}/raters/{quote(rater.key, safe='')}", {}, body)

    def find_plan_in_force(self, campaign: str) -> FrozenPlanSummary | None:
        """Return the plan in force; None if there is none."""
        stored = self._get_or_none(f"{_path(campaign)}/plan")
        return None if stored is None else _make_frozen_plan(stored)

    def compile_and_freeze_plan(
        self, campaign: str, design: Mapping[str, object], *, dry_run: bool
    ) -> FrozenPlanSummary:
        """Compile a design and freeze it, or only preview it."""
        query = {"dry_run": str(dry_run).lower()}
        with show_progress_bar(f"compiling the plan of {campaign}") as on_progress:
            made = long_reports.post_until_created(
                self._remote, f"{_path(campaign)}/plan", query, design, on_progress=on_progress
            )
        return _make_frozen_plan(json.loads(made))

    def open_campaign(self, campaign: str) -> None:
        """Open a campaign."""
        self._remote.send_change("POST", f"{_path(campaign)}/open", {})

    def load_raters_having_working_links(self, campaign: str) -> frozenset[str]:
        """Return the raters who have a working link or token."""
        tokens = self._remote.iterate_paginated_list("/v1/tokens")
        return frozenset(str(one["rater"]) for one in tokens if one["live"] and one["campaign"] == campaign)

    def create_rater_link(self, campaign: str, rater: str, days: int) -> tuple[str, str]:
        """Create a new link for a rater; return it with its expiry time."""
        path = f"{_path(campaign)}/raters/{quote(rater, safe='')}/link"
        made = json.loads(self._remote.send_change("POST", path, {"days": days}))
        return made["link"], made["expires_at"]

    def load_progress(self, campaign: str) -> Mapping[str, object]:
        """Return the progress of a campaign."""
        progress_now: Mapping[str, object] = json.loads(
            self._remote.fetch_body(f"{_path(campaign)}/progress", accept=JSON)
        )
        return progress_now

    def _get_or_none(self, path: str) -> Any:
        """Return what is at an address; None if there is nothing."""
        try:
            return json.loads(self._remote.fetch_body(path, accept=JSON))
        except ServerRefusal as error:
            if error.status == 404:
                return None
            raise


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}"


def _make_frozen_plan(stored_plan: Mapping[str, Any]) -> FrozenPlanSummary:
    return FrozenPlanSummary(stored_plan["version"], stored_plan["hash"], stored_plan["seed"])
