"""The input from which a campaign's design is compiled, read from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.domain.errors import Conflict
from app.domain.keys import SEAT
from app.domain.languages import has_word_spaces
from app.reports.inputs.campaign import CampaignInfo
from app.storage import attention_checks, plans
from app.storage.db import Session

CHARACTERS_A_WORD = 2  # in a language without spaces; a rough measure of reading, not of words


class NothingToJudge(Conflict):
    """There is nothing to judge yet: add documents, systems and outputs first."""


class NoRaterEnrolled(Conflict):
    """There are no raters yet: enrol raters, or create an invitation."""

    published = "NobodyJudges"


class CalibrationSetMissing(Conflict):
    """The design asks for a calibration set that the campaign does not have."""

    published = "SetNotTakenIn"


@dataclass(frozen=True, slots=True)
class PlanInput:
    """Values for the compiler, and the ids that its names stand for.

    seats: raters who are not known yet; any rater from an invitation may take their tasks. judged: number of documents
    with outputs judged outside any plan, that is, imported or carried over. checks: how many texts each attention check
    shows, by key.
    """

    test_set: TestSet
    systems: tuple[System, ...]
    raters: tuple[Rater, ...]
    seats: frozenset[str]
    document_ids: Mapping[str, int]
    system_ids: Mapping[str, int]
    rater_ids: Mapping[str, int]
    calibration: frozenset[str]
    judged: int = 0
    checks: Mapping[str, int] = field(default_factory=dict)


def count_words(source: str, language: str | None) -> int:
    """Count words as a reader does. In a language without spaces, two characters count as a word.

    >>> count_words("The dog barked.", "en"), count_words("犬が吠えた。", "ja")
    (3, 3)
    """
    return len(source.split()) if has_word_spaces(language) else -(-len(source) // CHARACTERS_A_WORD)


def load_plan_input(session: Session, view: CampaignInfo, campaign_id: int) -> PlanInput:
    """Load the test set, the systems and the raters. Raises NothingToJudge, NoRaterEnrolled."""
    rows = plans.load_documents_to_plan(session, campaign_id)
    systems = plans.load_systems_to_plan(session, campaign_id)
    outputs = {
        (row.document, row.system): tuple(row.marks)
        for row in sorted(plans.load_output_hashes(session, campaign_id), key=lambda row: (row.document, row.system))
    }
    if not systems or not outputs:
        raise NothingToJudge
    enrolled = plans.load_raters_to_plan(session, campaign_id)
    seats = tuple(f"{SEAT}{n:06d}" for n in range(1, plans.count_invitation_seats(session, campaign_id) + 1))
    if not enrolled and not seats:
        raise NoRaterEnrolled
    known = [
        Rater(
            row.key,
            row.person,
            row.capacity,
            row.capacity_unit,
            None if row.buckets is None else tuple(row.buckets),
            row.team,
        )
        for row in enrolled
    ]
    return PlanInput(
        test_set=TestSet(
            documents=tuple(_document(row, view) for row in rows if row.kind == "test"),
            outputs=outputs,
            calibration=tuple(_document(row, view) for row in rows if row.kind == "calibration"),
        ),
        systems=tuple(System(row.key) for row in systems),
        raters=(*known, *(Rater(seat) for seat in seats)),
        seats=frozenset(seats),
        document_ids={row.key: row.id for row in rows},
        system_ids={row.key: row.id for row in plans.load_all_systems(session, campaign_id)},
        rater_ids={row.key: row.id for row in enrolled},
        calibration=frozenset(row.key for row in rows if row.kind == "calibration"),
        judged=plans.count_documents_judged_without_plan(session, campaign_id),
        checks=attention_checks.count_texts_by_attention_check(session, campaign_id),
    )


def restrict_to_calibration_set(material: PlanInput, key: str | None) -> PlanInput:
    """Return the input with the pairs of only one calibration set.

    Raises CalibrationSetMissing if the campaign does not have the set.
    """
    pairs = tuple(one for one in material.test_set.calibration if key and one.key.startswith(f"{key}:"))
    if key and not pairs:
        raise CalibrationSetMissing(f"POST …/calibration takes {key} in")
    return replace(material, test_set=replace(material.test_set, calibration=pairs))


def _document(row: plans.Row, view: CampaignInfo) -> DocumentToPlan:
    words = tuple(count_words(source, view.source_language) for source in row.sources)
    stratum = row.stratum if row.kind == "calibration" else None
    return DocumentToPlan(row.key, words, row.domain, tuple(row.refs or ()), stratum)
