"""The interface's error messages in the language of a page, found by pattern because they contain numbers and names.

The catalogue lists the patterns by their English text, such as `must be from {1} to {2}`. JavaScript modules find them
in the same way, and fetch the catalogue at the first refusal (`static/shared/messages.js`).
"""

from __future__ import annotations

import re
from functools import cache

from markupsafe import Markup

from app.ui.messages import PLACE, REFUSALS, PageMessages, fill_placeholders, load_catalogue, render_code_spans

NUMBER = re.compile(r"\d{1,3}(?:,\d{3})*|\d+")
ENGLISH = re.compile(r"[a-z]{2} [a-z0-9]")
DEEPEST = 3
"""How deep the values inside a message are looked up themselves."""
LONGEST = 1_000
"""The most characters that are looked up: to compare a longer message with every pattern could take seconds."""

Pattern = tuple[re.Pattern[str], str]


@cache
def load_error_message_patterns(language: str) -> tuple[Pattern, ...]:
    """Return the patterns of a language; those with the most literal text come first."""
    entries = load_catalogue(language, REFUSALS)
    ordered = sorted(entries, key=lambda message: (-len(PLACE.sub("", message)), message))
    return tuple((_compile(message), str(entries[message])) for message in ordered)


def _compile(message: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in PLACE.sub("\0", message).split("\0"))
    return re.compile("(.+?)".join(parts), re.DOTALL)


def translate_error_message(messages: PageMessages, message: str, *, depth: int = 0) -> str | None:
    """Translate a message; None if the catalogue has no pattern for it, or if it is too long.

    A pattern is not used if one of its values reads as English and is in no catalogue: half a sentence is no help.
    """
    if depth == DEEPEST or len(message) > LONGEST:
        return None
    if message in messages.known:
        return messages.translate(message)
    for pattern, text in load_error_message_patterns(messages.language):
        if match := pattern.fullmatch(message):
            values = [_value(messages, value, depth + 1) for value in match.groups()]
            if None not in values:
                return fill_placeholders(text, {str(n): value for n, value in enumerate(values, 1)})
    return None


def render_error_message_sentence(messages: PageMessages, message: str) -> Markup:
    """Show an error message as a sentence. Without a translation, the message stays as it is, marked as English."""
    text = translate_error_message(messages, message)
    return messages.render_as_sentence(message) if text is None else render_code_spans(text[:1].upper() + text[1:])


def _value(messages: PageMessages, value: str, depth: int) -> str | None:
    if NUMBER.fullmatch(value):
        return str(messages.translate_cell(value))
    said = translate_error_message(messages, value, depth=depth)
    return value if said is None and not ENGLISH.search(value) else said
