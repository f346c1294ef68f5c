"""How a campaign's raters see texts, and where they can comment: settings that do not change what is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from app.domain.errors import Place
from app.domain.glossary import GlossaryTerm

SLIDER_COLORS = "slider_colors"
FLAGS = ("markup", SLIDER_COLORS, "output_comments", "screen_comments")
GLOSSARY = "glossary"
MOST_TERMS, LONGEST_TERM = 1000, 200


@dataclass(frozen=True, slots=True)
class DisplaySettings:
    """How texts are shown. markup: texts are shown with their light markup; otherwise as stored, including tags.

    slider_colors: sliders show how their values compare with those of the other columns. glossary: terms that are
    highlighted in sources. output_comments, screen_comments: raters can comment on each output, on each screen.
    """

    markup: bool = False
    slider_colors: bool = False
    glossary: tuple[GlossaryTerm, ...] = ()
    output_comments: bool = False
    screen_comments: bool = False


AS_STORED = DisplaySettings()


def list_display_setting_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the place of each setting that cannot be used. None means that it is not set."""
    for name in FLAGS:
        if not isinstance(settings.get(name), bool | None):
            yield Place(("settings", name), "must be true, false or null")
    terms = settings.get(GLOSSARY)
    if terms is None:
        return
    if not isinstance(terms, list | tuple) or len(terms) > MOST_TERMS:
        yield Place(("settings", GLOSSARY), f"must be a list of at most {MOST_TERMS:,} terms, or null")
        return
    for n, entry in enumerate(terms):
        if not _is_term(entry):
            why = f"must be an object of term and translation, each a text of 1 to {LONGEST_TERM} characters"
            yield Place(("settings", GLOSSARY, n), why)


def get_display_settings(settings: Mapping[str, object]) -> DisplaySettings:
    """Return a campaign's settings for showing texts."""
    terms = settings.get(GLOSSARY)
    return DisplaySettings(
        markup=settings.get("markup") is True,
        slider_colors=settings.get(SLIDER_COLORS) is True,
        glossary=tuple(
            GlossaryTerm(str(entry["term"]).strip(), str(entry["translation"]).strip())
            for entry in (terms if isinstance(terms, list | tuple) else ())
            if _is_term(entry)
        ),
        output_comments=settings.get("output_comments") is True,
        screen_comments=settings.get("screen_comments") is True,
    )


def _is_term(entry: object) -> TypeGuard[Mapping[str, str]]:
    return (
        isinstance(entry, Mapping)
        and set(entry) == {"term", "translation"}
        and all(isinstance(text, str) and 1 <= len(text.strip()) <= LONGEST_TERM for text in entry.values())
    )
