"""Search for words, ignoring case as Python's case folding does, whatever the locale of the database.

`lower` and `ILIKE` depend on the locale. In that of the embedded database, only A to Z have two cases, and the other
available collations depend on version and machine. So each word becomes a regular expression with both forms of each
letter.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

_LAST = 0x1F000  # no letter beyond this one has two cases
_LONGEST = 3  # the most letters to which one letter is folded


def make_word_pattern(word: str, *, in_json: bool = False) -> str:
    """Return the Postgres regular expression that finds a word, ignoring case.

    in_json: for JSON text in which all letters outside ASCII are escaped by number.

    >>> make_word_pattern("a.b"), make_word_pattern("Été"), make_word_pattern("groß")
    ('[Aa]\\\\.[Bb]', '[Éé][Tt][Éé]', '[Gg][Rr][Oo](?:[Ssſ][Ssſ]|[ßẞ])')
    >>> make_word_pattern("é!", in_json=True)
    '(?:\\\\\\\\u00c9|\\\\\\\\u00e9)\\\\!'
    """
    folded, at, parts = word.casefold(), 0, []
    while at < len(folded):
        most = min(_LONGEST, len(folded) - at)
        length = next((n for n in range(most, 1, -1) if folded[at : at + n] in _case_forms()), 1)
        piece = folded[at : at + length]
        letters = "".join(_write_any_of({letter, *_case_forms().get(letter, ())}, in_json) for letter in piece)
        parts.append(letters if length == 1 else f"(?:{letters}|{_write_any_of(set(_case_forms()[piece]), in_json)})")
        at += length
    return "".join(parts)


def filter_by_words(
    query: sa.Select[Any], columns: Sequence[sa.ColumnElement[Any]], words: Sequence[str]
) -> sa.Select[Any]:
    """Filter a query to rows in which each word is a part of one of the columns, ignoring case."""
    for word in words:
        query = query.where(make_word_condition(columns, word))
    return query


def make_word_condition(columns: Sequence[sa.ColumnElement[Any]], word: str) -> sa.ColumnElement[bool]:
    """Return the condition that a word is a part of one of the columns, ignoring case."""
    pattern = make_word_pattern(word)
    return sa.or_(*(column.regexp_match(pattern) for column in columns))


def join_conditions_per_word(searched: str, words: Sequence[str]) -> str:
    """Return the conditions that each word is a part of a text, ignoring case; AND precedes each.

    searched: an SQL expression. `make_word_condition_values` gives the parameters.
    """
    return "".join(f" AND {searched} ~ :word{n}" for n in range(len(words)))


def make_word_condition_values(words: Sequence[str]) -> dict[str, object]:
    """Return the parameters for `join_conditions_per_word`."""
    return {f"word{n}": make_word_pattern(word) for n, word in enumerate(words)}


def _write_any_of(letters: set[str], in_json: bool) -> str:
    """Return an expression that matches any of some forms of a letter."""
    forms = [json.dumps(form)[1:-1] if in_json else form for form in sorted(letters)]
    if len(forms) > 1 and all(len(form) == 1 for form in forms):
        return f"[{''.join(forms)}]"
    plain = ["".join(map(_escape, form)) for form in forms]
    return plain[0] if len(plain) == 1 else f"(?:{'|'.join(plain)})"


def _escape(sign: str) -> str:
    return f"\\{sign}" if sign.isascii() and not sign.isalnum() else sign


@cache
def _case_forms() -> Mapping[str, Sequence[str]]:
    """Map the results of case folding (one to three letters) to the letters that are folded to them."""
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for letter in map(chr, range(_LAST)):
        folded = letter.casefold()
        if folded != letter:
            forms[folded].append(letter)
    return dict(forms)
