"""The messages of pages, in the reader's language. English text names a message; catalogues hold the translations.

Each page has a catalogue of its own, `static/messages/LANGUAGE/PAGE.json`, such as `manager/overview.json`. Messages
that the pages of a folder share are in a file beside the folder (`manager.json`), and those of all pages in
`all.json`. The nearest catalogue wins, so two pages can translate one English word differently. If it means two things
on one page, a suffix after a bar tells them apart (`Rank|by a recipe`); pages never show it. A message that is in no
catalogue appears in English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from fastapi import Request
from markupsafe import Markup

from app.ui import plurals

CATALOGUES = Path(__file__).parent / "static" / "messages"
ENGLISH = "en"
ALL = "all"
RATER = "rater"
WITH_WIDGETS = frozenset(
    {
        "archive/document",
        "manager/preview",
        "manager/protocol",
        "manager/qualification",
        "manager/questionnaires",
        "manager/tutorial",
    }
)
"""Pages that show raters' widgets, or answers given with them; they also use the catalogue of raters' pages."""
OF_MANAGERS = ("manager/", "archive/")
"""Folders of pages that exist only in the managers' languages."""
REFUSALS = "manager/refusals"
"""The catalogue of the interface's error messages. It belongs to no page; pages fetch it after the first refusal."""
COOKIE = "language"
PLACE = re.compile(r"\{(\w+)\}")
NUMBER = re.compile(r"(?<![\w.,])(?<!\w-)(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?![.,]*+\d|\w)")
FIRST_WORD = re.compile(r"[a-z]+'?(?=[ ,;:])")
CODE = re.compile(r"`([^`]++)`")
FIGURES = re.compile(r"[\d\s.,;()\[\]–−<>≤≥±%*/+-]+")
Entry = str | Mapping[str, str]
"""A translation: one text, or one text per plural form for a message that counts something."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the pages.

    name: its own name for itself. form: the plural form of a whole number, as CLDR names it. thousands, decimal:
    separators in numbers. managers: managers' pages are available in it, too. right_to_left: the writing direction.
    """

    name: str
    form: Callable[[int], str]
    thousands: str
    decimal: str
    managers: bool = False
    right_to_left: bool = False


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        ENGLISH: Language("English", plurals.english_or_german_plural_form, ",", ".", managers=True),
        "de": Language("Deutsch", plurals.english_or_german_plural_form, ".", ",", managers=True),
        "fr": Language("Français", plurals.french_plural_form, "\u202f", ","),
        "es": Language("Español", plurals.spanish_plural_form, ".", ","),
        "cs": Language("Čeština", plurals.czech_plural_form, "\u00a0", ","),
        "zh": Language("中文", plurals.chinese_or_japanese_plural_form, ",", "."),
        "ja": Language("日本語", plurals.chinese_or_japanese_plural_form, ",", "."),
        "ar": Language("العربية", plurals.arabic_plural_form, ",", ".", right_to_left=True),
        "hi": Language("हिन्दी", plurals.hindi_plural_form, ",", "."),
    }
)
NAMES: Mapping[str, str] = MappingProxyType({code: one.name for code, one in LANGUAGES.items()})
MANAGERS_NAMES: Mapping[str, str] = MappingProxyType(
    {code: one.name for code, one in LANGUAGES.items() if one.managers}
)
"""The languages of managers' pages."""


def list_page_languages(page: str) -> Mapping[str, str]:
    """Return the languages that a page is offered in, with their names. page: its template's name without ending."""
    return MANAGERS_NAMES if page.startswith(OF_MANAGERS) else NAMES


def choose_request_language(request: Request, offered: Mapping[str, str] = MANAGERS_NAMES) -> str:
    """Return the reader's choice (`?lang=`, stored in a cookie), or else the browser's preference, or else English."""
    for chosen in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if chosen is not None and chosen in offered:
            return chosen
    return preferred_language(request.headers.get("accept-language", ""), tuple(offered)) or ENGLISH


def preferred_language(header: str, offered: tuple[str, ...]) -> str | None:
    """Return the offered language that an Accept-Language header ranks highest; None if it names none of them.

    >>> preferred_language("fr, de-AT;q=0.8, en;q=0.5", ("en", "de"))
    'de'
    """
    asked = []
    for n, part in enumerate(header.split(",")[:20]):
        tag, _, quality = part.strip().partition(";q=")
        asked.append((-_weight(quality), n, tag.strip().lower()))
    plain = {one.lower(): one for one in offered}
    for weight, _, tag in sorted(asked):
        language = plain.get(tag) or plain.get(tag.split("-")[0])
        if weight < 0 and language is not None:
            return language
    return None


def mark_translatable(text: str) -> str:
    """Mark a text as a message that a page will show, so that a test can compare it with the catalogues."""
    return text


