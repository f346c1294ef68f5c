"""`plumbline validate`: type I error and coverage of a recipe under the campaign's own design."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.kit.output_formats import Csv, Json, Latex, Markdown, Svg, choose_output_format
from app.cli.report import ReportOutputOptions, print_campaign_report
from app.client import remote_server
from app.reports.kit.render.representations import PICTURE


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate_recipe_by_simulation)


def validate_recipe_by_simulation(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    recipe: Annotated[str, typer.Option(help="Name of a recipe, including the campaign's own.")] = "recommended",
    studies: Annotated[int | None, typer.Option(help="Simulated studies of each kind of world.")] = None,
    worlds: Annotated[
        bool,
        typer.Option("--worlds", help="Also simulate topics, raters' preferences, rare failures and repeated looks."),
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed; default: the recipe's own.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Data version or time; default: the latest.")] = None,
    as_json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
    markdown: Markdown = False,
    svg: Svg = False,
    server: remote_server.Server = None,
) -> None:
    """Test a recipe on simulated studies of the campaign's own documents and raters, in which the truth is known."""
    asked = {"recipe": recipe, "studies": studies, "worlds": worlds or None, "seed": seed}
    options = {name: [str(value)] for name, value in asked.items() if value is not None}
    output_format = choose_output_format(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    print_campaign_report(
        [campaign, "validation"],
        options,
        ReportOutputOptions(as_of, output_format, PICTURE, remote_server.find_configured_remote_server(server)),
    )
