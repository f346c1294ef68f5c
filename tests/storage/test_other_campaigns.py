"""What is asked of a campaign reads nothing of the others, however many judgments they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from app.storage import metric_scores, test_sets, weight_profiles
from app.storage.db import Database, Session
from tests.blocks import costs, filled

MANY = """
INSERT INTO campaigns (key, name, protocol, protocol_version, options, basis, state, settings)
SELECT key, 'c', 'da', 1, '{}', 'none', 'open', '{}' FROM unnest(ARRAY['small', 'large']) key;
INSERT INTO profiles (campaign_id, name, digest, weights) SELECT id, 'score', 'score', '{}' FROM campaigns;
INSERT INTO systems (campaign_id, key, name, kind, state) SELECT id, 's', 'S', 'mt', 'active' FROM campaigns;
ALTER TABLE scores DISABLE TRIGGER USER;
ALTER TABLE credits DISABLE TRIGGER USER;
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, rater_id, revision, n_errors, version, at_us, score,
                    surplus)
SELECT c.id, p.id, n, n, 1, 1, -1, 1, 0, 0, false
FROM campaigns c JOIN profiles p ON p.campaign_id = c.id, generate_series(1, 20000) n WHERE c.key = 'large';
INSERT INTO credits (campaign_id, item_id, system_id)
SELECT c.id, n, s.id FROM campaigns c JOIN systems s ON s.campaign_id = c.id, generate_series(1, 20000) n
WHERE c.key = 'large';
ANALYZE;
"""
FEW = 30  # blocks; the scores and the credits of the large campaign take more than 100 each
SMALL = "SELECT c.id, s.id FROM campaigns c JOIN systems s ON s.campaign_id = c.id WHERE c.key = 'small'"
Ask = Callable[[Session, int, int], object]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A campaign with many scores and credits, and one of which nothing is judged."""
    with filled(database_url, MANY) as handle:
        yield handle


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(
            lambda session, campaign, _: weight_profiles.has_any_scored_judgment(session, campaign), id="any score"
        ),
        pytest.param(test_sets.has_system_items_or_outputs, id="system used"),
        pytest.param(lambda session, campaign, _: metric_scores.load_scorable_systems(session, campaign), id="metrics"),
    ],
)
def test_the_judgments_of_another_campaign_are_not_read(database: Database, database_url: str, ask: Ask) -> None:
    with psycopg.connect(database_url) as connection:
        row = connection.execute(SMALL.encode()).fetchone()
        assert row is not None

    def run() -> None:
        with database.transaction() as session:
            ask(session, *row)

    told = costs(database, database_url, run)
    assert max(told.values()) <= FEW, told
