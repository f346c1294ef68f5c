"""Pearmut's pages lead each user to their organization by the credential in the address."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.services.pearmut.loading import AddedCampaign, UserNamesNeedDefaultOrganization
from app.storage.current_organization import use_organization
from tests.organized import OURS, TWIN
from tests.pearmut.campaigns import DOCUMENTS, Annotator, campaign

TEXTS = {OURS: "Source news", TWIN: "Anderes news"}


@pytest.fixture
def template(organized_template: str) -> str:
    return organized_template


@pytest.fixture
def added(add: Callable[..., AddedCampaign]) -> dict[int, AddedCampaign]:
    """A campaign of one name in both organizations, with other texts in each."""
    made = {}
    for organization, text in TEXTS.items():
        documents = [[{**item, "src": item["src"].replace("Source news", text)} for item in one] for one in DOCUMENTS]
        with use_organization(organization):
            made[organization] = add(campaign(data=documents))
    return made


def test_each_user_sees_the_documents_of_their_organization(
    pages: httpx.Client, added: dict[int, AddedCampaign]
) -> None:
    for organization in (OURS, TWIN, OURS):
        shown = str(Annotator(pages, "wmt pilot", added[organization].links[0].credential).next())
        assert TEXTS[organization] in shown or "talk" in shown or "blog" in shown
        assert TEXTS[OURS + TWIN - organization] not in shown
    forged = added[TWIN].links[0].credential.replace("plb1_", "plb_")
    assert Annotator(pages, "wmt pilot", forged).ask().status_code >= 400


def test_a_dashboard_shows_one_organization(pages: httpx.Client, added: dict[int, AddedCampaign]) -> None:
    for organization in (OURS, TWIN):
        query = {"campaign_id": "wmt pilot", "token": added[organization].token}
        answer = pages.get("/download-campaigns", params=query)
        assert answer.status_code == 200, answer.text
        assert TEXTS[organization] in answer.text
        assert TEXTS[OURS + TWIN - organization] not in answer.text
    both = [("campaign_id", "wmt pilot")] * 2 + [("token", added[one].token) for one in (OURS, TWIN)]
    assert pages.get("/download-campaigns", params=both).status_code >= 400


def test_names_are_credentials_in_the_default_organization_only(add: Callable[..., AddedCampaign]) -> None:
    with use_organization(TWIN), pytest.raises(UserNamesNeedDefaultOrganization):
        add(campaign(), old_ids=True)
