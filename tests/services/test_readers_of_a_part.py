"""Whoever reads only the first part of each task is found, however the structure of the plan orders its items."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest

from app.design.compile import compile_plan
from app.design.design_choices import Structure
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.design.plan import Plan, PlanItem
from app.protocols import get_protocol
from app.protocols.base import JudgedTexts, parse_scoring_options
from app.simulation import (
    CampaignForSimulation,
    CampaignRaterForms,
    OutputForSimulation,
    RaterTraits,
    SendJudgment,
    SimulatedRater,
    generate_session_actions,
    make_rater_model_template,
)
from app.stats.quality.report import RaterQualityReport
from app.stats.ratings import RatingRole
from tests.services.test_simulated_quality import Given, reported, shown

SYSTEMS = ("A", "B", "C")
SEGMENTS, READS = 5, 0.4
HONEST = tuple(f"r{n}" for n in range(10))
READERS = ("x0", "x1")
STRUCTURES = [name for name in get_args(Structure) if name != "latin_square"]  # post-editors give no scores


def texts(documents: int) -> dict[tuple[str, str, int], OutputForSimulation]:
    return {
        (system, f"d{d:02}", s): OutputForSimulation(
            system, f"d{d:02}", s, f"Output {d} {s} of {system}, in words of its own."
        )
        for system in SYSTEMS
        for d in range(documents)
        for s in range(1, SEGMENTS + 1)
    }


def plan_of(structure: str, seed: int, n_documents: int) -> Plan:
    controls = {"bad_reference": {"rate": 0.12}}
    if structure != "alternate_2018":
        controls["repeat"] = {"rate": 0.1}
    task = {"max_segments": 50, "max_items": 50 if structure in ("sr_dc", "alternate_2018") else None}
    design = {"structure": structure, "ratings_per_item": 2, "controls": controls, "task": task}
    documents = tuple(DocumentToPlan(f"d{d:02}", (8,) * SEGMENTS) for d in range(n_documents))
    outputs = {(d.key, s): tuple(f"{d.key}{s}{n}" for n in range(SEGMENTS)) for d in documents for s in SYSTEMS}
    people = [Rater(name) for name in (*HONEST, *READERS)]
    return compile_plan(parse_design(design), TestSet(documents, outputs), [System(s) for s in SYSTEMS], people, seed)


def judged(structure: str, seed: int, documents: int) -> RaterQualityReport:
    plan, known, rng, given = plan_of(structure, seed, documents), texts(documents), Random(seed), list[Given]()
    made = make_rater_model_template(
        CampaignForSimulation("c", "da", {}, "source"),
        list(known.values()),
        [*HONEST, *READERS],
        seed=seed,
        qualities={"A": 83, "B": 75, "C": 67},
    )
    changed = {name: RaterTraits(**(made.raters[name].model_dump() | {"reads": READS})) for name in READERS}
    made = made.model_copy(update={"raters": {**made.raters, **changed}})
    forms, protocol = CampaignRaterForms.from_rater_model(made), get_protocol("da")
    for rater in (*HONEST, *READERS):
        mind, clock = SimulatedRater.from_rater_model(made, rater), 0
        for task in plan.tasks_of_rater(rater):
            rows = [
                (known[item.system or "", item.document, s], role_of(item)) for item in task.items for s in of(item)
            ]
            for act in generate_session_actions(mind, shown(rows, rng), forms, page=f"{rater}{task.number}"):
                if isinstance(act, SendJudgment) and act.segment is not None:
                    payload = protocol.payload.model_validate(act.payload)
                    score = protocol.score(payload, JudgedTexts("", "x", ()), parse_scoring_options(protocol, {})).score
                    unread = act.segment > mind.traits.reads * len(rows)
                    ends = clock + round(act.seconds / (10 if unread else 1) * 1e6)
                    text, role = rows[act.segment - 1]
                    given.append(Given(text, rater, f"{rater}t{task.number}", role, score, clock, ends))
                    clock = ends
    return reported(given)


def of(item: PlanItem) -> range:
    return range(item.first, item.last + 1)


def role_of(item: PlanItem) -> RatingRole:
    return RatingRole[item.role.upper()]


def found_in(structure: str, seed: int, documents: int) -> tuple[set[str], set[str]]:
    beyond = {one.rater for one in judged(structure, seed, documents).raters if one.beyond}
    return beyond & set(READERS), beyond - set(READERS)


@pytest.mark.parametrize(
    ("structure", "seed", "documents"),
    [("sr_dc", 1, 48), pytest.param("alternate_2018", 4, 96, marks=pytest.mark.soak)],
)
def test_who_reads_the_first_part_of_tasks_alone_is_found(structure: str, seed: int, documents: int) -> None:
    assert found_in(structure, seed, documents) == (set(READERS), set())


@pytest.mark.soak
@pytest.mark.parametrize("structure", STRUCTURES)
def test_who_reads_the_first_part_of_tasks_alone_is_found_in_every_structure(structure: str) -> None:
    found = [found_in(structure, seed, 96) for seed in range(2, 8)]
    assert [readers for readers, _ in found] == [set(READERS)] * 6
    assert sum(len(honest) for _, honest in found) <= 2, "of sixty"
