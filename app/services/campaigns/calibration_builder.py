"""Proposal of a calibration set from earlier campaigns: the pairs with the best agreement, by level of quality.

Source: Licht et al. 2022, §4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.errors import Conflict, Invalid, Place
from app.reports.inputs.calibration import (
    CampaignCalibrationSplit,
    ScoreSelectionOptions,
    load_campaign_calibration_split,
    make_values_by_unit,
)
from app.reports.inputs.snapshot import load_snapshot
from app.services.campaigns.calibration_sets import CalibrationTextPair
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.item_selection import (
    ChosenStratumItems,
    choose_calibration_items,
    compute_unit_median_and_deviation,
    divide_scale_into_strata,
)
from app.stats.ratings import ScoreScale
from app.storage.calibration_items import load_source_and_output_texts
from app.storage.db import Session


class CampaignScalesDiffer(Conflict):
    """The campaigns do not use the same protocol and scale, so their scores cannot form one set."""

    published = "NotOneScale"


@dataclass(frozen=True, slots=True)
class QualityStratum:
    """A level of quality. available: pairs with enough ratings. spread: the largest among the chosen pairs."""

    name: str
    taken: int
    available: int
    spread: float | None


@dataclass(frozen=True, slots=True)
class CalibrationProposal:
    """The proposed contents of a set. without_text: pairs left out because a text is not stored."""

    protocol: str
    pairs: tuple[CalibrationTextPair, ...]
    strata: tuple[QualityStratum, ...]
    without_text: int

    @property
    def mean_consensus(self) -> float | None:
        """Mean consensus score, C."""
        return sum(pair.consensus for pair in self.pairs) / len(self.pairs) if self.pairs else None


@dataclass(frozen=True, slots=True)
class CalibrationCandidate:
    """A pair that may be chosen, and how far its raters' scores are from their median."""

    pair: CalibrationTextPair
    spread: float
    n_ratings: int


def propose_calibration_set(
    session: Session,
    campaigns: Sequence[str],
    *,
    per_stratum: int = 100,
    min_ratings: int = 2,
    max_spread: float | None = None,
    reference: bool = False,
) -> CalibrationProposal:
    """Propose pairs of a source (or a reference) and an output with their median score, best agreement first.

    The same two texts are chosen only once. Raises NotFound for an unknown campaign, CampaignScalesDiffer, Invalid
    for less than one pair per stratum or for scores without bounds.
    """
    if per_stratum < 1 or not campaigns:
        raise Invalid("a set needs a campaign and at least one pair a stratum")
    parts = [
        load_campaign_calibration_split(session, load_snapshot(session, key, None), ScoreSelectionOptions())
        for key in campaigns
    ]
    scale = _scale_of(parts)
    by_stratum: dict[str, list[CalibrationCandidate]] = {name: [] for name, _, _ in divide_scale_into_strata(scale)}
    lost = 0
    for given in parts:
        texts = load_source_and_output_texts(session, given.ratings.snapshot.campaign_id, reference=reference)
        units = make_values_by_unit(given, given.test, "average")
        for chosen in choose_calibration_items(
            units, scale, per_stratum=units.n_units, min_ratings=min_ratings, max_spread=max_spread
        ):
            held = list(_candidates(given, units, chosen, texts))
            lost += chosen.available - len(held)
            by_stratum[chosen.stratum] += held
    return _proposal(parts[0].ratings.snapshot.campaign.protocol, by_stratum, per_stratum, lost)


def _scale_of(parts: Sequence[CampaignCalibrationSplit]) -> ScoreScale:
    """Return the scale that all campaigns share."""
    first = parts[0]
    for part in parts:
        same = part.ratings.snapshot.campaign.protocol == first.ratings.snapshot.campaign.protocol
        if not same or part.ratings.scale != first.ratings.scale:
            raise CampaignScalesDiffer(f"{part.campaign_key} differs from {first.campaign_key}")
    if first.ratings.scale is None:
        what = f"the scores of {first.campaign_key} have no bounds to make strata of"
        raise Invalid("no strata can be made", places=(Place(("campaigns",), what),))
    return first.ratings.scale


def _candidates(
    given: CampaignCalibrationSplit,
    units: ValuesByUnit,
    chosen: ChosenStratumItems,
    texts: Mapping[tuple[str, int, str], tuple[str, str]],
) -> Iterator[CalibrationCandidate]:
    """Yield the chosen units whose texts are stored."""
    middle, spread = compute_unit_median_and_deviation(units)
    labels, counts = given.ratings.rows.labels, units.n_values_by_unit()
    for u in chosen.unit.tolist():
        place = int(units.place[u])
        document = labels.documents[labels.segment_document[place]]
        address = (document, int(labels.segment_position[place]), labels.systems[int(units.system[u])])
        if address in texts:
            pair = CalibrationTextPair(*texts[address], consensus=float(middle[u]), stratum=chosen.stratum)
            yield CalibrationCandidate(pair, float(spread[u]), int(counts[u]))


def _proposal(
    protocol: str, by_stratum: dict[str, list[CalibrationCandidate]], per_stratum: int, lost: int
) -> CalibrationProposal:
    taken: list[CalibrationTextPair] = []
    strata: list[QualityStratum] = []
    seen: set[tuple[str, str]] = set()
    for name, candidates in by_stratum.items():
        chosen: list[CalibrationCandidate] = []
        for candidate in sorted(
            candidates, key=lambda c: (round(c.spread, 10), -c.n_ratings, c.pair.text1, c.pair.text2)
        ):
            texts = (candidate.pair.text1.strip(), candidate.pair.text2.strip())
            if len(chosen) < per_stratum and texts not in seen:
                seen.add(texts)
                chosen.append(candidate)
        taken += [one.pair for one in chosen]
        largest = max((one.spread for one in chosen), default=None)
        strata.append(QualityStratum(name, len(chosen), len(candidates), largest))
    return CalibrationProposal(protocol, tuple(taken), tuple(strata), lost)
