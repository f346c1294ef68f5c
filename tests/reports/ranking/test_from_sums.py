"""A ranking from sums over a file of ratings has the figures of one that holds all ratings in memory."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.jobs import job_steps as job_work
from app.reports import registry
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.kit import store
from app.reports.kit.report import LocalChunkComputer, StoredReport
from app.reports.kit.request import Over, ReportRequest
from app.reports.ranking import report as ranking_report
from app.reports.ranking.from_sums import ERRORS_NOT_LOOKED_AT, WHY, open_ranking_input_from_sums
from app.reports.robustness.report import SUMMED
from app.reports.stability.input import FROM_SUMS_NOTE
from app.services.jobs import report_requests
from app.stats.ratings import COLUMNS
from app.stats.robustness.score_changes import GROUPS
from app.storage import embedded, free_memory
from app.storage.db import Database
from app.storage.ratings_files import duckdb_engine, reading, writing
from app.storage.ratings_folder import HEAD, RatingsFolder
from tests.services.data.test_imports import MQM, judgment, lines, void
from tests.spine import Spine, chosen, fresh

DIGITS = 1e-12
LACKING = {"rank_sets": "false", "influence": "false"}


@dataclass(frozen=True)
class LargeSpine(Spine):
    """The spine, and the same database with every campaign taken as large."""

    large: Database

    @property
    def two(self) -> tuple[Database, Database]:
        """From sums, and in memory."""
        return self.large, self.database

    def both(self, campaign: str, recipe: str, **options: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A ranking from sums, and one of ratings in memory by the same choices."""
        asked = chosen(recipe, options)
        summed = json.loads(ranking_report.find_or_compute_ranking(self.large, campaign, recipe=asked).body)
        return summed, self.rank(campaign, recipe, **{**options, **LACKING})


def rows(n_systems: int = 4, n_documents: int = 24, *, gaps: float, seed: int = 1) -> list[dict[str, Any]]:
    """Raters in pairs on documents of 1 to 4 segments; r9 gives one score throughout; some outputs are missing."""
    draw = random.Random(seed)
    made = []
    for d in range(n_documents):
        raters = ["r9", "r1"] if d % 8 == 7 else [f"r{1 + d % 3}", f"r{4 + d % 2}"]
        for position in range(1, 2 + d % 4):
            for s in range(n_systems):
                for rater in raters:
                    score = 60.0 if rater == "r9" else min(100.0, max(0.0, draw.gauss(60 + 3 * s + d % 5, 15)))
                    key, document = "ABCDEFG"[s], f"d{d:02}"
                    where = {"item": f"{key}:{document}:{rater}", "task": f"{document}:{rater}", "position": position}
                    if draw.random() >= gaps:
                        made.append(judgment(key, document, round(score, 2), rater=rater, **where))
    return made


def declared(n_documents: int = 24) -> list[dict[str, Any]]:
    return [
        {"type": "system", "key": "A", "name": "The human", "kind": "human"},
        *(
            {"type": "document", "key": f"d{d:02}", "name": f"d{d:02}", "domain": "news" if d % 3 else "chat"}
            for d in range(n_documents)
        ),
    ]


def references() -> list[dict[str, Any]]:
    """Human translations that were rated for control only."""
    return [
        judgment("A", f"d{d:02}", 80 + d, rater=f"r{1 + d % 3}", item=f"ref:{d}", task=f"d{d:02}:ref", role="reference")
        for d in range(12)
    ]


def tangled() -> list[list[dict[str, Any]]]:
    """Imports one after another: repeats, a control item, an output of two systems, revisions with times, a void."""
    first = rows(gaps=0.15)
    again = {**first[5], "item": "again", "role": "repeat", "payload": {"protocol": "da", "score": 41}}
    degraded = {**first[6], "item": "bad", "role": "degraded", "payload": {"protocol": "da", "score": 2}}
    shared = judgment("C", "d03", 77, item="both", systems=["C", "D"], rater="r2", task="d03:r2", position=9)
    whole = {**first[8], "position": None, "payload": {"protocol": "da", "score": 70}}
    changed = [{**row, "payload": {"protocol": "da", "score": 33 + i}} for i, row in enumerate(first[10:14])]
    gone = {**void(), **{name: first[20][name] for name in ("task", "item", "position", "rater")}}
    return [[*declared(), *first, again, degraded, shared, whole], changed, [gone]]


