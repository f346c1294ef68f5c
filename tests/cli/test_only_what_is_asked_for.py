"""A command imports no more than itself, and is the same as among all."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.cli import build

LOADED = "import sys; from app.cli import build; build(sys.argv[1]); print(*sorted(m for m in sys.modules))"


def modules(command: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, command], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded(command: str) -> set[str]:
    return {name.removeprefix("app.cli.") for name in modules(command) if name.startswith("app.cli.")}


def test_a_command_with_a_file_of_its_own_loads_no_other() -> None:
    assert "db" in loaded("db")
    assert "rank" not in loaded("db")


def test_a_command_that_shares_a_file_loads_all() -> None:
    assert {"db", "rank"} <= loaded("recipes")


@pytest.mark.parametrize("command", ["export", "rank"])
def test_a_command_that_needs_no_report_of_the_registry_loads_none(command: str) -> None:
    assert "app.reports.registry" not in modules(command)


@pytest.mark.parametrize("command", ["import", "token"])
def test_a_command_that_computes_nothing_loads_no_scipy(command: str) -> None:
    assert "scipy" not in modules(command)


@pytest.mark.parametrize("command", ["import", "rank"])
def test_its_help_is_the_same_as_among_all(command: str) -> None:
    runner = CliRunner()
    alone, among = (runner.invoke(build(only), [command, "--help"]) for only in (command, ""))
    assert alone.exit_code == 0
    assert alone.output == among.output
    assert command in get_command(build(command)).commands
