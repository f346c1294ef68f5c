"""The demo campaign: eight systems of known quality, twenty-four documents, and the design of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from app.demo.demo_raters import TEMPERS
from app.demo.planted_errors import PlantedError, Severity, TranslationWithErrors, plant_errors
from app.demo.texts import DemoDocument, make_demo_documents
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    LineLocation,
    OutputRow,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.protocols.base import Span
from app.reports.stability.options import StabilityIn, StudyDesignIn
from app.simulation import CampaignForSimulation, OutputForSimulation, RaterModel, make_rater_model_template
from app.simulation.simulated_rater import POINTS_A_WEIGHT

TITLE = "Demo: German from English, three domains"
N_DOCUMENTS = 24
# One rater gets all systems of a document. Half of the documents have two raters, so that raters can be compared and
# studies simulated. Every task contains degraded outputs, which reveal raters who do not read.
DESIGN: Mapping[str, object] = {
    "grouping": "psxs",
    "balance": "full",
    "ratings_per_item": 1,
    "overlap": {"share": 0.5, "ratings_per_item": 2},
    "task": {"max_segments": 80},
    "controls": {"bad_reference": {"rate": 0.1}},
    "seed": 20261119,
}
# Simulated raters, who leave the guest's tasks alone, rate eight documents twice. Each study draws its own documents,
# so that a result that is found again also holds for other documents.
STABILITY = StabilityIn(
    designs=[StudyDesignIn(grouping="psxs"), StudyDesignIn(grouping="none")],
    documents=[6, 7, 8],
    studies_per_document_set=1,
    pairs="all",
)
_HERE = LineLocation("demo", 0)


@dataclass(frozen=True, slots=True)
class DemoSystem:
    """A system, and the number of errors per segment planted in its output."""

    key: str
    major: float
    minor: float
    human: bool = False


# Best first. Systems 2 and 3, 4 and 5, and 6 and 7 are close, so that clusters contain more than one system.
SYSTEMS = (
    DemoSystem("human-A", major=0.04, minor=0.15, human=True),
    DemoSystem("Linde", major=0.16, minor=0.30),
    DemoSystem("Ahorn", major=0.19, minor=0.35),
    DemoSystem("Ulme", major=0.34, minor=0.50),
    DemoSystem("Birke", major=0.38, minor=0.55),
    DemoSystem("Fichte", major=0.58, minor=0.70),
    DemoSystem("Kiefer", major=0.63, minor=0.75),
    DemoSystem("Eibe", major=0.95, minor=0.95),
)
PLANTED_ORDER = tuple(system.key for system in SYSTEMS)
QUALITIES = {system.key: 100.0 - POINTS_A_WEIGHT * (5 * system.major + system.minor) for system in SYSTEMS}
PROTOCOL, BASIS = "mqm", "source"


@dataclass(frozen=True, slots=True)
class DemoOutputs:
    """The translations of every system by (system, document): one per segment."""

    documents: tuple[DemoDocument, ...]
    translations: dict[tuple[str, str], tuple[TranslationWithErrors, ...]]


def make_demo_translations(seed: int) -> DemoOutputs:
    """Make documents and translations with planted errors; the same seed gives the same result."""
    rng = np.random.default_rng(seed)
    sources = tuple(make_demo_documents(N_DOCUMENTS, rng))
    n_segments = sum(len(document.segments) for document in sources)
    translations: dict[tuple[str, str], tuple[TranslationWithErrors, ...]] = {}
    for system in SYSTEMS:
        severities = iter(_severities(system, n_segments, rng))
        for document in sources:
            translations[system.key, document.key] = tuple(
                plant_errors(segment, document.domain, int(rng.integers(2)), next(severities), rng)
                for segment in document.segments
            )
    return DemoOutputs(sources, translations)


def make_demo_records(seed: int) -> Iterator[Record]:
    """Yield the campaign as records of an import, in a fixed order."""
    outputs = make_demo_translations(seed)
    yield CampaignRow(_HERE, protocol=PROTOCOL, source_language="en", target_language="de", basis=BASIS, name=TITLE)
    for system in SYSTEMS:
        yield SystemRecord(_HERE, system.key, system.key, kind="human" if system.human else "mt")
    for position, document in enumerate(outputs.documents, start=1):
        yield DocumentRecord(_HERE, document.key, document.key, domain=document.domain.name, position=position)
        yield from _texts(outputs, document)


def make_demo_rater_model(campaign: str, seed: int) -> RaterModel:
    """Make the model of the demo's raters, who look for the planted errors."""
    translated = make_demo_translations(seed)
    sources = {
        (one.key, n): segment.source for one in translated.documents for n, segment in enumerate(one.segments, 1)
    }
    texts = (
        OutputForSimulation(
            system,
            document,
            position,
            translation.text,
            sources[document, position],
            tuple(map(_span, translation.mistakes)),
        )
        for (system, document), translations in translated.translations.items()
        for position, translation in enumerate(translations, start=1)
    )
    drawn = make_rater_model_template(
        CampaignForSimulation(campaign, PROTOCOL, {}, BASIS), texts, TEMPERS, seed=seed, qualities=QUALITIES
    )
    return drawn.model_copy(update={"raters": dict(TEMPERS)})


def _span(mistake: PlantedError) -> Span:
    return Span(**asdict(mistake))


def _severities(system: DemoSystem, n: int, rng: np.random.Generator) -> list[list[Severity]]:
    """Return the errors of each of n segments: the total follows the system's rates, the places are random."""
    dealt: list[list[Severity]] = [[] for _ in range(n)]
    kinds: tuple[tuple[Severity, float], ...] = (("major", system.major), ("minor", system.minor))
    for severity, rate in kinds:
        for i in rng.permutation(n)[: round(rate * n)]:
            dealt[i].append(severity)
    return dealt


def _texts(outputs: DemoOutputs, document: DemoDocument) -> Iterator[Record]:
    for position, segment in enumerate(document.segments, start=1):
        yield SegmentRow(_HERE, document.key, position, source=segment.source)
        for system in SYSTEMS:
            text = outputs.translations[system.key, document.key][position - 1].text
            yield OutputRow(_HERE, system.key, document.key, position, text)
