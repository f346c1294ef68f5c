"""A ranking as CSV at full precision: one row per system, pair or segment score, and nothing a spreadsheet executes."""

from __future__ import annotations

from collections.abc import Iterator

from app.reports.kit import text_formatting
from app.reports.kit.render.csv_text import render_csv
from app.reports.kit.table import Cell
from app.reports.ranking.view import PairLine, RankingView, SystemLine
from app.stats.ranking.result import SegmentScoreTable

_CSV_BATCH = 5_000

SYSTEM_COLUMNS = (
    "rank",
    "system",
    "kind",
    "cluster",
    "rank_low",
    "rank_high",
    "rank_set_low",
    "rank_set_high",
    "score",
    "raw",
    "interval_low",
    "interval_high",
    "relative",
    "relative_low",
    "relative_high",
    "n_segments",
    "n_documents",
    "effective_documents",
    "n_ratings",
    "wins",
    "losses",
    "name",
)
PAIR_COLUMNS = (
    "better",
    "worse",
    "difference",
    "interval_low",
    "interval_high",
    "p_value",
    "p_reverse",
    "p_adjusted",
    "significant",
    "significant_reverse",
    "testable",
    "order_conflict",
    "minimum_detectable",
    "n_common",
    "documents_common",
    "effective_documents",
    "new_raters_low",
    "new_raters_high",
    "new_domains_low",
    "new_domains_high",
    "better_name",
    "worse_name",
)
ORIGIN_COLUMNS = ("campaign", "data_version", "recipe", "recipe_hash", "seed", "higher_is_better")
SEGMENT_COLUMNS = ("system", "document", "position", "score", "raw", "n_ratings", "recipe")


def make_systems_csv(view: RankingView) -> bytes:
    """Make one row per system at full precision; the last columns say where the figures come from."""
    return render_csv((*SYSTEM_COLUMNS, *ORIGIN_COLUMNS), ((*_system_cells(s), *_origin(view)) for s in view.systems))


def make_pairs_csv(view: RankingView, *, numeric: bool = False) -> bytes:
    """Make one row per pair at full precision; the last columns say where the figures come from.

    numeric: for formats that allow no text in a column of numbers. Otherwise a p-value that no draw reached is a bound.
    """
    names = {line.system: line.name for line in view.systems}
    draws = view.n_permutations_without_plus_one
    cells = ((*_full_pair(p, draws, numeric=numeric), names.get(p.better), names.get(p.worse)) for p in view.pairs)
    rows = ((*pair, *_origin(view)) for pair in cells)
    return render_csv((*PAIR_COLUMNS, *ORIGIN_COLUMNS), rows)


def make_segments_csv(table: SegmentScoreTable, *, recipe: str) -> Iterator[bytes]:
    """Yield segment scores in batches, one row per (system, document, position); a missing score is an empty cell."""
    yield render_csv(SEGMENT_COLUMNS, ())
    for start in range(0, len(table), _CSV_BATCH):
        yield render_csv(None, _segment_rows(table, range(start, min(start + _CSV_BATCH, len(table))), recipe))


def _segment_rows(table: SegmentScoreTable, rows: range, recipe: str) -> Iterator[tuple[Cell, ...]]:
    for i in rows:
        score, raw = float(table.score[i]), float(table.raw[i])
        yield (
            table.systems[table.system[i]],
            table.documents[table.document[i]],
            int(table.position[i]),
            score if score == score else None,
            raw if raw == raw else None,
            int(table.n[i]),
            recipe,
        )


def _system_cells(s: SystemLine) -> tuple[Cell, ...]:
    head = (
        text_formatting.format_rank(s.rank),
        s.system,
        s.kind,
        s.cluster,
        *_bounds(s.rank_range),
        *_bounds(s.rank_set),
    )
    scores = (s.score, s.raw, *_bounds(s.interval), s.relative, *_bounds(s.relative_interval))
    return (*head, *scores, s.n_segments, s.n_documents, s.effective_documents, s.n_ratings, s.wins, s.losses, s.name)


def _full_pair(p: PairLine, draws: int | None, *, numeric: bool) -> tuple[Cell, ...]:
    chances: tuple[Cell, ...] = (p.p_value, p.p_reverse, p.p_adjusted)
    if not numeric:
        chances = tuple(
            text_formatting.format_p_value_for_csv(one, draws) for one in (p.p_value, p.p_reverse, p.p_adjusted)
        )
    tested = (*chances, p.significant, p.significant_reverse, p.testable, p.order_conflict)
    known = (p.minimum_detectable, p.n_common, p.documents_common, p.effective_documents)
    wider = (*_bounds(p.new_raters_interval), *_bounds(p.new_domains_interval))
    return (p.better, p.worse, p.difference, *_bounds(p.interval), *tested, *known, *wider)


def _origin(view: RankingView) -> tuple[Cell, ...]:
    recipe = view.recipe
    return (view.campaign, view.data_version, recipe.name, recipe.hash, view.seed, view.higher_is_better)


def _bounds(pair: tuple[float, float] | None) -> tuple[Cell, Cell]:
    return pair if pair is not None else (None, None)
