"""The gate over HTTP and on the command line: verdicts, exit codes, the summary for a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from scipy import stats
from typer.testing import CliRunner

from app.cli import build_cli_app
from app.main import create_app
from app.services.access import tokens
from app.storage import embedded
from tests.api.conftest import OPTIONS
from tests.api.direct import asking
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.services.data.test_imports import DA, MQM
from tests.spine import Spine, fresh

BETTER = {"candidate": "A", "baseline": "B"}
OF_DOMAINS = "WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'domains') RETURNING id"
IDENTICAL = MQM.replace("\tMajor\t", "\tMinor\t")


def apart() -> str:
    """The same errors, but each system is judged by raters of its own."""
    head, *lines = MQM.splitlines(keepends=True)
    rows = [line.split("\t") for line in lines]
    at = head.split("\t").index("rater")
    return head + "".join("\t".join([*row[:at], f"{row[at]}-{row[0]}", *row[at + 1 :]]) for row in rows)


@dataclass(frozen=True)
class World:
    """Campaigns: mqm (A better than B, one rating an item), same (A and B alike), da (two raters), few, grown (in two
    imports), apart (no rater links the systems), domains (as mqm, of two domains)."""

    spine: Spine
    client: httpx.Client
    tokens: Mapping[str, str]

    def get(
        self, campaign: str, query: Mapping[str, Any], suffix: str = "", who: str = "viewer", **headers: str
    ) -> Any:
        told = {"Authorization": f"Bearer {self.tokens[who]}", **headers}
        return self.client.get(f"/v1/campaigns/{campaign}/gate{suffix}", params=query, headers=told)


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("mqm", "mqm-tsv", MQM.encode())
        spine.take("same", "mqm-tsv", IDENTICAL.encode())
        spine.take("da", "wmt-da", DA.encode())
        head, *lines = MQM.splitlines(keepends=True)
        few = head + "".join(line for line in lines if line.split("\t")[1] in {"d1", "d2", "d3"})
        spine.take("few", "mqm-tsv", few.encode())
        spine.take("grown", "mqm-tsv", MQM.encode())
        spine.take("grown", "mqm-tsv", (head + "".join(lines).replace("\td", "\te")).encode())
        spine.take("apart", "mqm-tsv", apart().encode())
        spine.take("domains", "mqm-tsv", MQM.encode())
        spine.ask(f"UPDATE documents SET domain = CASE WHEN key < 'd5' THEN 'news' ELSE 'talks' END {OF_DOMAINS}")
        with spine.database.transaction() as session:
            given = {role: tokens.issue_token(session, role=role).secret for role in ("admin", "viewer", "coordinator")}
        with asking(create_app(spine.database, OPTIONS)) as client:
            yield World(spine, client, given)


def answered(world: World, campaign: str, **query: Any) -> dict[str, Any]:
    answer = world.get(campaign, {**BETTER, **query})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_better_candidate_passes_and_the_baseline_does_not(world: World) -> None:
    found = answered(world, "mqm", normalize="none")
    turned = answered(world, "mqm", normalize="none", candidate="B", baseline="A")
    assert (found["holds"], found["verdict"], found["data_version"]) == (True, "better", 1)
    assert (turned["holds"], turned["verdict"]) == (False, "worse")
    assert found["difference"] == pytest.approx(-turned["difference"])
    assert found["interval"] == pytest.approx([-x for x in turned["interval"][::-1]])
    assert found["p_value"] < 0.05 < turned["p_value"]
    assert found["interval"][0] < found["difference"] < found["interval"][1]
    assert (found["interval_level"], found["n_documents"], found["paired"]) == (0.9, 7, True)
    assert found["by_recipe"]["better"] == "A"


def test_one_rating_an_item_gives_a_forecast_and_says_so(world: World) -> None:
    found = answered(world, "mqm", normalize="none")
    assert found["replication"]["method"] == "forecast"
    assert 0.9 < found["replication"]["same_direction"] <= 1
    assert found["srp"] is None
    assert any("forecast" in text for text in found["warnings"])


def test_outputs_rated_by_several_are_simulated_with_srp(world: World) -> None:
    found = answered(world, "da", normalize="none")
    assert (found["replication"]["method"], found["replication"]["studies"]) == ("simulated", 250)
    assert 0 <= found["srp"] <= 1
    assert found["srp_significant_pairs"] is not None
    assert answered(world, "da", normalize="none", seed=5)["replication"] != found["replication"]


def test_a_margin_turns_the_claim(world: World) -> None:
    wide = answered(world, "mqm", normalize="none", claim="not_worse", margin=1, candidate="B", baseline="A")
    assert wide["verdict"] == "worse"
    generous = answered(world, "mqm", normalize="none", claim="not_worse", margin=10, candidate="B", baseline="A")
    assert (generous["holds"], generous["verdict"]) == (True, "not_worse")
    assert answered(world, "mqm", normalize="none", claim="equivalent", margin=10)["verdict"] == "equivalent"
    assert answered(world, "mqm", normalize="none", claim="equivalent", margin=0.5)["verdict"] == "better"


def test_systems_without_a_difference_are_equivalent_and_neither_better(world: World) -> None:
    assert answered(world, "same", normalize="none")["verdict"] == "inconclusive"
    found = answered(world, "same", claim="equivalent", margin=0.1, normalize="none")
    assert (found["verdict"], found["difference"], found["p_value"]) == ("equivalent", 0.0, None)
    assert found["replication"]["same_direction"] is None


def test_too_few_documents_are_no_data(world: World) -> None:
    found = answered(world, "few")
    assert (found["holds"], found["verdict"], found["difference"]) == (False, "no_data", None)
    assert "3 documents to compare on: at least 6 are needed" in found["warnings"]


def test_a_claim_that_would_seldom_show_again_is_not_let_through(world: World) -> None:
    claim = {"normalize": "none", "claim": "not_worse", "margin": 4, "candidate": "B", "baseline": "A"}
    chance = answered(world, "mqm", **claim)["replication"]["significant_again"]
    assert 0.8 < chance < 0.95
    let = answered(world, "mqm", **claim, min_replication=0.8)
    kept = answered(world, "mqm", **claim, min_replication=0.95)
    assert (let["holds"], let["verdict"]) == (True, "not_worse")
    assert (kept["holds"], kept["verdict"]) == (False, "inconclusive")
    assert any("holds again" in text for text in kept["warnings"])


def test_documents_that_fail_are_counted_with_an_exact_bound(world: World) -> None:
    """By critical errors, of which nobody marked any; by a rating where one is named. The bounds are SciPy's."""
    by_error = answered(world, "mqm", normalize="none")["failures"]
    assert by_error["by"] == "an error of severity critical"
    assert by_error["baseline"]["documents"] == {"found": 0, "n": 7, "high": pytest.approx(1 - 0.05 ** (1 / 7))}
    found = answered(world, "mqm", normalize="none", critical=5)["failures"]
    shares = [found[who][what] for who in ("candidate", "baseline") for what in ("documents", "segments")]
    major = {(d, p) for d in range(1, 8) for p in (1, 2) if (d + p) % 3}
    counts = [(0, 7), (0, 14), (len({d for d, _ in major}), 7), (len(major), 14)]
    assert [(one["found"], one["n"]) for one in shares] == counts
    for one in shares:
        exact = stats.binomtest(one["found"], one["n"], alternative="less").proportion_ci(0.95).high
        assert one["high"] == pytest.approx(exact)
    none = answered(world, "mqm", normalize="none", critical=1000)["failures"]
    assert (none["by"], none["candidate"]["documents"]["found"]) == ("a rating of 1000 or more", 0)
    assert none["candidate"]["documents"]["high"] == pytest.approx(1 - 0.05 ** (1 / 7))
    assert answered(world, "da", normalize="none")["failures"] is None
    low = answered(world, "da", normalize="none", critical=1000)["failures"]
    assert low["by"] == "a rating of 1000 or less"
    assert low["candidate"]["documents"]["found"] == low["candidate"]["documents"]["n"]


