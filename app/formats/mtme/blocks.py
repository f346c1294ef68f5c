"""Blocks of lines by system in score files of mt-metrics-eval: one line for each place of the test set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from app.formats.base import InputFile, LineLocation, ReadContext, ReadLog
from app.formats.kit.reading import read_lines, refuse_file

NONE = "None"
Line = tuple[str, int, str, LineLocation]
"""System, index of the place, text of the line, and its location."""


def read_score_lines_with_index(
    file: InputFile, n: int, context: ReadContext, log: ReadLog, *, with_canary: bool
) -> Iterator[Line]:
    """Yield the lines of a file, each with its place in the block of its system; every block has n lines.

    with_canary: the first of n + 1 lines is left out. Raises Invalid if a block has another number of lines.
    """
    counts: Counter[str] = Counter()
    quiet = ReadLog(skip_bad_lines=True)
    total: Counter[str] = Counter(system for system, _, _ in read_block_lines(file, context, quiet))
    ahead = {}
    for system, n_lines in total.items():
        ahead[system] = int(with_canary and n_lines == n + 1)
        if n_lines - ahead[system] != n:
            refuse_file(log, LineLocation(file.name, 0), f"{system[:80]} has {n_lines} lines where {n} are needed")
    for system, text, at in read_block_lines(file, context, log):
        index = counts[system] - ahead[system]
        counts[system] += 1
        if index >= 0:
            yield system, index, text, at


def read_block_lines(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[tuple[str, str, LineLocation]]:
    """Yield system and the rest of each line; a bad line still counts as a place in the block."""
    for line_number, line in read_lines(file, context.limits, log):
        at = LineLocation(file.name, line_number)
        system, _, text = line.partition("\t") if "\t" in line else line.strip().rpartition(" ")
        system, text = system.strip(), text.strip()
        if not system or not text:
            log.record_bad_line(at, "must be a system and what is said of its output")
            system, text = system or text, NONE
        yield system, text, at
