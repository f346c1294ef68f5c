"""What a simulated rater thinks of a text: a mixed model with planted effects, on a scale of 0 to 100.

    y = mean + spread · (q − mean) + leniency + drift · n / 100 + rater effects + noise · residual
    q = planted quality of the system + document + segment + document × system + segment × system

Sources: Riley et al. 2024, for documents, raters and their interactions as the causes of changes in a ranking. The
variance components are those of the forecast of stability.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import fmean

from app.protocols.base import Span
from app.simulation.draws import SeededRandom
from app.simulation.rater_model import RaterModel, RaterTraits, TextGroundTruth

POINTS_A_WEIGHT = 10.0  # points of the scale lost per unit of MQM weight
WEIGHTS = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 25.0}


@dataclass(frozen=True, slots=True)
class TextOpinion:
    """A rater's opinion of one text. value: 0 to 100, higher is better. errors: those that the rater sees; None if the
    model does not list the errors. key: what later draws for this answer depend on."""

    value: float
    errors: tuple[Span, ...] | None
    key: tuple[str, ...]


@dataclass(slots=True)
class SimulatedRater:
    """A rater at work. judged: number of answers so far. met: how often the rater has seen each text."""

    model: RaterModel
    rater: str
    draws: SeededRandom
    judged: int = 0
    met: Counter[str] = field(default_factory=Counter)

    @classmethod
    def from_rater_model(cls, model: RaterModel, rater: str) -> SimulatedRater:
        """Return a rater of the model at the start of their work."""
        return cls(model, rater, SeededRandom(model.seed))

    @property
    def traits(self) -> RaterTraits:
        """How this rater judges and works."""
        return self.model.raters[self.rater]

    def form_opinion(self, sha256: str, *, unread: bool = False) -> TextOpinion:
        """Form an opinion of a text, which counts as seen once more. unread: the rater does not look at the text."""
        if self.traits.copies is not None:
            return replace(self, rater=self.traits.copies).form_opinion(sha256)
        self.met[sha256] += 1
        key = ("opinion", self.rater, sha256, str(self.met[sha256]))
        if self.traits.always is not None:
            return TextOpinion(self.traits.always, None, key)
        if unread or self.traits.careless or self.draws.happens(self.traits.mistakes, *key, "slip"):
            return TextOpinion(100.0 * self.draws.uniform(*key, "whim"), None, key)
        truth = self.model.texts.get(sha256)
        mean = fmean(self.model.systems.values())
        planted = self._quality(sha256, truth)
        value = mean + self.traits.spread * (planted - mean) + self.traits.leniency
        value += self.traits.drift * self.judged / 100 + self._own_deviation(truth)
        value += self.traits.noise * self._effect("residual", *key)
        errors = None if truth is None or truth.errors is None else self._noticed_errors(truth.errors, key)
        return TextOpinion(min(max(value, 0.0), 100.0), errors, key)

    def _quality(self, sha256: str, truth: TextGroundTruth | None) -> float:
        """Return the true quality of a text, which is the same for all raters."""
        if truth is None:
            return self.model.unknown + self._effect("segment_system", "unknown", sha256)
        if truth.errors is not None:
            return 100.0 - POINTS_A_WEIGHT * sum(WEIGHTS.get(error.severity, 0.0) for error in truth.errors)
        document, segment, system = truth.document, truth.segment, truth.systems[0]
        return (
            fmean(self.model.systems[key] for key in truth.systems)
            + self._effect("document", document)
            + self._effect("segment", document, segment)
            + self._effect("document_system", document, system)
            + self._effect("segment_system", document, segment, system)
        )

    def _own_deviation(self, truth: TextGroundTruth | None) -> float:
        """Return this rater's own deviation for this text, without leniency, which is one of the traits."""
        if truth is None:
            return 0.0
        rater, document, system = self.rater, truth.document, truth.systems[0]
        return (
            self._effect("rater_system", rater, system)
            + self._effect("rater_document", rater, document)
            + self._effect("rater_segment", rater, document, truth.segment)
            + self._effect("rater_document_system", rater, document, system)
        )

    def _effect(self, component: str, *key: str | int) -> float:
        return sqrt(getattr(self.model.components, component)) * self.draws.normal(component, *key)

    def _noticed_errors(self, errors: tuple[Span, ...], key: tuple[str, ...]) -> tuple[Span, ...]:
        return tuple(
            self._adjust_severity(error, (*key, str(n)))
            for n, error in enumerate(errors)
            if self._notices(error, (*key, str(n)))
        )

    def _notices(self, error: Span, key: tuple[str, ...]) -> bool:
        missed = 1 - self.traits.attention
        return not self.draws.happens(missed if error.severity == "minor" else missed / 2, *key, "missed")

    def _adjust_severity(self, error: Span, key: tuple[str, ...]) -> Span:
        """Return the error as this rater weighs it: strict raters raise some minor ones, lenient ones lower some."""
        other = {"minor": "major", "major": "minor"}.get(error.severity)
        against = -self.traits.leniency if error.severity == "minor" else self.traits.leniency
        if other is None or not self.draws.happens(min(max(against / 100, 0.0), 0.3), *key, "weighed"):
            return error
        return error.model_copy(update={"severity": other})
