"""What a segment says about its right answer, in tutorials and attention checks: texts, right judgment, rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.people.answer_rules import list_answer_rule_faults, list_broken_rules
from app.services.people.expected_answer_rule import MOST_COLUMNS, MOST_RULES, ExpectedAnswerRule
from app.services.people.qualification_grading import QualificationItem, list_qualification_item_faults

LONGEST = 20_000
Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]


class TextsWithKnownAnswer(BaseModel):
    """What is judged, and which answer is right.

    columns: several texts instead of one. payload, tolerance: the right judgment of one text, and how far an answer may
    differ from it. rules: what answers must fulfil, each with the warning for the rater.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    text: Text | None = None
    columns: tuple[Text, ...] = Field((), max_length=MOST_COLUMNS)
    payload: dict[str, JsonValue] | None = None
    tolerance: dict[str, float] | None = None
    rules: tuple[ExpectedAnswerRule, ...] = Field((), max_length=MOST_RULES)

    @property
    def texts_to_judge(self) -> tuple[str, ...]:
        """The texts that are judged."""
        return self.columns or ((self.text,) if self.text is not None else ())

    @property
    def is_right_answer_defined(self) -> bool:
        """Whether an answer can be right or wrong."""
        return self.payload is not None or bool(self.rules)

    def make_qualification_items(self, source: str | None) -> list[QualificationItem]:
        """Make the question of each column."""
        item = QualificationItem(source=source, payload=self.payload, tolerance=self.tolerance, reasons={})
        return [replace(item, text=text) for text in self.texts_to_judge]


@dataclass(frozen=True, slots=True)
class KnownAnswerSegment:
    """A segment of a document with known answers: its source, and its `meta` by kind of document."""

    source: str | None
    meta: Mapping[str, object]


def list_known_answer_faults(
    campaign: CampaignInfo, known: TextsWithKnownAnswer, source: str | None
) -> Iterator[Place]:
    """Yield the faults in a known answer, each with its field. source: of the segment."""
    if known.columns and (known.text is not None or known.payload is not None):
        yield Place(("columns",), "replace text and payload; give rules for the right answer")
        return
    if known.is_right_answer_defined and not known.texts_to_judge:
        yield Place(("text",), "is required if there are rules or the right judgment")
        return
    faults = [
        Place(("rules", *place.loc), place.msg)
        for place in list_answer_rule_faults(campaign, known.texts_to_judge, known.rules)
    ]
    items = known.make_qualification_items(source)
    if known.payload is not None:
        faults += [Place(place.loc[3:], place.msg) for place in list_qualification_item_faults(campaign, 0, items[0])]
    yield from faults or _list_self_contradictions(campaign, known, items)


def _list_self_contradictions(
    campaign: CampaignInfo, known: TextsWithKnownAnswer, items: Sequence[QualificationItem]
) -> Iterator[Place]:
    """Yield the rules that the right judgment itself breaks."""
    if known.payload is None or not known.rules:
        return
    try:
        broken = list_broken_rules(campaign, items, known.rules, [known.payload])
    except Invalid:  # it needs something that only tasks show, such as prefilled errors
        return
    for rule in broken:
        yield Place(("rules", known.rules.index(rule)), "the right judgment does not keep this rule")
