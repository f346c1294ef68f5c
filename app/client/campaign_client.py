"""A manager's requests around a rehearsal: read a campaign's contents, and give raters their links."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from app.client.remote_server import RemoteServer
from app.domain.errors import Conflict
from app.simulation import CampaignForSimulation, OutputForSimulation

LINK_DAYS = 2


class LinkWithoutToken(Conflict):
    """The server gave a link without a token in its fragment."""


@dataclass(frozen=True, slots=True)
class CampaignClient:
    """A campaign on a server, under the credential of its manager."""

    remote: RemoteServer
    campaign: str

    @property
    def campaign_path(self) -> str:
        """The path of the campaign."""
        return f"/v1/campaigns/{quote(self.campaign, safe='')}"

    def fetch_campaign(self) -> dict[str, Any]:
        """Return the campaign as the server shows it. Raises ServerRefusal, ServerUnreachable."""
        settings: dict[str, Any] = json.loads(self.remote.fetch_body(self.campaign_path, accept="application/json"))
        return settings

    def fetch_campaign_for_simulation(self) -> CampaignForSimulation:
        """Return the facts that a model of raters needs."""
        settings = self.fetch_campaign()
        return CampaignForSimulation(self.campaign, settings["protocol"], settings["options"], settings["basis"])

    def list_active_raters(self) -> list[str]:
        """Return the keys of raters who are enrolled and active."""
        return [
            str(one["key"])
            for one in self.remote.iterate_paginated_list(f"{self.campaign_path}/raters")
            if one["state"] == "active"
        ]

    def fetch_outputs_for_simulation(self) -> Iterator[OutputForSimulation]:
        """Yield every output, read from the export as it arrives."""
        sources: dict[tuple[str, int], str | None] = {}
        for line in self._lines():
            at = str(line.get("document")), int(line.get("position") or 0)
            if line.get("type") == "segment":
                sources[at] = line.get("source")
            elif line.get("type") == "output":
                yield OutputForSimulation(line["system"], *at, line["text"], sources.get(at))

    def _lines(self) -> Iterator[dict[str, Any]]:
        rest = b""
        for piece in self.remote.stream_body(f"{self.campaign_path}/exports/jsonl"):
            *whole, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, filter(None, whole))

    def renew_rater_tokens(self, raters: Iterable[str]) -> dict[str, str]:
        """Return a token for each rater, from a new link; their earlier links end."""
        return {rater: self._token(rater) for rater in raters}

    def _token(self, rater: str) -> str:
        path = f"{self.campaign_path}/raters/{quote(rater, safe='')}/link"
        link: str = json.loads(self.remote.send_change("POST", path, {"days": LINK_DAYS}))["link"]
        tokens = parse_qs(urlsplit(link).fragment).get("token")
        if not tokens:
            raise LinkWithoutToken
        return tokens[0]

    def count_judgments_in_open_tasks(self) -> int:
        """Count the segment judgments in tasks that are not handed in."""
        tasks = self.remote.iterate_paginated_list(f"{self.campaign_path}/tasks")
        return sum(int(str(one["segments"] or 0)) for one in tasks if one["state"] in ("free", "leased"))

    def enrol_rater(self, rater: str, enrolment: Mapping[str, object]) -> None:
        """Enrol a rater. Raises ServerRefusal, ServerUnreachable."""
        self.remote.send_change("PUT", f"{self.campaign_path}/raters/{quote(rater, safe='')}", {}, enrolment)

    def compile_and_freeze_plan(self, design: Mapping[str, object]) -> None:
        """Compile a design and freeze the plan. Raises ServerRefusal, ServerUnreachable."""
        self.remote.send_change("POST", f"{self.campaign_path}/plan", {}, design)

    def change_campaign_state(self, action: str) -> None:
        """Open, pause or close the campaign. Raises ServerRefusal, ServerUnreachable."""
        self.remote.send_change("POST", f"{self.campaign_path}/{action}", {})
