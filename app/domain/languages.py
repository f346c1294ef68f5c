"""Facts about languages: the scripts in which they are written, and whether spaces separate words.

Codes have the form that campaigns use: `de`, `zh-Hans`, `en_US`. Sources: ISO 639, ISO 15924, and the script names in
Unicode's character names.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

LATIN = frozenset({"LATIN"})
_SCRIPTS: dict[str, frozenset[str]] = {
    "am": frozenset({"ETHIOPIC"}),
    "ar": frozenset({"ARABIC"}),
    "arz": frozenset({"ARABIC"}),
    "as": frozenset({"BENGALI"}),
    "be": frozenset({"CYRILLIC"}),
    "bg": frozenset({"CYRILLIC"}),
    "bho": frozenset({"DEVANAGARI"}),
    "bn": frozenset({"BENGALI"}),
    "bo": frozenset({"TIBETAN"}),
    "ckb": frozenset({"ARABIC"}),
    "el": frozenset({"GREEK"}),
    "fa": frozenset({"ARABIC"}),
    "gu": frozenset({"GUJARATI"}),
    "he": frozenset({"HEBREW"}),
    "hi": frozenset({"DEVANAGARI"}),
    "hy": frozenset({"ARMENIAN"}),
    "ja": frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    "ka": frozenset({"GEORGIAN"}),
    "kk": frozenset({"CYRILLIC", "LATIN"}),
    "km": frozenset({"KHMER"}),
    "kn": frozenset({"KANNADA"}),
    "ko": frozenset({"HANGUL", "CJK"}),
    "ky": frozenset({"CYRILLIC"}),
    "lo": frozenset({"LAO"}),
    "mk": frozenset({"CYRILLIC"}),
    "ml": frozenset({"MALAYALAM"}),
    "mn": frozenset({"CYRILLIC", "MONGOLIAN"}),
    "mr": frozenset({"DEVANAGARI"}),
    "my": frozenset({"MYANMAR"}),
    "ne": frozenset({"DEVANAGARI"}),
    "or": frozenset({"ORIYA"}),
    "pa": frozenset({"GURMUKHI", "ARABIC"}),
    "ps": frozenset({"ARABIC"}),
    "ru": frozenset({"CYRILLIC"}),
    "sa": frozenset({"DEVANAGARI"}),
    "sd": frozenset({"ARABIC", "DEVANAGARI"}),
    "si": frozenset({"SINHALA"}),
    "sr": frozenset({"CYRILLIC", "LATIN"}),
    "ta": frozenset({"TAMIL"}),
    "te": frozenset({"TELUGU"}),
    "tg": frozenset({"CYRILLIC"}),
    "th": frozenset({"THAI"}),
    "ti": frozenset({"ETHIOPIC"}),
    "ug": frozenset({"ARABIC"}),
    "uk": frozenset({"CYRILLIC"}),
    "ur": frozenset({"ARABIC"}),
    "uz": frozenset({"LATIN", "CYRILLIC"}),
    "yi": frozenset({"HEBREW"}),
    "yue": frozenset({"CJK"}),
    "zh": frozenset({"CJK"}),
}
_BY_SUBTAG: dict[str, frozenset[str]] = {
    "arab": frozenset({"ARABIC"}),
    "beng": frozenset({"BENGALI"}),
    "cyrl": frozenset({"CYRILLIC"}),
    "deva": frozenset({"DEVANAGARI"}),
    "hans": frozenset({"CJK"}),
    "hant": frozenset({"CJK"}),
    "jpan": frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    "latn": LATIN,
}
# Written without spaces between words, so that word counts mean little: Unicode, annex 29, section 4.
_UNSPACED = frozenset({"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"})

_WRITTEN_IN_LATIN = (
    "af ast az bm bs ca ceb cs cy da de en eo es et eu ff fi fil fr ga gl gn ha hr ht hu id ig is it jv ku lb lg ln lt "
    "lv mg mi ms mt nb nl nn no nso ny oc om pl pt qu rm ro rw sk sl sm sn so sq st su sv sw tk tl tn tr ts vi wo xh "
    "yo zu"
)
_LATIN_LANGUAGES = frozenset(_WRITTEN_IN_LATIN.split())
KNOWN = tuple(sorted({*_SCRIPTS, *_LATIN_LANGUAGES, "en-GB", "en-US", "pt-BR", "pt-PT", "zh-Hans", "zh-Hant"}))
"""Codes that forms offer; any other code is valid too."""


def find_scripts_of_language(language: str | None) -> frozenset[str] | None:
    """Return the scripts in which a language is written; None for an unknown language.

    >>> sorted(find_scripts_of_language("zh-Hans")), find_scripts_of_language("sr_Latn"), find_scripts_of_language("xx")
    (['CJK'], frozenset({'LATIN'}), None)
    """
    if language is None:
        return None
    base, *rest = language.replace("_", "-").lower().split("-")
    for subtag in rest:
        if subtag in _BY_SUBTAG:
            return _BY_SUBTAG[subtag]
    return _SCRIPTS.get(base, LATIN if base in _LATIN_LANGUAGES else None)


def has_word_spaces(language: str | None) -> bool:
    """Whether spaces separate words; true for unknown languages.

    >>> has_word_spaces("th"), has_word_spaces("de"), has_word_spaces(None)
    (False, True, True)
    """
    return language is None or language.replace("_", "-").lower().split("-")[0] not in _UNSPACED


def detect_script(text: str) -> str | None:
    """Return the script of most letters in a text; None if there are no letters.

    >>> detect_script("Привет, world and Welt"), detect_script("12 %")
    ('LATIN', None)
    """
    counts = Counter(script for script in map(_script, text) if script is not None)
    return max(sorted(counts), key=counts.__getitem__) if counts else None


@lru_cache(maxsize=1 << 16)
def _script(char: str) -> str | None:
    if not char.isalpha():
        return None
    return unicodedata.name(char, "").split(" ")[0].split("-")[0] or None