def test_a_candidate_that_may_fail_too_often_is_not_let_through(world: World) -> None:
    let = answered(world, "mqm", normalize="none", critical=1000, max_critical=0.35)
    kept = answered(world, "mqm", normalize="none", critical=1000, max_critical=0.34)
    assert (let["holds"], let["verdict"]) == (True, "better")
    assert (kept["holds"], kept["verdict"]) == (False, "inconclusive")
    assert any("so up to 34.8% of all may have one, and at most 34.0% are allowed" in one for one in kept["warnings"])
    refused = world.get("da", {**BETTER, "max_critical": "0.1"})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "max_critical"])


def test_few_documents_say_what_they_hide(world: World) -> None:
    told = answered(world, "mqm", normalize="none")["warnings"]
    assert any(
        "7 documents can hide rare failures: if 5% of all documents fail, the probability that" in one for one in told
    )


def test_a_gate_asked_again_while_the_campaign_grows_promises_no_level(world: World) -> None:
    first = answered(world, "grown", normalize="none", as_of=1)
    assert (first["earlier_looks"], first["promise"], first["n_documents"]) == ([], "one look", 7)
    again = answered(world, "grown", normalize="none")
    assert (again["earlier_looks"], again["promise"], again["n_documents"]) == ([1], "none", 14)
    assert any("compared before, once, on less data (data version 1)" in one for one in again["warnings"])
    turned = answered(world, "grown", normalize="none", candidate="B", baseline="A")
    assert turned["promise"] == "none", "whichever is the candidate"
    assert answered(world, "grown", normalize="none", as_of=1)["promise"] == "one look"
    assert answered(world, "mqm", normalize="none", alpha=0.04)["promise"] == "one look", "the same data asked again"


