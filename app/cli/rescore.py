"""`plumbline rescore`: stored scores against the payloads they come from."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.kit import context
from app.services.data import rescore as rescoring

DIFFERENT = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rescore")(rescore)


def rescore(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    check: Annotated[bool, typer.Option("--check", help="Compare only; exit with 1 if a score differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False,
) -> None:
    """Derive every score from its payload again; put right what differs, add what is missing (a new data version)."""
    with context.database() as database, database.transaction() as session:
        found = (
            rescoring.check(session, campaign) if check else rescoring.rescore(session, campaign, actor=context.actor())
        )
    if as_json:
        typer.echo(json.dumps({**asdict(found), "holds": found.holds}, ensure_ascii=False, indent=2))
    else:
        for one in found.profiles:
            told = (
                f"{one.name}: {one.n:,} scores, {one.different:,} differ from their payloads, {one.missing:,} missing"
            )
            typer.echo(told)
            for place in one.first:
                typer.echo(f"  {place}")
        if not check:
            typer.echo(f"{found.corrected:,} put right, {found.added:,} added")
    if check and not found.holds:
        raise typer.Exit(DIFFERENT)
