"""`plumbline campaigns`: a campaign from a template, and the list of templates."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from app.services.templates.templates import TEMPLATES

Command = Callable[..., Any]


def test_templates_are_listed_and_a_campaign_is_created_from_one(command: Command, database_url: str) -> None:
    told = json.loads(command(database_url, "campaigns", "templates", "--json").stdout)["items"]
    assert [one["name"] for one in told] == [*TEMPLATES]
    assert b"wmt26-cesa" in command(database_url, "campaigns", "templates").stdout
    assert command(database_url, "campaigns", "create", "crowd", "--template", "esa-crowd").returncode == 0
    settings = json.loads(command(database_url, "raters", "list", "crowd", "--json").stdout)
    assert settings["items"] == []
    again = command(database_url, "campaigns", "create", "crowd", "--protocol", "da")
    assert again.returncode == 2
    assert b"exists already" in again.stderr


def test_without_template_and_protocol_it_says_what_is_needed(command: Command, database_url: str) -> None:
    answer = command(database_url, "campaigns", "create", "bare")
    assert answer.returncode == 2
    assert b"--template" in answer.stderr
