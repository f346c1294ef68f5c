"""Agreement, distributions and document scores over HTTP where there is little to say, and what viewers see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.domain.errors import Invalid
from app.main import create_app
from app.reports.kit import request, store
from app.services.access import tokens
from app.services.jobs import report_requests
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.spine import Spine, fresh

NAN = re.compile(r"(?i)(?<![a-z])(nan|-?inf|infinity)(?![a-z])")
KINDS = ("agreement", "distributions", "document_scores")
Row = tuple[str, str, int | None, str, float]


def as_csv(rows: Sequence[Row]) -> bytes:
    """(rater, document, position or None for the whole, system, score), as DA+SQM of WMT22."""
    head = "username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd"
    lines = [
        f"{rater},{system},{position or 9},TGT,eng,ces,{score:g},{document},{position is None},{n}.0,{n}.5"
        for n, (rater, document, position, system, score) in enumerate(rows)
    ]
    return "\n".join([head, *lines, ""]).encode()


def both(score: float | None = None, raters: Sequence[str] = ("ann", "bob"), systems: str = "AB") -> list[Row]:
    """Four documents of two segments each, with document scores."""
    rows: list[Row] = []
    for r, rater in enumerate(raters):
        for d in range(4):
            for s, system in enumerate(systems):
                value = 60.0 + 7 * (d % 3) + 5 * s * d + 5 * r * (1 + s) if score is None else score
                rows += [(rater, f"d{d}", p, system, value + (0 if score is not None else p)) for p in (1, 2)]
                rows.append((rater, f"d{d}", None, system, value))
    return rows


CAMPAIGNS = {
    "usual": both(),
    "one-rater": both(raters=["ann"]),
    "one-system": both(systems="A"),
    "constant": both(score=50.0),
    "turns": [(f"r{d}", f"d{d}", 1, "A", 10.0 * d) for d in range(4)],
}


TELLING = {
    ("usual", "distributions"),
    *((campaign, "document_scores") for campaign in ("usual", "one-rater", "one-system")),
}
"""Reports that these campaigns have enough for."""


@dataclass(frozen=True)
class World:
    client: httpx.Client
    spine: Spine
    tokens: dict[str, str]

    def get(self, path: str, who: str = "manager") -> httpx.Response:
        return self.client.get(path, headers={"Authorization": f"Bearer {self.tokens[who]}"})

    def report(self, campaign: str, kind: str, **query: str) -> Any:
        asked = request.parse_report_options(report_requests.get_report_kind_by_name(kind), query)
        asking = request.ReportRequest(report_requests.get_report_kind_by_name(kind), (campaign,), asked)
        return json.loads(store.find_or_compute_report(self.spine.database, asking).body)


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        with spine.database.transaction() as session:
            given = {role: tokens.issue_token(session, role=role).secret for role in ("admin", "manager", "viewer")}
        with TestClient(create_app(spine.database, OPTIONS)) as client:
            for key, rows in CAMPAIGNS.items():
                spine.take(key, "wmt-da-sqm", as_csv(rows))
            yield World(client, spine, given)


SHAPES = (".csv", ".md", ".tex", ".svg")


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("kind", KINDS)
def test_little_data_has_a_clear_statement_in_every_shape_and_never_nan(
    world: World, campaign: str, kind: str, whole: bool
) -> None:
    """whole: in every shape; otherwise in the one whose turn it is."""
    view = world.report(campaign, kind)
    assert view["warnings"] or (campaign, kind) in TELLING
    turn = list(CAMPAIGNS).index(campaign) + list(KINDS).index(kind)
    for shape in ("", *(SHAPES if whole else [SHAPES[turn % len(SHAPES)]])):
        answer = world.get(f"/v1/campaigns/{campaign}/reports/{kind}{shape}")
        assert answer.status_code == 200, answer.text
        assert not NAN.search(answer.text)


def test_each_score_of_a_few_is_named_under_its_bar(world: World) -> None:
    bins = world.report("constant", "distributions")["bins"]
    drawn = world.get("/v1/campaigns/constant/reports/distributions.svg").text
    assert bins
    assert all(f">{label}<" in drawn for label in bins)


def test_one_rater_agrees_with_nobody(world: World) -> None:
    view = world.report("one-rater", "agreement")
    assert [one["n_pairs"] for one in view["levels"]] == [0, 0, 0]
    assert view["pairs"] == []
    assert any("no text was rated by two raters" in warning for warning in view["warnings"])


def test_what_is_not_defined_on_equal_scores_is_null_and_named(world: World) -> None:
    view = world.report("constant", "agreement")
    segments = {(s["statistic"], s["tolerance"]): s for s in view["levels"][0]["statistics"]}
    assert segments["alpha_interval", None]["value"] is None
    assert segments["kappa", 15.0]["value"] == 1.0
    assert any("undefined for these scores" in warning for warning in view["warnings"])


def test_every_level_is_there_and_can_be_asked_for_alone(world: World) -> None:
    view = world.report("usual", "agreement")
    assert [one["level"] for one in view["levels"]] == ["segments", "documents", "averaged"]
    assert not any("documents are unknown" in warning for warning in view["warnings"])
    alone = world.report("usual", "agreement", units="documents")
    assert alone["levels"] == view["levels"][1:2]


def test_a_tolerance_that_covers_the_scale_has_no_kappa_and_says_so(world: World) -> None:
    view = world.report("usual", "agreement", tolerance="15,100")
    keys = {(s["statistic"], s["tolerance"]) for s in view["levels"][0]["statistics"]}
    assert ("kappa", 15.0) in keys
    assert ("kappa", 100.0) not in keys
    assert any("so κ is undefined there" in warning for warning in view["warnings"])


def test_a_seed_fixes_the_intervals(world: World) -> None:
    first, again, other = (
        world.report("usual", "agreement", bootstrap="150", seed=seed)["levels"] for seed in ("1", "1", "2")
    )
    assert first == again != other


@pytest.mark.parametrize("query", [{"roles": "rating,wizard"}, {"on": "severity"}, {"same": "A,Z"}, {"scoring": "x"}])
def test_a_question_that_does_not_fit_is_refused_with_its_place(world: World, query: dict[str, str]) -> None:
    name = next(iter(query))
    with pytest.raises(Invalid) as refused:
        world.report("usual", "agreement", **query)
    assert [name in place.loc for place in refused.value.places] == [True] or name == "scoring"


def test_distributions_between_two_raters_rest_on_what_both_rated(world: World) -> None:
    view = world.report("usual", "distributions", between="ann,bob")
    assert {one["rater"] for one in view["raters"]} == {"ann", "bob"}
    with pytest.raises(Invalid):
        world.report("usual", "distributions", between="ann,nobody")


@pytest.mark.parametrize("kind", KINDS)
def test_viewers_see_raters_by_number(world: World, kind: str) -> None:
    world.report("usual", kind)
    full = world.get(f"/v1/campaigns/usual/reports/{kind}")
    for shape in ("", ".csv", ".md", ".svg"):
        seen = world.get(f"/v1/campaigns/usual/reports/{kind}{shape}", "viewer")
        assert seen.status_code == 200
        assert not re.search(r"\b(ann|bob)\b", seen.text)
    assert ("ann" in full.text) is (kind != "document_scores")


@pytest.mark.parametrize("named", ["ann,bob", "ann,nobody"])
def test_viewers_cannot_ask_which_raters_there_are(world: World, named: str) -> None:
    """Known or not, the answer is the same; a manager learns the difference."""
    for shape in ("", ".csv", ".svg"):
        path = f"/v1/campaigns/usual/reports/distributions{shape}?between={named}"
        assert world.get(path, "viewer").status_code == 403
        assert world.get(path).status_code == (422 if "nobody" in named else 200)


@pytest.mark.parametrize(
    ("who", "named", "status"), [("viewer", "ann,bob", 403), ("viewer", "ann,nobody", 403), ("manager", "ann,bob", 200)]
)
def test_no_page_tells_a_viewer_which_raters_there_are(world: World, who: str, named: str, status: int) -> None:
    page = "/campaigns/usual/reports/distributions"
    assert world.client.post("/v1/session", json={"token": world.tokens[who]}).is_success
    try:
        assert world.client.get(page).status_code == 200
        assert world.client.get(page, params={"between": named}).status_code == status
    finally:
        world.client.cookies.clear()


def test_documents_in_which_a_control_was_met_can_be_kept(world: World) -> None:
    kept = world.report("usual", "document_scores", controls="keep")
    assert kept["n"] == world.report("usual", "document_scores")["n"] == 16
