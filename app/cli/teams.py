"""`plumbline teams`: teams of raters, each with a coordinator."""

from __future__ import annotations

import json
from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console

from app.api.teams import TeamOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.reports.kit.table import Table
from app.services.access.tokens import THE_OPERATOR
from app.services.people import teams as service

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
MOST = 10_000


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Teams of raters, each with its coordinator.", no_args_is_help=True)
    group.command("list")(list_teams)
    group.command("put")(put_team)
    app.add_typer(group, name="teams")


def list_teams(campaign: Campaign, as_json: Json = False, server: _remote.Server = None) -> None:
    """List teams by key, with the number of raters in each."""
    teams = _load_teams(campaign, server)
    if as_json:
        write_to_stdout([json.dumps({"items": teams, "next": None}, ensure_ascii=False).encode()])
        return
    rows = tuple((str(one["key"]), str(one["name"]), str(one["raters"])) for one in teams)
    shown = Table(("Team", "Name", "Raters"), ("left", "left", "right"), rows)
    Console().print(make_rich_table(shown, f"{campaign}: {len(teams)} teams"))


def put_team(
    campaign: Campaign,
    key: Annotated[str, typer.Argument(help="Key of the team.")],
    name: Annotated[str | None, typer.Option(help="Name of the team; default: its key.")] = None,
    server: _remote.Server = None,
) -> None:
    """Create a team, or rename it."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        remote.send_change("PUT", f"{_path(campaign)}/{quote(key, safe='')}", {}, {"name": name or key})
        return
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        service.put_team(session, campaign, key, name or key, by=THE_OPERATOR)


def _load_teams(campaign: str, server: str | None) -> list[dict[str, object]]:
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        return list(remote.iterate_paginated_list(_path(campaign)))
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        views = service.list_teams(session, campaign, by=THE_OPERATOR, after=None, limit=MOST)
        return [TeamOut.model_validate(view).model_dump(mode="json") for view in views]


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}/teams"
