"""Reports: stored once, answered from the store, and a pure function of version, recipe and seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from app.domain.errors import Invalid, NotFound
from app.reports.inputs import recipe_ratings
from app.reports.ranking import report as ranking_report
from app.storage import campaigns, embedded
from tests.services.data.test_imports import MQM, judgment, lines, study, void
from tests.spine import Spine, chosen, opened, template_of


@pytest.fixture(scope="module")
def template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """With the study in it."""
    with template_of(postgres, migrated_template, lambda found: found.take("c", "jsonl", lines(*study()))) as name:
        yield name


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def test_the_second_request_is_answered_from_the_store(spine: Spine) -> None:
    first = ranking_report.find_or_compute_ranking(spine.database, "c", recipe=chosen("wmt-da", {}))
    with psycopg.connect(spine.url) as connection:
        connection.execute("UPDATE reports SET body = 'stored'")
    second = ranking_report.find_or_compute_ranking(spine.database, "c", recipe=chosen("wmt-da", {}))
    assert second.body == b"stored"
    assert second.etag != first.etag, "the tag is of the report itself"
    assert ranking_report.find_or_compute_ranking(spine.database, "c", recipe=chosen("wmt-da", {})).etag == second.etag


def test_a_report_computed_anew_is_the_same_to_the_byte(spine: Spine) -> None:
    for recipe in ("recommended", "wmt-da"):
        first = spine.body("c", recipe)
        spine.ask("DELETE FROM reports RETURNING 1")
        assert spine.body("c", recipe) == first


def test_other_choices_seeds_versions_and_names_are_other_reports(spine: Spine) -> None:
    asked = [("wmt-da", {}), ("wmt-da", {"seed": "7"}), ("wmt-da", {"clusters": "paper"}), ("recommended", {})]
    etags = {
        ranking_report.find_or_compute_ranking(spine.database, "c", recipe=chosen(name, options)).etag
        for name, options in asked
    }
    spine.take("c", "jsonl", lines(void()))
    etags.add(ranking_report.find_or_compute_ranking(spine.database, "c", recipe=chosen("wmt-da", {})).etag)
    assert len(etags) == 5
    assert spine.counts()["reports"] == 5


def test_as_of_takes_a_version_or_a_time(spine: Spine) -> None:
    began = datetime.now(UTC) - timedelta(hours=1)
    spine.take("c", "jsonl", lines(*study(changed=99)))
    between = spine.ask("SELECT at FROM versions ORDER BY n")[0][0]
    recipe = chosen("wmt-da", {})
    versions = [
        ranking_report.find_or_compute_ranking(spine.database, "c", recipe=recipe, as_of=moment).data_version
        for moment in (1, 2, began, between, between + timedelta(days=1))
    ]
    assert versions == [1, 2, 0, 1, 2]
    for wrong, told in ((-1, "must be 0 or more"), (3, "the latest data version is 2"), (1 << 70, "latest")):
        with pytest.raises(Invalid, match="no such data version") as refused:
            ranking_report.find_or_compute_ranking(spine.database, "c", recipe=recipe, as_of=wrong)
        assert [place.loc for place in refused.value.places] == [("query", "as_of")]
        assert told in refused.value.places[0].msg


def test_versions_are_dated_in_their_order_even_where_one_waited_for_the_other(spine: Spine) -> None:
    """The transaction that began first takes the later version: its date must not be the earlier one."""
    with spine.database.transaction() as waiting:
        waiting.connection()
        spine.take("c", "jsonl", lines(void()))
        campaigns.take_next_data_version(waiting, 1, actor="test", what="later")
    dates = [at for (at,) in spine.ask("SELECT at FROM versions ORDER BY n")]
    assert len(dates) == 3
    assert dates == sorted(dates)


def test_a_system_that_nobody_rated_changes_nothing(spine: Spine) -> None:
    before = spine.rank("c", "wmt-da")
    spine.take("c", "jsonl", lines({"type": "system", "key": "0-first", "name": "First"}))
    after = spine.rank("c", "wmt-da")
    assert (after.pop("data_version"), before.pop("data_version")) == (2, 1)
    assert after == before


def test_exclusions_are_those_of_the_recipe_only(spine: Spine) -> None:
    spine.take("c", "jsonl", lines(*(judgment("C", f"d{d}", 11 * d) for d in range(1, 8))))
    without = spine.rank("c", "wmt-da", exclude="system:C")
    assert [row["system"] for row in without["systems"]] == [
        row["system"] for row in spine.rank("c", "wmt-da", as_of=1)["systems"]
    ]
    assert without["systems"] == spine.rank("c", "wmt-da", as_of=1)["systems"]
    assert len(spine.rank("c", "wmt-da")["systems"]) == 3


def test_weights_where_nothing_is_marked_are_refused_with_the_place(spine: Spine) -> None:
    for scoring in ("spans", "spans:wmt24", "spans::5"):
        with pytest.raises(Invalid) as refused:
            spine.rank("c", "wmt-da", scoring=scoring)
        assert refused.value.places[0].loc == ("recipe", "scoring")


def test_a_profile_is_derived_once_and_for_later_judgments_too(spine: Spine) -> None:
    spine.take("m", "mqm-tsv", MQM.encode())
    spine.rank("m", "google-mqm", scoring="spans:esa-mqm")
    spine.take("m", "mqm-tsv", MQM.replace("\tr1\t", "\tr9\t").replace("Style/Awkward", "Fluency/Punctuation").encode())
    grown = spine.rank("m", "google-mqm", scoring="spans:esa-mqm")
    spine.take("n", "jsonl", spine.export("m"))
    fresh = spine.rank("n", "google-mqm", scoring="spans:esa-mqm")
    assert (grown["systems"], grown["data_hash"]) == (fresh["systems"], fresh["data_hash"])
    assert any(json.dumps(row["score"]) != "1.0" for row in grown["systems"])


def test_an_unknown_campaign_is_not_found(spine: Spine) -> None:
    with pytest.raises(NotFound):
        spine.rank("nobody", "wmt-da")


def test_the_data_hash_covers_domains_and_names_and_nothing_that_was_not_read(spine: Spine) -> None:
    def campaign(key: str, *more: dict[str, Any]) -> dict[str, Any]:
        spine.take(key, "jsonl", lines(*more, *study()))
        return spine.rank(key, "recommended")

    def domain(document: str) -> dict[str, Any]:
        return {"type": "document", "key": document, "name": document, "domain": "news"}

    plain, again = campaign("p"), campaign("q")
    unread = campaign("r", domain("d9"), {"type": "system", "key": "C", "name": "Never rated"})
    assert plain["data_hash"] == again["data_hash"] == unread["data_hash"]
    assert plain["pairs"] == unread["pairs"], "the domain of a document that nobody rated changes nothing"
    told = [
        campaign("s", domain("d1")),
        campaign("t", *(domain(f"d{n}") for n in range(1, 8))),
        campaign("u", {"type": "system", "key": "A", "name": "Other"}),
        campaign("v", {"type": "system", "key": "A", "name": "A", "kind": "human"}),
    ]
    assert len({plain["data_hash"], *(ranking["data_hash"] for ranking in told)}) == 5


RENAMED = "UPDATE systems SET name = name || ' (new)' WHERE key = (SELECT min(key) FROM systems) RETURNING 1"
MOVED = "UPDATE documents SET domain = 'elsewhere' RETURNING 1"


@pytest.mark.parametrize("change", [RENAMED, MOVED], ids=["a name", "a domain"])
def test_what_is_told_without_a_data_version_is_part_of_the_key(spine: Spine, change: str) -> None:
    before = spine.body("c", "recommended")
    spine.ask(change)
    after = spine.body("c", "recommended")
    assert after != before
    spine.ask("DELETE FROM reports RETURNING 1")
    assert spine.body("c", "recommended") == after


@pytest.mark.parametrize("change", [RENAMED, MOVED], ids=["a name", "a domain"])
def test_a_change_between_question_and_computing_is_not_stored_under_what_was_asked(
    spine: Spine, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    before = spine.body("c", "recommended")
    spine.ask("DELETE FROM reports RETURNING 1")
    load = recipe_ratings.load_ratings_with_judgment_ids

    def meanwhile(*given: Any) -> Any:
        spine.ask(change)
        return load(*given)

    monkeypatch.setattr(recipe_ratings, "load_ratings_with_judgment_ids", meanwhile)
    changed = spine.body("c", "recommended")
    monkeypatch.undo()
    assert changed != before
    spine.ask(UNDONE[change])
    assert spine.body("c", "recommended") == before, "what was asked about first finds nothing of the later name"


UNDONE = {
    RENAMED: "UPDATE systems SET name = replace(name, ' (new)', '') RETURNING 1",
    MOVED: "UPDATE documents SET domain = NULL RETURNING 1",
}
