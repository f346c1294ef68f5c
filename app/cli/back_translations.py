"""`plumbline backtranslate`: copies raters' texts to another campaign, where they become outputs."""

from __future__ import annotations

import json
from typing import Annotated
from urllib.parse import quote

import typer

from app.api.back_translations import BackTranslationsCopyOut
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json, write_to_stdout
from app.client import remote_server as _remote
from app.services.data import back_translations as service


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backtranslate")(copy_back_translations)


def copy_back_translations(
    campaign: Annotated[str, typer.Argument(help="Key of the back-translation campaign.")],
    to: Annotated[str, typer.Argument(help="Key of the campaign that gets the texts as outputs.")],
    rater: Annotated[
        str | None, typer.Option(help="Back-translator to use; default: for each output, the first by key.")
    ] = None,
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Copy the texts that raters wrote to another campaign, as outputs of the same systems."""
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        path = f"/v1/campaigns/{quote(campaign, safe='')}/back-translations"
        body = remote.send_change("POST", path, {}, {"to": to, "rater": rater})
    else:
        with command_database.upgrade_and_open_database() as database, database.transaction() as session:
            outcome = service.copy_back_translations_as_outputs(
                session, campaign, to, rater=rater, actor=command_database.get_actor_name()
            )
        body = BackTranslationsCopyOut.model_validate(outcome).model_dump_json().encode()
    if as_json:
        write_to_stdout([body])
        return
    told = json.loads(body)
    typer.echo(f"{to}: {told['outputs']} outputs of {told['systems']} new systems, {told['unchanged']} as they were")
    for reason, n in told["left"].items():
        typer.echo(f"left: {n} {reason}")
