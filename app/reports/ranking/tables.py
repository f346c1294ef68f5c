"""A ranking as tables for people: columns, digits and rules; `app.reports.ranking.csv` makes the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from app.reports.kit import text_formatting
from app.reports.kit.table import Alignment, Table
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking.view import PairLine, RankingView, SystemLine


def make_systems_table(view: RankingView) -> Table:
    """Make one row per system, best first, with a rule above each new cluster."""
    places, raw_places = choose_score_digits(view.systems)
    columns: list[tuple[str, Alignment]] = [("Cluster", "right"), ("Rank", "right"), ("System", "left")]
    columns.append((ranking_captions.describe_score(view), "right"))
    if view.scores_differ_from_raw:
        columns.append(("Raw score", "right"))
    columns += [(f"{view.interval_level:.0%} interval", "left"), ("Rank range", "left")]
    columns += [("Segments", "right"), ("Documents", "right"), ("Effective", "right"), ("Ratings", "right")]
    rows = []
    for line in view.systems:
        row = [
            _format_integer(line.cluster),
            text_formatting.format_rank(line.rank),
            label_system_with_kind(line),
            text_formatting.format_number(line.score, places),
        ]
        if view.scores_differ_from_raw:
            row.append(text_formatting.format_number(line.raw, raw_places))
        row += [
            text_formatting.format_interval(line.interval, places),
            text_formatting.format_rank_range(line.rank_range),
        ]
        effective = "–" if line.effective_documents is None else f"{line.effective_documents:.1f}"
        row += [
            _format_integer(line.n_segments),
            _format_integer(line.n_documents),
            effective,
            _format_integer(line.n_ratings),
        ]
        rows.append(tuple(row))
    headings, alignments = zip(*columns, strict=True)
    return Table(headings, alignments, tuple(rows), find_cluster_breaks(view.systems))


def make_pairs_table(view: RankingView) -> Table:
    """Make one row per pair, the higher-ranked system first, with intervals for new raters and domains if known."""
    places, names = (
        text_formatting.choose_decimals(p.difference for p in view.pairs),
        {s.system: label_system_with_key(s) for s in view.systems},
    )
    level = f"{view.interval_level:.0%} interval"
    wider = [(f"{level}, {of}", ends) for of, ends in _WIDER if any(ends(pair) is not None for pair in view.pairs)]
    columns: list[tuple[str, Alignment]] = [("Better", "left"), ("Worse", "left"), ("Difference", "right")]
    columns += [(level, "left"), *((heading, "left") for heading, _ in wider)]
    columns += [("p", "right"), ("p adjusted", "right"), ("Significant", "left"), ("Common segments", "right")]
    headings, alignments = zip(*columns, strict=True)
    rows = []
    for pair in view.pairs:
        row = [names.get(pair.better, pair.better), names.get(pair.worse, pair.worse)]
        row += [
            text_formatting.format_number(pair.difference, places),
            text_formatting.format_interval(pair.interval, places),
        ]
        row += [text_formatting.format_interval(ends(pair), places) for _, ends in wider]
        row += [
            text_formatting.format_p_value(p, view.n_permutations_without_plus_one)
            for p in (pair.p_value, pair.p_adjusted)
        ]
        row += [describe_pair_verdict(pair), _format_integer(pair.n_common)]
        rows.append(tuple(row))
    return Table(headings, alignments, tuple(rows))


_WIDER: tuple[tuple[str, Callable[[PairLine], tuple[float, float] | None]], ...] = (
    ("new raters", attrgetter("new_raters_interval")),
    ("new domains", attrgetter("new_domains_interval")),
)


def describe_pair_verdict(pair: PairLine) -> str:
    """Describe the result of the test of a pair in a few words."""
    if not pair.testable:
        return "not testable"
    if pair.significant_reverse:
        return "yes, in reverse"
    return "yes" if pair.significant else "no"


def choose_score_digits(systems: Sequence[SystemLine]) -> tuple[int, int]:
    """Return the decimals for the scores and for the raw scores."""
    return text_formatting.choose_decimals(s.score for s in systems), text_formatting.choose_decimals(
        s.raw for s in systems
    )


def find_cluster_breaks(systems: Sequence[SystemLine]) -> frozenset[int]:
    """Return the rows at which a new cluster starts, without the first row."""
    return frozenset(i for i in range(1, len(systems)) if systems[i].cluster != systems[i - 1].cluster)


def label_system_with_kind(line: SystemLine) -> str:
    """Return a system's key, preceded by its name if it differs; human translations are marked."""
    label = label_system_with_key(line)
    return f"{label} (human)" if line.kind == "human" else label


def label_system_with_key(line: SystemLine) -> str:
    """Return a system's key, preceded by its name if it differs; addresses contain the key, so both are needed."""
    name = text_formatting.make_printable(line.name or line.system)
    return (
        line.system
        if name in ("", line.system, text_formatting.make_printable(line.system))
        else f"{name} [{line.system}]"
    )


def _format_integer(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
