"""`plumbline stability`: would the ranking hold if the study were run again?"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from pydantic import ValidationError
from rich.console import Console

from app.cli.kit import command_database, long_reports
from app.cli.kit.output_formats import Csv, Json, Latex, Markdown, Svg, choose_output_format, write_to_stdout
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.report import print_report_body
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.reports.kit.processes import make_chunk_executor
from app.reports.kit.render.representations import list_chart_names, render_report
from app.reports.kit.request import ReportRequest
from app.reports.kit.store import find_or_compute_report
from app.reports.stability.options import StabilityIn
from app.reports.stability.report import REPORT


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stability")(print_stability_report)


def print_stability_report(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    grouping: Annotated[
        list[str] | None, typer.Option(help="psxs, system_balanced or none; repeat to add curves.")
    ] = None,
    balance: Annotated[list[str] | None, typer.Option(help="full, or a normalized entropy like 0.7.")] = None,
    ratings_per_item: Annotated[list[int] | None, typer.Option(help="Raters per item.")] = None,
    normalize: Annotated[list[str] | None, typer.Option(help="none, mean, center, error, error_rate or z.")] = None,
    documents: Annotated[str | None, typer.Option(help="Numbers of documents in a study, separated by commas.")] = None,
    studies: Annotated[int | None, typer.Option(help="Simulated studies per point.")] = None,
    per_set: Annotated[
        int | None,
        typer.Option("--studies-per-document-set", help="1 draws new documents for every study; needs --pairs all."),
    ] = None,
    pairs: Annotated[str | None, typer.Option(help="same_documents or all.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe that selects ratings and scores.")] = None,
    seed: Annotated[int | None, typer.Option()] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Figures 3–8 of Riley et al. 2024: 36 designs.")] = False,
    request: Annotated[
        Path | None, typer.Option(help="A request as JSON; options override it.", dir_okay=False)
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes; all cores by default.", min=0)] = 0,
    picture: Annotated[str, typer.Option(help="With --svg: SRP against documents, or against power.")] = "documents",
    as_json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
    markdown: Markdown = False,
    svg: Svg = False,
    server: _remote.Server = None,
) -> None:
    """Would the ranking hold if the study were run again? Stable Ranking Probability by design and documents."""
    wanted = choose_output_format(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    if picture not in list_chart_names(REPORT):
        what = f"there are: {', '.join(list_chart_names(REPORT))}"
        raise Invalid("the options are not valid", places=(Place(("--picture",), what),))
    given: dict[str, Any] = {
        "documents": None if documents is None else _numbers(documents),
        "studies": studies,
        "studies_per_document_set": per_set,
        "pairs": pairs,
        "recipe": recipe,
        "seed": seed,
        "designs": "paper" if paper else _designs(grouping, balance, ratings_per_item, normalize),
    }
    asked = _read(request, {name: value for name, value in given.items() if value is not None})
    remote = _remote.find_configured_remote_server(server)
    body = (
        _stability_from_database(campaign, asked, workers)
        if remote is None
        else _stability_from_server(remote, campaign, asked)
    )
    if wanted:
        write_to_stdout([body if wanted == "json" else render_report(REPORT, body, wanted, picture)])
    else:
        print_report_body(Console(), REPORT, body)


def _designs(
    groupings: list[str] | None, balances: list[str] | None, ratings: list[int] | None, normalized: list[str] | None
) -> list[dict[str, object]] | None:
    """Return every combination of the given values; None if there are none."""
    if not any((groupings, balances, ratings, normalized)):
        return None
    return [
        {"grouping": grouping, "balance": _balance(balance), "ratings_per_item": k, "normalize": method}
        for grouping in groupings or ["psxs"]
        for balance in balances or ["full"]
        for k in ratings or [1]
        for method in normalized or ["none"]
    ]


def _balance(text: str) -> object:
    if text == "full":
        return text
    try:
        return {"entropy": float(text)}
    except ValueError:
        what = "must be full or a number from 0 to 1"
        raise Invalid("the options are not valid", places=(Place(("--balance",), what),)) from None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        what = "must be numbers separated by commas"
        raise Invalid("the options are not valid", places=(Place(("--documents",), what),)) from None


def _read(file: Path | None, given: dict[str, Any]) -> StabilityIn:
    """Read the request from a file, and override it by the options."""
    try:
        base = {} if file is None else StabilityIn.model_validate_json(file.read_bytes()).model_dump(exclude_unset=True)
        return StabilityIn.model_validate_json(json.dumps({**base, **given}))
    except ValidationError as error:
        places = tuple(Place(tuple(fault["loc"]), str(fault["msg"])) for fault in list_first_validation_errors(error))
        raise Invalid("the stability request is not valid", places=places) from None


def _stability_from_database(campaign: str, asked: StabilityIn, workers: int) -> bytes:
    with command_database.upgrade_and_open_database() as database, show_progress_bar("simulating") as on_progress:
        execute = make_chunk_executor(workers or os.cpu_count() or 1)
        asking = ReportRequest(REPORT, (campaign,), asked)
        return find_or_compute_report(database, asking, on_progress=on_progress, execute=execute).body


def _stability_from_server(remote: _remote.RemoteServer, campaign: str, asked: StabilityIn) -> bytes:
    path = f"/v1/campaigns/{quote(campaign, safe='')}/stability"
    with show_progress_bar("simulating") as on_progress:
        body = asked.model_dump(exclude_unset=True)
        return long_reports.fetch_report_when_ready(remote, "POST", path, {}, body=body, on_progress=on_progress)
