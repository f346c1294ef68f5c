"""Verdicts of control items from what these take alone are those from all ratings of a campaign."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from app.reports.inputs.snapshot import load_snapshot
from app.reports.inputs.timed_ratings import load_control_ratings, load_ratings_with_times
from app.stats.quality.control_verdicts import decide_rater_verdicts_by_controls
from app.stats.quality.quality_criteria import TESTS, RaterQualityCriteria
from app.stats.quality.report import make_rater_quality_report
from app.storage import embedded
from tests.spine import Spine, fresh

RATERS, DOCUMENTS, SYSTEMS, SEGMENTS = ("r1", "r2", "r3", "r4"), ("d1", "d2", "d3"), ("A", "B", "C"), 4
ROLES = (*["rating"] * 7, "degraded", "repeat", "reference", "calibration")
WORLDS = 6


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


def world(draw: random.Random, *, by_document: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Judgments of every role, some revised, some of two systems at once, some of whole documents; and some voids.

    by_document: nothing else. Half of the raters score degraded copies worse.
    """
    said: list[dict[str, Any]] = []
    for rater, document in product(RATERS, DOCUMENTS):
        worse = 35 if rater in RATERS[::2] else 0
        for n in range(draw.randint(4, 9)):
            role, system = draw.choice(ROLES), draw.choice(SYSTEMS)
            systems = sorted({system, draw.choice(SYSTEMS)}) if draw.random() < 0.1 and role == "rating" else [system]
            whole = by_document or draw.random() < 0.1
            about = {"task": f"t-{rater}-{draw.randint(1, 2)}-{document}", "item": f"{n}-{role}", "document": document}
            for position in [None] if whole else range(1, SEGMENTS + 1):
                score = draw.randint(40, 90) - (worse if role == "degraded" else 0)
                address = {**about, "position": position, "rater": rater}
                one = {"type": "judgment", **address, "systems": systems, "role": role}
                said.append({**one, "revision": 1, "payload": {"protocol": "da", "score": score}})
                if draw.random() < 0.1:
                    again = draw.randint(0, 100)
                    said.append({**one, "revision": 2, "payload": {"protocol": "da", "score": again}})
    voided = draw.sample([one for one in said if one["revision"] == 1], len(said) // 15)
    names = ("task", "item", "position", "rater")
    return said, [
        {"type": "void", **{name: one[name] for name in names}, "reason": "test", "actor": "test"} for one in voided
    ]


def lines(records: list[dict[str, Any]]) -> bytes:
    head: list[dict[str, Any]] = [{"type": "plumbline", "version": 1}, {"type": "campaign", "protocol": "da"}]
    return b"".join(json.dumps(one).encode() + b"\n" for one in [*head, *records])


def test_the_verdicts_are_the_same_and_less_is_read(spine: Spine) -> None:
    seen: Counter[str] = Counter()
    read_of: Counter[str] = Counter()
    for n in range(WORLDS):
        draw = random.Random(n)
        said, voids = world(draw, by_document=n == 0)
        spine.take(f"w{n}", "jsonl", lines(said))
        spine.take(f"w{n}", "jsonl", lines(voids))
        with spine.database.transaction() as session:
            for version in (None, 1):
                about = load_snapshot(session, f"w{n}", version)
                whole, (part, of_segments) = (
                    load_ratings_with_times(session, about),
                    load_control_ratings(session, about),
                )
                read_of["whole"] += len(whole.rows)
                read_of["part"] += len(part)
                for test, adjust in product(TESTS, ("bh", "holm", "none")):
                    choices = RaterQualityCriteria(test=test, adjust=adjust, min_pairs=3)  # type: ignore[arg-type]
                    found = make_rater_quality_report(whole.rows, whole.events, whole.words, choices).raters
                    expected = {one.rater: one.verdict for one in found if one.control is not None}
                    assert decide_rater_verdicts_by_controls(part, choices, of_segments=of_segments) == expected, (
                        n,
                        version,
                        test,
                        adjust,
                    )
                    seen.update(expected.values())
    assert min(seen["pass"], seen["fail"], seen["not_testable"]) > 10, seen
    assert read_of["part"] < 0.8 * read_of["whole"], read_of
