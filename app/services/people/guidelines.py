"""Guidelines and consent texts: markdown by language, with every version kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Conflict, Invalid, Place
from app.services.campaigns import audit
from app.services.people.raters import ActingRater
from app.storage import campaigns, guidelines
from app.storage.db import Session
from app.storage.guidelines import Kind


class ConsentTextChanged(Conflict):
    """The consent text has changed; read it again."""

    published = "ConsentChanged"


@dataclass(frozen=True, slots=True)
class GuidelineTexts:
    """A version of a text. texts: markdown by language."""

    version: int
    texts: Mapping[str, str]
    at: datetime


@dataclass(frozen=True, slots=True)
class ConsentAgreement:
    """The version of a text that a rater agreed to, the language, and when."""

    version: int
    language: str | None
    at: datetime


def put_guidelines(
    session: Session, campaign: str, kind: Kind, texts: Mapping[str, str], *, actor: str
) -> GuidelineTexts:
    """Store a new version; identical texts remain the same version. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    latest = guidelines.find_guidelines(session, row.id, kind)
    if latest is None or latest.texts != texts:
        version = 1 if latest is None else latest.version + 1
        guidelines.insert_guidelines(session, row.id, kind, version=version, texts=texts, actor=actor)
        what = {"version": version, "languages": sorted(texts)}
        audit.record_action(session, row.id, actor=actor, action=f"{kind} put", what=what)
    return get_guidelines(session, campaign, kind)


def get_guidelines(session: Session, campaign: str, kind: Kind, *, version: int | None = None) -> GuidelineTexts:
    """Return a version of the texts, by default the latest. Raises NotFound."""
    row = guidelines.find_guidelines(session, campaigns.load_campaign(session, campaign).id, kind, version)
    if row is None:
        raise guidelines.GuidelinesNotFound(kind)
    return GuidelineTexts(row.version, row.texts, row.at)


def find_requested_and_given_consent(
    session: Session, rater: ActingRater
) -> tuple[GuidelineTexts | None, ConsentAgreement | None]:
    """Return what a rater must agree to (None if nothing is asked), and what they last agreed to."""
    row = guidelines.find_guidelines(session, rater.campaign_id, "consent")
    given = guidelines.load_latest_rater_consent(session, rater.rater_id)
    return (
        None if row is None else GuidelineTexts(row.version, row.texts, row.at),
        None if given is None else ConsentAgreement(given.version, given.language, given.at),
    )


def record_consent(session: Session, rater: ActingRater, *, version: int, language: str) -> ConsentAgreement:
    """Record agreement to the latest text, in one of its languages. Agreeing again changes nothing.

    Raises NotFound if nothing is asked, ConsentTextChanged for a version other than the latest, Invalid.
    """
    text, _ = find_requested_and_given_consent(session, rater)
    if text is None:
        raise guidelines.GuidelinesNotFound("consent")
    if version != text.version:
        raise ConsentTextChanged(f"it is version {text.version}")
    if language not in text.texts:
        there = ", ".join(sorted(text.texts))
        raise Invalid(places=(Place(("body", "language"), f"the text is not there in it; there are {there}"),))
    if guidelines.insert_rater_consent(session, rater.campaign_id, rater.rater_id, version=version, language=language):
        what = {"rater": rater.rater, "version": version, "language": language}
        audit.record_action(session, rater.campaign_id, actor=rater.actor, action="consent given", what=what)
    _, given = find_requested_and_given_consent(session, rater)
    if given is None:
        raise guidelines.GuidelinesNotFound("consent")
    return given
