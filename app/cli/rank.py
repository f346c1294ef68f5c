"""`plumbline rank`: the ranking of a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console

from app.api.models.times import parse_data_version_or_time
from app.cli.kit import command_database, long_reports
from app.cli.kit.files import write_file_atomically
from app.cli.kit.output_formats import When, write_to_stdout
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.kit.terminal import format_ranking_table
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.recipe import CHECKED_AGAINST, CHOICES, NAMED, apply_query_options_to_recipe
from app.reports.inputs.named_recipes import resolve_recipe
from app.reports.kit.render import parquet
from app.reports.ranking import report as ranking_report
from app.reports.ranking.renderings import TABLES, render_ranking, render_segment_scores

CHOICE_OPTIONS = "\b\n" + "\n".join(
    f"--{choice.name.replace('_', '-')}: {choice.wording.sentence} ({choice.allowed_values_text.replace('`', '')})"
    for choice in CHOICES.values()
)
HELP = f"""Rank the systems of a campaign under a recipe.

The named recipes are {", ".join(NAMED)}.

An option can override each choice of the recipe: --normalize z --clusters paper --alpha 0.01
--exclude system:X --scoring spans:wmt24 --seed 7 …

{CHOICE_OPTIONS}
"""

SEGMENTS = "segments"
_FLAGS = {"csv": "csv", "tex": "latex", "md": "markdown", "svg": "svg", "parquet": "parquet"}


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("rank", help=HELP, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
        print_ranking
    )
    app.command("recipes")(print_built_in_recipes)


def print_ranking(
    context: typer.Context,
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    recipe: Annotated[str, typer.Option(help="Name of a recipe, including the campaign's own.")] = "recommended",
    as_of: When = None,
    as_json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="One line per system.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A table for a paper.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a pull request.")] = False,
    svg: Annotated[
        bool, typer.Option("--svg", help="A picture: the forest plot; with --table pairs, the matrix of pairs.")
    ] = False,
    to_parquet: Annotated[
        Path | None,
        typer.Option("--parquet", help="Parquet file with one row per system; needs the extra `parquet`."),
    ] = None,
    table: Annotated[
        str,
        typer.Option(help="Rows of the table: systems, pairs or (only CSV) segments."),
    ] = "systems",
    server: _remote.Server = None,
) -> None:
    """The ranking of a campaign."""
    wanted = {"json": as_json, "csv": csv, "tex": latex, "md": markdown, "svg": svg, "parquet": to_parquet is not None}
    kinds = [kind for kind, asked in wanted.items() if asked]
    if len(kinds) > 1:
        raise Invalid(
            "choose only one output format", places=(Place(("--" + kinds[1],), f"--{kinds[0]} is given too"),)
        )
    _check_table(table, kinds)
    asked = RankArguments(campaign, recipe, as_of, _choices(context.args), kinds[0] if kinds else "", table)
    remote = _remote.find_configured_remote_server(server)
    pieces = _rank_in_database(asked) if remote is None else _rank_on_server(remote, asked)
    if not kinds:
        Console().print(format_ranking_table(json.loads(b"".join(pieces))))
    elif to_parquet is not None:
        write_file_atomically(pieces, to_parquet)
    else:
        write_to_stdout(pieces)


@dataclass(frozen=True, slots=True)
class RankArguments:
    """The arguments of a ranking. choices: override those of the recipe. kind: "" for the terminal."""

    campaign: str
    recipe: str
    as_of: str | None
    choices: dict[str, list[str]]
    kind: str
    table: str


def _rank_in_database(asked: RankArguments) -> Iterator[bytes]:
    when = parse_data_version_or_time(asked.as_of)
    if asked.kind == parquet.SUFFIX:
        parquet.check_parquet_installed()
    with command_database.upgrade_and_open_database() as database:
        with database.transaction(snapshot=True) as session:
            base = resolve_recipe(session, asked.campaign, asked.recipe, place=("--recipe",))
            chosen = apply_query_options_to_recipe(base, asked.choices)
        if asked.table == SEGMENTS:
            yield from render_segment_scores(
                ranking_report.compute_ranking_with_fewest_draws(database, asked.campaign, recipe=chosen, as_of=when)
            )
            return
        body = ranking_report.find_or_compute_ranking(database, asked.campaign, recipe=chosen, as_of=when).body
    yield body if asked.kind in ("", "json") else render_ranking(body, asked.kind, asked.table)


def _rank_on_server(remote: _remote.RemoteServer, asked: RankArguments) -> Iterator[bytes]:
    path = f"/v1/campaigns/{quote(asked.campaign, safe='')}/ranking"
    query: dict[str, str | int | list[str]] = {"recipe": asked.recipe, **asked.choices}
    if asked.as_of is not None:
        query["as_of"] = asked.as_of
    segments = asked.table == SEGMENTS
    address, accept = (f"{path}/segments", "text/csv") if segments else (path, "application/json")
    with show_progress_bar("ranking") as on_progress:
        body = long_reports.fetch_report_when_ready(
            remote, "GET", address, query, accept=accept, on_progress=on_progress
        )
    if segments or asked.kind in ("", "json"):
        return iter((body,))
    query["as_of"] = json.loads(body)["data_version"]  # the ranking is stored by now
    query["picture" if asked.kind == "svg" else "table"] = asked.table
    return remote.stream_body(f"{path}.{asked.kind}", query)


def _check_table(table: str, kinds: list[str]) -> None:
    """Raise Invalid if there is no such table, or if the output format does not have it."""
    if table not in (*TABLES, SEGMENTS):
        there = ", ".join((*TABLES, SEGMENTS))
        raise Invalid("the options are not valid", places=(Place(("--table", table), f"there are: {there}"),))
    fitting = {SEGMENTS: ("csv",), "pairs": ("csv", "tex", "md", "svg", "parquet")}.get(table)
    if fitting and kinds not in [[kind] for kind in fitting]:
        what = f"is a table for --{' --'.join(_FLAGS[kind] for kind in fitting)}"
        raise Invalid("the options are not valid", places=(Place(("--table", table), what),))


def print_built_in_recipes(server: _remote.Server = None) -> None:
    """List the named recipes, and what each was checked against."""
    remote = _remote.find_configured_remote_server(server)
    sources = {name: CHECKED_AGAINST[name] for name in NAMED}
    if remote is not None:
        items = json.loads(remote.fetch_body("/v1/recipes", accept="application/json"))["items"]
        sources = {item["name"]: item["checked_against"] for item in items}
    for name, checked_against in sources.items():
        typer.echo(f"{name}: {checked_against}")


def _choices(arguments: list[str]) -> dict[str, list[str]]:
    """Read `--name value` and `--name=value` as options of a recipe; a name may occur several times."""
    choices: dict[str, list[str]] = {}
    rest = list(arguments)
    while rest:
        name, separator, value = rest.pop(0).partition("=")
        if not name.startswith("--") or not (separator or rest):
            raise Invalid("the options are not valid", places=(Place((name,), "must be --name value"),))
        choices.setdefault(name[2:].replace("-", "_"), []).append(value if separator else rest.pop(0))
    return choices
