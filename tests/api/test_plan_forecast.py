"""What a plan says of itself before a rating is bought: detectable difference and forecast SRP, with their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import build_cli_app
from app.domain.errors import Invalid
from app.stats.planning.power_and_cost import DEFAULTS
from tests.api.test_plans import LIVE, _ok, _plan, draft_template, ready, template

__all__ = ["draft_template", "ready", "template"]  # fixtures of the neighbouring tests

GIVEN = {"doc_system": 1.0, "rater": 9.0, "residual": 4.0, "system": 2.5, "source": "pilot of May"}


def settled(client: httpx.Client, settings: dict[str, Any]) -> None:
    seen = client.get(LIVE)
    answer = client.patch(LIVE, json={"settings": settings}, headers={"If-Match": seen.headers["ETag"]})
    assert answer.status_code == 200, answer.text


def test_a_plan_without_judgments_is_forecast_with_published_components_of_its_protocol(ready: httpx.Client) -> None:
    report = _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]

    assert report["balance"]["normalized_entropy"] == 1.0
    assert report["forecast"]["source"] == DEFAULTS["esa"].source
    srp = report["srp"]
    assert 0 <= srp["value"] <= 1
    assert (srp["method"], srp["source"], srp["pool"]) == ("forecast", DEFAULTS["esa"].source, "same")
    assert 0 <= srp["mean_significant_pairs"] <= srp["pairs"] == 3
    assert _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]["srp"] == srp


def test_components_of_a_pilot_stand_in_the_settings(ready: httpx.Client) -> None:
    settled(ready, {"components": GIVEN})
    report = _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]

    assert report["forecast"]["components"]["residual"] == 4.0
    assert (report["forecast"]["source"], report["srp"]["between_systems"]) == ("pilot of May", 2.5)

    settled(ready, {"components": {"residual": 1.0}})
    report = _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]
    assert report["forecast"]["detectable"] > 0
    assert report["srp"]["value"] is None
    assert "pilot" in report["srp"]["reason"]


def test_the_command_prints_the_forecast_srp_with_the_pairs_beside_it(
    ready: httpx.Client, database_url: str, tmp_path: Path
) -> None:
    design = tmp_path / "design.json"
    design.write_text('{"seed": 5, "overlap": null}')
    environment = {"PLUMBLINE_DATABASE_URL": database_url, "COLUMNS": "300"}
    words = ["plan", "live", str(design), "--dry-run"]

    settled(ready, {"components": {**GIVEN, "source": "[/pilot] of May"}})
    srp = _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]["srp"]
    told = CliRunner().invoke(build_cli_app("plan"), words, env=environment)
    pairs = f"{srp['mean_significant_pairs']:.1f} of 3 pairs significant per study"
    assert f"Forecast SRP {srp['value']:.2f}, {pairs} ([/pilot] of May)" in told.stdout

    settled(ready, {"components": {"residual": 1.0}})
    told = CliRunner().invoke(build_cli_app("plan"), words, env=environment)
    assert "Forecast SRP: unknown, the variance between systems is unknown" in told.stdout


@pytest.mark.parametrize(
    "text",
    ["{", '{"seed": NaN}', '{"seed": 1e999}', f'{{"seed": {"1" * 5000}}}', "[" * 100_000, '"\\ud800"', "\ufeff{}"],
)
def test_a_design_in_a_file_is_read_as_strictly_as_over_http(text: str, tmp_path: Path) -> None:
    design = tmp_path / "design.json"
    design.write_text(text, encoding="utf-8")
    told = CliRunner().invoke(build_cli_app("plan"), ["plan", "live", str(design)])
    assert isinstance(told.exception, Invalid)
    assert told.exception.places[0].loc == (str(design),)


@pytest.mark.parametrize("wrong", [{"rater": 1.0}, {"residual": -1}, {"residual": "much"}, {"residual": 1, "x": 2}])
def test_components_that_cannot_be_used_are_not_guessed_at(ready: httpx.Client, wrong: dict[str, Any]) -> None:
    settled(ready, {"components": wrong})
    report = _plan(ready, {"seed": 5}, 200, dry_run="true")["report"]

    for part, value in (("forecast", "detectable"), ("srp", "value")):
        assert report[part][value] is None
        assert "`residual` among them" in report[part]["reason"]


def test_judgments_of_the_campaign_itself_come_before_published_figures(ready: httpx.Client) -> None:
    """Imported as pilot judgments: six documents, three raters each."""
    rng = np.random.default_rng(3)
    severity = {"r1": 0.0, "r2": 9.0, "r3": -6.0}
    given = [
        {
            "rater": rater,
            "document": f"d{d}",
            "segment": n,
            "system": system,
            "payload": {"protocol": "esa", "errors": [], "score": float(np.clip(60 + s + rng.normal(0, 8), 0, 100))},
            "external_id": f"{rater}{d}{n}{system}",
        }
        for rater, s in severity.items()
        for d in range(1, 7)
        for n in range(1, 3 + d % 2)
        for system in ("sysA", "sysB", "sysC")
    ]
    answer = ready.post(f"{LIVE}/judgments", json=given, headers={"Idempotency-Key": "k"})
    assert answer.status_code in {200, 201}, answer.text

    report = _plan(ready, {"seed": 5, "overlap": None}, 200, dry_run="true")["report"]

    assert report["forecast"]["source"] == "live, own judgments"
    assert 30 < report["forecast"]["components"]["residual"] < 130
    assert _ok(ready.get(LIVE))["state"] == "draft"
