"""Positions of the model's rows in three levels of blocks: segments, documents, and the terms that span documents.

Rows of different documents are connected only by systems and raters; rows of different segments of a document only by
the document's terms. Within a block, rows differ by *cell*, the combination of system and rater. So a segment's block
has one row per rating, and a document's block has one row per cell. Blocks of equal size are computed together.
Everything that does not depend on scores is computed once per *pattern*, that is, which rows share a system or a rater.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.stats.aggregate import Indices
from app.stats.components.observations import ModelObservations
from app.stats.components.terms import MOST_CELLS, encode_term_levels
from app.stats.ratings import Bools, Floats

MOST_ENTRIES = 2_000_000
"""Most entries of the documents' matrices that are held at once."""

MOST_SEGMENT_ENTRIES = 8_000_000
"""Most entries of the segments' matrices held at once, before equal matrices are merged."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentBatch:
    """Segments of one row block with n ratings each, sorted by pattern.

    rows: positions in the row block, shape (g, n). borders: start of each pattern and end of the last, shape (u + 1,).
    same_system, same_rater: of each pattern, shape (u, n, n). A set is all segments with the same cells in the same
    document; only the first document of each document pattern has sets. set_rows, set_columns: positions of a set's
    entries in the flat matrices of documents, as row start and column offset, shape (q, n) each. set_pattern,
    set_count: pattern of each set and number of its segments, shape (q,).
    """

    rows: Indices
    borders: Indices
    same_system: Bools
    same_rater: Bools
    set_rows: Indices
    set_columns: Indices
    set_pattern: Indices
    set_count: Indices


@dataclass(frozen=True, slots=True, eq=False)
class DocumentBatch:
    """Documents with n cells each, sorted by pattern.

    first: position of each pattern's first entry in the flat matrices, shape (u,). borders: start of each pattern and
    end of the last, shape (u + 1,). cells: positions in the row block's flat vectors, shape (b, n). columns: of the
    accumulated columns, those of each cell, shape (b, n, c). same_system, same_rater: of each pattern, shape (u, n, n).
    """

    first: Indices
    borders: Indices
    cells: Indices
    columns: Indices
    same_system: Bools
    same_rater: Bools


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some documents: rows start … stop − 1. cell: position of each row in the flat vectors, shape (rows,).

    n_entries: number of entries in the matrices of the document patterns.
    """

    start: int
    stop: int
    n_cells: int
    n_entries: int
    cell: Indices
    segments: tuple[SegmentBatch, ...]
    documents: tuple[DocumentBatch, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelLayout:
    """The row blocks, and the columns that span documents: systems (fixed), then raters, rater × system if estimated.

    sizes: number of levels of each random term that spans documents, by name, in the order of the columns.
    pairs: system and rater of each combination that occurs, shape (C, 2). levels: the level of each row for each term
    of the model, shape (N,) each. spread: an indicator matrix that maps each combination to the columns before
    rater × system, shape (C, columns). It is None if there are too many combinations; documents are then added to
    those columns directly.
    """

    n_rows: int
    n_systems: int
    sizes: dict[str, int]
    pairs: Indices
    levels: dict[str, Indices]
    spread: Floats | None
    shares: tuple[RowBlock, ...]

    @property
    def n_columns(self) -> int:
        """Number of fixed and random columns."""
        return self.n_systems + sum(self.sizes.values())

    @property
    def n_accumulated_columns(self) -> int:
        """Number of columns to which documents are added: combinations of system and rater, or the model's columns."""
        return self.n_columns if self.spread is None else len(self.pairs)


def make_model_layout(rows: ModelObservations, terms: tuple[str, ...]) -> ModelLayout:
    """Arrange the rows for these terms; without a document term every segment is a separate block."""
    n_raters = len(rows.raters)
    pairs, pair = np.unique(rows.system * n_raters + rows.rater, return_inverse=True)
    system, rater = np.divmod(pairs, n_raters)
    sizes = {"rater": n_raters, "rater_system": pairs.size}
    sizes = {term: n for term, n in sizes.items() if term in terms}
    wide = [system, *([len(rows.systems) + rater] if "rater" in terms else [])]
    columns, spread = np.stack(wide, axis=1), None
    if "rater_system" in terms or pairs.size <= MOST_CELLS:
        spread = np.zeros((pairs.size, len(rows.systems) + sizes.get("rater", 0)))
        np.put_along_axis(spread, columns, 1.0, axis=1)
        columns = np.arange(pairs.size)[:, None]
    spanning = any("doc" in term for term in terms)
    block = rows.document if spanning else rows.segment
    blocks = tuple(_shares(rows, block, pair, columns))
    of_rows = {term: encode_term_levels(rows, term) for term in terms}
    combinations = np.stack((system, rater), axis=1)
    return ModelLayout(len(rows), len(rows.systems), sizes, combinations, of_rows, spread, blocks)


def _shares(rows: ModelObservations, block: Indices, pair: Indices, columns: Indices) -> list[RowBlock]:
    """Split the rows at block borders so that no row block has too many entries."""
    width = np.int64(len(columns))
    of_block = np.bincount(np.unique(block * width + pair) // width)
    first = np.flatnonzero(np.diff(rows.segment, prepend=-1))
    of_segment = np.diff(first, append=len(rows)).astype(np.float64)
    entries = np.bincount(block[first], weights=of_segment**2)
    share_of = np.cumsum(of_block.astype(np.float64) ** 2 / MOST_ENTRIES + entries / MOST_SEGMENT_ENTRIES).astype(int)
    borders = np.searchsorted(block, np.flatnonzero(np.diff(share_of, prepend=-1, append=-1)))
    return [_share(rows, block, pair, columns, int(a), int(b)) for a, b in pairwise(borders)]


def _share(rows: ModelObservations, block: Indices, pair: Indices, columns: Indices, start: int, stop: int) -> RowBlock:
    at = slice(start, stop)
    width = np.int64(len(columns))
    cells, first_row, cell = np.unique(block[at] * width + pair[at], return_index=True, return_inverse=True)
    _, of_cell, sizes = np.unique(cells // width, return_inverse=True, return_counts=True)
    first_cell = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    count = np.bincount(rows.segment[at] - rows.segment[at].min())
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    place = _RowPlaces(
        document=of_cell[cell],
        cell=cell,
        local=cell - first_cell[of_cell[cell]],
        system=rows.system[at][first_row],
        rater=_local_codes(rows.rater[at][first_row], of_cell, len(rows.raters)),
    )
    pattern = _document_patterns(place, begin, count, first_cell, sizes)
    _, first = np.unique(pattern, return_index=True)
    first_entry = np.concatenate(([0], np.cumsum(sizes[first] ** 2)))
    documents = tuple(
        _documents(place, np.flatnonzero(sizes == n), pattern, first_entry, first_cell, n, columns[cells % width])
        for n in np.unique(sizes)
    )
    entries = _PatternEntries(first_entry[pattern], sizes, np.isin(np.arange(sizes.size), first))
    segments = tuple(_segments(rows, start, begin[count == n], n, place, entries) for n in np.unique(count))
    return RowBlock(start, stop, int(cells.size), int(first_entry[-1]), cell, segments, documents)


@dataclass(frozen=True, slots=True, eq=False)
class _RowPlaces:
    """Document and cell of each row of a row block, and the cell's number within the document; shape (rows,).

    system, rater: of each cell, shape (cells,); raters are numbered within their document.
    """

    document: Indices
    cell: Indices
    local: Indices
    system: Indices
    rater: Indices


@dataclass(frozen=True, slots=True, eq=False)
class _PatternEntries:
    """For each document: first entry of its pattern, number of cells, and whether it is the first with the pattern."""

    first: Indices
    wide: Indices
    named: Bools


def _local_codes(codes: Indices, group: Indices, most: int) -> Indices:
    """Number the codes that occur in each group, in ascending order; group numbers must not decrease."""
    _, dense = np.unique(group * np.int64(most) + codes, return_inverse=True)
    first = np.minimum.reduceat(dense, np.flatnonzero(np.diff(group, prepend=-1)))
    return np.asarray(dense - first[group], dtype=np.int64)


def _document_patterns(
    place: _RowPlaces, begin: Indices, count: Indices, first_cell: Indices, sizes: Indices
) -> Indices:
    """Give the same number to documents that differ only in names and scores, shape (documents,).

    Such documents have the same number of cells, share systems and raters in the same way, and have the same sets of
    segments.
    """
    local, system, rater = (np.asarray(one, dtype=np.int32) for one in (place.local, place.system, place.rater))
    own: list[list[bytes]] = [[] for _ in sizes]
    for document, a, n in zip(place.document[begin].tolist(), begin.tolist(), count.tolist(), strict=True):
        own[document].append(local[a : a + n].tobytes())
    known: dict[tuple[bytes, bytes, tuple[bytes, ...]], int] = {}
    patterns = []
    for segments, a, n in zip(own, first_cell.tolist(), sizes.tolist(), strict=True):
        cells = slice(a, a + n)
        another = np.diff(system[cells]) != 0
        patterns.append(
            known.setdefault((another.tobytes(), rater[cells].tobytes(), tuple(sorted(segments))), len(known))
        )
    return np.array(patterns, dtype=np.int64)


def _documents(
    place: _RowPlaces,
    some: Indices,
    pattern: Indices,
    first_entry: Indices,
    first_cell: Indices,
    n: int,
    columns: Indices,
) -> DocumentBatch:
    """Make the batch of documents with n cells."""
    some = some[np.argsort(pattern[some], kind="stable")]
    patterns, first, count = np.unique(pattern[some], return_index=True, return_counts=True)
    cells = first_cell[some][:, None] + np.arange(n)
    system, rater = place.system[cells[first]], place.rater[cells[first]]
    return DocumentBatch(
        first=first_entry[patterns],
        borders=np.concatenate(([0], np.cumsum(count))),
        cells=cells,
        columns=columns[cells],
        same_system=system[:, :, None] == system[:, None, :],
        same_rater=rater[:, :, None] == rater[:, None, :],
    )


def _segments(
    rows: ModelObservations, start: int, begin: Indices, n: int, place: _RowPlaces, entries: _PatternEntries
) -> SegmentBatch:
    """Make the batch of segments with n ratings: their patterns and their sets of equal cells."""
    at = begin[:, None] + np.arange(n)
    system = _first_appearance_codes(rows.system[start + at])
    rater = _first_appearance_codes(rows.rater[start + at])
    shapes, pattern = np.unique(np.concatenate((system, rater), axis=1), axis=0, return_inverse=True)
    pattern = pattern.ravel()
    systems, raters = shapes[:, :n], shapes[:, n:]
    named = np.flatnonzero(entries.named[place.document[begin]])
    _, places, count = np.unique(place.cell[at[named]], axis=0, return_index=True, return_counts=True)
    places = named[places]
    local, document = place.local[at[places]], place.document[begin[places]]
    first, wide = entries.first[document][:, None], entries.wide[document][:, None]
    return SegmentBatch(
        rows=at[np.argsort(pattern, kind="stable")],
        borders=np.concatenate(([0], np.cumsum(np.bincount(pattern)))),
        same_system=systems[:, :, None] == systems[:, None, :],
        same_rater=raters[:, :, None] == raters[:, None, :],
        set_rows=first + local * wide,
        set_columns=local,
        set_pattern=pattern[places],
        set_count=count,
    )


def _first_appearance_codes(codes: Indices) -> Indices:
    """Code each row by first appearance, so that rows that differ only in names are equal; shape (g, n).

    The code of a column is the first column with the same value.
    """
    return np.asarray(np.argmax(codes[:, :, None] == codes[:, None, :], axis=2), dtype=np.intp)