@dataclass(frozen=True, slots=True)
class PageMessages:
    """The messages of a page in one language."""

    language: str
    known: Mapping[str, Entry]

    def translate(self, message: str, **values: object) -> str:
        """Translate a message, and replace each `{name}` by its value."""
        entry = self.known.get(message, message.partition("|")[0])
        return fill_placeholders(entry if isinstance(entry, str) else entry["other"], values)

    def translate_count(self, n: int, singular: str, many: str, **values: object) -> str:
        """Return the message for a number of things, and replace `{n}` by the number.

        The two English texts name the message. A language with other plural forms has its entry under the second.
        """
        form = LANGUAGES[self.language].form(n)
        entry = self.known.get(many)
        if entry is None or isinstance(entry, str):
            text = self.translate(singular if form == "one" else many)
        else:
            text = entry.get(form, entry["other"])
        return fill_placeholders(text, {"n": self.format_whole_number(n), **values})

    def is_left_in_english(self, text: str) -> bool:
        """Return whether a text of the services stays in English on a page in another language."""
        return self.language != ENGLISH and text not in self.known

    def translate_service_text(self, text: str) -> Markup:
        """Translate an English text of the services if the catalogue has it; otherwise mark it as English."""
        if self.is_left_in_english(text):
            return Markup('<span lang="en">{}</span>').format(text)
        return Markup("{}").format(self.translate(text) if text in self.known else text)

    def render_as_sentence(self, text: str, names: Collection[str] = ()) -> Markup:
        """Show a warning of the services as a sentence: capitalized, with code spans. names: keys that keep their case.

        >>> words = PageMessages("en", {})
        >>> str(words.render_as_sentence("few documents: set `margin`")), str(words.render_as_sentence("a: few", ["a"]))
        ('Few documents: set <code>margin</code>', 'a: few')
        """
        first = FIRST_WORD.match(shown := self.translate(text) if text in self.known else text)
        if first and first[0] not in names:
            shown = shown[0].upper() + shown[1:]
        sentence = render_code_spans(shown)
        return Markup('<span lang="en">{}</span>').format(sentence) if self.is_left_in_english(text) else sentence

    def translate_cell(self, cell: str) -> Markup:
        """Localize a table cell of the services: numbers by the language's separators, words as texts of services.

        >>> cells = ("[0.12, 1,234.50]", "1.5 (2)", "2026-11-20", "1.0.2")
        >>> [str(PageMessages("de", {}).translate_cell(cell)) for cell in cells]
        ['[0,12; 1.234,50]', '1,5 (2)', '2026-11-20', '1.0.2']
        """
        if self.language == ENGLISH or cell in self.known:
            return self.translate_service_text(cell)
        text = self._marked(cell)
        return self.translate_service_text(text) if any(map(str.isalpha, text)) else Markup("{}").format(text)

    def _marked(self, cell: str) -> str:
        """Return a cell whose numbers have the language's separators, with semicolons between numbers."""
        marks = str.maketrans(",.", LANGUAGES[self.language].thousands + LANGUAGES[self.language].decimal)
        text = cell.replace(", ", "; ") if FIGURES.fullmatch(cell) else cell
        return NUMBER.sub(lambda found: found[0].translate(marks), text)

    def format_whole_number(self, n: int) -> str:
        """Format a whole number.

        >>> PageMessages("de", {}).format_whole_number(7406), PageMessages("en", {}).format_whole_number(7406)
        ('7.406', '7,406')
        """
        return f"{n:,}".replace(",", LANGUAGES[self.language].thousands)


def render_code_spans(text: str) -> Markup:
    """Return a text as HTML, with the parts between backticks as code.

    >>> str(render_code_spans("a < b: `plumbline audit`"))
    'a &lt; b: <code>plumbline audit</code>'
    """
    parts = CODE.split(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


@cache
def load_page_messages(language: str, page: str = ALL) -> PageMessages:
    """Load the messages of a page in a language. page: its template's name without the ending."""
    return PageMessages(language, load_catalogue(language, page))


@cache
def load_catalogue(language: str, page: str = ALL) -> Mapping[str, Entry]:
    """Load the translations of a page's messages by their English text; empty for English itself."""
    entries: dict[str, Entry] = {}
    if language != ENGLISH and language in NAMES:
        for place in _places(page):
            path = CATALOGUES / language / f"{place}.json"
            if path.exists():
                entries |= json.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType(entries)


@cache
def list_served_catalogues() -> Mapping[str, tuple[str, str]]:
    """Return language and page of each file that modules fetch, by file name. A file holds all messages of a page."""
    files = {}
    for language in NAMES:
        folder = CATALOGUES / language
        for path in sorted(folder.rglob("*.json")):
            page = path.relative_to(folder).with_suffix("").as_posix()
            files[_file(language, page)] = (language, page)
    return files


def catalogue_file_name(language: str, page: str) -> str | None:
    """Return the name of the file that a page's modules fetch; None if the page is in English."""
    if language == ENGLISH:
        return None
    names = (_file(language, place) for place in reversed(_places(page)))
    return next(name for name in names if name in list_served_catalogues())


def _places(page: str) -> tuple[str, ...]:
    """Return the catalogues of a page, from the most general to the nearest.

    >>> _places("manager/overview")
    ('all', 'manager', 'manager/overview')
    """
    parts = page.split("/")
    own = tuple("/".join(parts[:n]) for n in range(1, len(parts) + 1))
    if own[0] == ALL or page == REFUSALS:
        return (page,)
    return (ALL, RATER, *own) if page in WITH_WIDGETS else (ALL, *own)


def _file(language: str, place: str) -> str:
    return f"messages/{language}/{place}.json"


def fill_placeholders(text: str, values: Mapping[str, object]) -> str:
    """Replace each `{name}` in a text by its value; a placeholder without a value stays.

    >>> fill_placeholders("{n} of {all}", {"n": 3})
    '3 of {all}'
    """
    return PLACE.sub(lambda found: str(values.get(found[1], found[0])), text)


def _weight(quality: str) -> float:
    try:
        return float(quality) if quality else 1.0
    except ValueError:
        return 0.0
