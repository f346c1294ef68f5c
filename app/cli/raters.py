"""`plumbline raters`: who is enrolled, their links, and the erasure of their data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, get_args
from urllib.parse import quote, urlencode

import typer
from pydantic import ValidationError
from rich.console import Console

from app.api.models.raters import RaterIn, RaterOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.config import Settings
from app.domain.errors import Invalid, Place
from app.reports.kit.table import Table
from app.services.access.tokens import THE_OPERATOR
from app.services.people import erasure, idle_raters, rater_links
from app.services.people import raters as service
from app.services.people.raters import Enrolment, RaterContact, State, Unit
from app.storage.db import Database

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
Key = Annotated[str, typer.Argument(help="Key of the rater: a pseudonym.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Days = Annotated[int, typer.Option(min=1, max=400, help="Days until the link expires.")]
PAGE = 200


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Manage raters: enrol, link, change, erase.", no_args_is_help=True)
    group.command("list")(list_raters)
    group.command("add")(add_rater)
    group.command("change")(change_rater)
    group.command("link")(renew_rater_link)
    group.command("erase")(erase_rater)
    group.command("purge")(delete_erased_rater_judgments)
    app.add_typer(group, name="raters")


def list_raters(campaign: Campaign, as_json: Json = False, server: _remote.Server = None) -> None:
    """List raters by key, including those known only from judgments."""
    remote = _remote.find_configured_remote_server(server)
    listed = list(remote.iterate_paginated_list(_path(campaign))) if remote is not None else _load_raters(campaign)
    if as_json:
        write_to_stdout([json.dumps({"items": listed, "next": None}, ensure_ascii=False).encode()])
        return
    headings = ("Rater", "State", "Team", "Capacity", "Languages", "Person")
    rows = tuple(_row(rater) for rater in listed)
    shown = Table(headings, ("left", "left", "left", "right", "left", "left"), rows)
    Console().print(make_rich_table(shown, f"{campaign}: {len(listed)} raters"))


def add_rater(
    campaign: Campaign,
    key: Key,
    team: Annotated[str | None, typer.Option(help="Key of a team.")] = None,
    capacity: Annotated[int | None, typer.Option(min=0, max=2**31 - 1, help="Maximum amount of work.")] = None,
    unit: Annotated[str, typer.Option(help=f"What the capacity counts: {', '.join(get_args(Unit))}.")] = "items",
    person: Annotated[str | None, typer.Option(help="The same value for all accounts of one person.")] = None,
    name: Annotated[str | None, typer.Option(help="Personal data, erasable.")] = None,
    email: Annotated[str | None, typer.Option(help="Personal data, erasable.")] = None,
    server: _remote.Server = None,
) -> None:
    """Enrol a rater. To change a rater who is enrolled, use `raters change`."""
    contact = RaterContact(name, email) if name or email else None
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        body: dict[str, object] = {"team": team, "capacity": capacity, "capacity_unit": unit}
        body |= {"person": person} if person else {}
        body |= {"contact": {"name": name, "email": email}} if contact else {}
        made = json.loads(remote.send_change("PUT", f"{_path(campaign)}/{quote(key, safe='')}", {}, body))
        _warn(made.get("warnings", []))
        return
    wanted = Enrolment(
        team=team, capacity=capacity, capacity_unit=_unit(unit), person=person, contact=contact, attributes={}
    )
    given = frozenset(field for field, value in (("person", person), ("contact", contact)) if value is not None)
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        service.put_rater(session, campaign, key, wanted, given_fields=given, has_seen_version=None, by=THE_OPERATOR)
        told = idle_raters.list_idle_warnings_on_enrolment(session, campaign, [key])
    _warn(told)


def _warn(told: Iterable[str]) -> None:
    for warning in told:
        typer.echo(f"Warning: {warning}", err=True)


def change_rater(
    campaign: Campaign,
    key: Key,
    state: Annotated[str | None, typer.Option(help=f"One of {', '.join(get_args(State))}.")] = None,
    team: Annotated[str | None, typer.Option(help="Key of a team; empty for none.")] = None,
    capacity: Annotated[int | None, typer.Option(min=0, max=2**31 - 1, help="Maximum amount of work.")] = None,
    unit: Annotated[str | None, typer.Option(help="What the capacity counts.")] = None,
    server: _remote.Server = None,
) -> None:
    """Change some data of an enrolled rater. Use `--state left` for a rater who has left."""
    given: dict[str, object] = {"state": state, "team": team, "capacity": capacity, "capacity_unit": unit}
    given = {name: value or None for name, value in given.items() if value is not None} | (
        {} if capacity is None else {"capacity": capacity}
    )
    path = f"{_path(campaign)}/{quote(key, safe='')}"
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        seen = json.loads(remote.fetch_body(path, accept="application/json"))
        etag = f'"{seen["settings_version"]}"'
        body = {name: value for name, value in seen.items() if name in RaterIn.model_fields and name != "contact"}
        remote.send_change("PUT", path, {}, {**body, **given}, if_match=etag)
        return
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        old = service.get_rater(session, campaign, key, by=THE_OPERATOR)
        kept = RaterOut.model_validate(old).model_dump(mode="json", include=set(RaterIn.model_fields) - {"contact"})
        wanted = _parse_rater({**kept, **given}).to_enrolment()
        service.put_rater(
            session,
            campaign,
            key,
            wanted,
            given_fields=frozenset(),
            has_seen_version=lambda version: version == old.settings_version,
            by=THE_OPERATOR,
        )


def _parse_rater(body: dict[str, object]) -> RaterIn:
    try:
        return RaterIn.model_validate(body)
    except ValidationError as error:
        places = tuple(Place((f"--{one['loc'][0]}",), one["msg"]) for one in error.errors())
        raise Invalid("the options are not valid", places=places) from None


def renew_rater_link(campaign: Campaign, key: Key, days: Days = 90, server: _remote.Server = None) -> None:
    """Print a new link for a rater. It replaces the previous one and cannot be shown again."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        made = remote.send_change("POST", f"{_path(campaign)}/{quote(key, safe='')}/link", {"days": days})
        typer.echo(json.loads(made)["link"])
        return
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        secret = rater_links.renew_rater_link(session, campaign, key, days=days, by=THE_OPERATOR).secret
    settings = Settings.load()
    origin = settings.public_url or f"http://{settings.host}:{settings.port}"
    typer.echo(f"{origin}/#{urlencode({'token': secret})}")


