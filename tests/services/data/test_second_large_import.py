"""An import refreshes the planner's statistics while it works; without that, each chunk reads all earlier ones anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from app.reports.inputs.campaign import CampaignInfo
from app.services.data import merging, record_import
from app.storage import embedded, query_planner_statistics
from app.storage.imports import staging
from benchmarks import synthetic
from tests.spine import Spine, fresh

KNOWN, LARGE = 900, 18_000  # judgments of the campaign that the statistics know, and of one that comes after it
CHUNK = 1_350
READ = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'items'"


@pytest.fixture
def spine(postgres: embedded.EmbeddedServer, migrated_template: str, tmp_path: Path) -> Iterator[Spine]:
    """A database whose statistics know one small campaign."""
    with fresh(postgres, migrated_template) as made:
        made.take("known", "mqm-tsv", judged(tmp_path, KNOWN))
        with psycopg.connect(made.url, autocommit=True) as owner:
            for (table,) in made.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                owner.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)'.encode())
            owner.execute("ANALYZE")
        yield made


def judged(folder: Path, n: int) -> bytes:
    """A file of n judgments."""
    synthetic.mqm_tsv(folder / "judged.tsv", n)
    return (folder / "judged.tsv").read_bytes()


@pytest.mark.parametrize("refreshed", [True, False])
def test_the_last_chunk_of_a_second_campaign_reads_each_item_a_few_times(
    spine: Spine, tmp_path: Path, refreshed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    merge_lines = merging.ImportMerge.merge_lines

    def merge_and_count(self: merging.ImportMerge, lines: staging.CopyBuffer, campaign: CampaignInfo) -> None:
        merge_lines(self, lines, campaign)
        read.append(self._session.execute(text(READ)).scalar_one())

    monkeypatch.setattr(merging.ImportMerge, "merge_lines", merge_and_count)
    monkeypatch.setattr(record_import, "CHUNK", CHUNK)
    monkeypatch.setattr(query_planner_statistics, "MANY", CHUNK if refreshed else LARGE)
    spine.take("large", "mqm-tsv", judged(tmp_path, LARGE))
    items = spine.ask("SELECT count(*) FROM items i JOIN campaigns c ON c.id = i.campaign_id AND c.key = 'large'")[0][0]
    assert len(read) > 10
    times = (read[-1] - read[-2]) / items
    assert times < 10 if refreshed else times > 50, f"each item was read {times:.1f} times for the last chunk"


def test_an_import_does_not_wait_for_another_that_refreshes_statistics(spine: Spine, tmp_path: Path) -> None:
    with psycopg.connect(spine.url) as other:
        other.execute("ANALYZE items, judgments")
        stored = spine.take("large", "mqm-tsv", judged(tmp_path, 5_850))["stored"]
    assert stored["judgments"] == 5_850 > query_planner_statistics.MANY
