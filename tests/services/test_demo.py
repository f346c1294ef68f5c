"""The demo campaign: errors are where its raters mark them, and a ranking finds the planted order."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from app.demo import PLANTED_ORDER, ensure_demo_campaign
from app.demo.campaign import SYSTEMS, make_demo_records, make_demo_translations
from app.demo.grammar import DOMAINS, POOR_TERMS
from app.domain.recipe import NAMED
from app.formats.base import OutputRow, SegmentRow
from app.reports.ranking import report as ranking_report
from app.storage.db import Database
from tests.judged_demo import judgments, load_judged

SEED = 3


@pytest.fixture
def database(database_url):
    handle = Database(database_url, size=2)
    yield handle
    handle.close()


def test_the_same_seed_makes_the_same_campaign_and_another_seed_another():
    assert list(make_demo_records(SEED)) == list(make_demo_records(SEED))
    assert list(make_demo_records(SEED)) != list(make_demo_records(SEED + 1))


def test_every_sentence_fills_its_slots_in_both_languages():
    for domain in DOMAINS:
        for side in (0, 1):
            filling = {name: options[0][side] for name, options in domain.slots.items()}
            for sentence in domain.sentences:
                assert "{" not in (sentence.english, *sentence.german)[side].format_map(filling)
                assert "{" not in (sentence.english, *sentence.german)[2 * side].format_map(filling)


def test_every_poor_term_has_a_word_to_stand_for():
    german = " ".join(text for domain in DOMAINS for s in domain.sentences for text in s.german)

    assert [word for word in POOR_TERMS if word not in german] == []


def test_planted_errors_lie_where_the_text_differs():
    outputs = make_demo_translations(SEED)
    for document in outputs.documents:
        for system in SYSTEMS:
            translations = outputs.translations[system.key, document.key]
            for segment, translation in zip(document.segments, translations, strict=True):
                clean = {"".join(p.text for p in segment.make_translation_pieces(v)) for v in (0, 1)}
                assert (translation.text in clean) == (not translation.mistakes)
                for mistake in translation.mistakes:
                    if mistake.omission:
                        omitted = segment.source[mistake.start : mistake.end]
                        assert omitted in {english for english, _ in segment.filling.values()}
                        assert dict(segment.filling.values())[omitted] not in translation.text
                    else:
                        assert translation.text[mistake.start : mistake.end].strip()


def test_simulated_raters_mark_spans_inside_the_texts_and_miss_some():
    sources, texts, marked = {}, {}, 0
    for record in make_demo_records(SEED):
        if isinstance(record, SegmentRow):
            sources[record.document, record.position] = record.source
        elif isinstance(record, OutputRow):
            texts[record.system, record.document, record.position] = record.text
    judged = list(judgments(SEED))
    for row in judged:
        for error in row.payload["errors"]:
            where = (row.document, row.position)
            text = sources[where] if error.get("side") == "source" else texts[row.systems[0], *where]
            assert 0 <= error["start"] < error["end"] <= len(text)
            marked += 1
    planted = {key: len(translation.mistakes) for key, translation in by_place(SEED).items()}
    shown = sum(planted[row.systems[0], row.document, row.position] for row in judged)

    assert 0.7 * shown < marked < 1.3 * shown


def by_place(seed):
    return {
        (system, document, position): translation
        for (system, document), found in make_demo_translations(seed).translations.items()
        for position, translation in enumerate(found, 1)
    }


def test_the_ranking_recovers_the_planted_order_in_clusters(database):
    campaign = load_judged(database, seed=SEED)

    found = json.loads(ranking_report.find_or_compute_ranking(database, campaign, recipe=NAMED["recommended"]).body)

    assert tuple(s["system"] for s in found["systems"]) == PLANTED_ORDER
    assert found["recipe"]["normalize"] == "z"
    assert found["systems"][0]["kind"] == "human"
    clusters = [s["cluster"] for s in found["systems"]]
    assert clusters[0] == 1
    assert clusters[-1] >= 4
    assert all(b - a in (0, 1) for a, b in pairwise(clusters))


def test_loading_the_demo_again_changes_nothing(database):
    campaign = load_judged(database, seed=SEED)
    before = ranking_report.find_or_compute_ranking(database, campaign, recipe=NAMED["google-mqm"]).body

    assert ensure_demo_campaign(database, seed=SEED) == campaign

    assert ranking_report.find_or_compute_ranking(database, campaign, recipe=NAMED["google-mqm"]).body == before
    assert json.loads(before)["data_version"] == 2


def test_progress_counts_the_records(database):
    told = []

    ensure_demo_campaign(database, seed=SEED, progress=lambda done, of: told.append((done, of)))

    total = sum(1 for _ in make_demo_records(SEED))
    assert len(told) > 10
    assert told[-1] == (total, total)
    assert told == sorted(told)
