"""A command imports no more than itself, and is the same as among all; the list imports none."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from functools import cache

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import app.cli
from app.cli import build_cli_app
from app.cli.kit.commands import COMMANDS

LOADED = (
    "import sys; from app.cli import build_cli_app; build_cli_app(sys.argv[1]); print(*sorted(m for m in sys.modules))"
)


@cache
def modules(command: str) -> frozenset[str]:
    """What a process has loaded that knows its command."""
    done = subprocess.run([sys.executable, "-c", LOADED, command], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def test_the_table_names_every_file_and_every_command_as_it_is() -> None:
    files = {one.name for one in pkgutil.iter_modules(app.cli.__path__) if not one.ispkg and one.name != "__main__"}
    assert {file for file, _ in COMMANDS.values()} == files
    assert list(get_command(build_cli_app()).commands) == list(COMMANDS)
    for name, (file, _) in COMMANDS.items():
        assert name in get_command(build_cli_app(name)).commands, (name, file)


@pytest.mark.parametrize("said", [["--help"], [], ["no-such-command"]])
def test_the_list_of_commands_is_the_same_as_that_of_all(said: list[str]) -> None:
    runner = CliRunner()
    listed, among = (
        runner.invoke(one, said, prog_name="plumbline") for one in (build_cli_app("".join(said)), build_cli_app())
    )
    assert (listed.output, listed.exit_code) == (among.output, among.exit_code)


def test_the_list_of_commands_loads_none_of_them() -> None:
    of_ours = {name for name in modules("--help") if name.startswith("app.")}
    assert of_ours == {"app.cli", "app.cli.kit", "app.cli.kit.commands", "app.domain", "app.domain.errors"}


@pytest.mark.parametrize("command", ["import", pytest.param("token", marks=pytest.mark.soak)])
def test_a_command_loads_no_file_of_another(command: str) -> None:
    loaded = {name.removeprefix("app.cli.") for name in modules(command) if name.startswith("app.cli.")}
    assert {file for file, _ in COMMANDS.values()} & loaded == {COMMANDS[command][0]}


@pytest.mark.parametrize("command", [pytest.param("export", marks=pytest.mark.soak), "rank"])
def test_a_command_that_reads_needs_neither_the_framework_nor_all_reports(command: str) -> None:
    assert not {"app.reports.registry", "fastapi"} & modules(command)


def test_a_command_on_a_current_database_loads_neither_migrations_nor_the_queue_nor_a_client(database_url: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "app.cli", "rank", "no-such-campaign"]
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": database_url}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "no such campaign" in done.stderr
    assert "app.reports.ranking.report" in loaded
    assert not {"alembic", "procrastinate", "httpx"} & loaded


def test_a_command_that_ranks_needs_no_format() -> None:
    assert "app.formats" not in modules("rank")


@pytest.mark.parametrize("command", ["import", pytest.param("token", marks=pytest.mark.soak)])
def test_a_command_that_computes_nothing_loads_no_scipy(command: str) -> None:
    assert "scipy" not in modules(command)


@pytest.mark.parametrize("command", ["import", "rank"])
def test_its_help_is_the_same_as_among_all(command: str) -> None:
    runner = CliRunner()
    alone, among = (runner.invoke(build_cli_app(only), [command, "--help"]) for only in (command, None))
    assert alone.exit_code == 0
    assert alone.output == among.output


def test_what_supervises_a_service_loads_neither_what_answers_nor_what_reads_a_database() -> None:
    """It stays beside the web process for as long as that runs, and holds what it has loaded."""
    loaded = modules("serve")
    assert not {"alembic", "numpy", "app.formats", "app.pearmut.app"} & loaded
    assert not {"sqlalchemy", "psycopg", "fastapi", "uvicorn", "app.storage.db"} & loaded


def test_a_worker_leaves_the_reports_to_the_processes_that_compute() -> None:
    assert not {"app.jobs.job_steps", "app.reports.registry"} & modules("worker")


@pytest.mark.soak
def test_the_web_process_loads_no_migrations() -> None:
    """They would take 8 MB for as long as it runs."""
    code = "import sys; from app import api, main; api.find_routers(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "app.main" in done.stdout.split()
    assert "alembic" not in done.stdout.split()
