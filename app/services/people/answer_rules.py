"""Rules that answers in a tutorial must keep: ranges of measures, words to be marked, one text above another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.domain.errors import Invalid, Place
from app.protocols import list_judged_levels, make_rater_form
from app.protocols.base import Spans
from app.reports.source.campaign import CampaignInfo, campaign_protocol, campaign_scoring_options
from app.services.people.qualification_marks import QualificationItem, compute_payload_measures

MOST_RULES, MOST_COLUMNS = 50, 12
Column = Annotated[int, Field(ge=1, le=MOST_COLUMNS)]
Payload = Mapping[str, object]
Words = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class AnswerRule(BaseModel):
    """What an answer to one column must keep; exactly one of `measure`, `marks` and `above`.

    measure: its value must be from `least` to `most`. marks: words of the text that an error must be marked in, of this
    `severity` and `category` where they are named. above: the column that this one must be judged better than, by the
    measure that ranks. warning: what the rater is told where it is not kept, by language.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    column: Column = 1
    measure: str | None = Field(None, max_length=200)
    least: float | None = None
    most: float | None = None
    marks: Words | None = None
    severity: str | None = Field(None, max_length=100)
    category: str | None = Field(None, max_length=200)
    above: Column | None = None
    warning: dict[str, Annotated[str, StringConstraints(min_length=1, max_length=5000)]] = Field(
        default_factory=dict, max_length=40
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(one is not None for one in (self.measure, self.marks, self.above)) != 1:
            raise ValueError("must have exactly one of measure, marks and above")
        if self.measure is not None and self.least is None and self.most is None:
            raise ValueError("must have least or most with the measure")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least must not be above most")
        return self


def check_answer_rules(campaign: CampaignInfo, texts: Sequence[str], rules: Sequence[AnswerRule]) -> Iterator[Place]:
    """What is wrong with the rules for texts in columns, by the number of the rule."""
    measures = {one.name for one in campaign_protocol(campaign).measures_under(campaign_scoring_options(campaign))}
    for n, rule in enumerate(rules):
        if rule.column > len(texts):
            yield Place((n, "column"), f"there are {len(texts)} columns")
            continue
        if rule.measure is not None and rule.measure not in measures:
            yield Place((n, "measure"), f"there are: {', '.join(sorted(measures))}")
        if rule.marks is not None and find_error_field(campaign) is None:
            yield Place((n, "marks"), "the protocol marks no errors")
        elif rule.marks is not None and rule.marks not in texts[rule.column - 1]:
            yield Place((n, "marks"), "is not in the text")
        if rule.above is not None and (rule.above > len(texts) or rule.above == rule.column):
            yield Place((n, "above"), "must be another column")


def find_error_field(campaign: CampaignInfo) -> str | None:
    """The field of a payload that holds marked errors; None where the protocol has none."""
    protocol, options = campaign_protocol(campaign), campaign_scoring_options(campaign)
    level = list_judged_levels(protocol, options)[0]
    form = make_rater_form(protocol, options, basis=campaign.basis, level=level)  # type: ignore[arg-type]  # checked in SQL
    return next((widget.field for widget in form.widgets if isinstance(widget, Spans)), None)


def list_broken_rules(
    campaign: CampaignInfo, items: Sequence[QualificationItem], rules: Sequence[AnswerRule], given: Sequence[Payload]
) -> list[AnswerRule]:
    """The rules that the answers to some columns do not keep.

    Raises Invalid where an answer is none, with places in the payload.
    """
    values = [_compute_measures(campaign, n, items, answer) for n, answer in enumerate(given)]
    ranking = campaign_protocol(campaign).measure(campaign_scoring_options(campaign))
    sign = 1 if ranking.higher_is_better else -1
    field = find_error_field(campaign)

    def holds(rule: AnswerRule) -> bool:
        at = rule.column - 1
        if rule.measure is not None:
            low = -float("inf") if rule.least is None else rule.least
            high = float("inf") if rule.most is None else rule.most
            return low <= values[at][rule.measure] <= high
        if rule.above is not None:
            return sign * values[at][ranking.name] > sign * values[rule.above - 1][ranking.name]
        marks = given[at].get(field or "") or ()
        return _are_marked(rule, items[at].text or "", marks if isinstance(marks, Sequence) else ())

    return [rule for rule in rules if not holds(rule)]


def _compute_measures(
    campaign: CampaignInfo, n: int, items: Sequence[QualificationItem], answer: Payload
) -> dict[str, float]:
    try:
        return compute_payload_measures(campaign, items[n], answer)
    except Invalid as error:
        if len(items) == 1:
            raise
        places = tuple(Place(("payloads", n, *place.loc[1:]), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None


def _are_marked(rule: AnswerRule, text: str, marks: Sequence[Any]) -> bool:
    """Whether a marked error overlaps the words of a rule somewhere."""
    words = rule.marks or ""
    starts = [at for at in range(len(text)) if text.startswith(words, at)]
    return any(
        mark.get("start") is not None
        and mark.get("side", "target") == "target"
        and (rule.severity is None or mark.get("severity") == rule.severity)
        and (rule.category is None or rule.category in (mark.get("category"), mark.get("subcategory")))
        and any(mark["start"] < at + len(words) and at < mark["end"] for at in starts)
        for mark in marks
        if isinstance(mark, Mapping)
    )


def parse_column_payloads(columns: int, payload: Payload | None, payloads: Sequence[Payload] | None) -> list[Payload]:
    """The answers to all columns. Raises Invalid where there are not as many."""
    given = [payload] if payload is not None and payloads is None else list(payloads or ())
    if len(given) != columns:
        where = "payload" if columns == 1 else "payloads"
        raise Invalid(places=(Place((where,), f"must be {columns}, one for each text"),))
    return given
