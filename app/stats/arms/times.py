"""How long judging takes in one condition, by kind of unit, and how one condition differs from another.

Sources: Grundkiewicz et al. 2021, §5.1, Table 2 and Fig. 4; docs/reports/arms.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

import numpy as np
import numpy.typing as npt

from app.stats.document_lengths import LENGTHS, format_segment_count_range, mask_lengths_within
from app.stats.intervals import t_quantile
from app.stats.plain_values import Interval, interval_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.rating_metadata import Micros
from app.stats.ratings import Bools, Codes, Floats, RatingLevel, Ratings, encode_column_combinations

SHORT, LONG = 10, 20
"""A document is short with at most, and long with at least, this many segments."""
PARTS_FROM = 3
"""Fewest segments for which a document has a first and a last third."""
LONGEST_GAP = 600.0
"""A rater counts as away if this many seconds or more pass between two starts."""
FEWEST_RATERS = 3
"""Fewest raters for which a ratio has an interval; two say too little about how far raters differ."""
Counted = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TimedJudgments:
    """Judgments of one condition with their durations, one row per judgment.

    seconds: NaN if unknown. words: in the source, NaN if unknown. whole_task: whether its task was submitted. started:
    microseconds, −1 if unknown.
    """

    rows: Ratings
    seconds: Floats
    words: Floats
    whole_task: Bools
    started: Micros

    def where(self, keep: Bools) -> TimedJudgments:
        """Keep only the rows for which `keep` is true."""
        return TimedJudgments(
            self.rows.where(keep), self.seconds[keep], self.words[keep], self.whole_task[keep], self.started[keep]
        )

    def one_row_per_judgment(self) -> TimedJudgments:
        """Keep one row per judgment if several systems share it."""
        return self.where(mask_first_rows_of_judgments(self.rows))


@dataclass(frozen=True, slots=True)
class UnitDurations:
    """Durations of one kind of unit. seconds, rater: of each unit, shape (n,); `per_word` has seconds per word."""

    seconds: Floats
    rater: Codes


@dataclass(frozen=True, slots=True)
class DocumentDurations:
    """Documents of one system as one rater was shown them in one task, shape (n,).

    code: the document of each row. length: segments judged. seconds: sum over all its judgments, NaN if one is unknown.
    rater: code.
    """

    code: Codes
    length: Counted
    seconds: Floats
    rater: Codes


def group_judgments_by_document(judgments: TimedJudgments) -> DocumentDurations:
    """Group judgments by document as shown: by rater, task, document and system."""
    rows = judgments.rows
    code = encode_column_combinations(rows.rater, rows.task, rows.document, rows.system)
    n = int(code.max(initial=-1)) + 1
    length = np.bincount(code[rows.kind == RatingLevel.SEGMENT], minlength=n).astype(np.int64)
    rater = np.zeros(n, dtype=np.int32)
    rater[code] = rows.rater
    return DocumentDurations(code, length, _sums(code, judgments.seconds, n), rater)


def _sums(code: Codes, seconds: Floats, n: int) -> Floats:
    return np.asarray(np.bincount(code, weights=seconds, minlength=n), dtype=np.float64)


def measure_durations_by_unit_kind(judgments: TimedJudgments) -> Mapping[tuple[str, str], UnitDurations]:
    """Return durations by (kind of unit, document set); empty combinations are left out.

    Kinds: `segment`, `per_word` (of segments, seconds per source word), `first_third` and `last_third` (segments in
    these parts of documents with at least three), `between_starts` (from one start to the next of the same rater in
    the same task, above 0 and below ten minutes), `document_score`, `document` (all its judgments), `task` (all
    judgments of a submitted task). Document sets: `all`, `short` (≤ 10 segments), `long` (≥ 20), and ranges of length.
    A unit is included if all its judgments have a time.
    """
    judgments = judgments.one_row_per_judgment()
    rows, of = judgments.rows, group_judgments_by_document(judgments)
    segment = np.asarray(rows.kind == RatingLevel.SEGMENT)
    length = of.length[of.code] if of.code.size else np.empty(0, dtype=np.int64)
    third = _thirds(rows, of, length)
    by_cell: dict[tuple[str, str], UnitDurations] = {}

    def put(kind: str, documents: str, seconds: Floats, rater: Codes, keep: Bools) -> None:
        keep = keep & ~np.isnan(seconds)
        if keep.any():
            by_cell[kind, documents] = UnitDurations(seconds[keep], rater[keep])

    put("segment", "all", judgments.seconds, rows.rater, segment)
    put("per_word", "all", _per_word(judgments), rows.rater, segment)
    put("first_third", "all", judgments.seconds, rows.rater, segment & (third == 0))
    put("last_third", "all", judgments.seconds, rows.rater, segment & (third == 2))
    put("between_starts", "all", *_between_starts(judgments))
    put("document_score", "all", judgments.seconds, rows.rater, ~segment)
    for name, low, high in (("all", 1, None), ("short", 1, SHORT), ("long", LONG, None), *_ranges()):
        put("document", name, of.seconds, of.rater, mask_lengths_within(of.length, low, high))
        if name != "all":
            put("segment", name, judgments.seconds, rows.rater, segment & mask_lengths_within(length, low, high))
    put("task", "all", *_tasks(judgments))
    return by_cell


def _ranges() -> tuple[tuple[str, int, int | None], ...]:
    return tuple((format_segment_count_range(low, high), low, high) for low, high in LENGTHS)


def _per_word(judgments: TimedJudgments) -> Floats:
    per_word: Floats = np.divide(
        judgments.seconds,
        judgments.words,
        out=np.full(judgments.seconds.size, np.nan),
        where=np.nan_to_num(judgments.words) > 0,
    )
    return per_word


def _thirds(rows: Ratings, of: DocumentDurations, length: Counted) -> Codes:
    """Third (0, 1, 2) of the shown document in which each segment judgment lies by rank; −1 if it is too short."""
    third = np.full(len(rows), -1, dtype=np.int32)
    segment = np.flatnonzero(rows.kind == RatingLevel.SEGMENT)
    order = segment[np.lexsort((rows.segment[segment], of.code[segment]))]
    code = of.code[order]
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])[: code.size])
    rank = np.arange(code.size) - np.repeat(starts, np.diff(np.append(starts, code.size)))
    third[order] = np.where(length[order] >= PARTS_FROM, 3 * rank // np.maximum(length[order], 1), -1)
    return third


def _between_starts(judgments: TimedJudgments) -> tuple[Floats, Codes, Bools]:
    """Time from one start to the next, which tells more than a judgment's own start and end if whole pages open."""
    task = encode_column_combinations(judgments.rows.rater, judgments.rows.task)
    order = np.lexsort((judgments.started, task))
    order = order[judgments.started[order] >= 0]
    seconds = np.diff(judgments.started[order]) / 1e6
    same = task[order][1:] == task[order][:-1]
    keep = same & (seconds > 0) & (seconds < LONGEST_GAP)
    return np.asarray(seconds, dtype=np.float64), judgments.rows.rater[order][1:], np.asarray(keep, dtype=np.bool_)


