"""`plumbline gate`: may the candidate take the baseline's place? For CI: the exit code says it."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console
from rich.text import Text

from app.api._choices import moment
from app.cli import _context, _long, _remote
from app.cli._kinds import Csv, Json, Latex, Markdown, Svg, kind_of, write
from app.cli._show import plain_table
from app.services import asked
from app.services.asked import Asking
from app.services.asked_renderings import render
from app.services.gate import GATE
from app.services.gate_view import GateView, exit_code

BUSY = frozenset({429, 503})
PAUSE = 1.0  # seconds until a busy server is asked again
HELP = """May the candidate take the baseline's place?

Exit codes: 0 the claim holds · 1 it does not · 3 nothing can be said (inconclusive, or too little data) · 2 error.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate", help=HELP)(gate)


def gate(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    candidate: Annotated[str, typer.Option(help="Key of the system that is to be let through.")],
    baseline: Annotated[str, typer.Option(help="Key of the system that it is compared with.")],
    claim: Annotated[str, typer.Option(help="better, not-worse or equivalent.")] = "better",
    margin: Annotated[float | None, typer.Option(help="Of not-worse and equivalent, in the scores' unit.")] = None,
    min_replication: Annotated[
        float | None, typer.Option(help="Least chance that the claim holds in a study run again.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Name of a recipe, the campaign's own ones included.")] = None,
    normalize: Annotated[str | None, typer.Option(help="In place of the recipe's own; none keeps its unit.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Of each one-sided test, in place of the recipe's own.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of simulated studies and of the recipe's test.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Data version or time; the latest by default.")] = None,
    wait: Annotated[
        float, typer.Option(help="With --server: ask a server that is busy or not there yet again, for these seconds.")
    ] = 0.0,
    as_json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
    markdown: Markdown = False,
    svg: Svg = False,
    server: _remote.Server = None,
) -> None:
    """May the candidate take the baseline's place?"""
    shape = kind_of(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    options: dict[str, str | float | None] = {
        "candidate": candidate,
        "baseline": baseline,
        "claim": claim.replace("-", "_"),
        "margin": margin,
        "min_replication": min_replication,
        "recipe": recipe,
        "normalize": normalize,
        "alpha": alpha,
        "seed": seed,
    }
    given = {name: str(value) for name, value in options.items() if value is not None}
    remote = _remote.chosen(server)
    body = _here(campaign, given, as_of) if remote is None else _there(remote, campaign, given, as_of, wait)
    view = GateView.model_validate_json(body)
    if shape:
        write([body if shape == "json" else render(GATE, body, shape)])
    else:
        _print(view)
    raise typer.Exit(exit_code(view))


def _here(campaign: str, given: dict[str, str], as_of: str | None) -> bytes:
    asking = Asking(GATE, (campaign,), asked.asked_of(GATE, given, place="options"), moment(as_of))
    with _context.database() as database:
        return asked.report(database, asking).body


def _there(remote: _remote.Remote, campaign: str, given: dict[str, str], as_of: str | None, wait: float) -> bytes:
    """The server's answer; asked again while it cannot give one. Raises Refused, NotReached."""
    query = given if as_of is None else {**given, "as_of": as_of}
    path = f"/v1/campaigns/{quote(campaign, safe='')}/gate"
    until = time.monotonic() + wait
    while True:
        try:
            return _long.report(remote, "GET", path, query, on_progress=lambda _done, _total: None)
        except (_remote.Refused, _remote.NotReached) as error:
            passing = isinstance(error, _remote.NotReached) or error.status in BUSY
            if not passing or time.monotonic() + PAUSE > until:
                raise
        time.sleep(PAUSE)


def _print(view: GateView) -> None:
    console = Console()
    for shown in GATE.tables(view):
        console.print(plain_table(shown.table, f"{view.candidate} against {view.baseline}"))
    for note in (GATE.caption(view), *(f"Warning: {text}" for text in view.warnings)):
        console.print(Text(note, style="dim"))
