"""The programs of the page about the Python client, and the notebook, are run against a server."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.services.access import tokens
from tests.guides.test_guides import ROOT, programs
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

NOTEBOOK = ROOT / "docs" / "notebooks" / "from-upload-to-ranking.ipynb"
REQUIREMENTS = ROOT / "tests" / "client" / "notebook-requirements.txt"
EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300).execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with patient(), serving(spine.url) as found:
        yield found


@pytest.fixture
def token_of(spine: Spine) -> Callable[[str], str]:
    """The token of a rater of the page's campaign."""

    def make(rater: str) -> str:
        with spine.database.transaction() as session:
            return tokens.issue_token(session, role="rater", campaign="en-de", rater=rater).secret

    return make


def cells() -> list[str]:
    """The code of the notebook, cell by cell."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_programs_of_the_page_go_from_texts_to_a_ranking(
    served: Served,
    token_of: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"token": served.secret, "token_of": token_of}
    for program in programs("use-the-python-client.md"):
        exec(compile(program.replace("http://localhost:8000", served.url), "page", "exec"), names)  # noqa: S102
    names["plumbline"].close()
    assert names["best"] == "alpha"
    assert names["gate"].candidate == "alpha"
    assert all("#token=" in link for link in names["links"])
    assert {path.name for path in tmp_path.iterdir()} == {"ranking.csv", "en-de.jsonl"}
    assert "404 There is no such system in this campaign" in capsys.readouterr().out


def test_the_cells_of_the_notebook_run_in_order_and_rank_as_was_made_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_SERVER", served.url)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
    names: dict[str, Any] = {}
    for cell in cells():
        exec(compile(cell, NOTEBOOK.name, "exec"), names)  # noqa: S102
    names["plumbline"].close()
    assert list(names["systems"]["system"]) == ["careful", "plain", "hasty"]
    assert names["gate"].holds


def test_the_notebook_is_committed_without_results() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]]
    assert all(ast.parse(cell) for cell in cells())


@pytest.mark.soak
def test_the_notebook_runs_in_a_kernel_with_nothing_but_the_wheel_of_the_client(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*map(str, command)], cwd=tmp_path, capture_output=True, text=True, timeout=600)

    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path]
    built = run(*wheel, ROOT / "clients" / "python")
    assert built.returncode == 0, built.stderr
    python = tmp_path / "venv" / "bin" / "python"
    assert run(sys.executable, "-m", "venv", "venv").returncode == 0
    fetched = run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS)
    if fetched.returncode:
        pytest.skip(f"nbclient cannot be fetched: {(fetched.stderr.strip().splitlines() or ['?'])[-1][:200]}")
    (package,) = tmp_path.glob("plumbline_client-*.whl")
    installed = run(python, "-m", "pip", "install", "--quiet", "--no-deps", package)
    assert installed.returncode == 0, installed.stderr
    monkeypatch.setenv("PLUMBLINE_SERVER", served.url)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
    ran = run(python, "-c", EXECUTE, NOTEBOOK, tmp_path / "ran.ipynb")
    assert ran.returncode == 0, ran.stderr
    assert "careful" in (tmp_path / "ran.ipynb").read_text(encoding="utf-8")
