"""Where the rows of a model stand in its three levels of blocks: segments, documents, and what spans them.

Rows of different documents meet only in systems and raters, rows of different segments of a document only in what the
document shares. Within a block rows differ by *cell*, the combination of system and rater, so a segment's block has as
many rows as it has ratings, a document's as many as it has cells. Blocks of equal size are computed together, and what
depends on no score is computed once for all blocks of one *pattern*: who shares a system or a rater with whom.
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
"""Entries of the documents' matrices that are held at once."""

MOST_SEGMENT_ENTRIES = 8_000_000
"""Entries of the segments' matrices, before equal ones are put together."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentBatch:
    """Segments with n ratings each, of one share, those of one pattern beside each other.

    rows: positions in the share, shape (g, n). borders: where each pattern begins and the last ends, shape (u + 1,).
    same_system, same_rater: of each pattern, shape (u, n, n). set_rows, set_columns: where the entries of a set of
    segments stand in the flat matrices of documents, first of the row and the columns apart: shape (q, n) each.
    set_pattern, set_count: of each set of segments with the same cells of the same document, shape (q,). Sets are of
    the first document of each pattern of documents alone.
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
    """Documents with n cells each, those of one pattern beside each other.

    first: of the entries of each pattern in the flat matrices, shape (u,). borders: where each pattern begins and the
    last ends, shape (u + 1,). cells: positions in the share's flat vectors, shape (b, n). columns: of each cell among
    what the documents are added to, shape (b, n, c). same_system, same_rater: of each pattern, shape (u, n, n).
    """

    first: Indices
    borders: Indices
    cells: Indices
    columns: Indices
    same_system: Bools
    same_rater: Bools


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some documents: rows start … stop − 1. cell: of each row, position in the flat vectors, shape (rows,).

    n_entries: of the matrices of the patterns of documents.
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
    """The shares, and the columns that span documents: systems (fixed), then raters and rater × system if estimated.

    sizes: number of levels of each random term that spans documents, by its name, in the order of the columns.
    pairs: system and rater of each combination that occurs, shape (C, 2). levels: which level of each term of the model
    a row has, shape (N,) each. spread: which of the columns before rater × system each combination belongs to, as ones
    and zeros of shape (C, columns); None where there are too many combinations, and documents are added to those
    columns at once.
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
        """Fixed and random columns together."""
        return self.n_systems + sum(self.sizes.values())

    @property
    def n_accumulated_columns(self) -> int:
        """Columns that documents are added to: combinations of system and rater, or those of the model."""
        return self.n_columns if self.spread is None else len(self.pairs)


def make_model_layout(rows: ModelObservations, terms: tuple[str, ...]) -> ModelLayout:
    """Arrange the rows for these terms. Without a term of documents every segment stands alone."""
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
    """Cut at borders of blocks so that no share has too many entries."""
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
    """Of each row of a share its document, its cell, and that cell's number within the document; shape (rows,).

    system, rater: of each cell, shape (cells,); raters are numbered within their document.
    """

    document: Indices
    cell: Indices
    local: Indices
    system: Indices
    rater: Indices


@dataclass(frozen=True, slots=True, eq=False)
class _PatternEntries:
    """Of each document: the first entry of its pattern, its cells, and whether it is the first of that pattern."""

    first: Indices
    wide: Indices
    named: Bools


def _local_codes(codes: Indices, group: Indices, most: int) -> Indices:
    """Number what occurs in each group in the order of the codes; groups never fall."""
    _, dense = np.unique(group * np.int64(most) + codes, return_inverse=True)
    first = np.minimum.reduceat(dense, np.flatnonzero(np.diff(group, prepend=-1)))
    return np.asarray(dense - first[group], dtype=np.int64)


def _document_patterns(
    place: _RowPlaces, begin: Indices, count: Indices, first_cell: Indices, sizes: Indices
) -> Indices:
    """Documents that differ in names and scores only get one number, shape (documents,).

    Such have as many cells, which share systems and raters in the same way, and the same sets of segments.
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
    """Documents with n cells."""
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
    """Segments with n ratings: their patterns (who shares a system or rater with whom), and sets of equal cells."""
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
    """Codes of each row by first appearance, so that rows that differ in names only are equal; shape (g, n).

    The code of a column is the first column with the same value.
    """
    return np.asarray(np.argmax(codes[:, :, None] == codes[:, None, :], axis=2), dtype=np.intp)
