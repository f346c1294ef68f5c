"""`plumbline campaigns`: creates a campaign, with or without a template, and lists the templates."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

from app.api.campaign_templates import CampaignTemplateOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.reports.kit.table import Table
from app.services.access.tokens import THE_OPERATOR
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.templates.templates import TEMPLATES, create_campaign_from_template

Key = Annotated[str, typer.Argument(help="Key of the new campaign.")]
Template = Annotated[str | None, typer.Option(help=f"Template to start from: {', '.join(TEMPLATES)}.")]
ProtocolName = Annotated[str | None, typer.Option(help="How outputs are judged; required without a template.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Campaigns and their templates.", no_args_is_help=True)
    group.command("create")(create_draft_campaign)
    group.command("templates")(list_templates)
    app.add_typer(group, name="campaigns")


def create_draft_campaign(
    key: Key,
    template: Template = None,
    protocol: ProtocolName = None,
    name: Annotated[str | None, typer.Option(help="Name; default: the key.")] = None,
    source: Annotated[str | None, typer.Option(help="Source language, such as en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language, such as de.")] = None,
    server: _remote.Server = None,
) -> None:
    """Create a draft campaign. You can later change what a template sets."""
    if template is None and protocol is None:
        raise Invalid("the arguments are not valid", places=(Place(("--template",), "or --protocol is needed"),))
    asked = {"name": name, "protocol": protocol, "source_language": source, "target_language": target}
    given: dict[str, Any] = {"key": key, **{field: value for field, value in asked.items() if value is not None}}
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        remote.send_change("POST", "/v1/campaigns", {}, {**given, **({"template": template} if template else {})})
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            if template is not None:
                create_campaign_from_template(session, template, given, actor=THE_OPERATOR.actor)
            else:
                create_campaign(session, NewCampaign(**given), actor=THE_OPERATOR.actor)
    Console().print(f"{key} is a draft. Next: plumbline import {key} --format FORMAT FILES")


def list_templates(as_json: Json = False) -> None:
    """List templates, with their protocol and when to use each."""
    if as_json:
        told = [CampaignTemplateOut.model_validate(one).model_dump(mode="json") for one in TEMPLATES.values()]
        write_to_stdout([json.dumps({"items": told, "next": None}, ensure_ascii=False).encode()])
        return
    rows = tuple((one.name, one.protocol, one.title) for one in TEMPLATES.values())
    notes = [f"{one.name}: {one.purpose}" for one in TEMPLATES.values()]
    Console().print(make_rich_table(Table(("Template", "Protocol", "Title"), ("left",) * 3, rows), "Templates", notes))
