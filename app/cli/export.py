"""`plumbline export`: everything that a campaign holds, as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli import _context
from app.services import exports


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    format: Annotated[str, typer.Option("--format", "-f", help="jsonl (loses nothing), mqm-tsv, wmt-da.")] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output by default.")
    ] = None,
) -> None:
    """Write a campaign out."""
    with _context.database() as database:
        chunks = exports.export(database, campaign, format)
        if output is None:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            return
        partial = output.with_name(output.name + ".part")
        try:
            with partial.open("wb") as file:
                file.writelines(chunks)
            partial.replace(output)
        finally:
            partial.unlink(missing_ok=True)
