"""Check of derived scores against the payloads they were derived from.

`check_stored_scores` compares, and `recompute_stored_scores` corrects what differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from app.protocols.base import JudgedTexts, Protocol, ScoringOptions
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.reports.inputs.scores import GIVEN
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.stats.scoring import WeightProfile
from app.storage import campaigns, staged_judgments
from app.storage import rescore as stored_scores
from app.storage import weight_profiles as stored_profiles
from app.storage.db import Session
from app.storage.rescore import StoredScore, StoredWeightProfile

MOST_SHOWN = 20
BLOCK = 5000  # scores that are corrected at a time


@dataclass(slots=True)
class ProfileScoreCheck:
    """The check of one profile. first: descriptions of the first scores that differ.

    missing: judgments without a score under the campaign's own profile; scores under others are derived on request.
    """

    name: str
    n: int = 0
    different: int = 0
    missing: int = 0
    first: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ScoreCheckReport:
    """The check of all profiles of a campaign. corrected: scores that were wrong. added: scores that were missing."""

    campaign: str
    profiles: tuple[ProfileScoreCheck, ...]
    corrected: int = 0
    added: int = 0

    @property
    def is_correct(self) -> bool:
        """Whether every stored score equals the score of its payload."""
        return not any(one.different or one.missing for one in self.profiles)


def check_stored_scores(session: Session, campaign: str) -> ScoreCheckReport:
    """Compare every stored score with the current score of its payload. Raises NotFound."""
    row, view = campaigns.load_campaign(session, campaign), get_campaign(session, campaign)
    compared = [
        _compare_profile(session, row.id, view, one) for one in stored_scores.load_weight_profiles(session, row.id)
    ]
    return ScoreCheckReport(campaign, tuple(compared))


def recompute_stored_scores(session: Session, campaign: str, *, actor: str) -> ScoreCheckReport:
    """Correct wrong scores and add missing ones; if there are any, under a new data version. Raises NotFound."""
    row, view = campaigns.load_campaign(session, campaign, lock=True), get_campaign(session, campaign)
    profiles = stored_scores.load_weight_profiles(session, row.id)
    compared = [_compare_profile(session, row.id, view, one, put_right=True) for one in profiles]
    corrected, added = sum(one.different for one in compared), sum(one.missing for one in compared)
    if corrected or added:
        campaigns.take_next_data_version(session, row.id, actor=actor, what="rescored")
        what = {"scores": corrected, "added": added}
        audit.record_action(session, row.id, actor=actor, action="rescored", what=what)
    return ScoreCheckReport(campaign, tuple(compared), corrected, added)


def _compare_profile(
    session: Session, campaign_id: int, view: CampaignInfo, profile: StoredWeightProfile, *, put_right: bool = False
) -> ProfileScoreCheck:
    """Compare stored with derived scores. At most a block of either is held at a time."""
    checked, shown = ProfileScoreCheck(profile.name), list[tuple[StoredScore, StoredScore]]()
    wrong, absent = list[StoredScore](), list[StoredScore]()
    options = _options(view, profile)
    own = options == parse_campaign_scoring_options(view)
    there = stored_scores.stream_stored_scores(session, campaign_id, profile.id)
    for derived, stored in _align_scores(
        _derive_scores(session, campaign_id, find_campaign_protocol(view), options), there
    ):
        checked.n += 1
        if stored is None and own:
            checked.missing += 1
            absent.append(derived)
        elif stored is not None and stored != derived:
            checked.different += 1
            wrong.append(derived)
            shown += [(stored, derived)] if len(shown) < MOST_SHOWN else []
        if len(wrong) + len(absent) >= BLOCK:
            _store(session, campaign_id, profile, wrong, absent, put_right=put_right)
    _store(session, campaign_id, profile, wrong, absent, put_right=put_right)
    places = stored_scores.describe_judgment_addresses(session, campaign_id, [one.judgment_id for _, one in shown])
    checked.first = [f"{places[is_.judgment_id]}: {was.score!r} is stored, {is_.score!r} it is" for was, is_ in shown]
    return checked


def _align_scores(
    derived: Iterator[StoredScore], stored: Iterator[StoredScore]
) -> Iterator[tuple[StoredScore, StoredScore | None]]:
    """Yield each derived score with the stored one of the same judgment; both come in the order of judgments."""
    waiting = next(stored, None)
    for row in derived:
        while waiting is not None and waiting.judgment_id < row.judgment_id:
            waiting = next(stored, None)
        same = waiting is not None and waiting.judgment_id == row.judgment_id
        yield row, waiting if same else None
    for _ in stored:  # reading to the end closes the stream
        pass


def _store(
    session: Session,
    campaign_id: int,
    profile: StoredWeightProfile,
    wrong: list[StoredScore],
    absent: list[StoredScore],
    *,
    put_right: bool,
) -> None:
    """Store a block if `put_right` is set, and clear it."""
    if put_right and wrong:
        stored_scores.correct_stored_scores(session, campaign_id, profile.id, wrong)
    if put_right and absent:
        rows = [(one.judgment_id, one.score, one.n_errors) for one in absent]
        stored_profiles.store_scores(session, campaign_id, profile.id, rows)
    wrong.clear()
    absent.clear()


def _derive_scores(
    session: Session, campaign_id: int, protocol: Protocol[Any], options: ScoringOptions
) -> Iterator[StoredScore]:
    for answer in staged_judgments.stream_answers_with_texts(session, campaign_id):
        payload = protocol.payload.model_validate(answer.payload)
        scored = protocol.score(payload, JudgedTexts(answer.source, answer.text), options)
        yield StoredScore(answer.judgment_id, scored.score, scored.n_errors)


def _options(view: CampaignInfo, profile: StoredWeightProfile) -> ScoringOptions:
    """Return the options under which a profile's scores were derived."""
    own = parse_campaign_scoring_options(view)
    if profile.digest == GIVEN:
        return own
    if profile.digest.startswith(f"{GIVEN}:"):
        return replace(own, measure=profile.digest.removeprefix(f"{GIVEN}:"))
    if profile.digest == own.profile.digest:
        return own
    plain = {name: float(weight) for name, weight in profile.weights.items() if not name.startswith("*")}
    rules = tuple((n[1:-1], float(weight)) for n, weight in profile.weights.items() if n.startswith("*"))
    return replace(own, profile=WeightProfile(profile.name, plain, rules), measure="spans" if _by_score(view) else None)


def _by_score(view: CampaignInfo) -> bool:
    """Return whether the campaign's own score is something other than weighted errors."""
    return not find_campaign_protocol(view).get_requested_measure(parse_campaign_scoring_options(view)).uses_profile
