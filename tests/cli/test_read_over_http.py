"""`plumbline audit` and `plumbline token list` of a server: what the database tells, within the token's reach."""

from __future__ import annotations

import pytest

from app.services.access import tokens
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.storage.db import APP_ROLE, Database
from tests.cli.conftest import Command
from tests.load.server import serving


def test_log_and_tokens_are_read_over_http_as_from_the_database(
    command: Command, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(database_url, size=2, role=APP_ROLE)
    with database.transaction() as session:
        for key in ("alpha", "beta"):
            campaigns.create_campaign(session, NewCampaign(key=key, protocol="da"), actor="test")
        own = tokens.issue_token(session, role="manager", campaign="beta", name="of beta").secret
        tokens.issue_token(session, role="viewer", campaign="alpha", name="of alpha", expires_at=None)
    database.close()
    with serving(database_url) as served:
        at = ("--server", served.url)
        for words in (("audit",), ("token", "list")):
            monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
            there, here = command(database_url, *words, *at), command(database_url, *words)
            assert there == here
            assert b"alpha" in there.stdout
            assert b"beta" in there.stdout
            monkeypatch.setenv("PLUMBLINE_TOKEN", own)
            less = command(database_url, *words, *at)
            assert (less.returncode, b"alpha" in less.stdout) == (0, False), less.stderr
            assert less.stdout != there.stdout
        refused = command(database_url, "audit", "--check", *at)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--check: the hashes are computed from the database" in refused.stderr


def test_a_check_of_the_log_and_the_tokens_that_can_be_revoked_are_the_databases_whatever_server_is_set(
    command: Command, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command(database_url, "token", "create", "--role", "viewer").returncode == 0
    here = [command(database_url, *words) for words in (("audit", "--check"), ("token", "list"))]
    monkeypatch.setenv("PLUMBLINE_SERVER", "http://127.0.0.1:1")
    control = command(database_url, "audit")
    assert (control.returncode, control.stdout) == (2, b""), "the setting is read: that server cannot be reached"
    there = [command(database_url, *words) for words in (("audit", "--check"), ("token", "list"))]
    assert [one.returncode for one in here] == [0, 0]
    assert (b"(installation): " in here[0].stdout, b"viewer" in here[1].stdout) == (True, True)
    assert there == here
