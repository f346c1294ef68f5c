"""`plumbline calibration`: builds a calibration set from earlier campaigns."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.kit import command_database
from app.services.campaigns import calibration_builder, calibration_sets

LARGEST = 5_000


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibration")(choose_calibration_pairs)


def choose_calibration_pairs(
    campaigns: Annotated[list[str], typer.Argument(metavar="CAMPAIGN…", help="Earlier campaigns of one protocol.")],
    per_stratum: Annotated[
        int, typer.Option(min=1, max=LARGEST, help="Number of pairs at each level of quality.")
    ] = 100,
    fewest: Annotated[int, typer.Option(min=2, help="Minimum number of ratings of a pair.")] = 2,
    apart: Annotated[float | None, typer.Option(min=0, help="Maximum distance of raters from their median.")] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Pair the output with the reference instead of the source.")
    ] = False,
    put: Annotated[str | None, typer.Option(metavar="KEY", help="Store it as a calibration set.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the set in the form that PUT /v1/calibration-sets accepts.")
    ] = False,
) -> None:
    """Choose the pairs on which raters agreed most, the same number at each quality level."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        proposal = calibration_builder.propose_calibration_set(
            session, campaigns, per_stratum=per_stratum, min_ratings=fewest, max_spread=apart, reference=reference
        )
        if put is not None and proposal.pairs:
            stored = calibration_sets.put_calibration_set(
                session, put, proposal.protocol, proposal.pairs, actor=command_database.get_actor_name()
            )
    if as_json:
        body = {"protocol": proposal.protocol, "pairs": [asdict(pair) for pair in proposal.pairs]}
        typer.echo(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        for stratum in proposal.strata:
            spread = "" if stratum.spread is None else f", raters at most {stratum.spread:.3f} from their median"
            typer.echo(f"{stratum.name}: {stratum.taken:,} of {stratum.available:,}{spread}")
        mean = "no pair" if proposal.mean_consensus is None else f"mean consensus {proposal.mean_consensus:.4f}"
        typer.echo(
            f"{len(proposal.pairs):,} pairs, {mean}; {proposal.without_text:,} left out because a text is not stored"
        )
    if put is not None and proposal.pairs and not as_json:
        typer.echo(f"stored as {stored.key} version {stored.version}")
