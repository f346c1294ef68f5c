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
from rich.text import Text

from app.api.models.stability import StabilityIn
from app.cli.kit import context, long_reports
from app.cli.kit.outputs import Csv, Json, Latex, Markdown, Svg, kind_of, write
from app.cli.kit.progress_bar import bar
from app.cli.kit.terminal import plain_table
from app.client import remote as _remote
from app.domain.errors import Invalid, Place
from app.domain.faults import first_faults
from app.services import stability as service
from app.services.stability_renderings import caption, narrow_tables, render, warnings
from app.services.stability_view import StabilityView
from app.services.stability_workers import in_processes

COLUMNS = (
    "±: Monte-Carlo error of SRP. Sig. pairs: that a study finds, mean. None: studies that find none. Kendall: between "
    "studies. Sign err.: claims that all ratings together order the other way. Retained: claims that another study "
    "orders the same way. SRP, both sig.: where a claim must be significant in both studies. Kendall, all: with the "
    "ranking by all ratings. Same claims, all: studies that claim exactly what all ratings claim."
)
PICTURES = ("documents", "power")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stability")(stability)


def stability(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    grouping: Annotated[
        list[str] | None, typer.Option(help="psxs, system_balanced or none; each given adds curves.")
    ] = None,
    balance: Annotated[list[str] | None, typer.Option(help="full, or a normalized entropy like 0.7.")] = None,
    ratings_per_item: Annotated[list[int] | None, typer.Option(help="Raters of each item.")] = None,
    normalize: Annotated[list[str] | None, typer.Option(help="none, mean, center, error, error_rate or z.")] = None,
    documents: Annotated[str | None, typer.Option(help="Documents of a study: numbers with commas between.")] = None,
    studies: Annotated[int | None, typer.Option(help="Simulated studies of a point.")] = None,
    per_set: Annotated[
        int | None,
        typer.Option("--studies-per-document-set", help="1 draws documents anew for every study, with --pairs all."),
    ] = None,
    pairs: Annotated[str | None, typer.Option(help="same_documents or all.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Which ratings and scores are read.")] = None,
    seed: Annotated[int | None, typer.Option()] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Figures 3–8 of Riley et al. 2024: 36 designs.")] = False,
    request: Annotated[
        Path | None, typer.Option(help="A request as JSON; the options replace what it says.", dir_okay=False)
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
    wanted = kind_of(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    if picture not in PICTURES:
        raise Invalid("the options are not valid", places=(Place(("--picture",), "there are: documents, power"),))
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
    remote = _remote.chosen(server)
    body = _here(campaign, asked, workers) if remote is None else _there(remote, campaign, asked)
    if wanted == "json":
        write([body])
        return
    view = StabilityView.model_validate_json(body)
    if wanted:
        write([render(view, wanted, "power" if picture == "power" else "documents")])
        return
    show(Console(), view)


def show(console: Console, view: StabilityView) -> None:
    """Print small tables a design, then what the columns are and what is to be known before they are used."""
    for name, parts in narrow_tables(view).items():
        for part in parts:
            console.print(plain_table(part, name))
    notes = [COLUMNS, caption(view), *(f"Warning: {text}" for text in warnings(view))]
    for note in notes:
        console.print(Text(note, style="dim"))


def _designs(
    groupings: list[str] | None, balances: list[str] | None, ratings: list[int] | None, normalized: list[str] | None
) -> list[dict[str, object]] | None:
    """Every combination of what was given; None where nothing was."""
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
        what = "must be numbers with commas between"
        raise Invalid("the options are not valid", places=(Place(("--documents",), what),)) from None


def _read(file: Path | None, given: dict[str, Any]) -> StabilityIn:
    """The request of a file with the options in place of its own."""
    try:
        base = {} if file is None else StabilityIn.model_validate_json(file.read_bytes()).model_dump(exclude_unset=True)
        return StabilityIn.model_validate_json(json.dumps({**base, **given}))
    except ValidationError as error:
        places = tuple(Place(tuple(fault["loc"]), str(fault["msg"])) for fault in first_faults(error))
        raise Invalid("the stability request is not valid", places=places) from None


def _here(campaign: str, asked: StabilityIn, workers: int) -> bytes:
    with context.database() as database, bar("simulating") as on_progress:
        execute = in_processes(workers or os.cpu_count() or 1)
        return service.report(database, campaign, asked.asked(), on_progress=on_progress, execute=execute).body


def _there(remote: _remote.Remote, campaign: str, asked: StabilityIn) -> bytes:
    path = f"/v1/campaigns/{quote(campaign, safe='')}/stability"
    with bar("simulating") as on_progress:
        body = asked.model_dump(exclude_unset=True)
        return long_reports.report(remote, "POST", path, {}, body=body, on_progress=on_progress)
