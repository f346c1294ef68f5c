"""The phrases of the demo: English sentences with slots, each with two German translations.

`{name}` is a slot; its options are (English, German) in the grammatical case that its sentences need. All sentences
were written for this project. They are in `phrases`, one file per domain.
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
    """An English sentence and two German translations of it."""

    english: str
    german: tuple[str, str]


@dataclass(frozen=True, slots=True)
class DomainGrammar:
    """Sentences that make a document in this order, the options for their slots, and the slots that can be left out."""

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
"""Words that a translator would not use here, by the usual term: understandable, but the wrong term."""
