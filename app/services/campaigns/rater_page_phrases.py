"""Phrases of the raters' pages that a campaign replaces with its own wording: `settings.phrases`, by language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from app.domain.errors import Place

NAME = "phrases"
MOST_LANGUAGES, MOST_PHRASES, LONGEST, QUOTED = 20, 500, 2000, 80
LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?")
PLACE = re.compile(r"\{\w+\}")


def list_phrase_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the place of each phrase that a page could not use. The setting may be missing or null."""
    given = settings.get(NAME)
    if given is None:
        return
    if not isinstance(given, Mapping) or len(given) > MOST_LANGUAGES:
        yield Place(("settings", NAME), f"must be an object of at most {MOST_LANGUAGES} languages, or null")
        return
    for language, phrases in given.items():
        place = ("settings", NAME, language)
        if not LANGUAGE.fullmatch(language):
            yield Place(place, "must be a language code such as de")
        elif not isinstance(phrases, Mapping) or len(phrases) > MOST_PHRASES:
            yield Place(place, f"must be an object of at most {MOST_PHRASES} phrases")
        else:
            faults = ((message, _fault(message, text)) for message, text in phrases.items())
            # A phrase is not a name, so the problem quotes it instead of using it as a place.
            yield from (Place(place, f"“{message[:QUOTED]}” {why}") for message, why in faults if why)


def _fault(message: str, text: object) -> str | None:
    if len(message) > LONGEST:
        return f"must be a phrase of the pages, of at most {LONGEST} characters"
    if not isinstance(text, str) or not 1 <= len(text.strip()) <= LONGEST or "\0" in text:
        return f"must be a text of 1 to {LONGEST} characters"
    needed, there = (sorted(set(PLACE.findall(one))) for one in (message, text))
    if needed != there:
        return f"must have the same places for values: {', '.join(needed) or 'none'}"
    return None


def get_custom_phrases(settings: Mapping[str, object], language: str) -> Mapping[str, str]:
    """Return the campaign's own phrases in a language, by their English text."""
    given = settings.get(NAME)
    phrases = given.get(language) if isinstance(given, Mapping) else None
    if not isinstance(phrases, Mapping):
        return {}
    return {message: text for message, text in phrases.items() if isinstance(text, str)}
