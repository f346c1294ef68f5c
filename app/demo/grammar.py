"""The phrases of the demo: English sentences with two German translations each, and slots.

`{name}` is a slot; its options are (English, German) in the grammatical case that its sentences need. All sentences
were written for this project and stand in `phrases`, a file for each domain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SentenceTemplate:
    """One English sentence and two ways to say it in German."""

    english: str
    german: tuple[str, str]


@dataclass(frozen=True, slots=True)
class DomainGrammar:
    """Sentences that make a document in this order, what fills their slots, and which slots can get lost."""

    name: str
    sentences: tuple[SentenceTemplate, ...]
    slots: Mapping[str, Options]
    omissible: frozenset[str]


def _read(name: str) -> Any:
    return json.loads(resources.files("app.demo").joinpath("phrases", f"{name}.json").read_text(encoding="utf-8"))


def _domain(name: str) -> DomainGrammar:
    phrases = _read(name)
    return DomainGrammar(
        name,
        tuple(SentenceTemplate(sentence["english"], tuple(sentence["german"])) for sentence in phrases["sentences"]),
        {slot: tuple(map(tuple, options)) for slot, options in phrases["slots"].items()},
        frozenset(phrases["omissible"]),
    )


DOMAINS = tuple(map(_domain, ("news", "travel", "support")))
POOR_TERMS: Mapping[str, str] = _read("poor_terms")
"""Words that a translator would not use here, by the usual term: understandable, but not the term."""
