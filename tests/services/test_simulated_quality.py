"""Simulated raters of the rehearsal and the report on their work: five bad kinds are found, honest ones left alone."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from app.protocols import get_protocol
from app.protocols.base import JudgedTexts, parse_scoring_options
from app.simulation import (
    CampaignForSimulation,
    CampaignRaterForms,
    OutputForSimulation,
    RaterModel,
    RaterTraits,
    SendJudgment,
    SimulatedRater,
    generate_session_actions,
    make_rater_model_template,
)
from app.simulation.task_view import (
    AddressOfMissingJudgment,
    DisplayedItem,
    DisplayedScreen,
    DisplayedSegment,
    DisplayedTask,
    DisplayedText,
)
from app.stats.quality.report import RaterQualityReport, make_rater_quality_report
from app.stats.rating_metadata import RatingEventTable
from app.stats.ratings import RatingRole, Ratings, ScoreScale

SYSTEMS = ("A", "B", "C")
GROUPS, IN_GROUP, DOCUMENTS, SEGMENTS, IN_TASK = 10, 4, 24, 5, 4
KINDS: dict[str, dict[str, object]] = {
    "r00 r04 r08": {"careless": True},
    "r01 r05": {"always": 70.0},
    "r02 r06 r09": {"reads": 0.4},
    "r13 r17": {"drift": -18.0},
    "r21": {"copies": "r20"},
}
BAD = {rater: kind for raters, kind in KINDS.items() for rater in raters.split()}
"""By rater what makes them bad; r20 lets r21 copy."""


@dataclass(frozen=True)
class Given:
    """One answer: the text that was judged, why it was shown, and the times of it in microseconds."""

    text: OutputForSimulation
    rater: str
    task: str
    role: RatingRole
    score: float
    started: int
    submitted: int


def texts_of(group: int) -> list[OutputForSimulation]:
    return [
        OutputForSimulation(
            system, f"g{group}d{d:02}", s, f"Output {group} {d} {s} of {system}, in a few words of its own."
        )
        for d in range(DOCUMENTS)
        for s in range(1, SEGMENTS + 1)
        for system in SYSTEMS
    ]


def raters_of(group: int) -> list[str]:
    return [f"r{group * IN_GROUP + n:02}" for n in range(IN_GROUP)]


def raters(*, bad: bool, seed: int) -> RaterModel:
    texts = [text for group in range(GROUPS) for text in texts_of(group)]
    names = [name for group in range(GROUPS) for name in raters_of(group)]
    made = make_rater_model_template(
        CampaignForSimulation("c", "da", {}, "source"), texts, names, seed=seed, qualities={"A": 83, "B": 75, "C": 67}
    )
    changed = {n: RaterTraits(**(made.raters[n].model_dump() | BAD.get(n, {}))) for n in names} if bad else made.raters
    return made.model_copy(update={"raters": changed})


def shown(texts: list[tuple[OutputForSimulation, RatingRole]], rng: Random) -> DisplayedTask:
    segments = []
    for nth, (text, role) in enumerate(texts, 1):
        words = text.text if role != RatingRole.DEGRADED else f"{text.text} {rng.random()}"
        sides = (DisplayedText("Source", "One two three.", "source"), DisplayedText("Text", words, "target"))
        segments.append(DisplayedSegment(nth, sides, None, None))
    missing = tuple(AddressOfMissingJudgment(1, nth) for nth in range(1, len(texts) + 1))
    item = DisplayedItem(1, tuple(segments), None)
    return DisplayedTask("t", "segment", "leased", ("segment",), (DisplayedScreen(1, (1,), None),), (item,), missing)


def tasks(rater: str, documents: list[str], rng: Random) -> list[list[tuple[OutputForSimulation, RatingRole]]]:
    """Documents in an order of the rater's own; a degraded or repeated copy of every eighth at any place of a task."""
    group = int(rater[1:]) // IN_GROUP
    rng.shuffle(documents)
    found = []
    for first in range(0, len(documents), IN_TASK):
        mine = [
            text for name in documents[first : first + IN_TASK] for text in texts_of(group) if text.document == name
        ]
        task = [(text, RatingRole.RATING) for text in mine]
        for role in (RatingRole.DEGRADED, RatingRole.REPEAT):
            for text in rng.sample(mine, len(mine) // 8):
                task.insert(rng.randrange(len(task) + 1), (text, role))
        found.append(task)
    return found


def campaign(*, bad: bool, seed: int) -> RaterQualityReport:
    """Every document of a group is judged by two of its four raters."""
    made, rng, given = raters(bad=bad, seed=seed), Random(seed), list[Given]()
    forms, protocol = CampaignRaterForms.from_rater_model(made), get_protocol("da")
    options = parse_scoring_options(protocol, {})
    for group in range(GROUPS):
        pairs = [(a, b) for a in raters_of(group) for b in raters_of(group) if a < b]
        who = {f"g{group}d{d:02}": pairs[d % len(pairs)] for d in range(DOCUMENTS)}
        for rater in raters_of(group):
            mind, clock = SimulatedRater.from_rater_model(made, rater), 0
            for n, task in enumerate(tasks(rater, [d for d, both in who.items() if rater in both], rng)):
                first: dict[int, tuple[float, int, int]] = {}
                for act in generate_session_actions(mind, shown(task, rng), forms, page=f"{rater}{n}"):
                    if isinstance(act, SendJudgment) and act.segment is not None:
                        payload = protocol.payload.model_validate(act.payload)
                        score = protocol.score(payload, JudgedTexts("", "x", ()), options).score
                        unread = mind.traits.careless or act.segment > mind.traits.reads * len(task)
                        seconds = act.seconds / 10 if unread else act.seconds
                        first[act.segment] = (score, clock, clock + round(seconds * 1e6))
                        clock += round(seconds * 1e6)
                given += [
                    Given(text, rater, f"{rater}t{n}", role, *first[nth]) for nth, (text, role) in enumerate(task, 1)
                ]
    return reported(given)


def reported(given: list[Given]) -> RaterQualityReport:
    """The report, on rows in their canonical order: no two of them share system, place, rater, role and score."""
    columns = Ratings.from_columns(
        system=[one.text.system for one in given],
        document=[one.text.document for one in given],
        position=[one.text.segment for one in given],
        rater=[one.rater for one in given],
        task=[one.task for one in given],
        role=[one.role for one in given],
        score=[one.score for one in given],
        higher_is_better=True,
        scale=ScoreScale(0, 100, 1),
    )
    by_row = sorted(
        given,
        key=lambda one: (
            one.text.system,
            one.text.document,
            one.text.segment,
            one.rater,
            one.role,
            one.score,
            one.task,
        ),
    )
    events = RatingEventTable(
        started=np.array([one.started for one in by_row]),
        submitted=np.array([one.submitted for one in by_row]),
        position=np.ones(len(given), dtype=np.int32),
        revisions=np.ones(len(given), dtype=np.int32),
        first_score=columns.score,
    )
    assert [one.score for one in by_row] == columns.score.tolist()
    return make_rater_quality_report(columns, events, np.full(len(given), 20.0))


def test_twelve_bad_raters_of_forty_are_found_and_the_honest_ones_left_alone() -> None:
    wrong = {*BAD, "r20"}
    assert len(wrong) == 12
    found = {one.rater: one.beyond for one in campaign(bad=True, seed=1).raters if one.beyond}
    assert len(wrong & set(found)) / len(found) >= 0.9, found
    assert len(wrong & set(found)) / len(wrong) >= 0.8, found
    assert all("alike" in found[rater] for rater in ("r20", "r21"))


@pytest.mark.soak
def test_an_honest_campaign_of_forty_has_at_most_one_flag() -> None:
    found = campaign(bad=False, seed=2)
    assert [one.beyond for one in found.raters].count(()) >= 39
    assert len(found.raters) == 40
