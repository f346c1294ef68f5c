"""Makes a model of raters for a campaign from what its manager knows: the systems of each text, and the raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from app.domain.errors import Conflict
from app.protocols.base import Span
from app.simulation.draws import SeededRandom
from app.simulation.rater_model import (
    RaterModel,
    RaterModelVariances,
    RaterTraits,
    TextGroundTruth,
    hash_text_with_source,
)

MEAN_QUALITY = 75.0


class NoOutputsOrRatersToSimulate(Conflict):
    """There are no outputs whose quality could be planted, or no raters."""

    published = "NothingPlanted"


@dataclass(frozen=True, slots=True)
class OutputForSimulation:
    """One output. errors: those that it really contains, if known. source: the text that it translates."""

    system: str
    document: str
    segment: int
    text: str
    source: str | None = None
    errors: tuple[Span, ...] | None = None


@dataclass(frozen=True, slots=True)
class CampaignForSimulation:
    """What a model contains about its campaign."""

    campaign: str
    protocol: str
    options: Mapping[str, object]
    basis: str


def make_rater_model_template(
    campaign: CampaignForSimulation,
    outputs: Iterable[OutputForSimulation],
    raters: Iterable[str],
    *,
    seed: int,
    qualities: Mapping[str, float] | None = None,
    components: RaterModelVariances | None = None,
) -> RaterModel:
    """Make a model: systems get the given qualities or else random ones, and raters get random traits.

    Raises NoOutputsOrRatersToSimulate, Invalid.
    """
    draws, variances, true_quality = SeededRandom(seed), components or RaterModelVariances(), qualities or {}
    texts = _texts(outputs)
    systems = sorted({system for truth in texts.values() for system in truth.systems})
    people = sorted(raters)
    if not systems or not people:
        raise NoOutputsOrRatersToSimulate
    spread = sqrt(variances.system)
    drawn = {key: round(MEAN_QUALITY + spread * draws.normal("system", key), 2) for key in systems}
    return RaterModel(
        seed=seed,
        campaign=campaign.campaign,
        protocol=campaign.protocol,
        options=campaign.options,
        basis=campaign.basis,  # type: ignore[arg-type]  # checked by the model
        components=variances,
        systems={key: float(true_quality.get(key, drawn[key])) for key in systems},
        raters={key: _draw_traits(draws, variances, key) for key in people},
        texts=texts,
    )


def _texts(outputs: Iterable[OutputForSimulation]) -> dict[str, TextGroundTruth]:
    """Return truths by hash. If a text stands in several places, each is found by the hash of source and text, and the
    first also by the hash of the text alone."""
    there: dict[str, dict[tuple[str, int], list[OutputForSimulation]]] = {}
    for output in sorted(outputs, key=lambda one: (one.document, one.segment, one.system)):
        places = there.setdefault(output.text, {})
        places.setdefault((output.document, output.segment), []).append(output)
    truths: dict[str, TextGroundTruth] = {}
    for text, places in there.items():
        for same in places.values():
            key = hash_text_with_source(text) if len(places) == 1 else hash_text_with_source(text, same[0].source)
            truths.setdefault(key, _truth(same))
        truths.setdefault(hash_text_with_source(text), _truth(next(iter(places.values()))))
    return truths


def _truth(same: list[OutputForSimulation]) -> TextGroundTruth:
    first = same[0]
    systems = tuple(dict.fromkeys(one.system for one in same))
    return TextGroundTruth(document=first.document, segment=first.segment, systems=systems, errors=first.errors)


def _draw_traits(draws: SeededRandom, variances: RaterModelVariances, rater: str) -> RaterTraits:
    """Draw the traits of a rater: how lenient, consistent, quick and attentive they are."""

    def drawn(what: str, mean: float, deviation: float, least: float, most: float) -> float:
        return round(min(max(mean + deviation * draws.normal("temper", what, rater), least), most), 2)

    return RaterTraits(
        leniency=round(sqrt(variances.rater) * draws.normal("rater", rater), 2),
        spread=drawn("spread", 1.0, 0.15, 0.5, 1.5),
        noise=drawn("noise", 1.0, 0.15, 0.5, 1.5),
        drift=drawn("drift", 0.0, 0.3, -1.0, 1.0),
        seconds=drawn("seconds", 20.0, 5.0, 8.0, 40.0),
        attention=drawn("attention", 0.88, 0.06, 0.6, 0.99),
    )
