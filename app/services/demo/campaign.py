"""The demo campaign as records: eight systems of known quality, twenty-four documents, six raters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from app.formats._base import (
    At,
    CampaignRow,
    DocumentRow,
    JudgmentRow,
    OutputRow,
    RaterRow,
    Record,
    SegmentRow,
    SystemRow,
)
from app.services.demo.mistakes import Severity, Translation, plant
from app.services.demo.people import PEOPLE, Person, judge
from app.services.demo.texts import Document, documents

TITLE = "Demo: German from English, three domains"
N_DOCUMENTS = 24
TWICE_EVERY = 6  # every sixth document is judged by a second rater, so that agreement can be seen
_START = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
_HERE = At("demo", 0)


@dataclass(frozen=True, slots=True)
class DemoSystem:
    """A system and its planted errors a segment."""

    key: str
    major: float
    minor: float
    human: bool = False


# Best first. Neighbours of 2 and 3, 4 and 5, and 6 and 7 are close, so that clusters hold more than one system.
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


@dataclass(frozen=True, slots=True)
class Outputs:
    """Every system's translations by (system, document): one a segment."""

    documents: tuple[Document, ...]
    translations: dict[tuple[str, str], tuple[Translation, ...]]


def translate(seed: int) -> Outputs:
    """Documents and translations with their planted errors; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    made = tuple(documents(N_DOCUMENTS, rng))
    n_segments = sum(len(document.segments) for document in made)
    translations: dict[tuple[str, str], tuple[Translation, ...]] = {}
    for system in SYSTEMS:
        severities = iter(_severities(system, n_segments, rng))
        for document in made:
            translations[system.key, document.key] = tuple(
                plant(segment, document.domain, int(rng.integers(2)), next(severities), rng)
                for segment in document.segments
            )
    return Outputs(made, translations)


def records(seed: int) -> Iterator[Record]:
    """The campaign as records of an import, in a fixed order."""
    outputs = translate(seed)
    yield CampaignRow(_HERE, protocol="mqm", source_language="en", target_language="de", basis="source", name=TITLE)
    for system in SYSTEMS:
        yield SystemRow(_HERE, system.key, system.key, kind="human" if system.human else "mt")
    for person in PEOPLE:
        yield RaterRow(_HERE, person.key, person.key)
    for position, document in enumerate(outputs.documents, start=1):
        yield DocumentRow(_HERE, document.key, document.key, domain=document.domain.name, position=position)
        yield from _texts(outputs, document)
    yield from _judgments(outputs, np.random.default_rng([seed, 1]))


def _severities(system: DemoSystem, n: int, rng: np.random.Generator) -> list[list[Severity]]:
    """The errors of each of n segments: as many in all as the system's rates say, dealt at random."""
    dealt: list[list[Severity]] = [[] for _ in range(n)]
    kinds: tuple[tuple[Severity, float], ...] = (("major", system.major), ("minor", system.minor))
    for severity, rate in kinds:
        for i in rng.permutation(n)[: round(rate * n)]:
            dealt[i].append(severity)
    return dealt


def _texts(outputs: Outputs, document: Document) -> Iterator[Record]:
    for position, segment in enumerate(document.segments, start=1):
        yield SegmentRow(_HERE, document.key, position, source=segment.source)
        for system in SYSTEMS:
            text = outputs.translations[system.key, document.key][position - 1].text
            yield OutputRow(_HERE, system.key, document.key, position, text)


def _judgments(outputs: Outputs, rng: np.random.Generator) -> Iterator[JudgmentRow]:
    """All systems of a document go to the same rater (pSxS), in an order drawn for each."""
    at = _START
    for i, document in enumerate(outputs.documents):
        people = [PEOPLE[i % len(PEOPLE)]]
        if i % TWICE_EVERY == 0:
            people.append(PEOPLE[(i + 1 + i // TWICE_EVERY) % len(PEOPLE)])
        for person in people:
            for row in _task(outputs, document, person, at, rng):
                yield row
                at = row.submitted_at or at
            at += timedelta(minutes=10)


def _task(
    outputs: Outputs, document: Document, person: Person, at: datetime, rng: np.random.Generator
) -> Iterator[JudgmentRow]:
    for item_position, s in enumerate(rng.permutation(len(SYSTEMS)), start=1):
        system = SYSTEMS[s].key
        for position, translation in enumerate(outputs.translations[system, document.key], start=1):
            started, at = at, at + timedelta(seconds=int(rng.integers(15, 75)))
            yield JudgmentRow(
                _HERE,
                task=f"{document.key}.{person.key}",
                item=f"{system}:{document.key}",
                systems=(system,),
                document=document.key,
                position=position,
                rater=person.key,
                payload=judge(person, translation, rng),
                item_position=item_position,
                started_at=started,
                submitted_at=at,
            )
