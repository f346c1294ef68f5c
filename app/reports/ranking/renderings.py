"""Other representations of a stored ranking: `render_ranking` makes CSV, LaTeX, Markdown, SVG or Parquet of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from app.domain.errors import Invalid, Place
from app.reports.kit.render import parquet
from app.reports.ranking import csv as ranking_csv
from app.reports.ranking import markup as ranking_markup
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking import view as ranking_view
from app.reports.ranking.forest_plot import plot_forest
from app.reports.ranking.pair_matrix import plot_pair_matrix
from app.reports.ranking.view import RankingView
from app.stats.ranking.result import Ranking

MEDIA_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "csv": "text/csv; charset=utf-8; header=present",
        "tex": "application/x-tex; charset=utf-8",
        "md": "text/markdown; charset=utf-8",
        "svg": "image/svg+xml",
    }
)
RANKING_TYPES: Mapping[str, str] = MappingProxyType({**MEDIA_TYPES, parquet.SUFFIX: parquet.MEDIA_TYPE})
"""Media types of a ranking: those of every report, and Parquet if its extra is installed."""
TABLES = ("systems", "pairs")
_SYSTEM_NAMES = frozenset({2})
_PAIR_NAMES = frozenset({0, 1})


class NoSuchRendering(Invalid):
    """A ranking cannot be shown this way."""


def render_ranking(body: bytes, kind: str, table: str = "systems") -> bytes:
    """A stored ranking report in another representation; the same body gives the same bytes.

    Parameters
    ----------
    body : canonical JSON of a ranking, as stored.
    kind : `csv`, `tex`, `md`, `svg` or `parquet`.
    table : `systems` (one row a system, or the forest plot) or `pairs` (one row a pair, or the matrix of all pairs).

    Raises
    ------
    ParquetNotInstalled : Parquet, and its extra is not installed.
    Invalid : another kind or table. Segment scores are not in the stored report: see `render_segment_scores`.
    """
    if kind not in RANKING_TYPES:
        raise NoSuchRendering(places=(Place(("query", "format"), f"must be one of {', '.join(RANKING_TYPES)}"),))
    if table not in TABLES:
        raise NoSuchRendering(places=(Place(("query", "table"), f"must be one of {', '.join(TABLES)}"),))
    return _render_view(ranking_view.parse_ranking_view_json(body), kind, of_pairs=table == "pairs")


def render_segment_scores(ranking: Ranking) -> Iterator[bytes]:
    """Yield the segment scores behind a ranking as CSV, in batches."""
    return ranking_csv.make_segments_csv(ranking.segments, recipe=ranking.recipe.name)


def _render_view(view: RankingView, kind: str, *, of_pairs: bool) -> bytes:
    if kind == "svg":
        return plot_pair_matrix(view) if of_pairs else plot_forest(view)
    if kind in ("csv", parquet.SUFFIX):
        numeric = kind != "csv"
        flat = ranking_csv.make_pairs_csv(view, numeric=numeric) if of_pairs else ranking_csv.make_systems_csv(view)
        return flat if kind == "csv" else b"".join(parquet.convert_csv_to_parquet([flat], parquet.RANKING))
    shown = ranking_tables.make_pairs_table(view) if of_pairs else ranking_tables.make_systems_table(view)
    if kind == "md":
        return ranking_markup.render_markdown(view, shown, code_columns=_PAIR_NAMES if of_pairs else _SYSTEM_NAMES)
    return ranking_markup.render_latex(view, shown, long=of_pairs)
