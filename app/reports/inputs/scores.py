"""Scores under a weight profile: which profile an analysis uses, and deriving scores that are not stored yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.domain.errors import Invalid, Place
from app.domain.recipe import ScoringChoice
from app.protocols.base import JudgedTexts, JudgmentMeasure, Protocol, ScoringOptions
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats import scoring
from app.storage import ratings, staged_judgments, weight_profiles
from app.storage.db import Session

GIVEN = "score"


@dataclass(frozen=True, slots=True)
class ScoreDefinition:
    """How scores are derived: the protocol with its options, and the number that is read.

    own: it is the campaign's own definition, whose scores are stored with every judgment.
    """

    protocol: Protocol[Any]
    options: ScoringOptions
    measure: JudgmentMeasure
    own: bool = True


def resolve_score_definition(campaign: CampaignInfo, wanted: ScoringChoice) -> ScoreDefinition:
    """Return how a recipe derives scores from a campaign's judgments.

    Raises Invalid if the recipe needs marked errors, and the protocol marks none or another number is read.
    """
    protocol, options = find_campaign_protocol(campaign), parse_campaign_scoring_options(campaign)
    own = protocol.get_requested_measure(options)
    measures = {measure.name: measure for measure in protocol.list_judgment_measures(options)}
    measure = own if wanted.source == GIVEN else measures.get(wanted.criterion or wanted.source)
    if measure is None or (wanted.profile is not None and not measure.uses_profile):
        what = f"{protocol.name} marks no errors, so there is nothing to weight"
        if wanted.criterion is not None:
            what = f"no criterion {wanted.criterion}; there are {', '.join(measures)}"
        elif "spans" in measures:
            what = f"{protocol.name} ranks by its score; scoring=spans weights the errors"
        raise Invalid("the recipe does not fit the campaign", places=(Place(("recipe", "scoring"), what),))
    profile = options.profile if wanted.profile is None else scoring.resolve_weight_profile(wanted.profile)
    read_options = replace(options, profile=profile, measure=measure.name)
    return ScoreDefinition(protocol, read_options, measure, own=measure == own and profile == options.profile)


def find_or_create_score_profile_id(session: Session, campaign_id: int, definition: ScoreDefinition) -> int:
    """Return the profile under which the scores of this definition are stored; create it if it is missing."""
    if not definition.measure.uses_profile:
        name = GIVEN if definition.own else f"{GIVEN}:{definition.measure.name}"
        return weight_profiles.ensure_weight_profile(session, campaign_id, name=name, digest=name, weights={})
    table = definition.options.profile
    weights = {**table.weights, **{f"*{text}*": value for text, value in table.containing}}
    return weight_profiles.ensure_weight_profile(
        session, campaign_id, name=table.name, digest=table.digest, weights=weights
    )


def hash_campaign_score_profile(campaign: CampaignInfo) -> str:
    """Return a value that distinguishes the campaign's own profile from others."""
    read = resolve_score_definition(campaign, ScoringChoice())
    return read.options.profile.digest if read.measure.uses_profile else GIVEN


def load_scored_ratings(
    session: Session, snapshot: CampaignSnapshot, definition: ScoreDefinition, *, statement: str = ratings.LOAD
) -> tuple[ratings.RatingsWithJudgmentIds, int]:
    """Load the ratings of a score definition, deriving missing scores first, and return them with their profile.

    statement: a query of `storage.ratings`, for other rows than the usual ones.
    """
    profile = score_unscored_judgments(session, snapshot.campaign_id, definition)
    metadata = make_ratings_metadata(snapshot.campaign, definition)
    keys = {"campaign_id": snapshot.campaign_id, "profile_id": profile, "version": snapshot.version}
    return ratings.load_ratings(session, **keys, metadata=metadata, statement=statement), profile


def make_ratings_metadata(campaign: CampaignInfo, definition: ScoreDefinition) -> ratings.RatingsMetadata:
    """Return the metadata that apply to all ratings of a score definition."""
    return ratings.RatingsMetadata(
        higher_is_better=definition.measure.higher_is_better,
        scale=definition.measure.scale,
        criterion=None if definition.own else definition.measure.name,
        documents_known=campaign.documents_known,
        standardised=definition.options.standardised,
    )


def score_unscored_judgments(session: Session, campaign_id: int, definition: ScoreDefinition) -> int:
    """Return the profile of this definition, after scoring every judgment under it.

    The campaign's own profile needs no check, because a judgment is never stored without its score.
    """
    profile = find_or_create_score_profile_id(session, campaign_id, definition)
    if not definition.own and weight_profiles.has_unscored_judgments(session, campaign_id, profile):
        weight_profiles.store_scores(
            session, campaign_id, profile, list(_derive_scores(session, campaign_id, definition))
        )
    return profile


def _derive_scores(session: Session, campaign_id: int, definition: ScoreDefinition) -> Iterator[tuple[int, float, int]]:
    for answer in staged_judgments.stream_answers_with_texts(session, campaign_id):
        payload = definition.protocol.payload.model_validate(answer.payload)
        scored = definition.protocol.score(payload, JudgedTexts(answer.source, answer.text), definition.options)
        yield answer.judgment_id, scored.score, scored.n_errors
