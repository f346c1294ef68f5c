"""Data card and data sheet: counts that a slow count agrees with, and nothing said that is not stored."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.reports import registry
from app.reports.datasheet.heds import CHECKLIST, QUESTIONS, SECTIONS
from app.reports.datasheet.report import SAID_BY
from app.reports.kit import request, store
from app.reports.kit.render import representations
from app.stats import data_card as stats
from app.stats.ratings import Ratings
from app.storage import embedded
from tests.services.data.test_imports import DA, MQM
from tests.spine import SHARED, TED, Spine, fresh, shared


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("mqm", "mqm-tsv", MQM.encode())
        found.take("da", "wmt-da", DA.encode())
        yield found


def view(spine: Spine, campaign: str, name: str) -> dict[str, Any]:
    kind = registry.ALL[f"campaign/{name}"]
    found: dict[str, Any] = json.loads(
        store.find_or_compute_report(spine.database, request.ReportRequest(kind, (campaign,), kind.options())).body
    )
    return found


row = st.tuples(*(st.integers(0, 3) for _ in range(4)))


@settings(deadline=None, max_examples=50)
@given(st.lists(row, min_size=1, max_size=40))
def test_counts_agree_with_a_slow_count(found: list[tuple[int, int, int, int]]) -> None:
    system, document, position, rater = zip(*found, strict=True)
    rows = Ratings.from_columns(
        system=[f"s{n}" for n in system],
        document=[f"d{n}" for n in document],
        position=[n + 1 for n in position],
        rater=[f"r{n}" for n in rater],
        score=[float(n) for n in position],
        higher_is_better=True,
    )
    names = rows.labels

    assert sorted(stats.count_ratings_per_output(rows).tolist()) == sorted(
        Counter(zip(system, document, position, strict=True)).values()
    )
    raters = defaultdict(set)
    for one in found:
        raters[one[1]].add(one[3])
    slow = Counter(frozenset(them) for them in raters.values())
    assert sorted((b.raters, b.documents) for b in stats.count_documents_by_rater_set(rows)) == sorted(
        (len(k), n) for k, n in slow.items()
    )
    for share in stats.count_ratings_by_group(rows, rows.system, len(names.systems)):
        mine = [one for one in found if f"s{one[0]}" == names.systems[share.code]]
        assert (share.ratings, share.documents) == (len(mine), len({one[1] for one in mine}))
        assert share.segments == len({one[1:3] for one in mine})
        assert share.mean == pytest.approx(np.mean([one[2] for one in mine]))
    matrix = stats.count_ratings_by_system_and_document(rows, len(names.systems), len(names.documents))
    assert matrix.sum() == len(found)


def test_no_ratings_are_counted_as_none() -> None:
    none = Ratings.from_columns(system=[], document=[], position=[], rater=[], score=[], higher_is_better=True)
    assert stats.summarize_nonzero_counts(stats.count_ratings_per_output(none)) is None
    assert stats.count_documents_by_rater_set(none) == ()
    assert stats.count_ratings_by_group(none, none.system, 0) == ()


@pytest.mark.golden
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data")
def test_the_card_of_ted_has_the_figures_of_its_source(spine: Spine) -> None:
    """14 systems × 529 segments in 5 talks, one rater a segment (README of the data)."""
    spine.take("ted", "mqm-tsv", shared(TED))
    card = view(spine, "ted", "card")
    counts = {name: card[name] for name in ("documents", "segments", "systems", "raters", "ratings", "rated_outputs")}
    assert counts == {
        "documents": 5,
        "segments": 529,
        "systems": 14,
        "raters": 4,
        "ratings": 7406,
        "rated_outputs": 7406,
    }
    assert card["ratings_per_output"] == {"least": 1, "median": 1.0, "most": 1}
    assert {tuple(line) for line in card["map"]} == {(1.0,) * 5}


def test_unknown_documents_are_said_to_be_unknown(spine: Spine) -> None:
    _, *records, _ = spine.export("da").decode().splitlines()
    bare = [json.loads(line) for line in records]
    for record in bare:
        record.pop("documents_known", None)
    bare[0]["documents_known"] = False
    told = "\n".join(map(json.dumps, [{"type": "plumbline", "version": 1}, *bare])) + "\n"
    spine.take("bare", "jsonl", told.encode())
    card = view(spine, "bare", "card")
    assert (card["documents"], card["segments_per_document"], card["buckets"]) == (None, None, [])
    assert any("unknown" in warning for warning in card["warnings"])


def test_every_question_of_heds_is_there_once_and_what_is_not_stored_is_unknown(spine: Spine) -> None:
    sheet = view(spine, "mqm", "datasheet")
    assert [one["number"] for one in sheet["heds"]] == list(QUESTIONS)
    assert {one["section"] for one in sheet["heds"]} == set(SECTIONS)
    said = {one["number"]: one["answer"] for one in sheet["heds"]}
    unknown = ["1.1", "3.2.2", "3.2.3", "3.3.4", "3.3.7", "4.1.1", "4.3.7", "5.1", "5.2"]
    assert [number for number in unknown if said[number] is not None] == []
    assert "no registration" in said["3.3.1"]
    assert said["4.3.11.2"] in (None, "InterAA not assessed")
    assert sheet["answered"] == sum(answer is not None for answer in said.values())
    kind = registry.ALL["campaign/datasheet"]
    latex = representations.render_report(kind, json.dumps(sheet).encode(), "tex").decode()
    assert "unknown: not stored" in latex
    assert "HEDS 3.0" in latex


def test_the_checklist_has_twenty_points_and_says_yes_only_where_something_says_it(spine: Spine) -> None:
    sheet = view(spine, "da", "datasheet")
    points = {one["key"]: one for one in sheet["checklist"]}
    assert list(points) == list(CHECKLIST)
    assert len(points) == 20
    assert set(SAID_BY.values()) <= set(QUESTIONS)
    said = {one["number"]: one["answer"] for one in sheet["heds"]}
    assert all((said[number] is not None) == (points[key]["reported"] == "yes") for key, number in SAID_BY.items())
    assert points["pay"] == {**points["pay"], "reported": "no", "by": None}
    card = view(spine, "da", "card")
    assert f"{card['ratings']:,} ratings in all" in sheet["methods"]
    assert "Registration: no registration" in sheet["methods"]
