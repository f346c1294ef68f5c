"""Items of a test, and how answers are marked: a payload by its score, a choice by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.protocols.base import JudgedTexts, Protocol, ScoringOptions
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationItem:
    """One question.

    The right answer is either `payload`, judged by the campaign's protocol, or `choice`, one of `choices`. tolerance:
    how far each measure of the protocol may differ from that of the right payload, by name; other measures are not
    compared. reasons: why the answer is right, by language.
    """

    source: str | None = None
    text: str | None = None
    question: str | None = None
    choices: tuple[str, ...] = ()
    payload: Mapping[str, object] | None = None
    tolerance: Mapping[str, float] | None = None
    choice: str | None = None
    reasons: Mapping[str, str]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> QualificationItem:
        """Make an item from its stored form."""
        return cls(**{**stored, "choices": tuple(stored["choices"])})

    @property
    def judged_texts(self) -> JudgedTexts:
        """The texts that the rater sees."""
        return JudgedTexts(self.source, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationAnswer:
    """A rater's answer to one item."""

    payload: Mapping[str, object] | None = None
    choice: str | None = None


def list_qualification_item_faults(campaign: CampaignInfo, n: int, item: QualificationItem) -> Iterator[Place]:
    """Yield the faults in an item of a new test."""
    here = ("body", "items", n)
    if (item.payload is None) == (item.choice is None):
        yield Place(here, "has either a payload or a choice as its answer")
    if item.payload is not None:
        yield from _wrong_payload(campaign, item, here)
    if item.choice is not None and item.choice not in item.choices:
        yield Place((*here, "choice"), "must be one of the choices")


def is_answer_right(campaign: CampaignInfo, item: QualificationItem, given: QualificationAnswer) -> bool:
    """Return whether an answer is right. Raises Invalid if it is not valid."""
    if item.payload is None:
        if given.choice not in item.choices:
            raise Invalid(places=(Place(("choice",), f"must be one of: {', '.join(item.choices)}"),))
        return given.choice == item.choice
    if given.payload is None:
        raise Invalid(places=(Place(("payload",), "must be there"),))
    wanted = compute_payload_measures(campaign, item, item.payload)
    values = compute_payload_measures(campaign, item, given.payload)
    return all(abs(values[name] - wanted[name]) <= within for name, within in (item.tolerance or {}).items())


def compute_payload_measures(
    campaign: CampaignInfo, item: QualificationItem, payload: Mapping[str, object]
) -> dict[str, float]:
    """Compute the measures of a payload. Raises Invalid, with places in the item."""
    protocol, options = find_campaign_protocol(campaign), parse_campaign_scoring_options(campaign)
    parsed = _parse_payload(protocol, options, item, payload)
    values = {}
    for measure in protocol.list_judgment_measures(options):
        asked = replace(options, measure=measure.name)
        values[measure.name] = protocol.score(parsed, item.judged_texts, asked).score
    return values


def _wrong_payload(campaign: CampaignInfo, item: QualificationItem, here: tuple[str | int, ...]) -> Iterator[Place]:
    try:
        known = compute_payload_measures(campaign, item, item.payload or {})
    except Invalid as error:
        for place in error.places or (Place(("payload",), error.detail or error.title()),):
            yield Place((*here, *place.loc), place.msg)
        return
    for name, within in (item.tolerance or {}).items():
        if name not in known:
            yield Place((*here, "tolerance", name), f"there are: {', '.join(known)}")
        elif within < 0:
            yield Place((*here, "tolerance", name), "must be at least 0")
    if not item.tolerance:
        yield Place((*here, "tolerance"), f"must name what is compared; there are: {', '.join(known)}")


def _parse_payload(
    protocol: Protocol[Any], options: ScoringOptions, item: QualificationItem, payload: Mapping[str, object]
) -> Any:
    if payload.get("protocol", protocol.name) != protocol.name:
        raise Invalid(places=(Place(("payload", "protocol"), f"must be {protocol.name}"),))
    try:
        parsed = protocol.payload.model_validate(payload)
        protocol.check(parsed, item.judged_texts, options)
    except ValidationError as error:
        faults = list_first_validation_errors(error, 20)
        places = tuple(Place(("payload", *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid(places=places) from None
    except Invalid as error:
        places = tuple(Place(("payload", *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places or (Place(("payload",), error.detail),)) from None
    return parsed
