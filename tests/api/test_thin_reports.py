"""Every kind of report on one rater, one system, one score throughout, and nothing left: a statement, and no NaN.

An empty campaign is that of tests/api/test_report_kinds.py. Comparisons are asked of a thin campaign beside a usual
one, and of two thin ones. Thin campaigns and shapes take turns; each kind of each in each shape is soak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.domain.errors import AppError
from app.main import create_app
from app.reports import registry
from app.reports.kit import request, store
from app.reports.kit.report import Report
from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from tests.api.conftest import OPTIONS
from tests.api.direct import asking
from tests.api.test_report_kinds import NAN, SHAPES, path_of, quick
from tests.api.thin_data import THIN, campaign
from tests.spine import fresh
from tests.working import draining

USUAL = "da_sqm"
FITS = {
    "calibration": "xsts",
    "xsts": "xsts",
    "linking": "xsts",
    "postediting": "postedit",
    "postediting_da": "postedit",
    "metrics": "mqm",
    "mqm2": "mqm",
    "components": "esa",
    "power": "esa",
}
"""Protocols of which these kinds have most to say; every kind meets the usual one, too, where it has another."""
REFUSED = {"xsts": {"method": "cs"}}
"""What is refused unless it is asked so: in made-up data human references are judged no better than the anchors."""
TELLS: Mapping[str, tuple[str, ...]] = {
    "campaign/card": ("one-rater", "one-system", "constant"),
    "campaign/datasheet": ("one-rater", "one-system", "constant"),
    "campaign/composition": ("constant",),
    "campaign/difficulty": ("one-rater",),
    "campaign/disagreements": ("one-system",),
    "campaign/document_scores": ("one-rater", "one-system"),
    "campaign/postediting": ("one-rater", "constant"),
    "campaign/validation": ("one-rater",),
    "campaigns/postediting_da": ("one-rater", "one-system"),
    "campaigns/robustness": ("one-rater",),
}
"""What these say of such campaigns needs no warning: they count, or the figures are defined."""


@dataclass(frozen=True)
class World:
    """A running application over thin campaigns. Reports are made before they are fetched, as a worker would."""

    client: httpx.Client
    token: str
    database: Database

    def made(self, kind: Report[Any, Any], campaign: str, query: Mapping[str, str]) -> httpx.Response:
        """A report; what is refused is refused again over HTTP."""
        asked = request.parse_report_options(
            kind, {name: value for name, value in query.items() if name != "campaigns"}
        )
        campaigns = tuple(query.get("campaigns", campaign).split(","))
        with suppress(AppError):
            store.find_or_compute_report(self.database, request.ReportRequest(kind, campaigns, asked))
        return self.get(path_of(kind, campaign), query)

    def get(self, path: str, query: Mapping[str, str]) -> httpx.Response:
        told = {"Authorization": f"Bearer {self.token}", "Prefer": "wait=30"}
        for _ in range(10):
            answer = self.client.get(path, params=dict(query), headers=told)
            if answer.status_code != 202:
                break
        return answer


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine, draining(spine.database):
        for protocol in sorted({USUAL, *FITS.values()}):
            for thin in (*THIN, "usual"):
                spine.take(f"{thin}-{protocol}", "jsonl", campaign(protocol, thin))
        with spine.database.transaction() as session:
            token = tokens.issue_token(session, role="admin").secret
        with asking(create_app(spine.database, OPTIONS)) as client:
            yield World(client, token, spine.database)


def questions(kind: Report[Any, Any], thin: str) -> Iterator[tuple[str, dict[str, str]]]:
    """A campaign and the query: of a comparison, beside a usual campaign, then beside a thin one."""
    plain = quick(kind)
    protocol = FITS.get(kind.name, USUAL)
    first = f"{thin}-{protocol}"
    if kind.over == "campaign":
        yield first, plain
        return
    # Post-edits are set beside scores.
    beside = USUAL if kind.name == "postediting_da" else protocol
    for second in (f"usual-{beside}", f"{THIN[THIN.index(thin) - 1]}-{beside}"):
        for choices in (REFUSED[kind.name], {}) if kind.name in REFUSED else ({},):
            yield first, {**plain, **choices, "campaigns": f"{first},{second}"}


@pytest.mark.parametrize("name", registry.ALL)
def test_thin_data_have_a_statement_and_never_nan(world: World, name: str) -> None:
    """Of one kind of thin campaigns, in one shape: all of them, in turn."""
    turn, place = list(registry.ALL).index(name), list(registry.ALL).index(name) // len(THIN)
    ask_in_shapes(world, name, THIN[turn % len(THIN)], [list(SHAPES)[(turn + place) % len(SHAPES)]])


@pytest.mark.soak
@pytest.mark.parametrize("thin", THIN)
@pytest.mark.parametrize("name", registry.ALL)
def test_thin_data_have_a_statement_in_every_shape_and_never_nan(world: World, name: str, thin: str) -> None:
    ask_in_shapes(world, name, thin, list(SHAPES))


def ask_in_shapes(world: World, name: str, thin: str, shapes: list[str]) -> None:
    """Ask for a report in JSON and in these shapes."""
    kind = registry.ALL[name]
    for n, (at, query) in enumerate(questions(kind, thin)):
        answer = world.made(kind, at, query)
        if kind.name in REFUSED and not REFUSED[kind.name].keys() <= query.keys():
            assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", *REFUSED[kind.name]])
            continue
        assert answer.status_code == 200, answer.text
        view = kind.result.model_validate(answer.json())
        assert view.warnings or thin in TELLS.get(name, ()), query
        assert not NAN.search(answer.text)
        for shape in shapes if not n else ():
            media_type = SHAPES[shape]
            shaped = world.get(f"{path_of(kind, at)}.{shape}", query)
            assert shaped.status_code == 200, (shape, query, shaped.text)
            assert shaped.headers["Content-Type"].startswith(media_type)
            assert not NAN.search(shaped.text), (shape, query)


OF_RATERS = ["ranking", "reports/quality", "reports/timing", "reports/revisions"]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("thin", THIN)
@pytest.mark.parametrize("report", OF_RATERS)
def test_rankings_and_reports_on_raters_hold_no_nan_either(world: World, report: str, thin: str, whole: bool) -> None:
    """whole: of two protocols in every shape; otherwise of one in one shape, in turn."""
    turn = OF_RATERS.index(report) + THIN.index(thin)
    for protocol in (USUAL, "postedit") if whole else [(USUAL, "postedit")[THIN.index(thin) % 2]]:
        path = f"/v1/campaigns/{thin}-{protocol}/{report}"
        view = world.get(path, {}).json()
        assert view["warnings"] or thin != "all-missing"
        for suffix in ("", *(f".{shape}" for shape in (list(SHAPES) if whole else [list(SHAPES)[turn % len(SHAPES)]]))):
            answer = world.get(f"{path}{suffix}", {})
            assert answer.status_code == 200, answer.text
            assert not NAN.search(answer.text), (path, suffix)


def test_kinds_that_need_no_warning_are_kinds_and_none_does_without_where_nothing_is_left() -> None:
    assert set(TELLS) <= set(registry.ALL)
    assert not any("all-missing" in thin for thin in TELLS.values())