def test_before_the_look_that_was_fixed_nothing_is_told(world: World) -> None:
    early = answered(world, "grown", normalize="none", as_of=1, documents=14, seed=3)
    assert (early["verdict"], early["difference"], early["interval"], early["by_recipe"]) == (
        "no_data",
        None,
        None,
        None,
    )
    assert "the look was fixed at 14 documents, but only 7 are judged: judge the rest first" in early["warnings"]
    due = answered(world, "grown", normalize="none", documents=14)
    assert (due["verdict"], due["planned_documents"]) == ("better", 14)
    assert answered(world, "grown", normalize="none", documents=15)["verdict"] == "no_data"


def test_new_raters_stand_beside_these_raters_turned_as_the_difference_is(world: World) -> None:
    found, turned = (answered(world, "grown", normalize="none", candidate=a, baseline=b) for a, b in ("AB", "BA"))
    low, high = found["new_raters_interval"]
    assert low < found["difference"] < high
    assert turned["new_raters_interval"] == pytest.approx([-high, -low])
    assert high - low > found["interval"][1] - found["interval"][0], "two-sided, and of more"


def test_new_domains_stand_beside_where_domains_are_known(world: World) -> None:
    found, turned = (answered(world, "domains", normalize="none", candidate=a, baseline=b) for a, b in ("AB", "BA"))
    low, high = found["new_domains_interval"]
    assert low < found["difference"] < high
    assert turned["new_domains_interval"] == pytest.approx([-high, -low])
    assert "95% interval, new domains" in world.get("domains", {**BETTER, "normalize": "none"}, ".md").text
    assert answered(world, "mqm", normalize="none")["new_domains_interval"] is None
    assert "new domains" not in world.get("mqm", {**BETTER, "normalize": "none"}, ".md").text


@pytest.mark.parametrize("recipe", ["recommended", "srp-paper", "google-mqm", "nllb-xsts"])
def test_systems_that_no_rater_links_are_not_told_apart_by_any_recipe(world: World, recipe: str) -> None:
    found = answered(world, "apart", recipe=recipe, normalize="none")
    assert (found["holds"], found["verdict"], found["difference"]) == (False, "no_data", None)
    assert any("no rater links A and B" in one for one in found["warnings"])


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"documents": "5"}, "documents"),
        ({"max_critical": "1"}, "max_critical"),
        ({"critical": "x"}, "critical"),
        ({"baseline": "nobody"}, "baseline"),
        ({"candidate": "B"}, "baseline"),
        ({"margin": "1"}, "margin"),
        ({"claim": "not_worse"}, "margin"),
        ({"claim": "equivalent", "margin": "-1"}, "margin"),
        ({"claim": "best"}, "claim"),
        ({"min_replication": "1"}, "min_replication"),
        ({"recipe": "nothing"}, "recipe"),
        ({"normalize": "error_rate", "recipe": "wmt-da"}, "normalize"),
        ({"unknown": "1"}, "unknown"),
    ],
)
def test_what_makes_no_claim_is_refused_with_its_place(world: World, query: dict[str, str], field: str) -> None:
    campaign = "da" if "normalize" in query else "mqm"
    answer = world.get(campaign, {**BETTER, **query})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["loc"][:2] == ["query", field]


def test_the_summary_fits_a_pull_request_and_every_shape_has_its_tag(world: World) -> None:
    query = {**BETTER, "normalize": "none"}
    summary = world.get("mqm", query, ".md").text
    assert "| Verdict | holds: better |" in summary
    for suffix, media_type in ((".csv", "text/csv"), (".tex", "application/x-tex"), (".svg", "image/svg+xml")):
        answer = world.get("mqm", query, suffix)
        assert answer.headers["Content-Type"].startswith(media_type)
        assert answer.content == world.get("mqm", query, Accept=media_type).content
        known = world.get("mqm", query, suffix, **{"If-None-Match": answer.headers["ETag"]})
        assert (known.status_code, known.content) == (304, b"")


def test_viewers_may_ask_and_coordinators_may_not(world: World) -> None:
    assert world.get("mqm", BETTER, who="coordinator").status_code == 403
    assert world.get("nowhere", BETTER).status_code == 404
    assert "rater:r" not in world.get("da", BETTER).text


@pytest.mark.parametrize(
    ("campaign", "candidate", "baseline", "code"), [("mqm", "A", "B", 0), ("mqm", "B", "A", 1), ("few", "A", "B", 3)]
)
def test_the_command_says_it_by_its_exit_code(
    world: World, campaign: str, candidate: str, baseline: str, code: int
) -> None:
    words = ["gate", campaign, "--candidate", candidate, "--baseline", baseline, "--claim", "better", "--json"]
    done = CliRunner().invoke(build_cli_app("gate"), words, env={"PLUMBLINE_DATABASE_URL": world.spine.url})
    assert done.exit_code == code, done.output
    asked = {"candidate": candidate, "baseline": baseline}
    assert json.loads(done.stdout) == world.get(campaign, asked, who="admin").json()


def test_an_error_is_exit_code_two_and_one_clear_line(world: World, command: Command) -> None:
    done = command(world.spine.url, "gate", "mqm", "--candidate", "A", "--baseline", "nobody")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"there is no system 'nobody' in this campaign" in done.stderr
