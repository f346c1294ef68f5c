"""Rules for texts with known answers: whether any answer can follow them, and which rules an answer breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.domain.errors import Invalid, Place
from app.protocols import list_judged_levels, make_rater_form
from app.protocols.base import JudgmentMeasure, SpansWidget
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.services.people.expected_answer_rule import ExpectedAnswerRule
from app.services.people.qualification_grading import QualificationItem, compute_payload_measures
from app.services.people.rule_bounds import list_unsatisfiable_rules
from app.stats.scoring import normalize_category_path

Payload = Mapping[str, object]


def list_answer_rule_faults(
    campaign: CampaignInfo, texts: Sequence[str], rules: Sequence[ExpectedAnswerRule]
) -> Iterator[Place]:
    """Yield the faults in the rules for texts in columns, by the number of the rule."""
    measures = {one.name: one for one in _measures(campaign)}
    marking = _find_marking(campaign)
    faults = []
    for n, rule in enumerate(rules):
        if rule.column > len(texts):
            faults.append(Place((n, "column"), f"there are {len(texts)} columns"))
        elif rule.measure is not None and rule.measure not in measures:
            faults.append(Place((n, "measure"), f"there are: {', '.join(sorted(measures))}"))
        elif rule.marks is not None:
            faults += _list_mark_faults(n, rule, texts[rule.column - 1], marking)
        elif rule.above is not None and (rule.above > len(texts) or rule.above == rule.column):
            faults.append(Place((n, "above"), "must be another column"))
    yield from faults or list_unsatisfiable_rules(_measures(campaign), rules)


def find_error_span_field(campaign: CampaignInfo) -> str | None:
    """Return the payload field that holds marked errors; None if the protocol has none."""
    marking = _find_marking(campaign)
    return None if marking is None else marking.field


def _measures(campaign: CampaignInfo) -> tuple[JudgmentMeasure, ...]:
    """Return the measures of a judgment; the first one ranks."""
    return find_campaign_protocol(campaign).list_judgment_measures(parse_campaign_scoring_options(campaign))


def _find_marking(campaign: CampaignInfo) -> SpansWidget | None:
    """Return the widget for marking errors; None if there is none."""
    protocol, options = find_campaign_protocol(campaign), parse_campaign_scoring_options(campaign)
    level = list_judged_levels(protocol, options)[0]
    form = make_rater_form(protocol, options, basis=campaign.basis, level=level)  # type: ignore[arg-type]  # checked in SQL
    return next((widget for widget in form.widgets if isinstance(widget, SpansWidget)), None)


def _list_mark_faults(n: int, rule: ExpectedAnswerRule, text: str, marking: SpansWidget | None) -> Iterator[Place]:
    if marking is None:
        yield Place((n, "marks"), "the protocol marks no errors")
        return
    if (rule.marks or "") not in text:
        yield Place((n, "marks"), "is not in the text")
    if rule.severity is not None and rule.severity not in marking.severities:
        yield Place((n, "severity"), f"there are: {', '.join(marking.severities)}")
    if rule.category is not None and not marking.free_category:
        paths = [path for main, subs in marking.categories for path in (main, *(f"{main}/{sub}" for sub in subs))]
        if not any(_is_category(rule.category, path) for path in paths):
            there = ", ".join(main for main, _ in marking.categories) or "no categories"
            yield Place((n, "category"), f"there are: {there}")


def _is_category(wanted: str, marked: str) -> bool:
    """Return whether a category is the wanted one, lies below it, or is the subcategory of that name.

    >>> [_is_category(wanted, "Accuracy/Omission") for wanted in ("accuracy", "Omission", "Accuracy/Addition")]
    [True, True, False]
    """
    path, parts = (normalize_category_path(one).split("/") for one in (wanted, marked))
    return parts[: len(path)] == path or (len(path) == 1 and path[0] in parts)


def list_broken_rules(
    campaign: CampaignInfo,
    items: Sequence[QualificationItem],
    rules: Sequence[ExpectedAnswerRule],
    given: Sequence[Payload],
) -> list[ExpectedAnswerRule]:
    """List the rules that the answers to some columns break.

    Raises Invalid if an answer is not valid, with places in the payload.
    """
    values = [_compute_measures(campaign, n, items, answer) for n, answer in enumerate(given)]
    ranking = find_campaign_protocol(campaign).get_requested_measure(parse_campaign_scoring_options(campaign))
    sign = 1 if ranking.higher_is_better else -1
    field = find_error_span_field(campaign)

    def holds(rule: ExpectedAnswerRule) -> bool:
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


def _are_marked(rule: ExpectedAnswerRule, text: str, marks: Sequence[Any]) -> bool:
    """Return whether a marked error overlaps an occurrence of a rule's words."""
    words = rule.marks or ""
    starts = [at for at in range(len(text)) if text.startswith(words, at)]
    return any(
        mark.get("start") is not None
        and mark.get("side", "target") == "target"
        and (rule.severity is None or mark.get("severity") == rule.severity)
        and (rule.category is None or _is_category(rule.category, mark.get("category") or ""))
        and any(mark["start"] < at + len(words) and at < mark["end"] for at in starts)
        for mark in marks
        if isinstance(mark, Mapping)
    )


def require_payload_per_column(
    columns: int, payload: Payload | None, payloads: Sequence[Payload] | None
) -> list[Payload]:
    """Return the answers to all columns. Raises Invalid if there are too few or too many."""
    given = [payload] if payload is not None and payloads is None else list(payloads or ())
    if len(given) != columns:
        where = "payload" if columns == 1 else "payloads"
        raise Invalid(places=(Place((where,), f"must be {columns}, one for each text"),))
    return given
