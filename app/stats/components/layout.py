"""Where the rows of a model stand in its three levels of blocks: segments, documents, and what spans them.

Rows of different documents meet only in systems and raters, rows of different segments of a document only in what the
document shares. Within a block rows differ by *cell*, the combination of system and rater, so a segment's block has as
many rows as it has ratings, a document's as many as it has cells. Blocks of equal size are computed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.stats.aggregate import Indices
from app.stats.components.observations import Observations
from app.stats.ratings import Bools

MOST_ENTRIES = 2_000_000
"""Entries of the documents' matrices that are held at once."""

MOST_SEGMENT_ENTRIES = 8_000_000
"""Entries of the segments' matrices, before equal ones are put together."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentBatch:
    """Segments with n ratings each, of one share.

    rows: positions in the share, shape (g, n). pattern: of each segment, shape (g,). same_system, same_rater: of each
    pattern, shape (u, n, n). entry: where a segment set's entries stand in the flat document matrices, first of the
    row and the columns apart: shape (q, n) each. set_pattern, set_count: of each set of segments with the same cells
    of the same document, shape (q,).
    """

    rows: Indices
    pattern: Indices
    same_system: Bools
    same_rater: Bools
    set_rows: Indices
    set_columns: Indices
    set_pattern: Indices
    set_count: Indices


@dataclass(frozen=True, slots=True, eq=False)
class DocumentBatch:
    """Documents with n cells each. first: of their entries in the flat matrices, shape (b,). cells: positions in the
    share's flat vectors, shape (b, n). columns: of each cell among the columns of the model, shape (b, n, c)."""

    first: Indices
    cells: Indices
    columns: Indices
    same_system: Bools
    same_rater: Bools


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some documents: rows start … stop − 1. cell: of each row, position in the flat vectors, shape (rows,).

    by_system, by_rater: which (segment, system) and (segment, rater) each row belongs to, shape (rows,).
    """

    start: int
    stop: int
    n_cells: int
    n_entries: int
    cell: Indices
    segment: Indices
    by_system: Indices
    by_rater: Indices
    segments: tuple[SegmentBatch, ...]
    documents: tuple[DocumentBatch, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelLayout:
    """The shares, and the columns that span documents: systems (fixed), then raters and rater × system if estimated.

    sizes: number of levels of each random term that spans documents, by its name, in the order of the columns.
    pairs: system and rater of each combination that occurs, shape (C, 2).
    """

    n_rows: int
    n_systems: int
    sizes: dict[str, int]
    pairs: Indices
    shares: tuple[RowBlock, ...]

    @property
    def n_columns(self) -> int:
        """Fixed and random columns together."""
        return self.n_systems + sum(self.sizes.values())


def layout(rows: Observations, terms: tuple[str, ...]) -> ModelLayout:
    """Arrange the rows for these terms. Without a term of documents every segment stands alone."""
    n_raters = len(rows.raters)
    pairs, pair = np.unique(rows.system * n_raters + rows.rater, return_inverse=True)
    system, rater = np.divmod(pairs, n_raters)
    sizes = {"rater": n_raters, "rater_system": pairs.size}
    sizes = {term: n for term, n in sizes.items() if term in terms}
    columns, after = [system], len(rows.systems)
    for term, n in sizes.items():
        columns.append(after + (rater if term == "rater" else np.arange(pairs.size)))
        after += n
    spanning = any("doc" in term for term in terms)
    block = rows.document if spanning else rows.segment
    blocks = tuple(_shares(rows, block, pair, np.stack(columns, axis=1)))
    return ModelLayout(len(rows), len(rows.systems), sizes, np.stack((system, rater), axis=1), blocks)


def _shares(rows: Observations, block: Indices, pair: Indices, columns: Indices) -> list[RowBlock]:
    """Cut at borders of blocks so that no share has too many entries."""
    width = np.int64(len(columns))
    of_block = np.bincount(np.unique(block * width + pair) // width)
    first = np.flatnonzero(np.diff(rows.segment, prepend=-1))
    of_segment = np.diff(first, append=len(rows)).astype(np.float64)
    entries = np.bincount(block[first], weights=of_segment**2)
    share_of = np.cumsum(of_block.astype(np.float64) ** 2 / MOST_ENTRIES + entries / MOST_SEGMENT_ENTRIES).astype(int)
    borders = np.searchsorted(block, np.flatnonzero(np.diff(share_of, prepend=-1, append=-1)))
    return [_share(rows, block, pair, columns, int(a), int(b)) for a, b in pairwise(borders)]


def _share(rows: Observations, block: Indices, pair: Indices, columns: Indices, start: int, stop: int) -> RowBlock:
    at = slice(start, stop)
    width = np.int64(len(columns))
    cells, cell = np.unique(block[at] * width + pair[at], return_inverse=True)
    _, of_cell, sizes = np.unique(cells // width, return_inverse=True, return_counts=True)
    first_cell = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    first_entry = np.concatenate(([0], np.cumsum(sizes**2)[:-1]))
    segment = rows.segment[at] - rows.segment[at].min()
    documents = tuple(
        _documents(rows, first_cell[sizes == n], first_entry[sizes == n], n, columns[cells % width], (at, cell))
        for n in np.unique(sizes)
    )
    place = _CellPositions(cell, first_entry[of_cell[cell]], cell - first_cell[of_cell[cell]], sizes[of_cell[cell]])
    count = np.bincount(segment)
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    segments = tuple(_segments(rows, start, begin[count == n], n, place) for n in np.unique(count))
    return RowBlock(
        start=start,
        stop=stop,
        n_cells=int(cells.size),
        n_entries=int((sizes**2).sum()),
        cell=cell,
        segment=segment,
        by_system=np.unique(segment * len(rows.systems) + rows.system[at], return_inverse=True)[1],
        by_rater=np.unique(segment * len(rows.raters) + rows.rater[at], return_inverse=True)[1],
        segments=segments,
        documents=documents,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CellPositions:
    """Of each row of a share: its cell, and of its document the first entry; its cell within it, and their number."""

    cell: Indices
    first: Indices
    local: Indices
    wide: Indices


def _documents(
    rows: Observations,
    first_cell: Indices,
    first_entry: Indices,
    n: int,
    columns: Indices,
    where: tuple[slice, Indices],
) -> DocumentBatch:
    cells = first_cell[:, None] + np.arange(n)
    at, cell = where
    of_cell = np.empty(int(cell.max()) + 1, dtype=np.int64)
    of_cell[cell] = np.arange(cell.size)  # any row of the cell: all share system and rater
    system, rater = rows.system[at][of_cell[cells]], rows.rater[at][of_cell[cells]]
    return DocumentBatch(
        first_entry,
        cells,
        columns[cells],
        system[:, :, None] == system[:, None, :],
        rater[:, :, None] == rater[:, None, :],
    )


def _segments(rows: Observations, start: int, begin: Indices, n: int, place: _CellPositions) -> SegmentBatch:
    """Segments with n ratings: their patterns (who shares a system or rater with whom), and sets of equal cells."""
    at = begin[:, None] + np.arange(n)
    system = _first_appearance_codes(rows.system[start + at])
    rater = _first_appearance_codes(rows.rater[start + at])
    shapes, pattern = np.unique(np.concatenate((system, rater), axis=1), axis=0, return_inverse=True)
    pattern = pattern.ravel()
    systems, raters = shapes[:, :n], shapes[:, n:]
    _, places, count = np.unique(place.cell[at], axis=0, return_index=True, return_counts=True)
    local, wide, first = place.local[at[places]], place.wide[at[places][:, :1]], place.first[at[places][:, :1]]
    return SegmentBatch(
        rows=at,
        pattern=pattern,
        same_system=systems[:, :, None] == systems[:, None, :],
        same_rater=raters[:, :, None] == raters[:, None, :],
        set_rows=first + local * wide,
        set_columns=local,
        set_pattern=pattern[places],
        set_count=count,
    )


def _first_appearance_codes(codes: Indices) -> Indices:
    """Codes of each row by first appearance, so that rows that differ in names only are equal; shape (g, n).

    The code of a column is the first column with the same value.
    """
    return np.asarray(np.argmax(codes[:, :, None] == codes[:, None, :], axis=2), dtype=np.intp)
