"""`plumbline export`: everything in a campaign, as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from app.cli.kit import command_database
from app.cli.kit.files import write_file_atomically, write_files_to_new_folder
from app.client import remote_server as _remote
from app.services.data import exports


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export_campaign)


def export_campaign(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"jsonl (lossless), or one of: {', '.join(exports.list_writable_formats())}."
        ),
    ] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write (default: standard output); a folder for several files."),
    ] = None,
    server: _remote.Server = None,
) -> None:
    """Export a campaign. Standard error reports what the format cannot hold.

    Formats that consist of several files (mtme, appraise, pearmut) fill a new folder, or a tar archive if the output is
    named *.tar or is standard output.
    """
    if (remote := _remote.find_configured_remote_server(server)) is not None:
        path = f"/v1/campaigns/{quote(campaign, safe='')}/exports/{quote(format, safe='')}"
        write_file_atomically(remote.stream_body(path), output)
        if format != exports.BUNDLE:  # the bundle contains `jsonl`, and so everything
            _print_losses(format, exports.ExportLosses.model_validate_json(remote.fetch_body(f"{path}/losses")).losses)
        return
    with command_database.upgrade_and_open_database() as database:
        lost = Counter[str]()
        if output is not None and exports.get_export_file_type(format).files and output.suffix != ".tar":
            write_files_to_new_folder(exports.export_campaign_files(database, campaign, format, lost=lost), output)
        else:
            write_file_atomically(exports.export_campaign(database, campaign, format, lost=lost), output)
    _print_losses(format, lost)


def _print_losses(format: str, lost: Mapping[str, int]) -> None:
    for what, n in sorted(lost.items()):
        typer.echo(f"left out by {format}: {what}: {n:,}", err=True)
