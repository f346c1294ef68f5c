"""`plumbline locks`: what was preregistered for a campaign, and every amendment."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from app.api.analysis_locks import make_analysis_lock_history_out
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.reports.kit.table import Table
from app.services.campaigns import analysis_locks as service


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("locks")(print_analysis_lock)


def print_analysis_lock(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Show the lock of a campaign, and every amendment with its reason."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        body = remote.fetch_body(f"/v1/campaigns/{quote(campaign, safe='')}/lock", accept="application/json")
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
            body = (
                make_analysis_lock_history_out(service.get_analysis_lock(session, campaign)).model_dump_json().encode()
            )
    if as_json:
        write_to_stdout([body])
        return
    answer = json.loads(body)
    said = "registered before the first judgment" if answer["preregistered"] else "locked after the first judgment"
    whole = "every hash matches its entry" if answer["intact"] else "A HASH DOES NOT MATCH ITS ENTRY"
    notes = [f"Hash: {answer['hash']}; {whole}.", *_rules(answer["entries"][-1])]
    Console().print(make_rich_table(_table(answer["entries"]), f"{campaign}: {said}", notes))


def _table(entries: list[dict[str, Any]]) -> Table:
    rows = [
        (str(one["n"]), str(one["data_version"]), one["at"], one["actor"], one["recipe"]["name"], one["reason"] or "–")
        for one in entries
    ]
    headings = ("#", "Data version", "At", "By", "Recipe", "Reason")
    return Table(headings, ("right", "right", "left", "left", "left", "left"), tuple(rows))


def _rules(entry: dict[str, Any]) -> list[str]:
    """Return the rules that are locked now, one per line."""
    lines = [f"Hypothesis: {text}" for text in entry["hypotheses"]]
    lines += [f"Exclusion rule: {text}" for text in entry["exclusion_rules"]]
    return [*lines, f"Stopping rule: {entry['stopping_rule']}"] if entry["stopping_rule"] else lines
