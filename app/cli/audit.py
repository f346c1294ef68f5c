"""`plumbline audit`: is the log of who changed what still as it was written."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli import _context
from app.services import audit as log

DOES_NOT_HOLD = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(
    check: Annotated[bool, typer.Option("--check", help="Compute every hash anew; exit 1 where one differs.")] = False,
) -> None:
    """The last hash of every campaign's chain: noted elsewhere, it proves that nothing before it was changed."""
    with _context.database() as database, database.transaction(snapshot=True) as session:
        seals = list(log.check(session))
    for seal in seals:
        typer.echo(f"{seal.campaign or '(installation)'}: {seal.rows} rows, {seal.hash}")
    faults = [(seal.campaign or "(installation)", fault) for seal in seals for fault in seal.faults]
    for campaign, fault in faults:
        typer.echo(f"plumbline: {campaign}: {fault}", err=True)
    if check and faults:
        raise typer.Exit(DOES_NOT_HOLD)
