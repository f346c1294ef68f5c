"""Types that a public generator makes of `/openapi.json` compile, and a program that is written with them works.

typescript/package-lock.json pins the generator, the client and the compiler; `npm install` there renews it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.golden.test_with_curl import serving
from tests.spine import fresh

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node is not installed"),
]
PROGRAM = Path(__file__).with_name("typescript")
DEFAULTS = "--default-non-nullable=false"  # what has a default may be left out of what is sent


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The program with what it needs; skips where that cannot be fetched."""
    made = tmp_path / "typescript"
    shutil.copytree(PROGRAM, made)
    fetched = run(made, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    if fetched.returncode:
        pytest.skip(f"the generator cannot be fetched: {fetched.stderr.strip()[-200:]}")
    return made


def compiled(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(folder, "node_modules/.bin/tsc", "--project", ".")


def test_a_program_over_generated_types_compiles_and_works(folder: Path, postgres: Any, migrated_template: str) -> None:
    with fresh(postgres, migrated_template) as spine, serving(spine, workers=1) as curl:
        document = httpx.get(f"{curl.origin}/openapi.json", trust_env=False, timeout=60)
        (folder / "openapi.json").write_bytes(document.content)
        generated = run(folder, "node_modules/.bin/openapi-typescript", "openapi.json", "--output", "api.ts", DEFAULTS)
        assert generated.returncode == 0, generated.stderr
        built = compiled(folder)
        assert built.returncode == 0, built.stdout
        ran = run(folder, "node", "campaign.js", curl.origin, curl.token)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {"key": "ted", "version": 0, "unknown": 404}
    program = (folder / "campaign.ts").read_text()
    (folder / "campaign.ts").write_text(program.replace("data.data_version", "data.no_such_field"))
    assert "no_such_field" in compiled(folder).stdout  # the negative control
