"""Human translations among the systems: which imports know them, what stays as it was, and what a ranking says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.reports.kit import text_formatting
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import view as ranking_view
from app.reports.ranking.captions import HUMANS_COUNT
from app.storage import embedded
from tests.services.data.test_imports import DA, MQM
from tests.spine import Spine, fresh

HUMAN_DA = DA.replace(" B ", " HUMAN.0 ").encode()


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("da", "wmt-da", HUMAN_DA)
        found.take("mqm", "mqm-tsv", MQM.encode(), options={"human": "B"})
        yield found


def kinds(spine: Spine, campaign: str) -> dict[str, str]:
    """The kind of each system."""
    query = f"SELECT s.key, s.kind FROM systems s JOIN campaigns c ON c.id = campaign_id WHERE c.key = '{campaign}'"
    return dict(spine.ask(query))


def change(spine: Spine, campaign: str, kind: str) -> None:
    """Give all systems of a campaign a kind, as by hand."""
    where = f"campaign_id = (SELECT id FROM campaigns WHERE key = '{campaign}')"
    spine.ask(f"UPDATE systems SET kind = '{kind}' WHERE {where} RETURNING 1")


def test_files_and_options_that_tell_human_translations_make_them_human(spine: Spine) -> None:
    assert kinds(spine, "da") == {"A": "mt", "HUMAN.0": "human"}
    assert kinds(spine, "mqm") == {"A": "mt", "B": "human"}


@pytest.mark.parametrize("kind", ["mt", "human"])
def test_a_kind_that_is_stored_stays_and_the_same_file_is_unchanged(spine: Spine, kind: str) -> None:
    key = f"stored-{kind}"
    spine.take(key, "wmt-da", HUMAN_DA)
    change(spine, key, kind)
    before = spine.export(key)
    report = spine.take(key, "wmt-da", HUMAN_DA)
    assert (report["stored"]["judgments"], report["stored"]["data_version"]) == (0, 1)
    assert spine.export(key) == before
    assert kinds(spine, key) == {"A": kind, "HUMAN.0": kind}


def test_an_option_that_contradicts_what_is_stored_is_refused(spine: Spine) -> None:
    spine.take("plain", "mqm-tsv", MQM.encode())
    with pytest.raises(Invalid) as refused:
        spine.take("plain", "mqm-tsv", MQM.encode(), options={"human": "B"})
    assert "system B is stored already, and otherwise" in str(refused.value.places)
    assert kinds(spine, "plain") == {"A": "mt", "B": "mt"}


@pytest.mark.parametrize("campaign", ["da", "mqm"])
def test_our_own_format_carries_the_kind(spine: Spine, campaign: str) -> None:
    exported = spine.export(campaign)
    spine.take(f"{campaign}-again", "jsonl", exported)
    assert kinds(spine, f"{campaign}-again") == kinds(spine, campaign)
    assert spine.export(f"{campaign}-again") == exported


@pytest.mark.parametrize(
    ("campaign", "options", "told"),
    [
        ("da", {}, True),
        ("mqm", {}, True),
        ("mqm", {"adjust": "none"}, False),
        ("mqm", {"test": "none"}, False),
        ("mqm", {"exclude": "system:B"}, False),
        ("without", {}, False),
    ],
)
def test_a_ranking_says_that_human_translations_count_among_the_pairs(
    spine: Spine, campaign: str, options: dict[str, Any], *, told: bool
) -> None:
    if campaign == "without":
        spine.take("without", "mqm-tsv", MQM.encode())
    body = spine.body(campaign, "recommended", **options)
    view = ranking_view.parse_ranking_view_json(body)
    assert (HUMANS_COUNT in view.notes) == told
    assert (text_formatting.make_sentence(HUMANS_COUNT) in ranking_captions.make_caption(view)) == told
