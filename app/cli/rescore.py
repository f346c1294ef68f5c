"""`plumbline rescore`: compares stored scores with the payloads that they were derived from."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.kit import command_database
from app.services.data import rescore as rescoring

DIFFERENT = 1


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rescore")(recompute_stored_scores)


def recompute_stored_scores(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    check: Annotated[bool, typer.Option("--check", help="Compare only; exit with 1 if a score differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False,
) -> None:
    """Derive every score from its payload again; correct those that differ, add missing ones (a new data version)."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        outcome = (
            rescoring.check_stored_scores(session, campaign)
            if check
            else rescoring.recompute_stored_scores(session, campaign, actor=command_database.get_actor_name())
        )
    if as_json:
        typer.echo(json.dumps({**asdict(outcome), "holds": outcome.is_correct}, ensure_ascii=False, indent=2))
    else:
        for profile in outcome.profiles:
            differing = f"{profile.different:,} differ from their payloads, {profile.missing:,} missing"
            typer.echo(f"{profile.name}: {profile.n:,} scores, {differing}")
            for place in profile.first:
                typer.echo(f"  {place}")
        if not check:
            typer.echo(f"{outcome.corrected:,} put right, {outcome.added:,} added")
    if check and not outcome.is_correct:
        raise typer.Exit(DIFFERENT)
