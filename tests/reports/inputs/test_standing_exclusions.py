"""What a standing exclusion names is left out of a report and counted there, or its page says that it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.recipe import ExclusionTarget
from app.reports import registry
from app.reports.kit import request, store
from app.services.campaigns import exclusions
from app.storage import embedded
from app.storage.db import Session
from tests.api.test_agreement_reports import as_csv
from tests.api.test_metrics_report import fill, rows
from tests.reports.languages import RATERS, SENTENCES, World, lines
from tests.spine import Spine, fresh

PAGES = Path(__file__).parents[3] / "docs" / "reports"
PAGE_OF = {"power": "planner", "postediting_da": "postediting"}
"""Pages that do not have the name of the kind."""
NOTHING_DRAWN = {"permutations": "100", "changes": "none", "swaps": "0"}
BY_RECIPE: dict[str, dict[str, str]] = {
    "campaign/metrics": NOTHING_DRAWN,
    "campaign/robustness": {"changes": "lowest,rater"},
    "campaigns/robustness": {"changes": "lowest"},
    "campaign/difficulty": {},
    "campaign/disagreements": {},
    "campaign/rater_groups": {},
    "campaign/validation": {"studies": "2"},
}
"""Reports of what a recipe counts, with a question that takes no time."""
LEFT_OUT = [{"reason": "excluded document:d3", "n": 30}, {"reason": "excluded rater:cem", "n": 50}]


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        given = rows(raters=("ann", "bob", "cem"))
        for key in ("out", "whole"):
            found.take(key, "wmt-da-sqm", as_csv(given))
        fewer = [one for one in given if one[0] != "cem" and one[1] != "d3"]
        found.take("less", "wmt-da-sqm", as_csv(fewer))
        with found.database.transaction() as session:
            fill(session, "out", given)
            leave_out(session, "out", ExclusionTarget("rater", "cem"), ExclusionTarget("document", "d3"))
        yield found


def leave_out(session: Session, campaign: str, *named: ExclusionTarget) -> None:
    for one in named:
        exclusions.create_exclusion(session, campaign, one, reason="a test", actor="test")


def report(spine: Spine, kind: str, *campaigns: str, as_of: int | None = None, **query: str) -> dict[str, Any]:
    found = registry.ALL[kind]
    asking = request.ReportRequest(found, campaigns, request.parse_report_options(found, query), as_of)
    view: dict[str, Any] = json.loads(store.find_or_compute_report(spine.database, asking).body)
    return view


def version(spine: Spine) -> int:
    return int(spine.rank("out", "recommended")["data_version"])


@pytest.mark.parametrize("kind", BY_RECIPE)
def test_what_a_recipe_leaves_out_is_counted(spine: Spine, kind: str) -> None:
    over = ["out", "whole"] if kind.startswith("campaigns") else ["out"]
    dropped = report(spine, kind, *over, **BY_RECIPE[kind])["dropped"]
    assert [{name: one[name] for name in ("reason", "n")} for one in dropped if "excluded" in one["reason"]] == LEFT_OUT
    if len(over) > 1:
        assert {one["campaign"] for one in dropped} == {"out"}
    else:
        before = report(spine, kind, "out", as_of=version(spine) - 2, **BY_RECIPE[kind])
        assert not [one for one in before["dropped"] if "excluded" in one["reason"]]


def test_documents_and_systems_that_are_left_out_have_no_scores_of_a_metric_in_the_map(spine: Spine) -> None:
    view = report(spine, "campaign/difficulty", "out", metric="alike")
    assert view["dropped"] == [{"reason": "excluded document:d3", "n": 10}], "5 systems on 2 segments; a rater has none"
    assert len(view["documents"]) == 5


PAIRS = 21
XSTS_OUT = (
    ExclusionTarget("rater", "hi2"),
    ExclusionTarget("document", "anchors:00001"),
    ExclusionTarget("system", "human"),
)


@pytest.fixture(scope="module")
def both(spine: Spine) -> tuple[str, str]:
    """Two campaigns with one calibration set; in the second a rater, a pair and the human translation are left out."""
    for seed, key in enumerate(("first", "second")):
        spine.take(key, "jsonl", lines(World("hi", 3.0, 0.3 * seed), seed=seed, pairs=PAIRS))
    with spine.database.transaction() as session:
        leave_out(session, "second", *XSTS_OUT)
    return "first", "second"


def test_what_stands_is_left_out_of_linked_campaigns(spine: Spine, both: tuple[str, str]) -> None:
    view = report(spine, "campaigns/linking", *both, bootstrap="0")
    assert [one["n"] for one in view["links"]] == [PAIRS - 1]
    assert {one["system"] for one in view["systems"] if one["campaign"] == "second"} == {"mt"}
    assert standing(view) == COUNTED
    (mean,) = [one["raw"] for one in view["systems"] if (one["campaign"], one["system"]) == ("second", "mt")]
    assert mean == pytest.approx(mean_of_two(spine))


def test_what_stands_is_left_out_of_language_pairs(spine: Spine, both: tuple[str, str]) -> None:
    view = report(spine, "campaigns/xsts", *both, bootstrap="0", method="raw", pool="campaign")
    found = {one["campaign"]: one for one in view["directions"]}
    assert [(one["n_raters"], one["n_pairs"], one["n_human"]) for one in (found["first"], found["second"])] == [
        (RATERS, PAIRS, SENTENCES),
        (RATERS - 1, PAIRS - 1, 0),
    ]
    assert standing(view) == COUNTED
    before = report(spine, "campaigns/xsts", "first", bootstrap="0", method="raw", pool="campaign")
    assert not standing(before)


COUNTED = {
    "standing exclusion of a rater": PAIRS + 2 * SENTENCES,
    "standing exclusion of a document": RATERS - 1,
    "standing exclusion of a system": (RATERS - 1) * SENTENCES,
}


def standing(view: dict[str, Any]) -> dict[str, int]:
    found = [one for one in view["dropped"] if one["reason"].startswith("standing")]
    assert {one["campaign"] for one in found} <= {"second"}
    return {one["reason"]: one["n"] for one in found}


def mean_of_two(spine: Spine) -> float:
    records = map(json.loads, spine.export("second").splitlines())
    scores = [
        one["payload"]["score"]
        for one in records
        if one["type"] == "judgment" and one["systems"] == ["mt"] and one["rater"] != "hi2"
    ]
    return sum(scores) / len(scores)


def test_the_hash_of_the_data_is_that_of_the_rows_used(spine: Spine) -> None:
    now = version(spine)
    ranked = [spine.rank("out", "recommended", as_of=n) for n in (now - 2, now - 1, now)]
    assert len({one["data_hash"] for one in ranked}) == 3
    assert len({one["recipe"]["hash"] for one in ranked}) == 1
    unapplied = spine.rank("out", "recommended", standing="false")
    assert unapplied["data_hash"] == ranked[0]["data_hash"] == spine.rank("whole", "recommended")["data_hash"]
    named = spine.rank("whole", "recommended", exclude="rater:cem,document:d3")
    assert named["data_hash"] == ranked[2]["data_hash"] == spine.rank("less", "recommended")["data_hash"]


@pytest.mark.parametrize("kind", ["campaign/metrics", "campaign/robustness", "campaign/validation"])
def test_an_exclusion_is_told_by_the_hash_of_the_data_as_in_a_ranking_and_not_by_the_recipe(
    spine: Spine, kind: str
) -> None:
    versions = (version(spine) - 2, version(spine))
    views = [report(spine, kind, "out", as_of=n, **BY_RECIPE[kind]) for n in versions]
    ranked = [spine.rank("out", "recommended", as_of=n) for n in versions]
    assert [one["data_hash"].split()[0] for one in views] == [one["data_hash"] for one in ranked]
    assert len({one["recipe_hash"] for one in views}) == 1


def test_a_rater_who_is_left_out_is_not_left_out_once_more(spine: Spine) -> None:
    view = report(spine, "campaign/robustness", "out", changes="rater")
    assert [one["what"] for one in view["changes"]] == ["rater:ann", "rater:bob"]


APPLIED = {
    "campaign/agreement": False,
    "campaigns/agreement": False,
    "campaign/arms": False,
    "campaign/calibration": False,
    "campaign/card": False,
    "campaign/components": True,
    "campaign/composition": False,
    "campaign/datasheet": False,
    "campaign/difficulty": True,
    "campaign/disagreements": True,
    "campaign/distributions": False,
    "campaign/document_scores": False,
    "campaign/forecast": True,
    "campaigns/linking": True,
    "campaign/metrics": True,
    "campaign/mqm2": True,
    "campaign/multiverse": True,
    "campaign/postediting": True,
    "campaigns/postediting_da": True,
    "campaign/power": True,
    "campaign/preferences": True,
    "campaign/protocols": False,
    "campaigns/protocols": False,
    "campaign/rater_groups": True,
    "campaign/robustness": True,
    "campaigns/robustness": True,
    "campaigns/ui": False,
    "campaign/validation": True,
    "campaigns/xsts": True,
}
"""Whether what a standing exclusion names is left out of a report."""
SAID = re.compile(r"exclusions[^.:;|]* are \*not\* applied")


def test_of_every_report_is_known_whether_standing_exclusions_are_applied() -> None:
    assert APPLIED.keys() == registry.ALL.keys()
    assert all(APPLIED[kind] for kind in BY_RECIPE)


@pytest.mark.parametrize("kind", APPLIED)
def test_the_page_of_a_report_says_what_becomes_of_standing_exclusions(kind: str) -> None:
    name = kind.partition("/")[2]
    page = " ".join((PAGES / f"{PAGE_OF.get(name, name).replace('_', '-')}.md").read_text().lower().split())
    assert "exclusion" in page
    assert bool(SAID.search(page)) != APPLIED[kind]
