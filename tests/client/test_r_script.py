"""The R script reads a ranking, where R and httr2 are there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plumbline_client import Client

from tests.api.conftest import MQM
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import fresh

SCRIPT = Path(__file__).parents[2] / "clients" / "r" / "ranking.R"


def has_httr2() -> bool:
    """Whether the script can run here."""
    probe = ["Rscript", "-e", "library(httr2)"]
    return shutil.which("Rscript") is not None and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.fixture
def served(postgres: Any, migrated_template: str) -> Iterator[Served]:
    if not has_httr2():
        pytest.skip("R with httr2 is not here")
    with fresh(postgres, migrated_template) as spine, patient(), serving(spine.url) as found:
        yield found


def test_the_script_prints_the_ranking_and_writes_it(served: Served, tmp_path: Path) -> None:
    (tmp_path / "ratings.tsv").write_text(MQM, encoding="utf-8")
    with Client(served.url, served.secret) as plumbline:
        campaign = plumbline.create_campaign("wmt", protocol="mqm", target_language="de")
        campaign.data.import_files("mqm-tsv", [tmp_path / "ratings.tsv"])
    environment = {**os.environ, "PLUMBLINE_SERVER": served.url, "PLUMBLINE_TOKEN": served.secret}
    ran = subprocess.run(
        ["Rscript", SCRIPT, "wmt"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    lines = (tmp_path / "ranking.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0].strip('"') for line in lines] == ["system", "C", "B", "A"]
