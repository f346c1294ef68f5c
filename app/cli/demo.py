"""`plumbline demo`: from nothing to a ranking in the terminal and in the browser."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from app.cli import _context
from app.cli._show import ranking_table
from app.cli.serve import CannotListen, listening, origin_of, prepare, run, stoppable
from app.config import Settings
from app.domain.recipe import NAMED
from app.services import reports, tokens
from app.services.demo import PLANTED_ORDER, load_demo
from app.storage.db import Database

RECIPE = "recommended"
TOKEN_LASTS = timedelta(days=7)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    leave: Annotated[bool, typer.Option("--exit", help="Stop after the report; serve nothing.")] = False,
) -> None:
    """Load a campaign that is made up here, rank it, and serve it until Ctrl+C."""
    settings, console = Settings.load(), Console()
    with stoppable(), ExitStack() as stack, _context.owner_url() as url:
        role = prepare(url, upgrade=True)
        with closing(Database(url, size=2, role=role)) as database:
            campaign = _load(database)
            _report(console, database, campaign)
            if leave:
                return
            secret = _issue(database, campaign, ours=settings.database_url is None)
        server = _somewhere(stack, settings.host, settings.port)
        _say_where(console, settings.public_url or origin_of(server), campaign, secret)
        run(url, role, server, workers=1)


def _load(database: Database) -> str:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("loading the demo campaign", total=None)
        return load_demo(database, progress=lambda done, of: progress.update(bar, completed=done, total=of))


def _report(console: Console, database: Database, campaign: str) -> None:
    body = reports.ranking(database, campaign, recipe=NAMED[RECIPE]).body
    console.print(ranking_table(json.loads(body)))
    console.print(f"Planted order, best first: {', '.join(PLANTED_ORDER)}", highlight=False)


def _issue(database: Database, campaign: str, *, ours: bool) -> str:
    """A token for the printed link; it ends by itself, so that a forgotten demo leaves no open door.

    ours: the database is the embedded one. In any other the link opens no more than the demo.
    """
    ends = datetime.now(UTC) + TOKEN_LASTS
    with database.transaction() as session:
        if ours:
            return tokens.issue(session, role="admin", name="demo", expires_at=ends).secret
        return tokens.issue(session, role="manager", name="demo", campaign=campaign, expires_at=ends).secret


def _somewhere(stack: ExitStack, host: str, port: int) -> socket.socket:
    """The port of the settings, or a free one where that is taken: a demo should not fail for it."""
    try:
        return stack.enter_context(listening(host, port))
    except CannotListen:
        return stack.enter_context(listening(host, 0))


def _say_where(console: Console, origin: str, campaign: str, secret: str) -> None:
    page = f"/campaigns/{campaign}"
    for line in (
        "",
        f"Ranking: {origin}{page}",
        f"Sign in: {origin}/#{urlencode({'token': secret, 'next': page}, safe='/')}",
        "Ctrl+C ends it.",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