def _tasks(judgments: TimedJudgments) -> tuple[Floats, Codes, Bools]:
    code = encode_column_combinations(judgments.rows.rater, judgments.rows.task)
    n = int(code.max(initial=-1)) + 1
    rater, done = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.bool_)
    rater[code], done[code] = judgments.rows.rater, judgments.whole_task
    return _sums(code, judgments.seconds, n), rater, done


@dataclass(frozen=True, slots=True)
class DurationRatio:
    """How many times as long one condition takes as another, as a geometric mean over raters.

    design: `within` compares raters who worked in both conditions (paired); `between` compares the raters of one with
    those of the other. raters: number in the comparison. interval: None below three raters (on either side if
    `between`).
    """

    ratio: float
    interval: Interval | None
    raters: int
    design: str


def compare_durations(before: UnitDurations, after: UnitDurations, *, level: float = 0.95) -> DurationRatio | None:
    """Compare two conditions, treating raters as the sampled units.

    Each rater counts once per condition, by the mean log duration of the units. If two or more raters worked in both
    conditions, their differences are averaged and the interval uses Student's t with R − 1 degrees of freedom;
    otherwise it uses Welch's t for the raters of either condition. Durations of 0 are left out. None if a condition has
    no positive duration.

    Source: Welch 1947. For log times with raters as the sample see docs/reports/arms.md.

    >>> import numpy as np
    >>> two = np.array([0, 1], dtype=np.int32)
    >>> before, after = UnitDurations(np.array([10.0, 20.0]), two), UnitDurations(np.array([20.0, 40.0]), two)
    >>> found = compare_durations(before, after)
    >>> round(found.ratio, 6), found.design
    (2.0, 'within')
    """
    old, new = _levels(before), _levels(after)
    if not old or not new:
        return None
    both = sorted(old.keys() & new.keys())
    if len(both) > 1:
        log_ratios = np.array([new[rater] - old[rater] for rater in both])
        if len(both) < FEWEST_RATERS:
            return DurationRatio(exp(float(log_ratios.mean())), None, len(both), "within")
        error = float(log_ratios.std(ddof=1)) / len(both) ** 0.5
        return _ratio(float(log_ratios.mean()), error, len(both) - 1.0, len(both), level, "within")
    x, y = np.array(list(old.values())), np.array(list(new.values()))
    apart_means = float(y.mean() - x.mean())
    raters = len(old.keys() | new.keys())
    if min(x.size, y.size) < FEWEST_RATERS:
        return DurationRatio(exp(apart_means), None, raters, "between")
    a, b = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    spread = a * a / (x.size - 1) + b * b / (y.size - 1)
    degrees = (a + b) ** 2 / spread if spread > 0 else float(x.size + y.size - 2)
    return _ratio(apart_means, (a + b) ** 0.5, degrees, raters, level, "between")


def _levels(times: UnitDurations) -> dict[int, float]:
    """Mean log duration of each rater."""
    usable = times.seconds > 0
    rater, place = np.unique(times.rater[usable], return_inverse=True)
    total = np.bincount(place, weights=np.log(times.seconds[usable]), minlength=rater.size)
    return dict(zip(rater.tolist(), (total / np.bincount(place, minlength=rater.size)).tolist(), strict=True))


def _ratio(mean: float, error: float, degrees: float, raters: int, level: float, design: str) -> DurationRatio:
    reach = float(t_quantile((1 + level) / 2, np.array([degrees]))[0]) * error
    ends = interval_or_none(*np.exp([mean - reach, mean + reach]).tolist())
    return DurationRatio(exp(mean), ends, raters, design)
