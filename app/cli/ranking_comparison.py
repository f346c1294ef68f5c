"""`plumbline report CAMPAIGN recipes` and `plumbline rank-series`: rankings side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console, RenderableType

from app.api.models.ranking_comparison import RankingsSideBySideOut
from app.cli.kit import command_database, long_reports
from app.cli.kit.output_formats import Csv, Json, Latex, Markdown, Svg, choose_output_format, write_to_stdout
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.reports.kit import text_formatting
from app.reports.kit.table import Alignment, Table
from app.reports.ranking.renderings import MEDIA_TYPES
from app.reports.ranking_comparison import series as all_series
from app.reports.ranking_comparison.compared_rankings import RankingsSideBySide
from app.reports.ranking_comparison.report import find_or_compute_recipe_rankings
from app.reports.ranking_comparison.tables import render_rankings_side_by_side
from app.storage.db import Database

RECIPES = "recipes"
Ask = Callable[[Database], RankingsSideBySide]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("rank-series")(print_series_rankings)


def print_recipe_comparison(
    campaign: str, recipes: Sequence[str], as_of: int | None, output_format: str, remote: _remote.RemoteServer | None
) -> None:
    """Write or print rankings by several recipes side by side, published ones and the campaign's own."""
    names = list(dict.fromkeys(recipes))
    query: dict[str, str | int] = {"recipes": ",".join(names), **({} if as_of is None else {"as_of": as_of})}
    path = f"/v1/campaigns/{quote(campaign, safe='')}/reports/{RECIPES}"
    _answer(
        remote,
        path,
        query,
        output_format,
        lambda database: find_or_compute_recipe_rankings(database, campaign, names, as_of=as_of),
    )


def print_series_rankings(
    series: Annotated[str, typer.Argument(help="Name of the series, as in the campaigns' settings.")],
    recipe: Annotated[str, typer.Option(help="Recipe name as defined in each campaign, including custom recipes.")] = (
        "recommended"
    ),
    as_json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
    markdown: Markdown = False,
    svg: Svg = False,
    server: _remote.Server = None,
) -> None:
    """Compare the campaigns of a series: rank and cluster of each system in each."""
    wanted = choose_output_format(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    path = f"/v1/series/{quote(series, safe='')}/ranking"
    ask: Ask = partial(all_series.find_or_compute_series_rankings, name=series, recipe=recipe)
    _answer(_remote.find_configured_remote_server(server), path, {"recipe": recipe}, wanted, ask)


def _answer(
    remote: _remote.RemoteServer | None, path: str, query: Mapping[str, str | int], kind: str, ask: Ask
) -> None:
    if remote is None:
        with command_database.upgrade_and_open_database() as database:
            rankings = ask(database)
        told = kind in ("", "json")
        body = (
            RankingsSideBySideOut.from_rankings(rankings).model_dump_json().encode()
            if told
            else render_rankings_side_by_side(rankings, kind)
        )
    else:
        body = _compare_on_server(remote, path, query, kind)
    if kind:
        write_to_stdout([body])
    else:
        Console().print(_make_comparison_table(json.loads(body)))


def _compare_on_server(remote: _remote.RemoteServer, path: str, query: Mapping[str, str | int], kind: str) -> bytes:
    """Return the report in the requested format; if a job makes it, wait for the job.

    There is only one request: before a second one, the data could change, which would start another job.
    """
    told = kind in ("", "json")
    where, accept = (path, "application/json") if told else (f"{path}.{kind}", MEDIA_TYPES[kind].partition(";")[0])
    with show_progress_bar("ranking") as on_progress:
        return long_reports.fetch_report_when_ready(remote, "GET", where, query, accept=accept, on_progress=on_progress)


def _make_comparison_table(rankings: dict[str, Any]) -> RenderableType:
    """Make a table with a line per system: its mean relative rank, and rank and cluster in every ranking."""
    names = [one["name"] for one in rankings["rankings"]]
    rows = [
        (_system_label(one), f"{one['mean_relative_rank']:.2f}", *(_place(one["places"].get(name)) for name in names))
        for one in rankings["systems"]
    ]
    alignments: list[Alignment] = ["left" if n == 0 else "right" for n in range(len(names) + 2)]
    table = Table(("System", "Mean relative rank", *names), tuple(alignments), tuple(rows))
    origins = [
        f"{one['name']}: {one['why']}"
        if one["why"]
        else f"{one['name']}: {one['campaign']} version {one['data_version']}, recipe {one['recipe']}"
        for one in rankings["rankings"]
    ]
    notes = [
        "A relative rank is 0 for the best system of a ranking and 1 for the worst.",
        *origins,
        *rankings["warnings"],
    ]
    return make_rich_table(table, "Rank, and cluster in brackets", notes)


def _system_label(row: dict[str, Any]) -> str:
    name = text_formatting.make_printable(row["name"] or row["system"])
    return name if name in ("", row["system"]) else f"{name} [{row['system']}]"


def _place(place: dict[str, Any] | None) -> str:
    if place is None:
        return "–"
    rank = text_formatting.format_rank(place["rank"])
    return rank if place["cluster"] is None else f"{rank} ({place['cluster']})"
