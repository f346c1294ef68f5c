"""The plural form that a whole number takes in a language, as CLDR names it.

Source: Unicode CLDR, plural rules of cardinal numbers, for whole numbers.
"""

from __future__ import annotations

MILLION = 1_000_000


def english_or_german_plural_form(n: int) -> str:
    """Return the form in English and German.

    >>> [english_or_german_plural_form(n) for n in (0, 1, 2)]
    ['other', 'one', 'other']
    """
    return "one" if n == 1 else "other"


def chinese_or_japanese_plural_form(n: int) -> str:  # noqa: ARG001  (one signature for all)
    """Return the form in Chinese and Japanese, which have only one."""
    return "other"


def hindi_plural_form(n: int) -> str:
    """Return the form in Hindi, where zero takes the same form as one.

    >>> [hindi_plural_form(n) for n in (0, 1, 2)]
    ['one', 'one', 'other']
    """
    return "one" if n in (0, 1) else "other"


def french_plural_form(n: int) -> str:
    """Return the form in French: zero takes the same form as one, and whole millions have their own.

    >>> [french_plural_form(n) for n in (0, 1, 2, 1_000_000)]
    ['one', 'one', 'other', 'many']
    """
    return "one" if n in (0, 1) else "many" if n % MILLION == 0 else "other"


def spanish_plural_form(n: int) -> str:
    """Return the form in Spanish, where whole millions have their own.

    >>> [spanish_plural_form(n) for n in (0, 1, 2, 1_000_000)]
    ['other', 'one', 'other', 'many']
    """
    return "one" if n == 1 else "many" if n and n % MILLION == 0 else "other"


def czech_plural_form(n: int) -> str:
    """Return the form in Czech, where two to four have their own.

    >>> [czech_plural_form(n) for n in (0, 1, 2, 4, 5, 22)]
    ['other', 'one', 'few', 'few', 'other', 'other']
    """
    return "one" if n == 1 else "few" if n in (2, 3, 4) else "other"


def arabic_plural_form(n: int) -> str:
    """Return the form in Arabic, which has six.

    >>> [arabic_plural_form(n) for n in (0, 1, 2, 3, 10, 11, 99, 100, 103)]
    ['zero', 'one', 'two', 'few', 'few', 'many', 'many', 'other', 'few']
    """
    if n in (0, 1, 2):
        return ("zero", "one", "two")[n]
    rest = n % 100
    return "few" if 3 <= rest <= 10 else "many" if rest >= 11 else "other"
