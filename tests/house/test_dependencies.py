"""Everything that is installed is pinned, and everything that is pinned has its hashes."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def pinned(repository: Path) -> dict[str, str]:
    """Project name to its whole entry in constraints.txt."""
    text = (repository / "constraints.txt").read_text(encoding="utf-8")
    return {entry.split("==")[0].split("[")[0]: entry for entry in re.split(r"(?<!\\)\n", text.strip())}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, list[str]]:
    """What pyproject.toml and requirements.in ask for."""
    content = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (repository / "requirements.in").read_text(encoding="utf-8").splitlines()
    return {
        "run": content["project"]["dependencies"],
        "build": content["build-system"]["requires"],
        "listed": [line for line in lines if line and not line.startswith("#")],
    }


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def test_every_pinned_version_has_its_hashes(pinned: dict[str, str]) -> None:
    entry = re.compile(r"[a-z0-9-]+(\[[a-z,]+\])?==[^\s;]+( ; [^\\]+)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\\n)?)+")
    assert not [name for name, text in pinned.items() if not entry.fullmatch(text)]


def test_everything_asked_for_is_pinned(project: dict[str, list[str]], pinned: dict[str, str]) -> None:
    assert not names(project["run"] + project["build"] + project["listed"]) - set(pinned)


def test_the_pins_are_made_from_everything_that_the_package_asks_for(project: dict[str, list[str]]) -> None:
    assert not names(project["run"] + project["build"]) - names(project["listed"])


def test_the_package_leaves_versions_to_the_pins(project: dict[str, list[str]]) -> None:
    assert not [line for line in project["run"] if Requirement(line).specifier]
