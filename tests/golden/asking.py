"""Published data in one application, asked over HTTP alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from app.main import create_app
from app.reports import registry
from app.reports.kit import request, store
from app.reports.kit.report import Report
from app.reports.quality.view import RaterQualityView
from app.services.access import tokens
from app.services.jobs import report_requests
from app.stats.quality.report import RaterQuality
from app.storage.db import Database
from tests.api.conftest import OPTIONS, TestClient
from tests.spine import SHARED, Spine

GOLDEN = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]
NEAR = 1e-6


@dataclass(frozen=True)
class Asked:
    """A running application; a report is made first, as a worker would, and then fetched."""

    client: Any
    token: str
    database: Database

    def report(self, campaign: str, kind: str, **query: str) -> Any:
        """A report of one campaign."""
        known = registry.WITH_OWN_ROUTES.get(f"campaign/{kind}") or report_requests.get_report_kind_by_name(kind)
        self._make(known, (campaign,), query)
        return self.get(f"/v1/campaigns/{campaign}/reports/{kind}", query)

    def compare(self, kind: str, campaigns: str, **query: str) -> Any:
        """A comparison of campaigns."""
        self._make(report_requests.get_report_kind_by_name(kind, "campaigns"), tuple(campaigns.split(",")), query)
        return self.get(f"/v1/comparisons/{kind}", {"campaigns": campaigns, **query})

    def _make(self, kind: Report[Any, Any], campaigns: tuple[str, ...], query: Mapping[str, str]) -> None:
        store.find_or_compute_report(
            self.database, request.ReportRequest(kind, campaigns, request.parse_report_options(kind, query))
        )

    def get(self, path: str, query: Mapping[str, str]) -> Any:
        """What stands at an address."""
        headers = {"Authorization": f"Bearer {self.token}", "Prefer": "wait=0"}
        answer = self.client.get(path, params=query, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def asking(spine: Spine) -> Iterator[Asked]:
    """An application over a database."""
    with spine.database.transaction() as session:
        token = tokens.issue_token(session, role="manager").secret
    with TestClient(create_app(spine.database, OPTIONS)) as client:
        yield Asked(client, token, spine.database)


def level(report: Any, name: str) -> dict[tuple[str, float | None], Any]:
    """Coefficients of a level of a report on agreement, by key and tolerance."""
    (found,) = [one for one in report["levels"] if one["level"] == name]
    return {(one["statistic"], one["tolerance"]): one for one in found["statistics"]}


def near(value: Any) -> Any:
    """Within 1e-6, whatever the size."""
    return pytest.approx(value, abs=NEAR, rel=0)


def quality(asked: Asked, campaign: str, **query: str) -> dict[str, RaterQuality]:
    """The report on quality by rater."""
    found = asked.report(campaign, "quality", **query)
    return {one.rater: one for one in RaterQualityView.model_validate(found).raters}
