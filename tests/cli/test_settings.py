"""What HTTP can set of a campaign, commands can set too, on the database and on a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.api.campaigns import CampaignPatch
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.storage.db import APP_ROLE, Database
from tests.cli.conftest import Command
from tests.load.server import serving

CHANGES: dict[str, tuple[str, Any]] = {
    "name": ("name=TED talks", "TED talks"),
    "series": ("series=ted", "ted"),
    "protocol": ("protocol=esa", "esa"),
    "options": ('options={"weights": "wmt24"}', {"weights": "wmt24"}),
    "source_language": ("source_language=en", "en"),
    "target_language": ("target_language=de", "de"),
    "basis": ("basis=both", "both"),
    "settings": ('settings={"note": "pilot"}', {"note": "pilot"}),
}


@pytest.fixture
def campaign(database_url: str) -> str:
    database = Database(database_url, size=2, role=APP_ROLE)
    with database.transaction() as session:
        campaigns.create_campaign(session, NewCampaign(key="c", protocol="mqm"), actor="test")
    database.close()
    return database_url


def test_every_field_that_http_can_change_a_command_can_change(command: Command, campaign: str) -> None:
    assert set(CHANGES) == set(CampaignPatch.model_fields)
    answer = command(campaign, "settings", "c", *(change for change, _ in CHANGES.values()))
    assert answer.returncode == 0, answer.stderr
    shown = json.loads(command(campaign, "settings", "c").stdout)
    assert shown["settings"].pop("created_by") == "test"
    assert shown == {name: value for name, (_, value) in CHANGES.items()}


def test_one_entry_is_changed_and_taken_away(command: Command, campaign: str, tmp_path: Path) -> None:
    file = tmp_path / "changes.json"
    file.write_text('{"settings": {"note": "pilot", "other": 1}}')
    both = json.loads(command(campaign, "settings", "c", "options.weights=wmt24", "--file", file).stdout)
    assert (both["options"], both["settings"]["note"], both["settings"]["other"]) == ({"weights": "wmt24"}, "pilot", 1)
    less = json.loads(command(campaign, "settings", "c", "settings.other=null").stdout)
    assert less["settings"] == {"note": "pilot", "created_by": "test"}


def test_an_entry_within_an_entry_is_changed_and_the_others_stay(command: Command, campaign: str) -> None:
    changes = (
        "settings.quality.code_pass=GOOD",
        "settings.quality.code_fail=BAD",
        "settings.quality.code_tutorial=0.8",
    )
    first = json.loads(command(campaign, "settings", "c", *changes).stdout)
    assert first["settings"]["quality"] == {"code_pass": "GOOD", "code_fail": "BAD", "code_tutorial": 0.8}
    second = json.loads(command(campaign, "settings", "c", "settings.quality.code_tutorial=null").stdout)
    assert second["settings"] == {"quality": {"code_pass": "GOOD", "code_fail": "BAD"}, "created_by": "test"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("weights", b"must be name=VALUE"),
        ("name.x=1", b"only options and settings have entries"),
        ("settings.=1", b"only options and settings have entries"),
        ("settings.quality.=1", b"only options and settings have entries"),
        ("settings.created_by.x=1", b"within a value that has no entries"),
        ("basis=nothing", b"basis"),
        ("nothing=1", b"nothing"),
        ("options.weights=no-such-profile", b"no weight profile"),
    ],
)
def test_what_cannot_be_set_is_named(command: Command, campaign: str, change: str, why: bytes) -> None:
    refused = command(campaign, "settings", "c", change)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert why in refused.stderr


def test_a_recipe_is_stored_shown_and_listed(command: Command, campaign: str, tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"name": "google-mqm", "alpha": 0.01}')
    stored = json.loads(command(campaign, "recipe", "c", "own", file).stdout)
    assert stored["alpha"] == 0.01
    assert json.loads(command(campaign, "recipe", "c", "own").stdout) == stored
    assert json.loads(command(campaign, "recipe", "c").stdout) == ["own"]


def test_a_server_is_told_the_same(
    command: Command, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"name": "google-mqm", "alpha": 0.01}')
    guidelines = tmp_path / "guidelines.json"
    guidelines.write_text('{"en": "Mark errors."}')
    with serving(campaign) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        at = ("--server", served.url)
        shown = command(campaign, "settings", "c", "options.weights=wmt24", "name=Pilot", *at)
        assert json.loads(shown.stdout) == json.loads(command(campaign, "settings", "c").stdout), shown.stderr
        stored = command(campaign, "recipe", "c", "own", file, *at)
        assert stored.stdout == command(campaign, "recipe", "c", "own", *at).stdout
        assert stored.stdout == command(campaign, "recipe", "c", "own").stdout
        assert json.loads(command(campaign, "recipe", "c", *at).stdout) == ["own"]
        path = "/v1/campaigns/c/guidelines"
        put = command(campaign, "request", "PUT", path, guidelines, *at)
        assert put.returncode == 0, put.stderr
        assert b"Mark errors." in command(campaign, "request", "get", path, *at).stdout
        refused = command(campaign, "request", "GET", "/v1/campaigns/none", *at)
        assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--server" in command(campaign, "request", "GET", path).stderr
