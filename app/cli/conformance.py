"""`plumbline conformance`: checks whether a server follows the rules for tasks and judgments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.client.remote_server import RemoteServer
from app.config import Settings
from app.conformance.conformance_run import CheckResult, list_failed_checks, run_conformance_checks

BROKEN = 1


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("conformance")(check_server_conformance)


def check_server_conformance(
    url: Annotated[
        str, typer.Argument(help="Address of the server; PLUMBLINE_TOKEN must be a manager's token for all campaigns.")
    ],
    protocol: Annotated[str | None, typer.Option(help="Test only the worked examples of this protocol.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Check a server: create campaigns, follow and break the rules, close them. Exit code 1 if a check fails.

    The worked examples of every protocol are posted and must score as stated.
    """
    token = Settings.load().token
    checks = run_conformance_checks(
        RemoteServer(url, token.get_secret_value() if token else None), only_protocol=protocol
    )
    wrong = list_failed_checks(checks)
    if as_json:
        told = [asdict(check) for check in checks]
        typer.echo(json.dumps({"server": url, "ok": not wrong, "checks": told}, ensure_ascii=False))
    else:
        _show(Console(), checks)
    if wrong:
        raise typer.Exit(BROKEN)


def _show(console: Console, checks: Sequence[CheckResult]) -> None:
    table = Table("", "Check", "Seen")
    for check in checks:
        mark = Text("ok", style="green") if check.ok else Text("no", style="bold red")
        table.add_row(mark, Text(check.name), Text("" if check.ok else check.detail))
    console.print(table)
    console.print(f"{len(checks) - len(list_failed_checks(checks))} of {len(checks)} checks hold")
