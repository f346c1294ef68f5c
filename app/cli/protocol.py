"""`plumbline protocol`: the protocol of a campaign as data that its manager can write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.kit import command_database
from app.cli.kit.output_formats import write_to_stdout
from app.domain.errors import Invalid, Place
from app.domain.strict_json import parse_strict_json
from app.services.campaigns import protocols
from app.services.campaigns.protocols import ProtocolNameAndOptions


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("protocol")(print_or_replace_protocol)


def print_or_replace_protocol(
    campaign: Annotated[str | None, typer.Argument(help="Key of the campaign.")] = None,
    file: Annotated[
        Path | None, typer.Argument(help='The new protocol as JSON, {"protocol": …, "options": …}.')
    ] = None,
    like: Annotated[str | None, typer.Option(help="Print a built-in protocol to start your own from.")] = None,
) -> None:
    """Print or replace the protocol of a campaign; with --like, print a protocol to start from."""
    if like is not None:
        _print(protocols.describe_protocol_as_custom(like, {}))
        return
    if campaign is None:
        raise Invalid("the options are not valid", places=(Place(("CAMPAIGN",), "is missing; or give --like"),))
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        if file is not None:
            written = _read(file)
            protocols.put_campaign_protocol(
                session, campaign, written, has_seen_version=lambda _: True, actor=command_database.get_actor_name()
            )
        shown = protocols.get_campaign_protocol(session, campaign).campaign
    _print(ProtocolNameAndOptions(shown.protocol, shown.options))


def _read(file: Path) -> ProtocolNameAndOptions:
    try:
        given: Any = parse_strict_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid("the protocol is not valid", places=(Place((str(file),), str(error)[:200]),)) from None
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("options"), dict)
        or set(given) - {"protocol", "options"}
    ):
        what = 'must be {"protocol": "custom", "options": {…}}'
        raise Invalid("the protocol is not valid", places=(Place((str(file),), what),))
    return ProtocolNameAndOptions(str(given.get("protocol", "custom")), given["options"])


def _print(written: ProtocolNameAndOptions) -> None:
    shown = {"protocol": written.protocol, "options": dict(written.options)}
    write_to_stdout([json.dumps(shown, ensure_ascii=False, indent=2).encode() + b"\n"])
