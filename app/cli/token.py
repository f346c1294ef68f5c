"""`plumbline token`: creates, lists and revokes credentials."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.api.tokens import TokenOut
from app.cli.kit import command_database
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.services.access import tokens
from app.services.access.tokens import GIVEN, Given
from app.storage import clock
from app.storage.db import Session

PAGE = 200


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Create, list and revoke tokens.", no_args_is_help=True)
    group.command("create")(create_token)
    group.command("list")(list_tokens)
    group.command("revoke")(revoke_token)
    app.add_typer(group, name="token")


def create_token(
    role: Annotated[str, typer.Option(help=f"One of {', '.join(GIVEN)}.")],
    campaign: Annotated[str | None, typer.Option(help="The only campaign that the token can access.")] = None,
    team: Annotated[str | None, typer.Option(help="Team of a coordinator, whose enrolments the token can see.")] = None,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[float | None, typer.Option(min=0.001, max=36500, help="Days until it stops working.")] = None,
) -> None:
    """Create a token and print it. Only its hash is stored, so it cannot be shown again."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        ends = None if days is None else clock.get_database_time_after_days(session, days)
        issued = tokens.issue_token(session, role=_role(role), campaign=campaign, team=team, name=name, expires_at=ends)
    typer.echo(issued.secret)


def list_tokens(server: _remote.Server = None) -> None:
    """List tokens, without their secrets; with --server, those that PLUMBLINE_TOKEN manages there."""
    table = Table("token", "role", "campaign", "name", "made", "last used", "ends", "state")
    remote = _remote.find_remote_server_in_option(server)  # the settings do not count, as for `token revoke`
    for token in _list_tokens(remote):
        state = "live" if token.live else ("revoked" if token.revoked_at else "expired")
        ends = f"{token.expires_at:%Y-%m-%d %H:%M}" if token.expires_at else "never"
        made = f"{token.created_at:%Y-%m-%d %H:%M}"
        used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
        table.add_row(token.prefix, token.role, token.campaign or "all", token.name, made, used, ends, state)
    Console().print(table)


def revoke_token(token: Annotated[str, typer.Argument(help="The part of the token that `token list` shows.")]) -> None:
    """Revoke a token, at once and for good."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        tokens.revoke_token(session, token, by=None)


def _list_tokens(remote: _remote.RemoteServer | None) -> list[TokenOut]:
    if remote is not None:
        return [TokenOut.model_validate(item) for item in remote.iterate_paginated_list("/v1/tokens")]
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        return [TokenOut.model_validate(view) for view in _load_all_tokens(session)]


def _load_all_tokens(session: Session) -> list[tokens.TokenView]:
    views: list[tokens.TokenView] = []
    while page := tokens.list_tokens(session, by=None, after=(None, views[-1].prefix) if views else None, limit=PAGE):
        views += page
    return views


def _role(text: str) -> Given:
    for role in GIVEN:
        if role == text:
            return role
    raise Invalid("no such role", places=(Place(("--role",), f"there are {', '.join(GIVEN)}"),))
