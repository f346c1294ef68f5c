"""The form of the phrases: English sentences with two German translations each, and slots.

`{name}` is a slot; its options are (English, German) in the grammatical case that its sentences need. All sentences
were written for this project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One English sentence and two ways to say it in German."""

    english: str
    german: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Domain:
    """Sentences that make a document in this order, what fills their slots, and which slots can get lost."""

    name: str
    sentences: tuple[Sentence, ...]
    slots: Mapping[str, Options]
    omissible: frozenset[str]
