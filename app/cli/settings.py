"""`plumbline settings`: reads and changes a campaign's settings; `plumbline recipe`: its own recipes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from pydantic import ValidationError

from app.api.campaigns import CampaignOut, CampaignPatch
from app.cli.kit import command_database
from app.cli.kit.output_formats import write_to_stdout
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.strict_json import StrictJsonError, parse_strict_json
from app.domain.validation_errors import list_first_validation_errors
from app.services.campaigns import campaigns, recipes
from app.services.campaigns import settings as service

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
WITHIN = ("options", "settings")
NOT_VALID = "the settings are not valid"
MOST = 1000


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("settings")(print_or_change_campaign_settings)
    app.command("recipe")(list_print_or_store_recipes)


def print_or_change_campaign_settings(
    campaign: Campaign,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="name=VALUE, as JSON or plain text; settings.NAME.NAME=VALUE changes one entry; null removes it."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Changes as one JSON object, applied before the others.")] = None,
    server: _remote.Server = None,
) -> None:
    """Print or change a campaign's name, languages, protocol, options such as weights, and settings."""
    remote = _remote.find_configured_remote_server(server)
    given = {**(_object(file) if file is not None else {}), **_pairs(changes or [])}
    if remote is not None:
        shown: dict[str, Any] = json.loads(remote.fetch_body(_path(campaign), accept="application/json"))
        if given:
            seen = f'"{shown["settings_version"]}"'
            shown = json.loads(
                remote.send_change("PATCH", _path(campaign), {}, _merge_nested_fields(shown, given), if_match=seen)
            )
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            about = campaigns.get_campaign(session, campaign)
            shown = CampaignOut.model_validate(about).model_dump(mode="json")
            if given:
                about = service.change_campaign_settings(
                    session,
                    campaign,
                    _validate_fields(_merge_nested_fields(shown, given)),
                    has_seen_version=lambda _: True,
                    actor=command_database.get_actor_name(),
                )
                shown = CampaignOut.model_validate(about).model_dump(mode="json")
    _print({name: shown[name] for name in CampaignPatch.model_fields})


def list_print_or_store_recipes(
    campaign: Campaign,
    name: Annotated[str | None, typer.Argument(help="Name of the recipe; without it all are listed.")] = None,
    file: Annotated[
        Path | None, typer.Argument(help="The recipe as JSON; choices that it omits have their defaults.")
    ] = None,
    server: _remote.Server = None,
) -> None:
    """List a campaign's own recipes, print one, or store one from a file."""
    remote = _remote.find_configured_remote_server(server)
    given = None if file is None else _object(file)
    if remote is not None:
        at = f"{_path(campaign)}/recipes"
        if name is None:
            _print([one["name"] for one in remote.iterate_paginated_list(at)])
        elif given is not None:
            _print(json.loads(remote.send_change("PUT", f"{at}/{quote(name, safe='')}", {}, given))["recipe"])
        else:
            _print(json.loads(remote.fetch_body(f"{at}/{quote(name, safe='')}", accept="application/json"))["recipe"])
        return
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        if name is None:
            _print([one.name for one in recipes.list_named_recipes(session, campaign, after=None, limit=MOST)])
        elif given is not None:
            stored = recipes.put_named_recipe(session, campaign, name, given, actor=command_database.get_actor_name())
            _print({**stored.recipe.as_json(), "hash": stored.recipe.hash})
        else:
            stored = recipes.get_named_recipe(session, campaign, name)
            _print({**stored.recipe.as_json(), "hash": stored.recipe.hash})


def _pairs(changes: list[str]) -> dict[str, object]:
    """Return changes by name, with dotted names unchanged. Raises Invalid."""
    given: dict[str, object] = {}
    for text in changes:
        name, separator, value = text.partition("=")
        if not separator:
            raise Invalid(NOT_VALID, places=(Place((text,), "must be name=VALUE"),))
        given[name] = _value(value)
    return given


def _value(text: str) -> object:
    """Parse a value as JSON if it is valid JSON; otherwise return the text."""
    try:
        return parse_strict_json(text)
    except (StrictJsonError, ValueError):
        return text


def _merge_nested_fields(shown: Mapping[str, Any], given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields to send: `options` and `settings` completely, with entries changed at any depth.

    Raises Invalid.
    """
    fields: dict[str, object] = {}
    for name, value in given.items():
        field, *entries = name.split(".")
        if not entries:
            fields[name] = value
        elif field not in WITHIN or not all(entries):
            raise Invalid(NOT_VALID, places=(Place((name,), f"only {' and '.join(WITHIN)} have entries"),))
        else:
            fields[field] = _change_entry(fields.get(field, shown[field]), entries, value, name)
    return fields


def _change_entry(whole: object, entries: Sequence[str], value: object, name: str) -> dict[str, object]:
    """Change an entry of an object; null removes it. Raises Invalid if a value on the way has no entries."""
    if whole is not None and not isinstance(whole, Mapping):
        raise Invalid(NOT_VALID, places=(Place((name,), "is within a value that has no entries"),))
    entry, *rest = entries
    changed = dict(whole or {})
    changed[entry] = _change_entry(changed.get(entry), rest, value, name) if rest else value
    return {key: one for key, one in changed.items() if one is not None}


def _validate_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """Validate the fields as over HTTP. Raises Invalid, naming the field."""
    try:
        return CampaignPatch.model_validate(fields).get_given_fields()
    except ValidationError as error:
        faults = list_first_validation_errors(error, 20)
        raise Invalid(NOT_VALID, places=tuple(Place(tuple(one["loc"]), one["msg"]) for one in faults)) from None


def _object(file: Path) -> dict[str, object]:
    try:
        given = parse_strict_json(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid("the file is not valid", places=(Place((str(file),), str(error)[:200]),)) from None
    if not isinstance(given, dict):
        raise Invalid("the file is not valid", places=(Place((str(file),), "must be a JSON object"),))
    return given


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}"


def _print(value: object) -> None:
    write_to_stdout([json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"])
