"""`plumbline rank`: the ranking of a campaign."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

from app.cli import _context
from app.cli._show import ranking_table
from app.domain.errors import Invalid, Place
from app.domain.recipe import CHECKED_AGAINST, NAMED, Recipe, from_options
from app.services import reports
from app.services.recipes import named
from app.services.renderings import TABLES, render, segments
from app.storage.db import Database

HELP = f"""The ranking of a campaign under a recipe ({", ".join(NAMED)}).

Any choice of the recipe can be given as an option of its name: --normalize z --clusters paper --alpha 0.01
--exclude system:X --scoring spans:wmt24 --seed 7 …
"""


SEGMENTS = "segments"
_FLAGS = {"csv": "csv", "tex": "latex", "md": "markdown", "svg": "svg"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("rank", help=HELP, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(rank)
    app.command("recipes")(recipes)


def rank(
    context: typer.Context,
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    recipe: Annotated[str, typer.Option(help="Name of a recipe, the campaign's own ones included.")] = "recommended",
    as_of: Annotated[int | None, typer.Option(help="Data version to speak about; the latest by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="A line a system.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A table for a paper.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a pull request.")] = False,
    svg: Annotated[
        bool, typer.Option("--svg", help="A picture: the forest plot, or the matrix of --table pairs.")
    ] = False,
    table: Annotated[
        str,
        typer.Option(help="What the CSV, LaTeX or Markdown table has a line for: systems, pairs or segments (CSV)."),
    ] = "systems",
) -> None:
    """The ranking of a campaign."""
    kinds = [
        k for k, asked in (("json", as_json), ("csv", csv), ("tex", latex), ("md", markdown), ("svg", svg)) if asked
    ]
    if len(kinds) > 1:
        raise Invalid("one kind of answer at a time", places=(Place(("--" + kinds[1],), f"--{kinds[0]} is given too"),))
    _check_table(table, kinds)
    choices = _choices(context.args)
    with _context.database() as database:
        with database.transaction(snapshot=True) as session:
            chosen = from_options(named(session, campaign, recipe, place=("--recipe",)), choices)
        if table == SEGMENTS:
            _write_segments(database, campaign, chosen, as_of)
            return
        report = reports.ranking(database, campaign, recipe=chosen, as_of=as_of)
    if not kinds:
        Console().print(ranking_table(json.loads(report.body)))
    else:
        body = report.body if kinds == ["json"] else render(report.body, kinds[0], table)
        sys.stdout.buffer.write(body if body.endswith(b"\n") else body + b"\n")


def _check_table(table: str, kinds: list[str]) -> None:
    """Raise Invalid for a table that there is not, or not in this kind of answer."""
    if table not in (*TABLES, SEGMENTS):
        there = ", ".join((*TABLES, SEGMENTS))
        raise Invalid("the options are not valid", places=(Place(("--table", table), f"there are: {there}"),))
    fitting = {SEGMENTS: ("csv",), "pairs": ("csv", "tex", "md", "svg")}.get(table)
    if fitting and kinds not in [[kind] for kind in fitting]:
        what = f"is a table for --{' --'.join(_FLAGS[kind] for kind in fitting)}"
        raise Invalid("the options are not valid", places=(Place(("--table", table), what),))


def _write_segments(database: Database, campaign: str, recipe: Recipe, as_of: int | None) -> None:
    for chunk in segments(reports.ranking_of(database, campaign, recipe=recipe, as_of=as_of)):
        sys.stdout.buffer.write(chunk)


def recipes() -> None:
    """The named recipes, and what each was checked against."""
    for name in NAMED:
        typer.echo(f"{name}: {CHECKED_AGAINST[name]}")


def _choices(arguments: list[str]) -> dict[str, list[str]]:
    """`--name value` and `--name=value` as the options of a recipe; a name may come several times."""
    choices: dict[str, list[str]] = {}
    rest = list(arguments)
    while rest:
        name, found, value = rest.pop(0).partition("=")
        if not name.startswith("--") or not (found or rest):
            raise Invalid("the options are not valid", places=(Place((name,), "must be --name value"),))
        choices.setdefault(name[2:].replace("-", "_"), []).append(value if found else rest.pop(0))
    return choices
