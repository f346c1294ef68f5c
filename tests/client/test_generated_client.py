"""A client that a public generator makes of `/openapi.json`, in an environment of its own, imports TED and ranks it.

requirements.txt: `openapi-python-client` compiled by uv with --generate-hashes --universal, as `make constraints` does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.golden.test_with_curl import Curl, serving
from tests.spine import SHARED, TED, expected, fresh

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data of ../shared/data are not here"),
]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# What somebody writes who has the generated package and nothing of ours.
RANKS = """
import json
import sys
from io import BytesIO
from pathlib import Path

from client import AuthenticatedClient
from client.api.campaigns import create_campaign
from client.api.imports import commit_import, create_import, put_import_file
from client.api.reports import get_ranking
from client.models import CampaignIn, ImportIn
from client.types import File

origin, token, path = sys.argv[1:]
with AuthenticatedClient(origin, token, raise_on_unexpected_status=True, timeout=60) as client:
    create_campaign.sync(client=client, body=CampaignIn(key="ted", protocol="mqm", target_language="de"))
    made = create_import.sync("ted", client=client, body=ImportIn(format_="mqm-tsv"))
    file = File(BytesIO(Path(path).read_bytes()))
    put_import_file.sync("ted", made.import_, "ted.tsv.gz", client=client, body=file)
    report = commit_import.sync("ted", made.import_, client=client)
    ranking = get_ranking.sync("ted", client=client, recipe="google-mqm")
scores = {row.system: row.score for row in ranking.systems}
print(json.dumps({"judgments": report.stored["judgments"], "scores": scores}))
"""


def run(folder: Path, *command: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def generator(tmp_path: Path) -> Path:
    """A folder with a virtual environment in it that has the generator; skips where it cannot be fetched."""
    made = run(tmp_path, sys.executable, "-m", "venv", "venv")
    assert made.returncode == 0, made.stderr
    install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS]
    fetched = run(tmp_path, tmp_path / "venv/bin/python", *install, timeout=300)
    if fetched.returncode:
        pytest.skip(f"the generator cannot be fetched: {(fetched.stderr.strip().splitlines() or ['?'])[-1][:200]}")
    return tmp_path


def generate(folder: Path, curl: Curl) -> str:
    """Make the package `client` of what the server says of itself; what the generator says."""
    (folder / "openapi.json").write_bytes(httpx.get(f"{curl.origin}/openapi.json", trust_env=False, timeout=60).content)
    options = ["--path", "openapi.json", "--meta", "none", "--output-path", "client"]
    made = run(folder, folder / "venv/bin/openapi-python-client", "generate", *options)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout + made.stderr


def test_a_generated_client_imports_ted_and_ranks_it(generator: Path, postgres: Any, migrated_template: str) -> None:
    with fresh(postgres, migrated_template) as spine, serving(spine, workers=1) as curl:
        said = generate(generator, curl)
        assert "Unable to" not in said, said  # only pictures may be left out
        ran = run(generator, generator / "venv/bin/python", "-c", RANKS, curl.origin, curl.token, SHARED / "data" / TED)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["judgments"] == 7406
    theirs = {
        row["system"].replace("ref.A", "ref"): row["mqm"] for row in expected("mqm_ted.json")["ende"]["systems_ranked"]
    }
    assert found["scores"] == pytest.approx(theirs, abs=1e-9)
