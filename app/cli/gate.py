"""`plumbline gate`: may the candidate replace the baseline? For CI: the exit code gives the answer."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import traceback
from types import TracebackType
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from app.api.models.times import parse_data_version_or_time
from app.cli import FAILED
from app.cli.kit import command_database, long_reports
from app.cli.kit.output_formats import Csv, Json, Latex, Markdown, Svg, choose_output_format, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.domain.errors import AppError
from app.reports.gate.report import REPORT as GATE
from app.reports.gate.view import GateView, gate_exit_code
from app.reports.kit import request, store
from app.reports.kit.render.representations import render_report
from app.reports.kit.request import ReportRequest

BUSY = frozenset({429, 503})
PAUSE = 1.0  # seconds before a busy server is asked again
HELP = """Check whether the candidate may replace the baseline.

Exit codes: 0 the claim holds · 1 it does not · 3 no decision (inconclusive or too little data) · 2 error.
"""


class GateResultUnreadable(AppError):
    """The server's response is not the result of a gate."""

    published = "NotAGate"


class GateResultNotWritten(AppError):
    """The result cannot be written."""

    published = "NotWritten"


class ExitTwoOnUnexpectedError:
    """Exit with code 2 on unexpected errors: code 1, which Python uses, would mean that the claim does not hold.

    The traceback is printed as usual. Errors that the command line shows in one line pass through, also with code 2.
    """

    def __enter__(self) -> None:
        """Prepare nothing."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Raise SystemExit in place of an unexpected error."""
        told = isinstance(error, AppError) or (isinstance(error, OSError) and error.filename is not None)
        if isinstance(error, Exception) and not told:
            traceback.print_exception(error)
            raise SystemExit(FAILED) from error


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate", help=HELP)(print_gate_result)


def print_gate_result(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    candidate: Annotated[str, typer.Option(help="Key of the system to approve.")],
    baseline: Annotated[str, typer.Option(help="Key of the system to compare with.")],
    claim: Annotated[str, typer.Option(help="better, not-worse or equivalent.")] = "better",
    margin: Annotated[
        float | None, typer.Option(help="Margin for not-worse and equivalent, in the unit of the scores.")
    ] = None,
    min_replication: Annotated[
        float | None, typer.Option(help="Minimum probability that the claim holds in a repeated study.")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(help="Number of documents fixed in advance; with fewer, no result is shown.")
    ] = None,
    critical: Annotated[float | None, typer.Option(help="A rating at least as bad as this is a failure.")] = None,
    max_critical: Annotated[
        float | None, typer.Option(help="Maximum share of documents on which the candidate may fail.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Name of a recipe, including the campaign's own.")] = None,
    normalize: Annotated[str | None, typer.Option(help="Overrides the recipe; none keeps the protocol's unit.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Level of each one-sided test; overrides the recipe.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of simulated studies and of the recipe's test.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Data version or time; default: the latest.")] = None,
    wait: Annotated[
        float, typer.Option(help="With --server: retry for this many seconds if the server is busy or not up yet.")
    ] = 0.0,
    as_json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
    markdown: Markdown = False,
    svg: Svg = False,
    server: _remote.Server = None,
) -> None:
    """Check whether the candidate may replace the baseline."""
    output_format = choose_output_format(json=as_json, csv=csv, latex=latex, markdown=markdown, svg=svg)
    options: dict[str, str | float | None] = {
        "candidate": candidate,
        "baseline": baseline,
        "claim": claim.replace("-", "_"),
        "margin": margin,
        "min_replication": min_replication,
        "documents": documents,
        "critical": critical,
        "max_critical": max_critical,
        "recipe": recipe,
        "normalize": normalize,
        "alpha": alpha,
        "seed": seed,
    }
    given = {name: str(value) for name, value in options.items() if value is not None}
    with ExitTwoOnUnexpectedError():
        remote = _remote.find_configured_remote_server(server)
        body = (
            _gate_from_database(campaign, given, as_of)
            if remote is None
            else _gate_from_server(remote, campaign, given, as_of, wait)
        )
        view = _view(body, remote)
        _put(
            body
            if output_format == "json"
            else render_report(GATE, body, output_format)
            if output_format
            else _table(view)
        )
    raise typer.Exit(gate_exit_code(view))


def _gate_from_database(campaign: str, given: dict[str, str], as_of: str | None) -> bytes:
    asking = ReportRequest(
        GATE, (campaign,), request.parse_report_options(GATE, given, place="options"), parse_data_version_or_time(as_of)
    )
    with command_database.upgrade_and_open_database() as database:
        return store.find_or_compute_report(database, asking).body


def _gate_from_server(
    remote: _remote.RemoteServer, campaign: str, given: dict[str, str], as_of: str | None, wait: float
) -> bytes:
    """Return the server's answer; retry while it cannot give one.

    Raises ServerRefusal, ServerUnreachable, GateResultUnreadable.
    """
    query = given if as_of is None else {**given, "as_of": as_of}
    path = f"/v1/campaigns/{quote(campaign, safe='')}/gate"
    until = time.monotonic() + wait
    while True:
        try:
            return long_reports.fetch_report_when_ready(
                remote, "GET", path, query, on_progress=lambda _done, _total: None
            )
        except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:  # the answer describes no job
            raise _not_a_gate(remote) from error
        except (_remote.ServerRefusal, _remote.ServerUnreachable) as error:
            passing = isinstance(error, _remote.ServerUnreachable) or error.status in BUSY
            if not passing or time.monotonic() + PAUSE > until:
                raise
        time.sleep(PAUSE)


def _view(body: bytes, remote: _remote.RemoteServer | None) -> GateView:
    """Parse the answer. Raises GateResultUnreadable if a server sent anything else."""
    try:
        return GateView.model_validate_json(body)
    except ValidationError as error:
        if remote is None:
            raise
        raise _not_a_gate(remote) from error


def _not_a_gate(remote: _remote.RemoteServer) -> GateResultUnreadable:
    return GateResultUnreadable(f"{remote.url}: something in front of it may have answered, such as a sign-on page")


def _table(view: GateView) -> str:
    """Render the table for standard output, in its encoding, without writing it yet."""
    encoding = sys.stdout.encoding
    drawn = io.BytesIO()
    shown = io.TextIOWrapper(drawn, encoding=encoding, errors="replace", newline="\n")
    console = Console(file=shown, force_terminal=Console().is_terminal)
    for part in GATE.tables(view):
        console.print(make_rich_table(part.table, f"{view.candidate} against {view.baseline}"))
    for note in (GATE.caption(view), *(f"Warning: {text}" for text in view.warnings)):
        console.print(Text(note, style="dim"))
    shown.flush()
    return drawn.getvalue().decode(encoding)


def _put(answer: bytes | str) -> None:
    """Write all of it to standard output before the command ends. Raises GateResultNotWritten."""
    try:
        if isinstance(answer, bytes):
            write_to_stdout([answer])
        else:
            sys.stdout.write(answer)
        sys.stdout.flush()
    except OSError as error:
        # Discard what is still buffered: an error at the very end would have an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise GateResultNotWritten(error.strerror or "") from error
