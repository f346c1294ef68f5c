"""`plumbline organizations`, and commands about one of them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import psycopg
import pytest

from app.services.access import tokens
from app.storage import organization_schemas
from tests.cli.conftest import Command
from tests.organized import TWIN, within

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "organizations.md").read_text(encoding="utf-8")


@pytest.fixture
def template(organized_template: str) -> str:
    return organized_template


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody serves here, so a removal waits for nobody."""
    monkeypatch.setattr(organization_schemas, "KNOWN_FOR", 0.0)


def test_they_are_added_listed_and_removed(database_url: str, command: Command) -> None:
    added = command(database_url, "organizations", "add", "acme", "--name", "Acme GmbH")
    assert added.returncode == 0, added.stderr
    assert b"acme is ready" in added.stdout
    assert b"plb3_" in added.stdout
    listed = json.loads(command(database_url, "organizations", "list", "--json").stdout)
    assert [(one["key"], one["name"], one["state"]) for one in listed["items"]][-1] == ("acme", "Acme GmbH", "open")
    assert b"Acme GmbH" in command(database_url, "organizations", "list").stdout
    assert command(database_url, "organizations", "add", "acme").returncode == 2
    kept = command(database_url, "organizations", "remove", "acme")
    assert (kept.returncode, b"--with-all-data" in kept.stderr) == (2, True)
    assert command(database_url, "organizations", "remove", "acme", "--with-all-data").returncode == 0
    assert b"acme" not in command(database_url, "organizations", "list").stdout


def test_one_whose_making_was_interrupted_gets_its_owners_token_later(
    database_url: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(tokens, "create_first_admin_token", lambda _: pytest.fail("interrupted"))
        with pytest.raises(pytest.fail.Exception):
            command(database_url, "organizations", "add", "acme")
    added = command(database_url, "organizations", "add", "acme")
    assert (added.returncode, b"plb3_" in added.stdout) == (0, True), added.stderr


@pytest.mark.parametrize("key", ["Acme", "-a", "a b", "a" * 64, ""])
def test_what_cannot_be_a_key_is_refused(database_url: str, command: Command, key: str) -> None:
    assert command(database_url, "organizations", "add", "--", key).returncode == 2


def test_a_command_is_about_the_organization_that_the_environment_names(
    database_url: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_ORGANIZATION", "twin")
    made = command(database_url, "token", "create", "--role", "viewer", "--name", "of the twin")
    assert made.stdout.startswith(b"plb1_")
    assert b"of the twin" in command(database_url, "token", "list").stdout
    monkeypatch.delenv("PLUMBLINE_ORGANIZATION")
    assert b"of the twin" not in command(database_url, "token", "list").stdout
    with psycopg.connect(within(database_url, TWIN)) as connection:
        assert connection.execute("SELECT name FROM tokens").fetchall() == [("of the twin",)]
    monkeypatch.setenv("PLUMBLINE_ORGANIZATION", "nobody")
    refused = command(database_url, "token", "list")
    assert (refused.returncode, b"no such organization" in refused.stderr) == (2, True)


def test_the_commands_of_the_guide_do_what_it_says(
    database_url: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"^ {4}(?:PLUMBLINE_ORGANIZATION=(\w+) )?plumbline (.+)$", GUIDE, re.MULTILINE)
    assert [words.split()[0] for _, words in shown] == ["organizations", "token", "export", "organizations"]
    for organization, words in shown:
        if organization:
            monkeypatch.setenv("PLUMBLINE_ORGANIZATION", organization)
        else:
            monkeypatch.delenv("PLUMBLINE_ORGANIZATION", raising=False)
        if words.startswith("export"):
            made = command(database_url, "campaigns", "create", "ted-ende", "--protocol", "mqm")
            assert made.returncode == 0, made.stderr
        answer = command(database_url, *shlex.split(words))
        assert answer.returncode == 0, (words, answer.stderr)
    assert json.loads((tmp_path / "ted-ende.jsonl").read_text(encoding="utf-8").splitlines()[0])["type"] == "plumbline"
    assert b"acme" not in command(database_url, "organizations", "list").stdout
