"""How long edits of post-edits take to count: `python -m benchmarks.postedits [--pairs N] [--write PAGE]`.

A rater changes some words, drops or adds one, and in three of ten segments moves a phrase; a third of the segments
stay as they are. Ours and sacrebleu's own TER count the same pairs in turn, in one run, and must say the same numbers.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from app.stats.postediting.operations import count_edit_operations
from benchmarks import pages

UNCHANGED: Final = 1 / 3
MOVED: Final = 0.3
VOCABULARY: Final = 2_000
FREQUENT: Final = ("the", "of", "and", "to", "a", "in", "is", "that", "for", "it", ",", "with")
LENGTHS: Final = (6, 40)
ROUNDS: Final = 3
Pair = tuple[list[str], list[str]]


def post_edit(words: Sequence[str], draw: random.Random) -> list[str]:
    """Return a rater's edit of an output: one to five words changed, dropped or added, and perhaps a phrase moved."""
    edited = list(words)
    for _ in range(draw.randint(1, max(1, min(5, len(edited) // 4)))):
        at = draw.randrange(len(edited))
        how = draw.random()
        if how < 0.7:
            edited[at] = _word(draw)
        elif how < 0.85 and len(edited) > 1:
            del edited[at]
        else:
            edited.insert(at, _word(draw))
    if draw.random() < MOVED and len(edited) > 3:
        length = draw.randint(1, min(5, len(edited) - 2))
        start = draw.randrange(len(edited) - length)
        phrase = edited[start : start + length]
        del edited[start : start + length]
        to = draw.randrange(len(edited) + 1)
        edited[to:to] = phrase
    return edited


def _word(draw: random.Random) -> str:
    """Draw a word. As in running text, half of all words are a few frequent ones, so many occur twice in a segment."""
    return draw.choice(FREQUENT) if draw.random() < 0.5 else f"w{draw.randrange(VOCABULARY)}"


def pairs(n: int, seed: int) -> list[Pair]:
    """Return outputs and their post-edits, as words."""
    draw = random.Random(seed)  # noqa: S311  (made-up data)
    drawn: list[Pair] = []
    for _ in range(n):
        output = [_word(draw) for _ in range(draw.randint(*LENGTHS))]
        drawn.append((output, output if draw.random() < UNCHANGED else post_edit(output, draw)))
    return drawn


def ours(drawn: Sequence[Pair]) -> list[int]:
    """Count the edits of each pair."""
    return [count_edit_operations(output, edited).total_edits for output, edited in drawn]


def sacrebleus(drawn: Sequence[Pair]) -> list[int]:
    """Count the edits of each pair by sacrebleu's own function."""
    from sacrebleu.metrics.lib_ter import translation_edit_rate

    return [int(translation_edit_rate(output, edited)[0]) for output, edited in drawn]


def timed(count: Callable[[Sequence[Pair]], list[int]], drawn: Sequence[Pair]) -> tuple[float, list[int]]:
    """Return the processor seconds, and the counts."""
    began = time.process_time()
    counts = count(drawn)
    return time.process_time() - began, counts


def table(n: int, seed: int) -> str:
    """Make a table with a line for each kind of pair. Raises AssertionError if a number differs."""
    whole = pairs(n, seed)
    kinds = {
        "all pairs": whole,
        "with a change": [pair for pair in whole if pair[0] != pair[1]],
        "one word replaced (makes our code look better, because nothing moves)": [
            ([*o[:-1], "x"], [*o[:-1], "y"]) for o, _ in whole
        ],
    }
    lines = ["| pairs | n | ours, ms per pair | sacrebleu, ms per pair | ratio |", "|---|--:|--:|--:|--:|"]
    for kind, drawn in kinds.items():
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            taken = [timed(count, drawn) for count in (ours, sacrebleus)]
            assert taken[0][1] == taken[1][1], kind
            for column, (each, _) in zip(seconds, taken, strict=True):
                column.append(each)
        mine, theirs = (median(column) / len(drawn) * 1e3 for column in seconds)
        lines.append(f"| {kind} | {len(drawn):,} | {mine:.3f} | {theirs:.3f} | {theirs / mine:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postedits", description=__doc__)
    parser.add_argument("--pairs", type=int, default=2_000, help="segments with their post-edits")
    parser.add_argument("--seed", type=int, default=7, help="of the made-up texts")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `postedits`")
    asked = parser.parse_args()
    lines = table(asked.pairs, asked.seed)
    print(lines)
    if asked.write:
        pages.write(asked.write, lines, "postedits")


if __name__ == "__main__":
    main()
