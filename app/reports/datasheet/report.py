"""Data sheet: HEDS 3.0, a reporting checklist and a methods paragraph, filled from stored data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from app.reports.card.report import make_data_card_view
from app.reports.datasheet.facts import (
    DatasheetFacts,
    answer_datasheet_questions,
    count_raters_with_each_attribute,
    load_datasheet_facts,
    load_guideline_and_qualification_versions,
)
from app.reports.datasheet.heds import CHECKLIST, QUESTIONS, SECTIONS
from app.reports.datasheet.view import (
    ChecklistPoint,
    DatasheetView,
    HedsAnswer,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_completeness,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import load_ratings_with_times
from app.reports.kit import text_formatting
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.data_card import select_test_set_ratings
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session

# The question of the sheet, or the report, that covers a point of the checklist.
SAID_BY: Mapping[str, str] = {
    "languages": "2.4",
    "sampling": "3.1.2",
    "scale": "4.3.3",
    "basis": "4.1.3",
    "interface": "3.3.4",
    "evaluators": "3.2.1",
    "recruitment": "3.2.3",
    "expertise": "3.2.2",
    "training": "3.2.4",
    "analysis": "4.3.10",
}


class DatasheetOptions(BaseModel):
    """No options: a sheet says everything that is stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _prepare(
    session: Session,
    snapshots: tuple[CampaignSnapshot, ...],
    options: DatasheetOptions,  # noqa: ARG001  (as every kind is asked)
) -> ReportComputation[DatasheetView]:
    ratings = load_ratings_with_times(session, snapshots[0], activity=False)
    kinds = {
        key: one.kind
        for key, one in system_descriptions.load_system_descriptions(session, snapshots[0].campaign_id).items()
    }
    card = make_data_card_view(snapshots[0], ratings, kinds)
    raters = rating_metadata.load_rater_table(session, snapshots[0].campaign_id, ratings.rows.labels)
    people = {raters.person[code] for code in np.unique(select_test_set_ratings(ratings.rows).rater).tolist()}
    facts = load_datasheet_facts(session, snapshots[0], card, count_raters_with_each_attribute(raters), len(people))
    return make_undivided_computation(lambda: _view(facts))


def _view(facts: DatasheetFacts) -> DatasheetView:
    answers = answer_datasheet_questions(facts)
    sheet = [
        HedsAnswer(number=number, section=_section(number), question=question, answer=answers.get(number))
        for number, question in QUESTIONS.items()
    ]
    card = facts.card
    return DatasheetView(
        campaigns=card.campaigns,
        data_hash=card.data_hash,
        basis=card.basis,
        warnings=list(card.warnings),
        heds=sheet,
        checklist=_checklist(facts, answers),
        methods=_methods(facts, answers),
        answered=sum(one.answer is not None for one in sheet),
        asked=len(sheet),
    )


def _section(number: str) -> str:
    return next(section for section in SECTIONS if number == section or number.startswith(f"{section}."))


def _checklist(facts: DatasheetFacts, answers: Mapping[str, str]) -> list[ChecklistPoint]:
    card, lock = facts.card, facts.stands.lock
    stored: dict[str, tuple[bool, str | None]] = {
        "systems": (bool(card.by_system), "card"),
        "test_set": (bool(card.segments), "card"),
        "protocol": (True, f"{facts.protocol.name} version {facts.protocol.version}"),
        "context": (facts.design is not None, "3.3.4"),
        "guidelines": (facts.guidelines is not None, f"version {facts.guidelines}"),
        "pay": (False, None),
        "assignment": (facts.seed is not None, f"plan, seed {facts.seed}"),
        "overlap": (card.ratings_per_output is not None, "card"),
        "quality_control": (len(card.by_role) > 1 or bool(facts.stands.exclusions), "3.3.3"),
        "preregistration": (bool(lock and lock.preregistered), "3.3.1"),
    }
    stored |= {key: (number in answers, number) for key, number in SAID_BY.items()}
    return [
        ChecklistPoint(
            key=key,
            point=point,
            reported="yes" if stored[key][0] else "no",
            by=stored[key][1] if stored[key][0] else None,
        )
        for key, point in CHECKLIST.items()
    ]


def _methods(facts: DatasheetFacts, answers: Mapping[str, str]) -> str:
    """Return the methods paragraph, made of sentences that hold whatever else is unknown."""
    card, sentences = facts.card, []
    pair = (
        f" from {answers['2.4']} into {answers['2.5']}"
        if "2.4" in answers
        else f" in {answers['2.5']}"
        if "2.5" in answers
        else ""
    )
    documents = f" in {text_formatting.pluralize(card.documents, 'document')}" if card.documents else ""
    sentences.append(
        f"{text_formatting.pluralize(facts.people, 'rater')} judged "
        f"{text_formatting.pluralize(card.systems, 'system')}{pair} on "
        f"{text_formatting.pluralize(card.segments, 'segment')}{documents} by {facts.protocol.title}, "
        f"{text_formatting.pluralize(card.ratings, 'rating')} in all."
    )
    sentences.append(f"Judgments are {RESTS[facts.campaign.basis]}.")
    if facts.seed is not None and facts.design is not None:
        sentences.append(f"Items were assigned by a {facts.design.get('grouping')} design with seed {facts.seed}.")
    sentences.append(f"Quality control: {answers['3.3.3']}.")
    sentences.append(f"Analysis: {answers['4.3.9']}.")
    sentences.append(f"Registration: {answers['3.3.1']}.")
    version = next(iter(card.campaigns.values()))
    sentences.append(f"Data version {version}, {card.data_hash[:23]}…, method {card.method_version}.")
    return " ".join(sentences)


RESTS = {
    "source": "made on the source text",
    "reference": "made on a reference translation",
    "both": "made on the source text and a reference translation",
    "none": "made on the output alone",
}
REPORT = Report(
    name="datasheet",
    title="Data sheet",
    summary="HEDS 3.0, a reporting checklist and a methods paragraph, filled in from the stored data.",
    options=DatasheetOptions,
    result=DatasheetView,
    example={
        "campaigns": {"ted-ende": 7},
        "data_hash": "sha256:00",
        "basis": "source",
        "heds": [{"number": "2.5", "section": "2", "question": "output languages", "answer": "de"}],
        "checklist": [{"key": "pay", "point": "compensation is reported", "reported": "no", "by": None}],
        "methods": "4 raters judged 14 systems.",
        "answered": 1,
        "asked": 1,
    },
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_completeness},
    caption=make_caption,
    extra_key=load_guideline_and_qualification_versions,
)
