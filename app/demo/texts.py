"""Documents and their translations, made from the phrase grammar as pieces in which errors can be planted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from app.demo.grammar import DOMAINS, DomainGrammar, SentenceTemplate

FEWEST_SEGMENTS, MOST_SEGMENTS = 5, 9
_PIECE = re.compile(r"\{(\w+)\}|(\w+)|(\s+)|([^\w\s{])")

T = TypeVar("T")
Filling = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class TranslationPiece:
    """A word, white space, a punctuation mark, or the German filling of a slot (with the slot's name)."""

    text: str
    is_word: bool = False
    slot: str | None = None


@dataclass(frozen=True, slots=True)
class DemoSegment:
    """A source sentence. filling: the (English, German) words in its slots, by the slot's name."""

    source: str
    sentence: SentenceTemplate
    filling: Filling

    def make_translation_pieces(self, variant: int) -> list[TranslationPiece]:
        """Return one of the two German translations, without errors, as pieces."""
        return _split_template(self.sentence.german[variant], self.filling)


@dataclass(frozen=True, slots=True)
class DemoDocument:
    """A document of one domain. All its segments fill their slots with the same words."""

    key: str
    domain: DomainGrammar
    segments: tuple[DemoSegment, ...]


def make_demo_documents(n: int, rng: np.random.Generator) -> list[DemoDocument]:
    """Make `n` documents of 5 to 9 segments, taking the domains in turn."""
    texts = []
    for i in range(n):
        domain = DOMAINS[i % len(DOMAINS)]
        filling = {name: choose_random_option(rng, options) for name, options in domain.slots.items()}
        length = int(rng.integers(FEWEST_SEGMENTS, MOST_SEGMENTS + 1))
        chosen = sorted(rng.choice(len(domain.sentences), size=length, replace=False))
        segments = tuple(_segment(domain.sentences[j], filling) for j in chosen)
        texts.append(DemoDocument(f"{domain.name}-{i // len(DOMAINS) + 1:02}", domain, segments))
    return texts


def choose_random_option(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Return one of the options at random, all with the same probability."""
    return options[int(rng.integers(len(options)))]


def _segment(sentence: SentenceTemplate, filling: Filling) -> DemoSegment:
    english = sentence.english.format_map({name: pair[0] for name, pair in filling.items()})
    return DemoSegment(english, sentence, filling)


def _split_template(template: str, filling: Filling) -> list[TranslationPiece]:
    pieces = []
    for match in _PIECE.finditer(template):
        slot, word, _, _ = match.groups()
        if slot is not None:
            pieces.append(TranslationPiece(filling[slot][1], slot=slot))
        else:
            pieces.append(TranslationPiece(match[0], is_word=word is not None))
    return pieces