@pytest.fixture(scope="module")
def spine(
    postgres: embedded.EmbeddedServer, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LargeSpine]:
    with fresh(postgres, migrated_template) as plain:
        plain.take("whole", "jsonl", lines(*declared(), *rows(gaps=0)))
        for part in tangled():
            plain.take("tangled", "jsonl", lines(*part))
        plain.take("mqm", "mqm-tsv", MQM.encode())
        plain.take("marked", "jsonl", lines(*declared(12), *rows(n_documents=12, gaps=0.1, seed=2), *references()))
        folder = RatingsFolder(tmp_path_factory.mktemp("large") / "ratings", most_in_memory=1)
        large = Database(plain.url, size=2, role=plain.database.role, ratings_folder=folder)
        yield LargeSpine(plain.url, plain.database, large)
        large.close()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of each kind, as a large campaign has them."""
    monkeypatch.setattr(reading, "BLOCK_ROWS", 60)
    monkeypatch.setattr(writing, "BLOCK", 50)


def request(name: str, campaign: str, options: dict[str, Any], over: Over = "campaign") -> ReportRequest:
    kind = {**registry.ALL, **registry.WITH_OWN_ROUTES}[f"{over}/{name}"]
    return ReportRequest(kind, (campaign,), kind.options.model_validate(options))


def computed(
    database: Database, name: str, campaign: str, options: dict[str, Any], over: Over = "campaign"
) -> StoredReport:
    return store.find_or_compute_report(database, request(name, campaign, options, over))


def assert_alike(one: Any, other: Any, path: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for name in one:
            assert_alike(one[name], other[name], f"{path}/{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for i, pair in enumerate(zip(one, other, strict=True)):
            assert_alike(*pair, f"{path}/{i}")
    elif isinstance(one, float):
        assert math.isclose(one, other, rel_tol=DIGITS, abs_tol=DIGITS), (path, one, other)
    else:
        assert one == other, path


QUESTIONS = [
    ("whole", "recommended", {}),
    ("whole", "recommended", {"normalize": "none"}),
    ("whole", "srp-paper", {}),
    ("tangled", "recommended", {}),
    ("tangled", "recommended", {"normalize": "z"}),
    ("tangled", "recommended", {"normalize": "z", "sd0": "zero", "roles": "rating,degraded"}),
    ("tangled", "recommended", {"normalize": "z", "moments": "all", "adjust": "maxT"}),
    ("tangled", "recommended", {"aggregate": "median", "repeats": "latest", "clusters": "paper"}),
    ("tangled", "recommended", {"interval": "percentile", "normalize": "z"}),
    ("tangled", "recommended", {"exclude": "rater:r1,system:B", "accepted_only": "false"}),
    ("mqm", "recommended", {}),
]


@pytest.mark.parametrize(("campaign", "recipe", "options"), QUESTIONS)
def test_figures_are_those_of_all_ratings_in_memory(
    spine: LargeSpine, campaign: str, recipe: str, options: dict[str, str]
) -> None:
    summed, held = spine.both(campaign, recipe, **options)
    notes, warned = summed.pop("notes"), summed["warnings"]
    sets = "simultaneous rank sets, " if recipe == "recommended" else ""
    lacking = f"not computed from sums: {sets}influence of raters, documents and domains"
    own = [WHY, *[ERRORS_NOT_LOOKED_AT][: campaign == "mqm"], lacking]
    assert [note for note in notes if note in own] == own
    assert [note for note in notes if note not in own] == held.pop("notes")
    assert summed["pairs"], "otherwise nothing is compared"
    assert warned == held["warnings"]
    for ranking in (summed, held):
        for choice in ("name", "hash"):
            ranking["recipe"].pop(choice)
    assert_alike(summed, held)


def test_a_file_has_the_rows_that_are_loaded_into_memory(spine: LargeSpine) -> None:
    for campaign in ("whole", "tangled", "mqm"):
        asked = chosen("recommended", {})
        with spine.large.transaction() as session:
            about = snapshot.load_snapshot(session, campaign, None)
            held = recipe_ratings.load_recipe_ratings(session, about, asked)
            folder = spine.large.ratings_folder
            assert folder is not None
            file = open_ranking_input_from_sums(session, about, asked, folder).file
        for name in COLUMNS:
            assert np.array_equal(
                np.concatenate(list(file.stream_column_without_excluded((), name))), getattr(held, name)
            ), name
        assert file.labels.systems == held.labels.systems
        assert np.array_equal(file.labels.segment_position, held.labels.segment_position)
        file.close()


def test_the_negative_control_differs(spine: LargeSpine) -> None:
    """The comparison above would see another score in one row."""
    summed, held = spine.both("tangled", "recommended", normalize="none")
    held["pairs"][0]["new_raters_interval"][0] *= 1 + 1e-9
    with pytest.raises(AssertionError):
        assert_alike(summed["pairs"], held["pairs"])


def test_a_later_version_has_a_file_of_its_own_and_the_former_goes(spine: LargeSpine) -> None:
    folder = spine.large.ratings_folder
    assert folder is not None
    spine.take("grows", "jsonl", lines(*rows(gaps=0)))
    first = spine.both("grows", "recommended")[0]
    before = set(folder.path.iterdir())
    former = max(before, key=lambda one: one.stat().st_mtime)
    spine.take("grows", "jsonl", lines(judgment("A", "d00", 3, rater="new", item="new", task="new", position=8)))
    assert spine.both("grows", "recommended")[0]["data_hash"] != first["data_hash"]
    assert former.exists(), "somebody may be reading it"
    long_ago = time.time() - 7200
    os.utime(former / HEAD, (long_ago, long_ago))
    assert folder.delete_stale_files() == 1
    assert not former.exists()
    assert len(set(folder.path.iterdir()) - before) == 1
    again = ranking_report.find_or_compute_ranking(
        spine.large, "grows", recipe=chosen("recommended", {"seed": "5"}), as_of=1
    )
    assert json.loads(again.body)["data_hash"] == first["data_hash"], "it is written again for who asks"


def test_what_sums_do_not_tell_is_ranked_in_memory(spine: LargeSpine) -> None:
    asked = chosen("wmt-da", {})
    body = ranking_report.find_or_compute_ranking(spine.large, "whole", recipe=asked).body
    assert body == spine.body("whole", "wmt-da")


def test_what_does_not_fit_into_memory_is_refused_with_both_figures(
    spine: LargeSpine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_memory, "read_free_memory", lambda: 1000)
    asked = chosen("wmt-da", {"seed": "5"})
    with pytest.raises(free_memory.MemoryTooSmall) as refused:
        ranking_report.find_or_compute_ranking(spine.large, "whole", recipe=asked)
    assert re.fullmatch(r"\d+ judgments need about 0\.\d GB, and 0\.0 GB are free", refused.value.detail)
    assert ranking_report.find_or_compute_ranking(spine.database, "whole", recipe=asked).body
    summed = ranking_report.find_or_compute_ranking(spine.large, "whole", recipe=chosen("recommended", {"seed": "6"}))
    assert summed.body, "sums fit"


def test_free_memory_is_that_of_the_machine_or_of_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file in (("_MEMORY", "meminfo"), ("_GROUP", "group")):
        monkeypatch.setattr(free_memory, name, tmp_path / file)
    assert free_memory.read_free_memory() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5 kB\n")
    assert free_memory.read_free_memory() == 5120
    (tmp_path / "group").mkdir()
    (tmp_path / "group/memory.current").write_text("1000")
    for most, free in (("max", 5120), ("3000", 2000), ("500", 0)):
        (tmp_path / "group/memory.max").write_text(most)
        assert free_memory.read_free_memory() == free


def test_a_small_campaign_is_ranked_in_memory(spine: LargeSpine, tmp_path: Path) -> None:
    with spine.database.transaction() as session:
        number = snapshot.load_snapshot(session, "whole", None).campaign_id
        [(n,)] = spine.ask(f"SELECT count(*) FROM judgments WHERE campaign_id = {number}")
        assert [RatingsFolder(tmp_path, most).is_campaign_large(session, number) for most in (n - 1, n)] == [
            True,
            False,
        ]


def test_a_missing_extra_is_named(spine: LargeSpine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "find_spec", lambda _: None)
    with pytest.raises(duckdb_engine.DuckdbNotInstalled) as refused:
        spine.both("whole", "recommended", seed="77")
    assert "pip install 'plumbline[large]'" in refused.value.title()


@pytest.mark.parametrize(
    ("campaign", "own"),
    [
        pytest.param("whole", {"designs": "paper"}, marks=pytest.mark.soak),
        (
            "tangled",
            {
                "designs": [{"normalize": "z"}, {"grouping": "none", "normalize": "center"}],
                "recipe": "recommended",
            },
        ),
    ],
    ids=["whole", "tangled"],
)
def test_curves_of_stability_are_those_of_all_ratings_in_memory(
    spine: LargeSpine, campaign: str, own: dict[str, Any]
) -> None:
    asked = {"documents": [3, 4], "studies": 20, "studies_per_document_set": 10, "permutations": 99, "seed": 2}
    summed, held = (
        json.loads(computed(database, "stability", campaign, {**asked, **own}).body) for database in spine.two
    )
    assert summed["warnings"].pop() == FROM_SUMS_NOTE
    assert any(curve["points"] for curve in held["curves"]), "otherwise nothing is compared"
    assert (campaign == "tangled") == bool(held["left_out"])
    assert_alike(summed, held)


@pytest.mark.parametrize(
    ("campaign", "own"),
    [
        pytest.param("whole", {}, marks=pytest.mark.soak),
        pytest.param("tangled", {}, marks=pytest.mark.soak),
        pytest.param("tangled", {"humans": "B", "recipe": "srp-paper"}, marks=pytest.mark.soak),
        ("marked", {}),
    ],
)
def test_rankings_after_changes_are_those_of_all_ratings_in_memory(
    spine: LargeSpine, campaign: str, own: dict[str, Any]
) -> None:
    asked = {"changes": ",".join(GROUPS), **own}
    summed, held = (
        json.loads(computed(database, "robustness", campaign, asked).body) for database in (spine.large, spine.database)
    )
    warnings = [warning for warning in summed.pop("warnings") if warning != SUMMED]
    assert warnings == held.pop("warnings")
    kinds = {change["group"] for change in held["changes"]}
    assert kinds >= {"lowest", "highest", "system", "rater", "document", "inflated", "degraded"}, kinds
    assert any(change["rank_changed"] for change in held["changes"])
    assert_alike(summed, held)
    both = [
        json.loads(computed(database, "robustness", campaign, own, over="campaigns").body) for database in spine.two
    ]
    for one in both:
        one.pop("warnings")
    assert_alike(*both)


def test_a_missing_extra_is_told_before_a_job_is_made(spine: LargeSpine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "find_spec", lambda _: None)
    made: list[Any] = []
    for name in ("stability", "robustness"):
        with pytest.raises(duckdb_engine.DuckdbNotInstalled):
            report_requests.find_or_queue_report(
                spine.large, request(name, "whole", {"seed": 99}), ask=lambda *asked: made.append(asked)
            )
    assert made == []


def test_a_file_that_is_gone_is_written_again_for_the_next_try(spine: LargeSpine) -> None:
    folder = spine.large.ratings_folder
    assert folder is not None
    asked = request("robustness", "whole", {"changes": "lowest"})
    with spine.large.transaction() as session:
        work = asked.report.prepare(session, store.look_up_report(session, asked).about, asked.options)
    for file in folder.path.iterdir():
        shutil.rmtree(file)
    with pytest.raises(reading.RatingsFileGone):
        work.chunk(0)
    assert reading.RatingsFileGone.kind in job_work.PASSING
    assert isinstance(work.chunk, LocalChunkComputer), "no cluster has the file"


def test_an_exclusion_of_nothing_is_refused(spine: LargeSpine) -> None:
    with pytest.raises(Invalid, match="rater 'nobody'"):
        spine.both("whole", "recommended", exclude="rater:nobody")


def test_two_who_write_the_same_file_leave_one(spine: LargeSpine, tmp_path: Path) -> None:
    folder = RatingsFolder(tmp_path, 1)
    with spine.large.transaction() as session:
        about = snapshot.load_snapshot(session, "whole", None)
        inputs = [
            open_ranking_input_from_sums(session, about, chosen("recommended", {}), replace(folder)) for _ in range(2)
        ]
    assert len(list(tmp_path.iterdir())) == 1
    for one in inputs:
        one.file.close()


def test_a_process_whose_main_module_has_no_file_draws_no_progress(tmp_path: Path) -> None:
    """The processes of a worker are such, and what they draw would stand in its log."""
    asked = "select current_setting('enable_progress_bar')"
    code = f"""
from pathlib import Path
from app.storage.ratings_files.duckdb_engine import connect_duckdb
print(connect_duckdb(Path({str(tmp_path)!r})).execute("{asked}").fetchone())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(False,)"
