"""`plumbline validate`: a recipe tried on the campaign's own design, from a terminal."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from app.cli import build_cli_app
from tests.services.data.test_imports import DA
from tests.spine import opened


def test_a_recipe_is_tried_on_the_campaigns_own_design(database_url: str) -> None:
    with opened(database_url) as spine:
        spine.take("da", "wmt-da", DA.encode())
    words = ["validate", "da", "--studies", "6", "--recipe", "srp-paper", "--seed", "4"]
    environment = {"PLUMBLINE_DATABASE_URL": database_url, "COLUMNS": "120"}
    told = json.loads(CliRunner().invoke(build_cli_app("validate"), [*words, "--json"], env=environment).stdout)
    assert (told["studies"], told["units"], told["recipe"], told["seed"]) == (6, 7, "srp-paper", 4)
    found = {(rate["world"], rate["what"]): rate for rate in told["rates"]}
    assert found["null", "pairs_claimed"]["n"] == 6
    shown = CliRunner().invoke(build_cli_app("validate"), words, env=environment)
    assert (shown.exit_code, "No system is better" in shown.stdout) == (0, True)
