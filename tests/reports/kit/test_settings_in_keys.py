"""What a report is computed from beside its data belongs to its key: nobody is served what other settings made true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import reports
from app.jobs import job_steps as job_work
from app.reports import registry
from app.reports.kit import request, store
from app.reports.kit.report import Report
from app.reports.robustness import over_campaigns as robustness_over_campaigns
from app.reports.xsts import report as xsts
from app.services.campaigns import campaigns
from app.services.campaigns import settings as campaign_settings
from app.services.jobs import jobs, report_requests
from app.services.people import guidelines
from app.storage import embedded
from tests.reports.languages import PLANTED, lines
from tests.spine import Spine, fresh

CAMPAIGNS = tuple(f"en-{world.language}" for world in PLANTED)
MODULES = [*Path(reports.__file__).parent.rglob("*.py")]
ASKED = {"before": [{"name": "years", "kind": "number", "label": {"en": "For how many years?"}}]}
VALUES: dict[str, object] = {"questionnaires": ASKED}
"""Values of settings that must have a form of their own; others may be anything."""


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for world in PLANTED:
            found.take(f"en-{world.language}", "jsonl", lines(world))
        yield found


def change(spine: Spine, campaign: str, **settings: object) -> None:
    with spine.database.transaction() as session:
        campaign_settings.change_campaign_settings(
            session, campaign, {"settings": settings}, has_seen_version=lambda _: True, actor="test"
        )


def asking(kind: Report[Any, Any], campaigns: tuple[str, ...], **query: str) -> request.ReportRequest:
    return request.ReportRequest(kind, campaigns, request.parse_report_options(kind, query))


def body(spine: Spine, kind: Report[Any, Any], campaigns: tuple[str, ...], **query: str) -> Any:
    return json.loads(store.find_or_compute_report(spine.database, asking(kind, campaigns, **query)).body)


def key(spine: Spine, wanted: request.ReportRequest) -> str:
    with spine.database.transaction() as session:
        return store.look_up_report(session, wanted).key.recipe_hash


@pytest.mark.parametrize("place", [0, 1], ids=["the first campaign", "another campaign"])
def test_xsts_tells_the_settings_as_they_are_now(spine: Spine, place: int) -> None:
    for score, family in ((31.5, "Indo-Aryan"), (32.5, "Bantu"), (31.5, "Indo-Aryan")):
        change(spine, CAMPAIGNS[place], automatic_score=score, language={"family": family})
        direction = body(spine, xsts.REPORT, CAMPAIGNS, bootstrap="0")["directions"][place]
        assert (direction["automatic"], direction["attributes"]) == (score, {"family": family})


def test_comparisons_of_rankings_tell_style_and_platform_as_they_are_now(spine: Spine) -> None:
    query = {"recipe": "recommended"}
    for style in ("crowd", "expert"):
        change(spine, CAMPAIGNS[0], style=style, platform="own")
        wanted = asking(robustness_over_campaigns.REPORT, CAMPAIGNS[:2], **query)
        shown = json.loads(store.find_or_compute_report(spine.database, wanted).body)["of_campaigns"][0]
        assert (shown["style"], shown["platform"]) == (style, "own")


def test_a_data_sheet_tells_the_guidelines_as_they_are_now(spine: Spine) -> None:
    kind = registry.ALL["campaign/datasheet"]
    for n in (1, 2):
        with spine.database.transaction() as session:
            guidelines.put_guidelines(session, CAMPAIGNS[0], "guidelines", {"en": f"read {n} times"}, actor="test")
        told = body(spine, kind, CAMPAIGNS[:1])
        assert f"raters had to read the guidelines (version {n})" in json.dumps(told)


@pytest.mark.parametrize("name", sorted(registry.ALL))
def test_a_key_has_the_settings_that_its_kind_reads_and_no_others(spine: Spine, name: str) -> None:
    kind = registry.ALL[name]
    about = CAMPAIGNS[:1] if kind.over == "campaign" else CAMPAIGNS
    wanted = request.ReportRequest(kind, about, kind.options.model_construct())
    for campaign in about:
        change(spine, campaign)
        before = key(spine, wanted)
        change(spine, campaign, deadline=None, note="of no report")
        assert key(spine, wanted) == before
        for setting in kind.settings:
            change(spine, campaign, **{setting: VALUES.get(setting, 1)})
            assert key(spine, wanted) != before
        change(spine, campaign)
        assert key(spine, wanted) == before


@pytest.mark.parametrize("name", sorted(registry.ALL))
def test_a_kind_sees_only_the_settings_that_it_names(spine: Spine, name: str) -> None:
    kind = registry.ALL[name]
    change(spine, CAMPAIGNS[0], **{name: VALUES.get(name, 1) for name in kind.settings}, note="of no report")
    with spine.database.transaction() as session:
        found = store.look_up_report(
            session, request.ReportRequest(kind, CAMPAIGNS[:1], kind.options.model_construct())
        )
    assert set(found.about[0].campaign.settings) == set(kind.settings)
    change(spine, CAMPAIGNS[0])


def test_settings_that_modules_of_kinds_read_are_named_by_a_kind() -> None:
    named = frozenset().union(*(kind.settings for kind in registry.ALL.values()))
    read = {
        name
        for path in MODULES
        for name in re.findall(r"settings\.get\(\"(\w+)\"\)|settings\[\"(\w+)\"\]", path.read_text())
        for name in name
        if name
    }
    assert read == {"automatic_score", "language"}
    assert read <= named


def test_a_job_whose_settings_changed_before_it_read_them_makes_nothing(spine: Spine) -> None:
    """Else it would keep what is true of new settings under the key of the old."""
    change(spine, CAMPAIGNS[0], style="crowd")
    wanted = asking(robustness_over_campaigns.REPORT, CAMPAIGNS[:2], seed="7")
    job = report_requests.find_or_queue_report(spine.database, wanted)
    assert isinstance(job, jobs.JobView)
    job_work.load_job_work(spine.database, job.request)
    change(spine, CAMPAIGNS[0], style="expert")
    with pytest.raises(jobs.JobInputsChanged):
        job_work.load_job_work(spine.database, job.request)
    change(spine, CAMPAIGNS[0], style="crowd")
    job_work.load_job_work(spine.database, job.request)


def test_what_a_campaign_without_data_may_change_is_in_its_keys(spine: Spine) -> None:
    with spine.database.transaction() as session:
        campaigns.create_campaign(
            session, campaigns.NewCampaign(key="bare", protocol="da", target_language="de"), actor="test"
        )
    kind = registry.ALL["campaign/card"]
    for language in ("de", "fr"):
        with spine.database.transaction() as session:
            campaign_settings.change_campaign_settings(
                session, "bare", {"target_language": language}, has_seen_version=lambda _: True, actor="test"
            )
        assert body(spine, kind, ("bare",))["target_language"] == language
