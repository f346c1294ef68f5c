"""The repository itself as a test object."""

import ast
import subprocess
from pathlib import Path

import pytest
import typer.main

from app.cli import build_cli_app

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file that is committed or would be, relative to the root."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [path for name in sorted(set(listed.split("\0")) - {""}) if (REPOSITORY / (path := Path(name))).is_file()]


@pytest.fixture(scope="session")
def modules(repository: Path, files: list[Path]) -> list[tuple[str, ast.Module]]:
    """Every module of the program, read once."""
    return [
        (path.as_posix(), ast.parse((repository / path).read_text(encoding="utf-8")))
        for path in files
        if path.suffix == ".py" and path.parts[0] == "app"
    ]


@pytest.fixture(scope="session")
def commands() -> set[str]:
    """The console commands: names of commands and groups, and `group member`."""
    found: set[str] = set()
    queue = [("", typer.main.get_command(build_cli_app()))]
    while queue:
        prefix, command = queue.pop()
        for name, child in getattr(command, "commands", {}).items():
            found.add(f"{prefix}{name}")
            queue.append((f"{prefix}{name} ", child))
    return found
