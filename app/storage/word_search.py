"""Search by words in any case, as Python folds case, whatever the locale of the database is.

What `lower` and `ILIKE` do follows the locale: in that of the embedded database only A to Z have two cases, and which
other collations there are depends on version and machine. So each word becomes a regular expression that names both
forms of each letter.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

_LAST = 0x1F000  # no letter beyond has two cases
_LONGEST = 3  # letters that one letter is folded to


def make_word_pattern(word: str, *, in_json: bool = False) -> str:
    """The regular expression of Postgres that finds a word in any case.

    in_json: in JSON text that names all letters but those of ASCII by their numbers.

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
    """The query for rows in which each word is a part of one of the columns, in any case."""
    for word in words:
        query = query.where(make_word_condition(columns, word))
    return query


def make_word_condition(columns: Sequence[sa.ColumnElement[Any]], word: str) -> sa.ColumnElement[bool]:
    """Whether a word is a part of one of the columns, in any case."""
    pattern = make_word_pattern(word)
    return sa.or_(*(column.regexp_match(pattern) for column in columns))


def join_word_conditions(searched: str, words: Sequence[str]) -> str:
    """Conditions that each word is a part of a text, in any case; each with AND before it.

    searched: an expression. The values are `make_word_condition_values`.
    """
    return "".join(f" AND {searched} ~ :word{n}" for n in range(len(words)))


def make_word_condition_values(words: Sequence[str]) -> dict[str, object]:
    """The values of `join_word_conditions`."""
    return {f"word{n}": make_word_pattern(word) for n, word in enumerate(words)}


def _write_any_of(letters: set[str], in_json: bool) -> str:
    """An expression for each of some forms of a letter."""
    forms = [json.dumps(form)[1:-1] if in_json else form for form in sorted(letters)]
    if len(forms) > 1 and all(len(form) == 1 for form in forms):
        return f"[{''.join(forms)}]"
    plain = ["".join(map(_escape, form)) for form in forms]
    return plain[0] if len(plain) == 1 else f"(?:{'|'.join(plain)})"


def _escape(sign: str) -> str:
    return f"\\{sign}" if sign.isascii() and not sign.isalnum() else sign


@cache
def _case_forms() -> Mapping[str, Sequence[str]]:
    """The letters that are folded to something else, by what they are folded to: one letter, or up to three."""
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for letter in map(chr, range(_LAST)):
        folded = letter.casefold()
        if folded != letter:
            forms[folded].append(letter)
    return dict(forms)
