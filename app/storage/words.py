"""Words of a text, counted by the database exactly as Python's `str.split()` counts them."""

from __future__ import annotations

from typing import Final

# What `str.isspace` calls white space, named one by one: what `\s` means to the server depends on the locale of the
# database, and in that of the embedded one a no-break or an ideographic space is part of a word.
SPACES: Final = r"\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORDS_OF: Final = rf"regexp_count({{text}}, '[^{SPACES}]+')"
"""An expression, to be formatted with that of a text: how many words it has; null where it is null."""
