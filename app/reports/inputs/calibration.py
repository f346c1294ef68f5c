"""Inputs of reports on calibration: test items, human references and calibration items of a campaign, kept separate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.reports.inputs.raw_ratings import ROLES, RawRatings, RawRatingsOptions, load_raw_ratings
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.agreement.units import Repeated, ValuesByUnit, make_segment_units
from app.stats.calibration.language_pairs import CalibrationPairRatings, LanguagePairRatings
from app.stats.ratings import Bools, Floats, RatingRole
from app.storage import system_descriptions
from app.storage.calibration_items import CalibrationItem, load_calibration_items
from app.storage.db import Session
from app.storage.linked_people import load_person_keys_by_rater
from app.storage.segment_words import load_source_digests

Pair = tuple[str, int, str | None]
"""A calibration pair across campaigns: key of its document, position, digest of its first text."""
Address = tuple[str, int, str]
"""An output across campaigns: key of its document, position, key of its system."""
PLUS = "+"
"""Joins the accounts of one person; the code that hides raters' keys from viewers treats the result as one key."""
ACCOUNT = "account "
UNAGREED = "calibration item without an agreed score"


class ScoreSelectionOptions(BaseModel):
    """Which scores are used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scoring: Annotated[str, StringConstraints(max_length=80)] = Field(
        "score", description="As in a recipe: score, spans, spans:PROFILE, criterion:NAME.", examples=["score"]
    )
    repeats: Repeated = Field("average", description="Which of several ratings of one text by one rater counts.")


@dataclass(frozen=True, slots=True)
class CampaignCalibrationSplit:
    """A campaign split into its parts.

    test: rows of systems and human translations that count, without calibration items. items: facts about calibration
    documents, by key. kinds: mt or human, by system. digests: of known sources. people: the identity of each rater code
    across campaigns, which is a person if accounts were linked, else the account itself.
    """

    ratings: RawRatings
    test: Bools
    calibration: Bools
    references: Bools
    items: dict[str, CalibrationItem]
    kinds: dict[str, str]
    digests: dict[tuple[str, int], str]
    people: tuple[str, ...]

    @property
    def campaign_key(self) -> str:
        """The key of the campaign."""
        return self.ratings.snapshot.campaign.key

    @property
    def better_sign(self) -> int:
        """1 if a higher score is better, −1 if a lower one is."""
        return self.ratings.rows.better_sign

    @property
    def account_keys_by_person(self) -> dict[str, str]:
        """The key of each person in this campaign, by identity; the keys of several accounts are joined."""
        keys_by_person: dict[str, list[str]] = {}
        for key, who in zip(self.ratings.rows.labels.raters, self.people, strict=True):
            keys_by_person.setdefault(who, []).append(key)
        return {who: PLUS.join(sorted(keys)) for who, keys in keys_by_person.items()}


def load_campaign_calibration_split(
    session: Session, snapshot: CampaignSnapshot, options: ScoreSelectionOptions
) -> CampaignCalibrationSplit:
    """Load a campaign. Raises Invalid if the options do not fit it."""
    question = RawRatingsOptions(scoring=options.scoring, roles=",".join(ROLES), repeats=options.repeats)
    ratings = load_raw_ratings(session, snapshot, question)
    rows, items = ratings.rows, load_calibration_items(session, snapshot.campaign_id)
    kinds = {
        key: known.kind
        for key, known in system_descriptions.load_system_descriptions(session, snapshot.campaign_id).items()
    }
    pair = np.array([key in items for key in rows.labels.documents] or [False])[rows.document]
    human = np.array([kinds.get(key) == "human" for key in rows.labels.systems] or [False])[rows.system]
    calibration = (rows.role == RatingRole.CALIBRATION) | pair
    ranked = (rows.role == RatingRole.RATING) | (rows.role == RatingRole.REPEAT)
    references = ~calibration & ((ranked & human) | (rows.role == RatingRole.REFERENCE))
    digests = load_source_digests(session, snapshot.campaign_id)
    people = _people(snapshot, rows.labels.raters, load_person_keys_by_rater(session, snapshot.campaign_id))
    return CampaignCalibrationSplit(
        ratings, ranked & ~calibration, calibration, references, items, kinds, digests, people
    )


def _people(snapshot: CampaignSnapshot, raters: Sequence[str], linked: Mapping[str, str]) -> tuple[str, ...]:
    """Return the identities of raters; keys belong to a campaign, so the same key in two campaigns proves nothing."""
    return tuple(
        f"person {linked[key]}" if key in linked else f"{ACCOUNT}{snapshot.campaign.key} {key}" for key in raters
    )


def find_unlinked_shared_rater_keys(splits: Sequence[CampaignCalibrationSplit]) -> list[str]:
    """Return keys that raters of several of these campaigns share although nobody has linked them as one person."""
    alone = [
        key
        for one in splits
        for key, who in zip(one.ratings.rows.labels.raters, one.people, strict=True)
        if who.startswith(ACCOUNT)
    ]
    return sorted(key for key, n in Counter(alone).items() if n > 1)


def format_raters_for_warning(keys: Sequence[str], most: int = 5) -> str:
    """List raters for a warning, in the form that is hidden from viewers; if there are many, only the first."""
    shown = ", ".join(f"rater:{key}" for key in keys[:most])
    return shown if len(keys) <= most else f"{shown} and {len(keys) - most} more"


def make_values_by_unit(split: CampaignCalibrationSplit, rows: Bools, repeats: Repeated) -> ValuesByUnit:
    """Return the units of some rows of a campaign."""
    return make_segment_units(split.ratings.rows.where(rows), repeated=repeats)


def may_have_same_source_text(
    first: CampaignCalibrationSplit, second: CampaignCalibrationSplit, address: Address
) -> bool:
    """Whether both campaigns have the same source there; an unknown text is no reason to exclude anything."""
    ours, theirs = (each.digests.get(address[:2]) for each in (first, second))
    return ours is None or theirs is None or ours == theirs


def list_calibration_pairs_of_units(split: CampaignCalibrationSplit, units: ValuesByUnit) -> list[Pair]:
    """Return the calibration pair of each unit."""
    labels = split.ratings.rows.labels
    keys = [labels.documents[d] for d in units.document.tolist()]
    positions = labels.segment_position[units.place].tolist()
    return [(k, p, split.digests.get((k, p))) for k, p in zip(keys, positions, strict=True)]


def find_agreed_scores(split: CampaignCalibrationSplit, units: ValuesByUnit) -> Floats:
    """Return the agreed score of each unit, NaN if it has none."""
    labels = split.ratings.rows.labels
    known = [split.items.get(labels.documents[d]) for d in units.document.tolist()]
    return np.array([np.nan if k is None or k.consensus is None else k.consensus for k in known], dtype=np.float64)


def list_items_dropped_without_consensus(split: CampaignCalibrationSplit, repeats: Repeated) -> list[dict[str, Any]]:
    """List, for `dropped`, how many calibration items are dropped because they have no agreed score; may be empty."""
    n = int((~np.isfinite(find_agreed_scores(split, make_values_by_unit(split, split.calibration, repeats)))).sum())
    return [{"reason": UNAGREED, "n": n, "campaign": split.campaign_key}] if n else []


def pool_calibration_pair_scores(
    splits_with_units: Sequence[tuple[CampaignCalibrationSplit, ValuesByUnit]],
) -> tuple[ValuesByUnit, list[Pair], Floats]:
    """Pool the calibration pairs of several campaigns in one language.

    The accounts of one person count as one rater, whose scores are averaged. Pairs without an agreed score are left
    out. Returns units, the pair of each, and its agreed score.
    """
    scores: dict[Pair, dict[str, list[float]]] = {}
    agreed: dict[Pair, float] = {}
    for part, units in splits_with_units:
        pairs, known = list_calibration_pairs_of_units(part, units), find_agreed_scores(part, units)
        for unit, rater, value in zip(units.unit.tolist(), units.rater.tolist(), units.value.tolist(), strict=True):
            if np.isfinite(known[unit]):
                scores.setdefault(pairs[unit], {}).setdefault(part.people[rater], []).append(value)
                agreed[pairs[unit]] = float(known[unit])
    order = sorted(scores, key=lambda pair: (pair[0], pair[1], pair[2] or ""))
    raters = tuple(sorted({who for part, _ in splits_with_units for who in part.people}))
    code = {name: i for i, name in enumerate(raters)}
    rows = [(u, code[r], float(np.mean(v))) for u, p in enumerate(order) for r, v in sorted(scores[p].items())]
    unit, rater, value = zip(*rows, strict=True) if rows else ((), (), ())
    n = np.arange(len(order), dtype=np.int32)
    pooled = ValuesByUnit(
        unit=np.array(unit, dtype=np.int32),
        rater=np.array(rater, dtype=np.int32),
        value=np.array(value, dtype=np.float64),
        document=n,
        system=np.zeros_like(n),
        place=n,
        n_documents=len(order),
        raters=raters,
    )
    return pooled, order, np.array([agreed[pair] for pair in order], dtype=np.float64)


def merge_units_by_person(units: ValuesByUnit, people: Sequence[str], raters: tuple[str, ...]) -> ValuesByUnit:
    """Return the units with people instead of raters, coded by `raters`, which must contain all of them.

    If one person rated a unit under several accounts, the scores are averaged.
    """
    code, n = {name: i for i, name in enumerate(raters)}, max(len(raters), 1)
    to = np.array([code[who] for who in people] or [0], dtype=np.int64)
    cells, at = np.unique(units.unit.astype(np.int64) * n + to[units.rater], return_inverse=True)
    value = np.bincount(at, weights=units.value) / np.maximum(np.bincount(at), 1)
    unit, rater = (part.astype(np.int32) for part in np.divmod(cells, n))
    return replace(units, unit=unit, rater=rater, value=value, raters=raters)


def replace_unknown_documents_by_segments(split: CampaignCalibrationSplit, units: ValuesByUnit) -> ValuesByUnit:
    """Return the units with the documents that intervals resample; if documents are unknown, each segment is one."""
    if split.ratings.rows.documents_known:
        return units
    n = split.ratings.rows.labels.segment_document.size
    return replace(units, document=units.place.astype(np.int32), n_documents=n)


def make_language_pair_ratings(
    campaign_split: CampaignCalibrationSplit,
    splits: Sequence[CampaignCalibrationSplit],
    pairs: dict[Pair, int],
    repeats: Repeated,
) -> tuple[LanguagePairRatings, ValuesByUnit]:
    """Return the ratings of a campaign with the calibration items of all campaigns in its language.

    pairs: number of each pair over all languages; new pairs are added to it.
    """
    units, keys, agreed = pool_calibration_pair_scores(
        [(one, make_values_by_unit(one, one.calibration, repeats)) for one in splits]
    )
    number = np.array([pairs.setdefault(key, len(pairs)) for key in keys], dtype=np.intp)
    parts = [
        make_values_by_unit(campaign_split, rows, repeats)
        for rows in (campaign_split.test & ~campaign_split.references, campaign_split.references)
    ]
    systems, humans = (
        merge_units_by_person(
            replace_unknown_documents_by_segments(campaign_split, part), campaign_split.people, units.raters
        )
        for part in parts
    )
    return LanguagePairRatings(
        campaign_split.campaign_key,
        systems,
        humans,
        CalibrationPairRatings(units, number, agreed),
        campaign_split.better_sign,
    ), units


def make_comparison_header_fields(splits: Sequence[CampaignCalibrationSplit]) -> dict[str, Any]:
    """Return the fields with which the view of a comparison begins."""
    campaign_ratings = [one.ratings for one in splits]
    return {
        "campaigns": {one.snapshot.campaign.key: one.snapshot.version for one in campaign_ratings},
        "data_hash": " ".join(one.data_hash for one in campaign_ratings),
        "basis": ", ".join(sorted({one.snapshot.campaign.basis for one in campaign_ratings})),
        "dropped": [
            {**line, "campaign": one.snapshot.campaign.key} for one in campaign_ratings for line in one.dropped
        ],
    }
