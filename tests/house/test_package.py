"""What is handed out: a wheel with everything inside, the same bytes each time, and its bill of materials."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from tests.house.trees import nodes
from tests.working import until

EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}
ORIGIN = re.compile(r"Plumbline at (http://127\.0\.0\.1:\d+)")
INSTALLS_WITHIN = 600  # seconds
Statement = TypeVar("Statement", ast.Import, ast.ImportFrom)


def run(command: list[str | Path], cwd: Path, environment: Mapping[str, str] = EPOCH) -> str:
    """What a command printed; it has to end well."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=INSTALLS_WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(repository: Path, folder: Path) -> Path:
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], repository)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(repository, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bill(repository: Path) -> dict[str, Any]:
    """The bill of materials of the environment of these tests."""
    given: dict[str, Any] = json.loads(run([sys.executable, ".ci/sbom.py"], repository))
    return given


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path, files: list[Path]) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {path.as_posix() for path in files if path.parts[0] == "app"}
    expected |= {
        Path("app/storage/_migrations", *path.parts[1:]).as_posix() for path in files if path.parts[0] == "migrations"
    }
    assert inside == expected
    for kind in (".html", ".css", ".js", ".json", ".svg", ".txt"):
        assert any(name.endswith(kind) for name in inside), kind


def test_the_wheel_is_the_same_each_time(wheel: Path, repository: Path, tmp_path: Path) -> None:
    assert build(repository, tmp_path).read_bytes() == wheel.read_bytes()


def test_the_bill_of_materials_is_valid_and_the_same_each_time(bill: dict[str, Any], repository: Path) -> None:
    again = run([sys.executable, ".ci/sbom.py"], repository, {**EPOCH, "PYTHONHASHSEED": "7"})
    assert json.loads(again) == bill
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(again)
    assert fault is None, fault


def test_the_bill_of_materials_names_what_runs_and_no_tool(bill: dict[str, Any]) -> None:
    named = {component["name"]: component for component in bill["components"]}
    assert bill["metadata"]["component"]["name"] == "plumbline"
    assert {"fastapi", "starlette", "numpy", "psycopg", "psycopg-pool"} <= set(named)
    assert not {"pytest", "ruff", "moto", "statsmodels", "cyclonedx-python-lib", "pip"} & set(named)
    for component in named.values():
        digests = [entry["hashes"][0]["content"] for entry in component["externalReferences"]]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests), component["name"]
        assert component["licenses"], component["name"]
    edges = {node["ref"]: node.get("dependsOn", []) for node in bill["dependencies"]}
    assert named["starlette"]["purl"] in edges[named["fastapi"]["purl"]]


def test_everything_imported_comes_with_the_package(
    modules: list[tuple[str, ast.Module]], bill: dict[str, Any]
) -> None:
    """What is only there for tests would be missing elsewhere."""
    projects = packages_distributions()
    comes = {component["name"] for component in bill["components"]} | {"plumbline"}
    imported = {alias.name for node in _statements(modules, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in _statements(modules, ast.ImportFrom) if not node.level}
    others = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert {"fastapi", "prometheus_client"} <= others
    assert not {
        name for name in others if not {canonicalize_name(project) for project in projects.get(name, [name])} & comes
    }


def _statements(modules: list[tuple[str, ast.Module]], kind: type[Statement]) -> Iterator[Statement]:
    return (node for _, module in modules for node in nodes(module) if isinstance(node, kind))


@pytest.mark.soak
def test_the_wheel_serves_from_a_clean_environment(
    wheel: Path, repository: Path, tmp_path: Path, scratch: Path
) -> None:
    """Installed with the pins, away from the checkout, with an embedded Postgres."""
    venv.create(tmp_path / "clean", with_pip=True)
    python, plumbline = (tmp_path / "clean" / "bin" / name for name in ("python", "plumbline"))
    pins = re.sub(r" \\\n( +--hash=\S+( \\\n)?)+", "", (repository / "constraints.txt").read_text(encoding="utf-8"))
    (tmp_path / "pins.txt").write_text(pins, encoding="utf-8")
    quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    run([python, *quiet, "-c", tmp_path / "pins.txt", wheel], tmp_path)

    assert "Usage: plumbline" in run([plumbline, "--help"], tmp_path)
    data = scratch / "of-the-wheel"
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(data), "PLUMBLINE_DATABASE_URL": ""}
    serving = subprocess.Popen(
        [plumbline, "serve", "--port", "0"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout is not None
        origin = ORIGIN.search(serving.stdout.readline())
        assert origin
        with httpx.Client(base_url=origin[1], timeout=60) as client:
            until(lambda: client.get("/readyz").status_code == httpx.codes.OK, "it is ready")
            assert 'lang="en"' in client.get("/").text
            assert 'lang="de"' in client.get("/", headers={"Accept-Language": "de"}).text
            assert client.get("/docs").status_code == httpx.codes.OK
            page = client.get("/").text
            linked = re.findall(r'(?:href|src)="(/[^"]+\.(?:css|js|svg)[^"]*)"', page)
            assert linked
            assert all(client.get(address).status_code == httpx.codes.OK for address in linked)
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
        shutil.rmtree(data, ignore_errors=True)
