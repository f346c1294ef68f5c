"""Words and figures for people: names, counts, intervals, ranks and p-values without meaningless digits."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10


def make_printable(text: str) -> str:
    """Return a name on one line, without terminal control codes and characters that reverse the writing direction.

    >>> make_printable("a\\x1b[2J\\n b")
    'a [2J b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def pluralize(n: int, noun: str) -> str:
    """Return a count with its noun.

    >>> pluralize(1, "system"), pluralize(7406, "rating")
    ('1 system', '7,406 ratings')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def choose_decimals(values: Iterable[float | None]) -> int:
    """Return the number of decimals, from 1 to 4, that shows three digits of the spread of these values.

    >>> choose_decimals([0.91, 2.14]), choose_decimals([61.3, 88.0]), choose_decimals([-0.21, 0.2])
    (2, 1, 3)
    """
    known = [v for v in values if v is not None]
    spread = max(known) - min(known) if known else 0.0
    if spread <= 0:
        spread = max((abs(v) for v in known), default=0.0)
    if spread <= 0:
        return 2
    return min(4, max(1, 2 - floor(log10(spread))))


def format_number(value: float | None, places: int) -> str:
    """Format a number with fixed decimals, or a dash for None; a negative zero never appears.

    >>> format_number(-0.625, 2), format_number(-0.001, 2), format_number(None, 2)
    ('−0.62', '0.00', '–')
    """
    if value is None:
        return "–"
    text = f"{value:.{places}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def format_interval(bounds: tuple[float, float] | None, places: int) -> str:
    """Format an interval with fixed decimals, or a dash for None.

    >>> format_interval((-0.625, 1.5), 1), format_interval(None, 1)
    ('[−0.6, 1.5]', '–')
    """
    if bounds is None:
        return "–"
    return f"[{format_number(bounds[0], places)}, {format_number(bounds[1], places)}]"


def format_rank(value: float) -> str:
    """Format a rank; shared ranks end in a half.

    >>> format_rank(3.0), format_rank(2.5)
    ('3', '2.5')
    """
    return f"{value:g}"


def format_rank_range(bounds: tuple[int, int] | None) -> str:
    """Format a range of ranks.

    >>> format_rank_range((1, 4)), format_rank_range((2, 2)), format_rank_range(None)
    ('1–4', '2', '–')
    """
    if bounds is None:
        return "–"
    low, high = bounds
    return str(low) if low == high else f"{low}–{high}"


def format_p_value(value: float | None, draws: int | None = None) -> str:
    """Format a p-value with four decimals; smaller values are given as a bound, and none is 0.

    draws: number of random rearrangements, if the observed one is not counted among them. A count of 0 then only shows
    that p is less than one in that number.

    >>> format_p_value(0.0421), format_p_value(1e-9), format_p_value(None)
    ('0.0421', '<0.0001', '–')
    >>> format_p_value(0.0, draws=1000), format_p_value(0.0)
    ('<0.001', '<0.0001')
    """
    if value is None:
        return "–"
    if value == 0 and draws:
        return f"<{1 / draws:.2g}"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def format_p_value_for_csv(value: float | None, draws: int | None = None) -> float | str | None:
    """Return a p-value at full precision for a file, or the text of `format_p_value` for 0, which no p-value can be."""
    return format_p_value(value, draws) if value == 0 else value


def capitalize(text: str) -> str:
    """Return the text with a capital first letter, otherwise unchanged.

    >>> capitalize("too few for BCa")
    'Too few for BCa'
    """
    return text[:1].upper() + text[1:]


def make_sentence(text: str) -> str:
    """Return the text with a capital first letter and a full stop."""
    return capitalize(text) + "."
