"""Scores of automatic metrics from files: tables by name, and score files of mt-metrics-eval."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from app.domain.delimited_text import MalformedDelimitedText, read_delimited_rows
from app.domain.errors import Invalid
from app.services.data.metrics import MetricOutputScore, MetricScoreSet

MTME = re.compile(r"(?:.*/)?(?P<name>[^/]+)\.(?P<level>seg|sys)\.score")
NEEDED = ("system", "score")
Value = TypeVar("Value")
NONE = frozenset({"", "none", "nan"})


def parse_metric_name(path: str) -> str | None:
    """Return the name of the metric in the path of an mt-metrics-eval score file, None for other files.

    >>> parse_metric_name("metric-scores/en-de/COMET-22-refA.seg.score"), parse_metric_name("scores.tsv")
    ('COMET-22-refA', None)
    """
    match = MTME.fullmatch(path)
    return None if match is None else re.sub(r"[^A-Za-z0-9._~:@+\-]", "_", match["name"])[:128]


def read_metric_files(files: Mapping[str, str], *, higher_is_better: bool) -> MetricScoreSet:
    """Read the scores of one metric from its files, given as texts by path.

    A table has a header with `system`, `score` and, for scores of outputs, `document` and `segment`. Fields are
    separated by commas, semicolons or tabs. `NAME.seg.score` and `NAME.sys.score` are files of mt-metrics-eval, with a
    system and a score on each line. Scores of segments follow the order of the test set, and `None` stands for a
    missing score.

    Raises Invalid, which names file and line.
    """
    scores = MetricScoreSet(higher_is_better=higher_is_better)
    for path, text in files.items():
        match = MTME.fullmatch(path)
        rows = [line.split() for line in text.splitlines() if line.strip()] if match else []
        if match is None:
            scores = _table(scores, path, text)
        elif match["level"] == "sys":
            scores = replace(scores, systems=_merge_systems(path, scores.systems, _read_system_scores(path, rows)))
        else:
            scores = replace(scores, in_order=_merge_systems(path, scores.in_order, _in_order(path, rows)))
    return scores


def _merge_systems(path: str, before: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
    """Merge two mappings. Raises Invalid if a system is in both, because either could be meant."""
    twice = sorted(before.keys() & new.keys())
    if twice:
        raise Invalid(f"{path}: another file also scores {twice[0][:80]}")
    return {**before, **new}


def _read_system_scores(path: str, rows: Iterable[list[str]]) -> dict[str, float]:
    by_system: dict[str, float] = {}
    for n, (system, score) in enumerate(_pairs(path, rows), 1):
        if system in by_system:
            raise Invalid(f"{path}, line {n}: a second score of {system[:80]}")
        if score is not None:
            by_system[system] = score
    return by_system


def _in_order(path: str, rows: Iterable[list[str]]) -> dict[str, list[float | None]]:
    by_system: dict[str, list[float | None]] = {}
    for system, score in _pairs(path, rows):
        by_system.setdefault(system, []).append(score)
    return by_system


def _pairs(path: str, rows: Iterable[list[str]]) -> Iterable[tuple[str, float | None]]:
    for n, row in enumerate(rows, 1):
        if len(row) != 2:
            raise Invalid(f"{path}, line {n}: a system and a score, not {len(row)} fields")
        yield row[0], _number(path, n, row[1])


def _number(path: str, line: int, text: str) -> float | None:
    if text.strip().lower() in NONE:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise Invalid(f"{path}, line {line}: {text[:40]!r} is no score")
    return value


def _table(before: MetricScoreSet, path: str, text: str) -> MetricScoreSet:
    systems, outputs = dict(before.systems), list(before.outputs)
    try:
        for line, row in _rows_by_name(path, text):
            score = _number(path, line, row["score"])
            if score is None:
                continue
            document, segment = row.get("document", ""), row.get("segment", "")
            if not document and not segment:
                if row["system"] in systems:
                    raise Invalid(f"{path}, line {line}: a second score of {row['system'][:80]}")
                systems[row["system"]] = score
            elif segment.isascii() and segment.isdigit() and int(segment) > 0:
                outputs.append(MetricOutputScore(row["system"], document, int(segment), score))
            else:
                raise Invalid(f"{path}, line {line}: {segment[:40]!r} is not a segment number; they start at 1")
    except MalformedDelimitedText as fault:
        raise Invalid(f"{path}, line {fault.line}: {fault}") from None
    return replace(before, systems=systems, outputs=outputs)


def _rows_by_name(path: str, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows that are not empty, each with its line number. Raises Invalid, and MalformedDelimitedText."""
    lines = read_delimited_rows(text)
    header = next(lines, (1, []))[1]
    if any(name not in header for name in NEEDED):
        raise Invalid(f"{path}: its header needs the columns system and score, and for outputs document and segment")
    for line, cells in lines:
        if cells:
            yield line, {name: cells[n] if n < len(cells) else "" for n, name in enumerate(header)}
