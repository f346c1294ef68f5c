"""The commands of webhooks.md, and the events that the guide lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.webhooks.events import EVENT_KINDS
from app.storage import embedded
from tests.cli.conftest import Command
from tests.spine import Spine, fresh

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "webhooks.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    plumbline (webhook .*)$", GUIDE, re.MULTILINE)
ID = re.compile(r"w_[0-9a-f]{32}")


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        with found.database.transaction() as session:
            create_campaign(session, NewCampaign(key="en-de", protocol="da"), actor="test")
        yield found


def test_the_commands_of_the_guide_do_what_it_says(spine: Spine, command: Command) -> None:
    add, show, replay = COMMANDS
    made = command(spine.url, *add.split())
    assert made.returncode == 0, made.stderr
    webhook, secret = made.stdout.decode().split()
    assert ID.fullmatch(webhook)
    assert secret.startswith("whsec_")
    listed = command(spine.url, *show.split()).stdout.decode()
    assert webhook in listed
    assert "task.handed_in, campaign.done" in listed
    assert secret not in listed
    assert "working" in listed
    assert replay.endswith("--from 8")
    again = ID.sub(webhook, replay).replace("--from 8", "--from 1").split()
    assert command(spine.url, *again).returncode == 0
    assert command(spine.url, "webhook", "remove", "en-de", webhook).returncode == 0
    assert webhook not in command(spine.url, *show.split()).stdout.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "en-de", "https://a.org/", "--event", "task.lost"), "there is no task.lost"),
        (("add", "en-de", "https://10.0.0.1/"), "not a public address"),
        (("add", "no-such", "https://a.org/"), "no such campaign"),
        (("replay", "en-de", "w_" + "0" * 32), "no such webhook"),
        (("remove", "en-de", "w_" + "0" * 32), "no such webhook"),
    ],
)
def test_what_cannot_be_is_refused(spine: Spine, command: Command, words: tuple[str, ...], said: str) -> None:
    answer = command(spine.url, "webhook", *words)
    assert answer.returncode != 0
    assert said in answer.stderr.decode()


def test_the_guide_lists_every_event() -> None:
    assert tuple(re.findall(r"^\| `([\w.]+)` \|", GUIDE, re.MULTILINE)) == EVENT_KINDS
