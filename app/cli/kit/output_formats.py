"""The output formats of reading commands: a table on the terminal, or one of several file formats."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from app.domain.errors import Invalid, Place

Json = Annotated[bool, typer.Option("--json", help="Everything, as JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Rows for a spreadsheet.")]
Latex = Annotated[bool, typer.Option("--latex", help="A table for a paper.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="A table for a pull request.")]
Svg = Annotated[bool, typer.Option("--svg", help="A picture.")]
When = Annotated[str | None, typer.Option(help="Data version or time; default: the latest.")]


def choose_output_format(*, json: bool, csv: bool, latex: bool, markdown: bool, svg: bool) -> str:
    """Return `json`, `csv`, `tex`, `md` or `svg`; empty for the terminal. Raises Invalid if two are given."""
    given = {"--json": json, "--csv": csv, "--latex": latex, "--markdown": markdown, "--svg": svg}
    flags = [flag for flag, is_given in given.items() if is_given]
    if len(flags) > 1:
        raise Invalid("choose only one output format", places=(Place((flags[1],), f"{flags[0]} is given too"),))
    suffixes = {"--latex": "tex", "--markdown": "md"}
    return suffixes.get(flags[0], flags[0][2:]) if flags else ""


def write_to_stdout(pieces: Iterable[bytes]) -> None:
    """Write bytes to standard output, and add a line end if there is none."""
    last = b""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        last = piece or last
    if not last.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
