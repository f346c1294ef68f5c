"""Count the words of a text in the database, exactly as Python's `str.split()` does."""

from __future__ import annotations

from typing import Final

# The characters that `str.isspace` calls white space, one by one. The server's `\s` depends on the locale of the
# database: in that of the embedded one, a no-break or an ideographic space is part of a word.
SPACES: Final = r"\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORDS_OF: Final = rf"regexp_count({{text}}, '[^{SPACES}]+')"
"""An expression, to be formatted with that of a text, that counts its words; null for a null text."""
