"""Stored scores are what their payloads come to, and a score that is not is found and put right."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from app.services.data import rescore
from app.storage import embedded
from app.storage import rescore as stored_scores
from app.storage.rescore import StoredScore
from tests.services.data.test_imports import DA, MQM
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("mqm", "mqm-tsv", MQM.encode())
        found.take("da", "wmt-da", DA.encode())
        yield found


@pytest.mark.parametrize("campaign", ["mqm", "da"])
def test_scores_as_they_are_stored_hold_under_every_profile(spine: Spine, campaign: str) -> None:
    if campaign == "mqm":
        spine.rank("mqm", "google-mqm", scoring="spans:wmt24")
    with spine.database.transaction() as session:
        found = rescore.check_stored_scores(session, campaign)
    assert found.is_correct
    assert len(found.profiles) == (2 if campaign == "mqm" else 1)
    assert all(one.n == found.profiles[0].n > 0 for one in found.profiles)


def test_a_score_that_was_changed_is_named_and_put_right_under_a_new_data_version(spine: Spine) -> None:
    before = spine.rank("da", "wmt-da")
    with psycopg.connect(spine.url) as connection:
        connection.execute(
            "UPDATE scores SET score = score + 1 WHERE judgment_id = (SELECT min(judgment_id) FROM scores s"
            " JOIN campaigns c ON c.id = s.campaign_id WHERE c.key = 'da')"
        )
    with spine.database.transaction() as session:
        wrong = rescore.check_stored_scores(session, "da")
    assert not wrong.is_correct
    assert [one.different for one in wrong.profiles] == [1]
    assert "is stored" in wrong.profiles[0].first[0]

    with spine.database.transaction() as session:
        assert rescore.recompute_stored_scores(session, "da", actor="test").corrected == 1
    with spine.database.transaction() as session:
        assert rescore.check_stored_scores(session, "da").is_correct
    after = spine.rank("da", "wmt-da")
    assert after.pop("data_version") == before.pop("data_version") + 1
    assert after == before


def test_rescoring_what_holds_makes_no_data_version(spine: Spine) -> None:
    with spine.database.transaction() as session:
        assert rescore.recompute_stored_scores(session, "mqm", actor="test").corrected == 0
    assert spine.rank("mqm", "google-mqm")["data_version"] == 1


def test_what_differs_and_what_is_missing_is_stored_block_by_block(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = spine.rank("da", "wmt-da")
    with psycopg.connect(spine.url) as connection:
        of = "(SELECT id FROM campaigns WHERE key = 'da')"
        connection.execute(f"UPDATE scores SET score = score + 1 WHERE campaign_id = {of} AND judgment_id % 2 = 0")
        connection.execute(f"DELETE FROM scores WHERE campaign_id = {of} AND judgment_id % 2 = 1")
    with spine.database.transaction() as session:
        (found,) = rescore.check_stored_scores(session, "da").profiles
    assert found.different
    assert found.missing
    assert found.different + found.missing == found.n

    blocks: list[int] = []
    correct = stored_scores.correct_stored_scores

    def noted(session: rescore.Session, campaign_id: int, profile_id: int, rows: list[StoredScore]) -> None:
        blocks.append(len(rows))
        correct(session, campaign_id, profile_id, rows)

    monkeypatch.setattr(rescore, "BLOCK", 2)
    monkeypatch.setattr(stored_scores, "correct_stored_scores", noted)
    with spine.database.transaction() as session:
        done = rescore.recompute_stored_scores(session, "da", actor="test")
    assert (done.corrected, done.added) == (found.different, found.missing)
    assert (max(blocks) <= 2, sum(blocks)) == (True, found.different)
    with spine.database.transaction() as session:
        assert rescore.check_stored_scores(session, "da").is_correct
    after = spine.rank("da", "wmt-da")
    assert after.pop("data_version") == before.pop("data_version") + 1
    assert after == before
