"""A campaign to which participants of a crowd platform come, and what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from plumbline_client import Client

from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

QUALITY = {"code_pass": "GOOD1", "code_fail": "BAD22"}


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with patient(), serving(spine.url) as found:
        yield found


@pytest.fixture
def campaign(served: Served, request: pytest.FixtureRequest) -> str:
    """A campaign with fixed codes and one text to judge."""
    key = "c-" + re.sub("[^a-z0-9]+", "-", request.node.name[-40:]).strip("-")
    with Client(served.url, served.secret) as plumbline:
        made = plumbline.create_campaign(key, protocol="da", target_language="de", settings={"quality": QUALITY})
        made.data.put_document("d1", [{"source": "Rain."}])
        made.data.put_system("alpha")
        made.data.put_outputs("alpha", "d1", ["Regen."])
    return key


def plan_and_open(served: Served, campaign: str) -> bool:
    """Let a campaign begin for those who are invited; true."""
    with Client(served.url, served.secret) as plumbline:
        known = plumbline.campaign(campaign)
        if known.info().state == "draft":
            known.plan({"seed": 1})
            known.open()
    return True


def take_part(served: Served, campaign: str, link: str, participant: str) -> str:
    """What a participant does who follows an invitation's link: claim, judge, hand in; the code."""
    plan_and_open(served, campaign)
    invitation, secret = parse_qs(urlsplit(link).fragment)["invitation"][0].split(".")
    body = {"secret": secret, "external_id": participant, "want": "token"}
    claimed = httpx.post(f"{served.url}/v1/invitations/{invitation}/claim", json=body, trust_env=False)
    assert claimed.status_code == 201, claimed.text
    with Client(served.url, claimed.json()["token"]) as front_end:
        for task in front_end.tasks(campaign):
            for item in task.content.items:
                for segment in item.segments:
                    task.judge(item.item, segment.segment, {"protocol": "da", "score": 80})
            return task.hand_in()
    raise AssertionError("there was no task")
