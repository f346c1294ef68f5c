"""How much a text was edited: words with shifts (TER), characters (Levenshtein), and what remained (chrF).

Sources: Snover et al. 2006 (TER, and HTER against a text's own post-edit) and Popović 2015 (chrF), both as implemented
in sacrebleu, case-sensitive. `app.stats.postediting` does the counting, for reports too.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.stats.postediting import operations as counted
from app.stats.postediting.operations import LONGEST_SHIFTED, levenshtein_distance


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Number of edits that turn a text into its post-edit, including shifts, and length of the post-edit, in tokens."""

    edits: int
    length: int

    @property
    def rate(self) -> float:
        """Edits per 100 tokens of the post-edit; 100 if the post-edit is empty and the text was not."""
        return 100.0 * self.edits / self.length if self.length else 100.0 * bool(self.edits)


def count_character_edits(text: str, post_edit: str) -> EditCounts:
    """Return the Levenshtein distance in characters (code points).

    >>> count_character_edits("kitten", "sitting")
    EditCounts(edits=3, length=7)
    """
    return EditCounts(levenshtein_distance(text, post_edit), len(post_edit))


def count_ter_edits(text: str, post_edit: str, *, by_character: bool = False) -> EditCounts:
    """Return the translation edit rate: insertions, deletions and substitutions of words, and shifts of word sequences.

    by_character: tokens are characters, for languages without spaces. In texts of more than LONGEST_SHIFTED tokens,
    shifts are not sought, so that one answer does not delay others.

    >>> count_ter_edits("d e f g h a b c", "a b c d e f g h")
    EditCounts(edits=1, length=8)
    """
    tokens, edited_tokens = (list("".join(t.split())) if by_character else t.split() for t in (text, post_edit))
    if max(len(tokens), len(edited_tokens)) > LONGEST_SHIFTED:
        return EditCounts(levenshtein_distance(tokens, edited_tokens), len(edited_tokens))
    return EditCounts(counted.count_edit_operations(tokens, edited_tokens).total_edits, len(edited_tokens))


def compute_chrf(text: str, post_edit: str) -> float:
    """Return chrF2, 0 to 100: F of precision and recall of character n-grams up to 6, as in sacrebleu by default.

    >>> compute_chrf("a b c", "abc"), compute_chrf("", "abc")
    (100.0, 0.0)
    """
    if not text.split() or not post_edit.split():
        return 100.0 * (not text.split() and not post_edit.split())
    return counted.chrf([(text, post_edit)])
