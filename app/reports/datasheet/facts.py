"""The stored facts about a campaign that a data sheet asks for, and the answers that follow from them.

An answer is given only if it follows from what is stored; everything else is left unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.recipe import NAMED, Recipe
from app.protocols import make_rubric
from app.protocols.base import ChoiceWidget, Protocol, ScoringOptions, SliderWidget, SpansWidget, TextEditWidget
from app.reports.card.view import DataCardView
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.reports.inputs.exclusions_and_lock import ExclusionsAndLock, load_exclusions_and_lock
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking.view import RecipeSummary
from app.stats.rating_metadata import RaterTable
from app.storage import guidelines, plans, qualification
from app.storage.db import Session

RELATIVE = {
    "source": "relative to the input (the source text)",
    "reference": "relative to an external frame (a reference translation)",
    "both": "relative to the input and to a reference translation",
    "none": "in its own right: neither source nor reference is shown",
}
ELICITED = (
    (SpansWidget, "6. annotation: errors are marked in the text"),
    (TextEditWidget, "6. post-editing: the text is edited"),
    (SliderWidget, "2. direct quality estimation"),
    (ChoiceWidget, "2. direct quality estimation"),
)
SHOWN_AS = ((SliderWidget, "slider"), (ChoiceWidget, "multiple-choice options"))
NOT_MEASURED, NOT_REPEATED = "InterAA not assessed", "IntraAA not assessed"
Answers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DatasheetFacts:
    """Everything from which answers are made.

    design, detectable: of the latest plan, if there is one. people: number of persons who rated, each counted once
    however many accounts they have.
    """

    campaign: CampaignInfo
    protocol: Protocol[Any]
    options: ScoringOptions
    card: DataCardView
    stands: ExclusionsAndLock
    recipe: Recipe
    design: Mapping[str, Any] | None
    seed: int | None
    detectable: float | None
    guidelines: int | None
    qualification: int | None
    attributes: Mapping[str, int]
    people: int


def load_datasheet_facts(
    session: Session, snapshot: CampaignSnapshot, card: DataCardView, attributes: Mapping[str, int], people: int
) -> DatasheetFacts:
    """Load what is stored besides the ratings."""
    stands = load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    plan = plans.find_plan_in_force(session, snapshot.campaign_id)
    text = guidelines.find_guidelines(session, snapshot.campaign_id, "guidelines")
    test = qualification.find_qualification_test(session, snapshot.campaign_id)
    ahead = (plan.report or {}).get("forecast", {}) if plan else {}
    return DatasheetFacts(
        campaign=snapshot.campaign,
        protocol=find_campaign_protocol(snapshot.campaign),
        options=parse_campaign_scoring_options(snapshot.campaign),
        card=card,
        stands=stands,
        recipe=stands.lock.recipe if stands.lock else NAMED["recommended"],
        design=plan.design if plan else None,
        seed=plan.seed if plan else None,
        detectable=ahead.get("detectable") if isinstance(ahead, Mapping) else None,
        guidelines=text.version if text else None,
        qualification=test.version if test else None,
        attributes=attributes,
        people=people,
    )


def load_guideline_and_qualification_versions(session: Session, snapshot: CampaignSnapshot) -> list[int | None]:
    """Return the versions of the guidelines and of the qualification test, which do not change the data version."""
    text = guidelines.find_guidelines(session, snapshot.campaign_id, "guidelines")
    test = qualification.find_qualification_test(session, snapshot.campaign_id)
    return [text.version if text else None, test.version if test else None]


def count_raters_with_each_attribute(raters: RaterTable) -> dict[str, int]:
    """Count the raters for whom each attribute is stored, whatever its value."""
    counts: dict[str, int] = {}
    for rater_attributes in raters.attributes:
        for name in rater_attributes:
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def answer_datasheet_questions(facts: DatasheetFacts) -> dict[str, str]:
    """Return the answers by question number."""
    answered = dict(_systems(facts))
    answered |= dict(_sample(facts))
    answered |= dict(_design(facts))
    answered |= dict(_criterion(facts))
    return answered


def _systems(facts: DatasheetFacts) -> Iterator[tuple[str, str]]:
    campaign, spread = facts.campaign, facts.card.segments_per_document
    unit = "text: documents of several segments" if spread and spread.most > 1 else "text: single segments"
    if facts.card.segments:
        yield "2.2", unit
    if campaign.source_language and facts.card.segments:
        yield "2.1", unit
    if campaign.source_language and campaign.target_language:
        yield "2.3", "machine translation"
        yield "2.4", campaign.source_language
    if campaign.target_language:
        yield "2.5", campaign.target_language


def _sample(facts: DatasheetFacts) -> Iterator[tuple[str, str]]:
    card = facts.card
    segments = [one.segments for one in card.by_system]
    if segments:
        least, most = min(segments), max(segments)
        documents = f" in {card.documents:,} documents" if card.documents is not None else ""
        yield "3.1.1", (f"{most:,}" if least == most else f"{least:,} to {most:,}") + f" segments{documents}"
        accounts = "" if facts.people == card.raters else f", by {text_formatting.pluralize(card.raters, 'account')}"
        yield "3.2.1", f"{facts.people:,}{accounts}"
    if facts.design is not None and facts.design.get("documents") is None:
        yield "3.1.2", "all documents of the test set; how the test set was chosen is not stored"
    if facts.detectable is not None:
        yield "3.1.3", f"planned to detect a difference of {facts.detectable:.3g} between two systems at 80 % power"
    if facts.qualification is not None:
        yield (
            "3.2.4",
            (
                "raters had to pass a qualification test with feedback, unless it was waived (version "
                f"{facts.qualification})"
            ),
        )
    elif facts.guidelines is not None:
        yield (
            "3.2.4",
            f"raters had to read the guidelines (version {facts.guidelines}); no qualification test is stored",
        )
    if facts.attributes:
        attributes = ", ".join(f"{name} ({n:,} of {facts.card.raters:,})" for name, n in facts.attributes.items())
        yield "3.2.5", f"stored for raters: {attributes}"


def _design(facts: DatasheetFacts) -> Iterator[tuple[str, str]]:
    lock = facts.stands.lock
    when = "before the first judgment" if lock and lock.preregistered else "after judgments had begun"
    amended = f", {text_formatting.pluralize(lock.amendments, 'amendment')}" if lock and lock.amendments else ""
    yield (
        "3.3.1",
        f"registered in this program {when}, {lock.hash}{amended}" if lock else "no registration is stored here",
    )
    yield "3.3.3", _quality(facts)
    if facts.design is None:
        yield "3.3.2", "judgments were imported, or recorded by name, without a plan of this program"
        return
    yield "3.3.2", "in tasks that this program assigned, through its pages or its interface"
    yield "3.3.4", f"{_presentation(facts.design)}; form: {', '.join(_widgets(facts)) or 'none'}"
    yield "3.3.5", "neither: raters can leave a task and continue it later; an expired lease is renewed"
    yield "3.3.6", "raters can report a problem with an item while judging, and it is answered"


def _presentation(design: Mapping[str, Any]) -> str:
    arms = design.get("arms") or ()
    shown = sorted({str(arm.get("presentation", "document")) for arm in arms if isinstance(arm, Mapping)})
    return f"presentation: {', '.join(shown or ['document'])}"


def _quality(facts: DatasheetFacts) -> str:
    roles = {one.role: one for one in facts.card.by_role}
    controls = [
        f"{roles[name].ratings:,} {name} ratings" for name in ("degraded", "repeat", "reference") if name in roles
    ]
    rejected = sum(one.rejected for one in facts.card.by_role)
    parts = [f"control items: {', '.join(controls)}" if controls else "no control items"]
    parts += [f"{rejected:,} ratings of rejected tasks"] if rejected else []
    parts.append(text_formatting.pluralize(len(facts.stands.exclusions), "standing exclusion"))
    return "; ".join(parts)


def _criterion(facts: DatasheetFacts) -> Iterator[tuple[str, str]]:
    protocol, scale = facts.protocol, facts.protocol.get_requested_measure(facts.options).scale
    yield "4.1.3", RELATIVE[facts.campaign.basis]
    yield "4.2.1", "subjective"
    if facts.design is not None:
        yield "4.2.2", "relative" if "side_by_side" in _presentation(facts.design) else "absolute"
    yield "4.2.3", "intrinsic"
    if facts.design is not None:  # how items were presented outside this program is unknown
        yield "4.3.1", protocol.title
        yield (
            "4.3.2",
            "; ".join(f"{name}: {text}" for name, text in make_rubric(protocol, facts.options))
            or protocol.instructions,
        )
        yield "4.3.7", protocol.instructions
        yield "4.3.5", ", ".join(_sentences_by_type(facts, SHOWN_AS)) or "N/A"
    if scale is None:
        yield "4.3.3", "N/A"
        yield "4.3.4", "N/A"
        yield "4.3.6", f"{protocol.title}; errors are weighted by the profile {facts.options.profile.name}"
    else:
        size = "continuous" if not scale.step else f"{round((scale.maximum - scale.minimum) / scale.step) + 1}"
        yield "4.3.3", size
        yield "4.3.4", f"{scale.minimum:g} to {scale.maximum:g}"
        yield "4.3.6", "N/A"
    elicited = _sentences_by_type(facts, ELICITED)
    if elicited:
        yield "4.3.8", "; ".join(elicited)
    yield from _analysis(facts)


def _analysis(facts: DatasheetFacts) -> Iterator[tuple[str, str]]:
    words = ranking_captions.describe_recipe(
        RecipeSummary.model_validate({**facts.recipe.as_json(), "hash": facts.recipe.hash})
    )
    whose = "the registered recipe" if facts.stands.lock else "the recipe"
    yield "4.3.9", f"{whose} {facts.recipe.name}: {facts.recipe.aggregate} of segment scores, {words}"
    yield "4.3.10", f"{words}; intervals and smallest detectable differences are in the ranking"
    overlap = facts.card.ratings_per_output
    several = overlap is not None and overlap.most > 1 and facts.card.raters > 1
    yield "4.3.11.1", "kappa, alpha, ICC and rank correlations of the report `agreement`" if several else NOT_MEASURED
    repeated = any(one.role == "repeat" for one in facts.card.by_role)
    yield "4.3.12.1", "consecutive ratings of repeats, in the report `agreement`" if repeated else NOT_REPEATED
    if not several:
        yield "4.3.11.2", NOT_MEASURED
    if not repeated:
        yield "4.3.12.2", NOT_REPEATED


def _widgets(facts: DatasheetFacts) -> list[str]:
    return [widget.kind for widget in facts.protocol.form]


def _sentences_by_type(facts: DatasheetFacts, words: tuple[tuple[type[object], str], ...]) -> list[str]:
    return list(dict.fromkeys(told for kind, told in words if any(isinstance(w, kind) for w in facts.protocol.form)))
