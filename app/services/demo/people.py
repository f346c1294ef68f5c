"""Simulated raters: they read what was planted and mark it, each with an eye and a temper of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.services.demo.mistakes import Mistake, Translation

_WORDS_BETWEEN = " "


@dataclass(frozen=True, slots=True)
class Person:
    """How a rater judges, as probabilities.

    attention: an error is seen, major ones with half the remaining chance to be missed. severity: a minor error is
    called major. mildness: a major error is called minor. taste: a sentence gets a remark on style that nobody planted.
    """

    key: str
    attention: float
    severity: float
    mildness: float
    taste: float


PEOPLE = (
    Person("rater-1", attention=0.90, severity=0.05, mildness=0.05, taste=0.05),
    Person("rater-2", attention=0.80, severity=0.02, mildness=0.15, taste=0.02),
    Person("rater-3", attention=0.95, severity=0.15, mildness=0.02, taste=0.20),
    Person("rater-4", attention=0.85, severity=0.05, mildness=0.10, taste=0.08),
    Person("rater-5", attention=0.75, severity=0.03, mildness=0.08, taste=0.03),
    Person("rater-6", attention=0.92, severity=0.10, mildness=0.04, taste=0.12),
)


def judge(person: Person, translation: Translation, rng: np.random.Generator) -> dict[str, object]:
    """The payload of one rater for one translation: spans lie on the errors."""
    errors = [_span(m, _severity(person, m, rng)) for m in translation.mistakes if _sees(person, m, rng)]
    if rng.random() < person.taste:
        errors.append(_remark(translation.text, rng))
    return {"protocol": "mqm", "errors": errors}


def _sees(person: Person, mistake: Mistake, rng: np.random.Generator) -> bool:
    missed = 1 - person.attention
    return bool(rng.random() >= (missed / 2 if mistake.severity == "major" else missed))


def _severity(person: Person, mistake: Mistake, rng: np.random.Generator) -> str:
    changed = rng.random() < (person.mildness if mistake.severity == "major" else person.severity)
    if not changed or mistake.category == "Fluency/Punctuation":
        return mistake.severity
    return "minor" if mistake.severity == "major" else "major"


def _span(mistake: Mistake, severity: str) -> dict[str, object]:
    return {
        "side": mistake.side,
        "start": mistake.start,
        "end": mistake.end,
        "severity": severity,
        "category": mistake.category,
        "omission": mistake.omission,
    }


def _remark(text: str, rng: np.random.Generator) -> dict[str, object]:
    """A word that this rater does not like."""
    words = text.split(_WORDS_BETWEEN)
    i = int(rng.integers(len(words)))
    start = sum(len(word) + 1 for word in words[:i])
    mark = Mistake("minor", "Style/Awkward", "target", start, start + len(words[i]))
    return _span(mark, "minor")
