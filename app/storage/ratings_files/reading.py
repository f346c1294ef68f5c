"""Sums over a file of ratings, and its rows in blocks of whole documents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from app.domain.errors import Unavailable
from app.stats.ratings import Bools, Codes, Floats, RatingLabels, RatingLevel, RatingRole, Ratings
from app.storage.rating_codes import RatingsMetadata
from app.storage.ratings_files.duckdb_engine import check_duckdb_installed, connect_duckdb
from app.storage.ratings_files.layout import LABELS, RATINGS, SEGMENTS, labels_path
from app.storage.ratings_folder import HEAD

BLOCK_ROWS = 4_000_000
_BATCH = 1 << 20
CodesOfColumns = tuple[tuple[str, tuple[int, ...]], ...]
"""Columns, each with some of its codes."""


class RatingsFileGone(Unavailable):
    """The file of ratings was deleted meanwhile; it is written again for the next try."""


@dataclass(frozen=True, slots=True)
class RatingFilter:
    """The segment ratings that count. excluded: columns with codes that do not count; roles: those that count.

    references: rows of references count as well, whether accepted or not.
    """

    excluded: tuple[tuple[str, int], ...]
    roles: tuple[int, ...]
    accepted_only: bool
    references: bool = False

    @property
    def sql_condition(self) -> str:
        """The condition in SQL."""
        ranked = f"role IN ({', '.join(map(str, self.roles))}){' AND accepted' if self.accepted_only else ''}"
        return " AND ".join(
            (
                f"kind = {RatingLevel.SEGMENT.value}",
                *(f"{column} <> {code}" for column, code in self.excluded),
                f"({ranked} OR role = {RatingRole.REFERENCE.value})" if self.references else ranked,
            )
        )


@dataclass(frozen=True, slots=True)
class ScoreRescaling:
    """A change of some scores x to start + (x − start) · factor / divisor. where: columns with the codes to change."""

    where: CodesOfColumns
    start: float
    factor: float
    divisor: float

    @property
    def sql_expression(self) -> str:
        """The changed score in SQL."""
        start, factor, divisor = (f"'{value!r}'::DOUBLE" for value in (self.start, self.factor, self.divisor))
        changed = f"{start} + (score - {start}) * {factor} / {divisor}"
        return f"CASE WHEN {_match_any(self.where)} THEN {changed} ELSE score END"


@dataclass(frozen=True, slots=True)
class RatingsReadOverride:
    """Changes made while reading a file. left_out: columns with the codes of rows that are not read."""

    left_out: CodesOfColumns = ()
    scores: ScoreRescaling | None = None

    @property
    def sql_query(self) -> str:
        """The selected columns and rows, as SQL around the table."""
        score = "*" if self.scores is None else f"* REPLACE ({self.scores.sql_expression} AS score)"
        return f"SELECT {score} FROM {{table}} WHERE NOT ({_match_any(self.left_out)})"


UNCHANGED = RatingsReadOverride()


def _match_any(columns: CodesOfColumns) -> str:
    """Return SQL for the rows in which at least one of the columns has one of its codes."""
    return " OR ".join(f"{name} IN ({', '.join(map(str, codes))})" for name, codes in columns if codes) or "FALSE"


@dataclass(frozen=True, slots=True)
class RaterSums:
    """Sums over ratings, one entry per rater code. square: Σ(score − own mean)². errors: −1 if unknown."""

    n: npt.NDArray[np.int64]
    total: Floats
    square: Floats
    errors: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """An open file of ratings. metadata: properties of all its ratings.

    shared: whether a judgment may have several systems.
    """

    folder: Path
    metadata: RatingsMetadata
    labels: RatingLabels
    n_rows: int
    shared: bool
    engine: Any
    change: RatingsReadOverride = UNCHANGED

    @classmethod
    def open(cls, folder: Path, metadata: RatingsMetadata, change: RatingsReadOverride = UNCHANGED) -> Self:
        """Open an existing file. Raises DuckdbNotInstalled, RatingsFileGone."""
        check_duckdb_installed()
        try:
            os.utime(folder / HEAD)  # mark it as used
            head = json.loads((folder / HEAD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RatingsFileGone from None
        labels = cls.load_labels(folder)
        engine = connect_duckdb(folder / "spill")
        table = f"read_parquet('{_quote_path(folder / RATINGS)}')"
        engine.execute(f"CREATE VIEW ratings AS {change.sql_query.format(table=table)}")
        return cls(folder, metadata, labels, head["rows"], head["shared"], engine, change)

    @staticmethod
    def load_labels(folder: Path) -> RatingLabels:
        """Load the labels of a file's codes. Raises DuckdbNotInstalled, RatingsFileGone."""
        check_duckdb_installed()
        parquet = import_module("pyarrow.parquet")
        try:
            segments = parquet.read_table(folder / SEGMENTS)
            names = {
                what: tuple(parquet.read_table(labels_path(folder, what)).column("key").to_pylist()) for what in LABELS
            }
        except FileNotFoundError:
            raise RatingsFileGone from None
        return RatingLabels(
            **names,
            segment_document=segments.column("document").to_numpy(),
            segment_position=segments.column("position").to_numpy(),
        )

    def open_for_another_thread(self) -> Self:
        """Open the same file a second time, for another thread."""
        return type(self).open(self.folder, self.metadata, self.change)

    def close(self) -> None:
        """Close the file."""
        self.engine.close()

    def count_excluded_ratings_by_reason(self, excluded: Sequence[tuple[str, int]], roles: Sequence[int]) -> list[int]:
        """Count omitted rows by successive reasons: whole documents, each exclusion, the role, rejection."""
        kept = [f"kind = {RatingLevel.SEGMENT.value}"]
        reasons = [f"kind <> {RatingLevel.SEGMENT.value}"]
        for column, code in excluded:
            reasons.append(" AND ".join((*kept, f"{column} = {code}")))
            kept.append(f"{column} <> {code}")
        ranked = f"role IN ({', '.join(map(str, roles))})"
        reasons += [" AND ".join((*kept, f"NOT {ranked}")), " AND ".join((*kept, ranked, "NOT accepted"))]
        counts = ", ".join(f"count(*) FILTER (WHERE {reason})" for reason in reasons)
        return list(self._row(f"SELECT {counts} FROM ratings"))

    def count_by_rater_and_system(self, rating_filter: RatingFilter) -> tuple[Codes, Codes, Codes, Floats]:
        """Count ratings by system and rater: systems, raters, counts and lowest scores, sorted by both."""
        columns = self._columns(
            "SELECT system, rater, count(*)::INTEGER AS n, min(score) AS lowest FROM ratings "
            f"WHERE {rating_filter.sql_condition} GROUP BY system, rater ORDER BY system, rater"
        )
        return columns["system"], columns["rater"], columns["n"], columns["lowest"]

    def list_document_rater_role_combinations(self, rating_filter: RatingFilter) -> tuple[Codes, Codes, Codes]:
        """Return documents, raters and roles that occur together."""
        columns = self._columns(
            f"SELECT DISTINCT document, rater, role FROM ratings WHERE {rating_filter.sql_condition} ORDER BY ALL"
        )
        return columns["document"], columns["rater"], columns["role"]

    def count_all_and_partly_rated_documents(self, rating_filter: RatingFilter, n_systems: int) -> tuple[int, int]:
        """Count all documents, and those of which some rater rated fewer than `n_systems` systems."""
        row = self._row(
            f"""SELECT count(*), count(*) FILTER (WHERE partial) FROM (
                SELECT document, bool_or(systems < {n_systems}) AS partial FROM (
                    SELECT document, rater, count(*) AS systems FROM (
                        SELECT document, rater, system FROM ratings WHERE {rating_filter.sql_condition}
                        GROUP BY document, rater, system)
                    GROUP BY document, rater)
                GROUP BY document)"""
        )
        return int(row[0]), int(row[1])

    def sum_ratings_by_rater(self, rating_filter: RatingFilter) -> RaterSums:
        """Sum the ratings of each rater; the squared deviations are from a mean that is computed first."""
        size = len(self.labels.raters)
        first = self._columns(
            f"""SELECT rater, count(*) AS n, sum(score) AS total, sum(n_errors)::BIGINT AS errors,
                       min(n_errors) AS least FROM ratings WHERE {rating_filter.sql_condition} GROUP BY rater"""
        )
        n, total, errors = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size, dtype=np.int64)
        n[first["rater"]], total[first["rater"]], errors[first["rater"]] = first["n"], first["total"], first["errors"]
        if first["least"].min(initial=0) < 0:
            errors[:] = -1
        mean = np.divide(total, n, out=np.zeros(size), where=n > 0)
        means = import_module("pyarrow").table({"rater": np.arange(size, dtype=np.int32), "mean": mean})
        self.engine.register("means", means)
        second = self._columns(
            f"""SELECT rater, sum((score - mean) * (score - mean)) AS square FROM ratings JOIN means USING (rater)
                WHERE {rating_filter.sql_condition} GROUP BY rater"""
        )
        self.engine.unregister("means")
        square = np.zeros(size)
        square[second["rater"]] = second["square"]
        return RaterSums(n, total, square, errors)

    def count_judgments(self, rating_filter: RatingFilter, without_raters: Codes) -> int:
        """Count the judgments behind the ratings, without those of some raters."""
        without = f" AND rater NOT IN ({', '.join(map(str, without_raters))})" if without_raters.size else ""
        return int(
            self._row(f"SELECT count(DISTINCT judgment) FROM ratings WHERE {rating_filter.sql_condition}{without}")[0]
        )

    def stream_document_blocks(
        self, rating_filter: RatingFilter, *, numbered: bool = True, errors: bool = False
    ) -> Iterator[Ratings]:
        """Yield the ratings in canonical order, in blocks of whole documents, in the order of their codes.

        numbered: include the number of each rating among those of its output by its rater. errors: include error
        counts.

        Tasks and judgments are left out: in the result, each row has its own judgment.
        """
        more = f"{', nth' if numbered else ''}{', n_errors' if errors else ''}"
        counts = self._columns(
            f"SELECT document, count(*) AS n FROM ratings WHERE {rating_filter.sql_condition} "
            "GROUP BY document ORDER BY document"
        )
        block = np.cumsum(counts["n"]) // BLOCK_ROWS
        starts = np.flatnonzero(np.concatenate(([True], block[1:] != block[:-1]))) if block.size else np.empty(0, int)
        ends = np.append(starts[1:], block.size) - 1
        for start, end in zip(starts, ends, strict=False):
            first, last = counts["document"][start], counts["document"][end]
            yield self.make_ratings_from_columns(
                self._columns(
                    f"""SELECT system, document, segment, rater{more}, score FROM ratings
                        WHERE document BETWEEN {first} AND {last} AND {rating_filter.sql_condition}"""
                )
            )

    def make_ratings_from_columns(self, columns: dict[str, npt.NDArray[Any]]) -> Ratings:
        """Make segment ratings from systems, documents, segments, raters, nth and scores (`stream_document_blocks`)."""
        n = columns["score"].size
        usual: dict[str, npt.NDArray[Any]] = {
            "nth": np.ones(n, dtype=np.int32),
            "n_errors": np.full(n, -1, dtype=np.int32),
            "role": np.full(n, RatingRole.RATING, dtype=np.int8),
        }
        return Ratings(
            **{**usual, **columns},
            task=np.zeros(n, dtype=np.int32),
            judgment=np.arange(n, dtype=np.int32),
            kind=np.full(n, RatingLevel.SEGMENT, dtype=np.int8),
            accepted=np.ones(n, dtype=np.bool_),
            labels=self.labels,
            higher_is_better=self.metadata.higher_is_better,
            scale=self.metadata.scale,
            criterion=self.metadata.criterion,
            documents_known=self.metadata.documents_known,
            standardised=self.metadata.standardised,
        )

    def stream_column_without_excluded(
        self, excluded: Sequence[tuple[str, int]], column: str
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield one column of all rows that are not excluded, in blocks, in canonical order."""
        where = " AND ".join(f"{name} <> {code}" for name, code in excluded)
        rows = self.engine.sql(f"SELECT {column} FROM ratings{f' WHERE {where}' if where else ''}")
        for batch in rows.to_arrow_reader(_BATCH):
            yield batch.column(0).to_numpy(zero_copy_only=False)

    def mask_occurring_codes(self, excluded: Sequence[tuple[str, int]], column: str, n: int) -> Bools:
        """Tell which of the n codes of a column occur in the rows that are not excluded."""
        there = np.zeros(n + 1, dtype=np.bool_)
        for codes in self.stream_column_without_excluded(excluded, column):
            there[codes] = True
        return there[:n]

    def _row(self, query: str) -> tuple[Any, ...]:
        [row] = self.engine.execute(query).fetchall()
        return tuple(row)

    def _columns(self, query: str) -> dict[str, npt.NDArray[Any]]:
        columns: dict[str, npt.NDArray[Any]] = self.engine.execute(query).fetchnumpy()
        return columns


def _quote_path(path: Path) -> str:
    return str(path).replace("'", "''")
