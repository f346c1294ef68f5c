"""`plumbline import`: imports files into a campaign."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from app import formats
from app.cli.kit import command_database
from app.domain.errors import Invalid, Place
from app.formats.base import InputFile
from app.services.data import imports

COUNTS = ("system", "outputs", "missing", "empty", "identical", "words")


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_files)


def import_files(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign; created if it does not exist.")],
    files: Annotated[list[Path], typer.Argument(help="Files that belong together; they may be gzipped.")],
    format: Annotated[str, typer.Option("--format", "-f", help="mqm-tsv, wmt-da, jsonl, …")],
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="An option of the format: key=value.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check everything, store nothing.")] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Skip lines that cannot be read, and list them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Create or fill a campaign from files, completely or not at all."""
    inputs = _inputs(files, by_path=formats.get_format(format).paths)
    console = Console(stderr=True)
    with command_database.upgrade_and_open_database() as database, _progress(console) as progress:
        bar = progress.add_task(f"reading {', '.join(i.name for i in inputs)}", total=None)
        report = imports.import_local_files(
            database,
            campaign,
            format=format,
            files=inputs,
            options=_options(option or []),
            dry_run=dry_run,
            skip_bad_lines=skip_bad_lines,
            actor=command_database.get_actor_name(),
            progress=lambda n: progress.update(bar, completed=n),
        )
        progress.update(bar, total=progress.tasks[bar].completed, description="stored" if not dry_run else "checked")
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        Console().print(_table(report))
        if isinstance(looked := report["ingest"], dict):
            Console().print(_test_set_table(looked))


def _inputs(given: list[Path], *, by_path: bool = False) -> list[InputFile]:
    """Return the files under their names, or under their paths if these carry meaning or two names are the same.

    by_path: paths carry meaning, and a folder stands for all files in it.
    """
    paths = [file for path in given for file in (sorted(_list_files(path)) if by_path and path.is_dir() else [path])]
    names = [_printable_name(path.name) for path in paths]
    if by_path or len(set(names)) < len(names):
        names = [_printable_name(str(path)) for path in paths]
    repeated = sorted({name for name in names if names.count(name) > 1})
    faults = [Place((name,), "is given twice") for name in repeated]
    faults += [
        Place((name,), "there is no such file") for path, name in zip(paths, names, strict=True) if not _is_file(path)
    ]
    if faults:
        raise Invalid("a file cannot be read", places=tuple(faults))
    return [InputFile(name, partial(_open, path, name)) for path, name in zip(paths, names, strict=True)]


def _list_files(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders, except hidden ones."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _is_file(path: Path) -> bool:
    return path.exists() and not path.is_dir()


def _open(path: Path, name: str) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise Invalid("a file cannot be read", places=(Place((name,), reason),)) from error


def _printable_name(name: str) -> str:
    """Return a file name as text, because on disk it can consist of any bytes."""
    return os.fsencode(name).decode("utf-8", "replace")


def _options(given: list[str]) -> dict[str, str]:
    options = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator:
            raise Invalid("the options are not valid", places=(Place(("--option", text), "must be key=value"),))
        options[key] = value
    return options


def _progress(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True)


def _table(report: dict[str, object]) -> Table:
    """Make a table of what was read, stored, mapped, repaired and dropped, with one line each."""
    table = Table(title="dry run: nothing was stored" if report["dry_run"] else "imported", show_header=False)
    table.add_row("lines", f"{report['lines']:,}")
    for group in ("stored", "repaired", "dropped", "notes"):
        counts = report[group]
        assert isinstance(counts, dict)  # noqa: S101  (the report's own shape)
        for name, n in counts.items():
            if n:
                table.add_row(
                    f"{group}: {name}" if group != "stored" else name, f"{n:,}" if isinstance(n, int) else str(n)
                )
    mapped = report["mapped"]
    assert isinstance(mapped, dict)  # noqa: S101  (the report's own shape)
    for noun, names in mapped.items():
        table.add_row(f"mapped: {noun}", ", ".join(f"{name} → {key}" for key, name in list(names.items())[:10]))
    bad = report["bad_lines"]
    assert isinstance(bad, dict)  # noqa: S101  (the report's own shape)
    for place in bad["first"]:
        table.add_row("left out", f"{':'.join(map(str, place['loc']))}: {place['msg']}", style="yellow")
    return table


def _test_set_table(ingest: dict[str, Any]) -> Table:
    """Make a table of the present test set: one line per system, and findings that need attention."""
    head = f"{ingest['documents']:,} documents, {ingest['segments']:,} segments, {ingest['words']:,} words of sources"
    references = f"; references {', '.join(ingest['references'])}" if ingest["references"] else ""
    table = Table(title=f"test set: {head}{references}", title_justify="left")
    for name in COUNTS:
        table.add_column(name, justify="left" if name == "system" else "right")
    for system in ingest["systems"]:
        table.add_row(*(str(system[name]) for name in COUNTS))
    for finding in ingest["findings"]:
        shown = ", ".join(finding["examples"][:3])
        table.caption = f"{table.caption or ''}{finding['what']}: {finding['n']:,} ({shown}, …)\n"
    return table
