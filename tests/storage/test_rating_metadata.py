"""The side tables say of every row and label what the campaign says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest

from app.domain.recipe import ScoringChoice
from app.reports.inputs import snapshot
from app.reports.inputs.scores import find_or_create_score_profile_id, resolve_score_definition
from app.services.campaigns.campaigns import get_campaign
from app.stats.rating_metadata import EPOCH_UNKNOWN
from app.stats.ratings import RatingRole, Ratings
from app.storage import embedded, rating_metadata, ratings
from app.storage.db import Session
from app.storage.segment_words import load_source_word_counts
from tests.spine import Spine, opened, template_of

HEAD = '{"type":"plumbline","version":1}\n'
CAMPAIGN = '{"type":"campaign","protocol":"mqm","source_language":"en","target_language":"de"}\n'


def _line(system: str, position: int, errors: str, *, revision: int = 1, rater: str = "r1", at: str = "10") -> str:
    return (
        f'{{"type":"judgment","task":"t-{rater}","item":"{system}","systems":["{system}"],"document":"d1",'
        f'"position":{position},"rater":"{rater}","revision":{revision},"started_at":"2026-11-01T{at}:00:00Z",'
        f'"submitted_at":"2026-11-01T{at}:30:00Z","payload":{{"protocol":"mqm","errors":[{errors}]}}}}\n'
    )


MINOR = '{"side":"target","start":0,"end":3,"severity":"minor","category":"Fluency/Grammar"}'
OMITTED = '{"side":"source","severity":"major","omission":true}'
FILE = (
    HEAD
    + CAMPAIGN
    + '{"type":"document","key":"d1","name":"One","domain":"news"}\n'
    + '{"type":"segment","document":"d1","position":1,"source":"The dog  barked ."}\n'
    + '{"type":"segment","document":"d1","position":2,"source":"\\tNobody\u00a0woke\u3000up."}\n'
    + '{"type":"rater","key":"r2","name":"Second","person":"p1","attributes":{"native":true}}\n'
    + _line("A", 1, MINOR)
    + _line("A", 1, f"{OMITTED},{MINOR}", revision=2, at="12")
    + _line("B", 2, "")
    + _line("B", 1, MINOR, rater="r2", at="09")
).encode()


@pytest.fixture(scope="module")
def template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """With the campaign in it."""
    with template_of(postgres, migrated_template, lambda found: found.take("c", "jsonl", FILE)) as name:
        yield name


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def _load(session: Session) -> tuple[int, int, ratings.RatingsWithJudgmentIds]:
    asked = snapshot.load_snapshot(session, "c", None)
    read = resolve_score_definition(get_campaign(session, "c"), ScoringChoice())
    profile = find_or_create_score_profile_id(session, asked.campaign_id, read)
    metadata = ratings.RatingsMetadata(higher_is_better=False, scale=None, criterion=None, documents_known=True)
    loaded = ratings.load_ratings(
        session, campaign_id=asked.campaign_id, profile_id=profile, version=asked.version, metadata=metadata
    )
    return asked.campaign_id, profile, loaded


def test_labels_come_with_domain_words_person_and_task(spine: Spine) -> None:
    with spine.database.transaction() as session:
        campaign, _, loaded = _load(session)
        labels = loaded.ratings.labels
        documents = rating_metadata.load_document_table(session, campaign, labels)
        raters = rating_metadata.load_rater_table(session, campaign, labels)
        tasks = rating_metadata.load_task_table(session, campaign, labels)
    assert labels.raters == ("r1", "r2")
    assert documents.domain == ("news",)
    assert (documents.segments.tolist(), documents.words.tolist()) == ([2], [7])
    assert documents.domain_codes_and_labels()[1] == ("news",)
    assert raters.person == ("r1", "p1")
    assert raters.attributes == ({}, {"native": True})
    assert raters.person_codes()[1] == ("p1", "r1")
    assert tasks.rater.tolist() == [0, 1]
    assert set(tasks.state) == {"imported"}


def test_words_are_counted_by_segment_as_by_document(spine: Spine) -> None:
    with spine.database.transaction() as session:
        campaign, _, loaded = _load(session)
        words = load_source_word_counts(session, campaign, loaded.ratings.labels)
    assert words.tolist() == [4, 3]


@pytest.mark.parametrize("block", [1, 2, rating_metadata.BLOCK])
def test_rows_come_with_times_revisions_and_the_first_score(
    spine: Spine, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """All columns of 19 million judgments in one row were 1.6 GB, and Postgres allows 1 GB."""
    assert rating_metadata.BLOCK * 44 < 2**30 / 4
    monkeypatch.setattr(rating_metadata, "BLOCK", block)
    with spine.database.transaction() as session:
        campaign, profile, loaded = _load(session)
        events = rating_metadata.load_rating_event_table(session, campaign, profile, loaded.judgment_ids)
    assert loaded.ratings.score.tolist() == [6.0, 1.0, 0.0]
    assert events.revisions.tolist() == [2, 1, 1]
    assert events.first_score.tolist() == [1.0, 1.0, 0.0]
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp() * 1e6
    assert events.started[0] == noon
    assert events.submitted[0] - events.started[0] == 30 * 60 * 1_000_000


def test_errors_point_to_their_row_with_offsets_and_weights(spine: Spine) -> None:
    weights = {("minor", "Fluency/Grammar"): 1.0, ("major", None): 5.0}
    with spine.database.transaction() as session:
        campaign, _, loaded = _load(session)
        errors = rating_metadata.load_marked_error_table(
            session, campaign, loaded.judgment_ids, field="errors", weigh=weights
        )
    sums = np.bincount(errors.row, weights=errors.weight, minlength=len(loaded.ratings))
    assert sums.tolist() == loaded.ratings.score.tolist()
    assert errors.start.tolist() == [-1, 0, 0]
    assert errors.side.tolist() == [0, 1, 1]
    assert errors.severities == ("major", "minor")
    assert errors.category.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("block", [1, 7, rating_metadata.BLOCK_WITH_ERRORS])
def test_errors_agree_with_a_slow_reading_of_the_payloads(
    spine: Spine, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(rating_metadata, "BLOCK_WITH_ERRORS", block)
    rng = np.random.default_rng(5)
    kinds, lines = (None, "Fluency", "Ä/ß", "Accuracy", "="), [HEAD]
    for n in range(40):
        marked = []
        for _ in range(rng.integers(0, 4)):
            start, kind = int(rng.integers(0, 9)), kinds[rng.integers(0, len(kinds))]
            severity = ("minor", "major", "critical")[rng.integers(0, 3)]
            marked.append({"start": start, "end": start + 2, "severity": severity, "category": kind})
        said = json.loads(_line("A", n, json.dumps(marked)[1:-1], rater=f"r{n % 3}"))
        said |= {"item": f"i{n}", "position": 1, "document": f"e{n}", "systems": ["A", "B"] if n % 4 == 0 else ["A"]}
        lines.append(json.dumps(said) + "\n")
    spine.take("c", "jsonl", "".join(lines).encode())
    with spine.database.transaction() as session:
        campaign, _, loaded = _load(session)
        errors = rating_metadata.load_marked_error_table(
            session, campaign, loaded.judgment_ids, field="errors", weigh={}
        )
    payloads = dict(spine.ask("SELECT id, payload FROM judgments"))
    slow = [
        (row, error.get("side", "target") == "target", *map(error.get, ("start", "end", "severity", "category")))
        for row, judgment in enumerate(loaded.judgment_ids.tolist())
        for error in payloads[judgment]["errors"]
    ]
    named = (*errors.categories, None)
    columns = (errors.row, errors.side, errors.start, errors.end, errors.severity, errors.category)
    fast = [
        (
            row,
            bool(side),
            *(None if at == -1 else at for at in (start, end)),
            errors.severities[severity],
            named[category],
        )
        for row, side, start, end, severity, category in zip(*(c.tolist() for c in columns), strict=True)
    ]
    assert len(slow) > 60
    assert fast == slow


def test_repeats_and_degraded_rows_point_to_the_rating_they_go_back_to() -> None:
    rows = Ratings.from_columns(
        system=["A", "A", "A", "B"],
        document=["d"] * 4,
        position=[1, 1, 1, 1],
        rater=["r"] * 4,
        score=[70, 60, 10, 50],
        role=[RatingRole.RATING, RatingRole.REPEAT, RatingRole.DEGRADED, RatingRole.REPEAT],
        higher_is_better=True,
    )
    assert rating_metadata.link_repeats_to_originals(rows).original.tolist() == [-1, 0, 0, -1]


def slow_links(rows: Ratings) -> list[int]:
    """The first rating of the same output by the same rater, looked for row by row."""
    found = []
    for row, role in enumerate(rows.role):
        same = [
            other
            for other in range(len(rows))
            if rows.role[other] == RatingRole.RATING
            and all(getattr(rows, name)[other] == getattr(rows, name)[row] for name in ("system", "segment", "rater"))
        ]
        found.append(same[0] if same and role in (RatingRole.REPEAT, RatingRole.DEGRADED) else -1)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_links_agree_with_their_slow_twin(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 60
    rows = Ratings.from_columns(
        system=[f"s{i}" for i in rng.integers(0, 3, n)],
        document=["d"] * n,
        position=rng.integers(1, 4, n).tolist(),
        rater=[f"r{i}" for i in rng.integers(0, 2, n)],
        score=rng.integers(0, 100, n).tolist(),
        role=[RatingRole(i) for i in rng.integers(0, 5, n)],
        higher_is_better=True,
    )
    assert rating_metadata.link_repeats_to_originals(rows).original.tolist() == slow_links(rows)


@pytest.mark.parametrize("seed", range(8))
def test_the_history_of_answers_agrees_with_its_slow_twin(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 50
    drawn = sorted({tuple(row) for row in rng.integers(1, 4, (n, 4)).tolist()}, key=lambda _: rng.random())
    names = ("item_id", "segment_id", "rater_id", "revision")
    scores = {name: np.array([row[i] for row in drawn]) for i, name in enumerate(names)}
    scores["score"] = rng.integers(0, 100, len(drawn)).astype(np.float64)
    nth, first = rating_metadata._history(scores)
    for row, (*address, revision) in enumerate(drawn):
        answers = sorted((r[3], scores["score"][i]) for i, r in enumerate(drawn) if list(r[:3]) == address)
        assert nth[row] == sum(number <= revision for number, _ in answers)
        assert first[row] == answers[0][1]


def test_without_ratings_side_tables_are_empty_and_without_a_time_it_is_unknown(spine: Spine) -> None:
    untimed = json.dumps({**json.loads(_line("C", 1, "")), "started_at": None, "submitted_at": None})
    spine.take("c", "jsonl", (HEAD + untimed + "\n").encode())
    with spine.database.transaction() as session:
        campaign, profile, loaded = _load(session)
        events = rating_metadata.load_rating_event_table(session, campaign, profile, loaded.judgment_ids)
        none = rating_metadata.load_rating_event_table(session, campaign + 1, profile, loaded.judgment_ids[:0])
    assert [events.started[-1], events.submitted[-1]] == [EPOCH_UNKNOWN] * 2
    assert none.started.size == none.revisions.size == none.first_score.size == 0