def erase_rater(
    key: Key,
    campaign: Annotated[
        str | None, typer.Option(help="Campaign of the rater, if several campaigns have this key.")
    ] = None,
    yes: Yes = False,
    server: _remote.Server = None,
) -> None:
    """Erase a rater's personal data in all their campaigns. The judgments stay under the pseudonym."""
    if not yes:
        typer.confirm(f"Erase the personal data of {key}? This cannot be undone", abort=True)
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        query = {"campaign": campaign} if campaign else {}
        erased = json.loads(remote.send_change("DELETE", f"/v1/raters/{quote(key, safe='')}", query))["erased"]
        names = [(one["campaign"], one["rater"]) for one in erased]
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            accounts = erasure.erase_rater(session, key, campaign=campaign, by=THE_OPERATOR)
        names = [(one.campaign, one.rater) for one in accounts]
    for where, rater in names:
        typer.echo(f"{where}: {rater} erased")


def delete_erased_rater_judgments(campaign: Campaign, key: Key, yes: Yes = False) -> None:
    """Delete the judgments of an erased rater, as the schema's owner. The audit log keeps the hash of each row."""
    if not yes:
        typer.confirm(f"Delete everything that {key} judged in {campaign}? This cannot be undone", abort=True)
    with command_database.upgrade_and_open_database(), command_database.provide_owner_database_url() as url:
        database = Database(url, size=1)
        try:
            with database.transaction() as session:
                rows = erasure.purge_rater_judgments(session, campaign, key, actor=command_database.get_actor_name())
        finally:
            database.close()
    typer.echo(f"{campaign}: {rows} answers of {key} deleted")


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}/raters"


def _load_raters(campaign: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
        after: tuple[None, str] | None = None
        while page := service.list_raters(
            session, campaign, by=THE_OPERATOR, after=after, limit=PAGE, team=None, state=None
        ):
            rows += [RaterOut.model_validate(view).model_dump(mode="json") for view in page]
            after = (None, page[-1].key)
    return rows


def _row(rater: dict[str, object]) -> tuple[str, ...]:
    capacity = f"{rater['capacity']} {rater['capacity_unit']}" if rater["capacity"] is not None else ""
    languages = rater["languages"]
    spoken = ", ".join(map(str, languages)) if isinstance(languages, list) else ""
    named = [str(rater[name] or "") for name in ("team", "person")]
    return str(rater["key"]), str(rater["state"] or "not enrolled"), named[0], capacity, spoken, named[1]


def _unit(text: str) -> Unit:
    for unit in get_args(Unit):
        if unit == text:
            known: Unit = unit
            return known
    raise Invalid("no such unit", places=(Place(("--unit",), f"there are {', '.join(get_args(Unit))}"),))
