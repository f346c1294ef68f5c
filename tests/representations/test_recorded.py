"""Each representation of each report of nine campaigns is what was recorded, byte for byte.

A change that only rearranges the code changes none of them. One that puts a title or a warning into better words
changes what it names and no more: `RECORD=1` writes the record anew, and `KEEP=FOLDER` keeps the texts themselves, so
that two versions of the program can be compared by `diff -r`. `ONLY=NAME` asks for the report of that name alone, and
leaves the record of the others as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.main import create_app
from app.services.access import tokens
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.representations.addresses import Address, addresses, commands
from tests.representations.campaigns import BESIDE, MADE_UP, PUBLIC
from tests.spine import SHARED, Spine, fresh
from tests.working import draining

RECORD = Path(__file__).with_name("recorded.json")
ONLY = os.environ.get("ONLY", "")
WAIT = 3600  # seconds for one report
FLEETING = re.compile(rb'"(?:instance|at)": ?"[^"]*"')  # the number of a request, and when it was asked


class World:
    """An application over campaigns that are filled when they are first asked about."""

    def __init__(self, spine: Spine, client: Any, token: str) -> None:
        self.spine, self.client, self.token = spine, client, token
        self.document = client.get("/openapi.json").json()

    def fill(self, campaign: str) -> None:
        for key in (campaign, BESIDE[campaign]):
            fill = {**MADE_UP, **PUBLIC}.get(key)
            if fill and not self.spine.ask(f"SELECT 1 FROM campaigns WHERE key = '{key}'"):
                fill(self.spine)

    def systems(self, campaign: str) -> list[tuple[str]]:
        return self.spine.ask(
            "SELECT key FROM systems WHERE campaign_id ="
            f" (SELECT id FROM campaigns WHERE key = '{campaign}') ORDER BY 1"
        )

    def get(self, address: Address) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.token}", "Prefer": "wait=30"}
        until = time.monotonic() + WAIT
        while True:
            answer = self.client.get(address.path, params=dict(address.query), headers=headers)
            if answer.status_code != 202:
                return answer.status_code, answer.content
            assert time.monotonic() < until, address


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine, draining(spine.database):
        with spine.database.transaction() as session:
            token = tokens.issue_token(session, role="admin").secret
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            yield World(spine, client, token)


def recorded(world: World, campaign: str) -> dict[str, str]:
    """Of each representation its status and the first half of its digest, by address."""
    world.fill(campaign)
    systems = world.systems(campaign)
    found = {}
    for address in addresses(world.document, campaign, BESIDE[campaign], tuple(key for (key,) in systems)):
        if ONLY not in {"", address.report}:
            continue
        status, body = world.get(address)
        body = FLEETING.sub(b"", body)
        found[address.name] = f"{status} {hashlib.sha256(body).hexdigest()[:32]}"
        kept(campaign, address.name, body)
    return found


def printed(world: World, campaign: str, command: Command) -> dict[str, str]:
    """The same of what the commands print, by what was typed; most reports are in the store by now."""
    systems = sorted(key for (key,) in world.systems(campaign))
    found = {}
    for words in commands(world.document, campaign, BESIDE[campaign], systems):
        if ONLY and ONLY not in words:
            continue
        answer = command(world.spine.url, *words)
        kept(campaign, " ".join(words), answer.stdout)
        found[" ".join(words)] = f"{answer.returncode} {hashlib.sha256(answer.stdout).hexdigest()[:32]}"
    return found


def kept(campaign: str, name: str, body: bytes) -> None:
    if folder := os.environ.get("KEEP"):
        file = Path(folder) / campaign / re.sub(r"[^\w.,=&-]+", "_", name)[:200]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)


def compared(world: World, campaign: str, command: Command) -> None:
    found = recorded(world, campaign) | printed(world, campaign, command)
    assert found, f"no report has the name {ONLY}"
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get("RECORD"):
        record[campaign] = {**record.get(campaign, {}), **found} if ONLY else found
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    assert {name: was for name, was in record[campaign].items() if not ONLY or name in found} == found


def test_the_record_has_every_representation_that_there_is() -> None:
    document, record = json.loads((RECORD.parents[2] / "openapi.json").read_text()), json.loads(RECORD.read_text())
    assert set(record) == {*MADE_UP, *PUBLIC}
    for campaign, names in record.items():
        there = addresses(document, campaign, BESIDE[campaign], ("SYSTEM", "SYSTEM"))
        wanted = {re.sub(r"SYSTEM", "", address.name) for address in there}
        assert {re.sub(r"(?<=candidate=|.baseline=)[^&]*", "", name) for name in names if name[0] == "/"} == wanted


@pytest.mark.soak
@pytest.mark.parametrize("campaign", MADE_UP)
def test_reports_of_made_up_campaigns_are_as_recorded(world: World, campaign: str, command: Command) -> None:
    compared(world, campaign, command)


@pytest.mark.soak
@pytest.mark.golden
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data")
@pytest.mark.parametrize("campaign", PUBLIC)
def test_reports_of_public_campaigns_are_as_recorded(world: World, campaign: str, command: Command) -> None:
    compared(world, campaign, command)
