"""`plumbline series`: runs many language pairs from one manifest."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any
from urllib.parse import urlencode

import typer
from rich.console import Console

from app import formats
from app.cli.kit import command_database
from app.cli.kit.output_formats import Json
from app.cli.kit.remote_series_backend import RemoteSeriesBackend
from app.cli.kit.terminal import make_rich_table
from app.cli.ranking_comparison import print_series_rankings
from app.client import remote_server as _remote
from app.config import Settings
from app.domain.errors import Invalid, Place
from app.formats.base import InputFile
from app.reports.kit.table import Table
from app.services.access.tokens import THE_OPERATOR
from app.services.series import steps
from app.services.series.database_backend import DatabaseSeriesBackend
from app.services.series.manifest import LARGEST, Manifest, ManifestImport, parse_manifest
from app.services.series.steps import IssuedRaterLink, SeriesBackend, StepOutcome

LINKS, PROGRESS, RANKING = "links", "progress", "ranking"
ALL = (*steps.STEPS, LINKS, PROGRESS, RANKING)
_RUNS_IN_SPREADSHEETS = ("=", "+", "-", "@")


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("series")(run_series_steps)


def run_series_steps(
    manifest: Annotated[Path, typer.Argument(help="The manifest as JSON.")],
    step: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(ALL)}, in order; default: progress.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file for the links.")] = None,
    days: Annotated[int, typer.Option(min=1, max=400, help="Days until the links expire.")] = 90,
    renew: Annotated[bool, typer.Option(help="New links for all raters; previous links stop working.")] = False,
    as_json: Json = False,
    server: _remote.Server = None,
) -> None:
    """Create, plan and open the campaigns of a series, create links, show progress, rank. Steps can be repeated."""
    wanted = step or [PROGRESS]
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        raise Invalid(
            "the arguments are not valid", places=(Place((unknown[0][:80],), f"there are: {', '.join(ALL)}"),)
        )
    content = _read(manifest)
    doing: Mapping[str, Callable[[SeriesBackend], Iterator[StepOutcome]]] = {
        "create": lambda backend: steps.create_and_fill_campaigns(backend, content, partial(_inputs, manifest.parent)),
        "plan": lambda backend: steps.compile_campaign_plans(backend, content),
        "open": lambda backend: steps.open_campaigns(backend, content),
    }
    for name in wanted:
        if name == RANKING:
            print_series_rankings(content.series, recipe=content.recipe, as_json=as_json, server=server)
            continue
        with _backend(server) as backend:
            if name == LINKS:
                _hand_out(
                    steps.create_missing_rater_links(backend, content, days=days, renew=renew), output, anew=renew
                )
            elif name == PROGRESS:
                _follow(content, list(steps.iterate_series_progress(backend, content)), as_json=as_json)
            else:
                for outcome in doing[name](backend):
                    _print_step(outcome, as_json=as_json)


def _read(path: Path) -> Manifest:
    if not path.is_file():
        raise Invalid(places=(Place((str(path),), "there is no such file"),))
    if path.stat().st_size > LARGEST:
        raise Invalid(places=(Place((str(path),), f"has more than {LARGEST:,} bytes"),))
    try:
        return parse_manifest(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as fault:
        raise Invalid(places=(Place((str(path),), f"is not UTF-8: {fault.reason}"),)) from None


@contextmanager
def _backend(server: str | None) -> Iterator[SeriesBackend]:
    remote = _remote.find_configured_remote_server(server)
    if remote is not None:
        yield RemoteSeriesBackend(remote)
        return
    settings = Settings.load()
    origin = settings.public_url or f"http://{settings.host}:{settings.port}"
    with command_database.upgrade_and_open_database() as database:
        yield DatabaseSeriesBackend(
            database,
            actor=command_database.get_actor_name(),
            by=THE_OPERATOR,
            address=lambda secret: f"{origin}/#{urlencode({'token': secret})}",
        )


def _inputs(folder: Path, files: ManifestImport) -> Sequence[InputFile]:
    """Return the files of an import. Raises Invalid for a path without files."""
    paths: list[Path] = []
    for n, path in enumerate(files.paths):
        here = sorted(folder.glob(path)) if "*" in path and not Path(path).is_absolute() else [folder / path]
        here = [file for one in here for file in (sorted(one.rglob("*")) if one.is_dir() else [one])]
        there = [file for file in here if file.is_file()]
        if not there:
            raise Invalid(places=(Place(("paths", n), f"there is no file {path[:200]}"),))
        paths += there
    by_path = formats.get_format(files.format).paths
    names = [str(file.relative_to(folder)) if by_path and file.is_relative_to(folder) else file.name for file in paths]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise Invalid(places=(Place(("paths",), f"two files are called {repeated[0][:200]}"),))
    return [InputFile(name, partial(_open, file)) for name, file in zip(names, paths, strict=True)]


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


def _print_step(outcome: StepOutcome, *, as_json: bool) -> None:
    said = json.dumps(asdict(outcome), ensure_ascii=False) if as_json else _line(outcome)
    typer.echo(said)


def _line(outcome: StepOutcome) -> str:
    return f"{outcome.campaign}: {outcome.what}" + ("" if outcome.changed else " (as it was)")


def _hand_out(made: Iterator[IssuedRaterLink], output: Path | None, *, anew: bool) -> None:
    """Write new links as CSV, one line per rater who had none; an existing file is extended.

    anew: the links in the file no longer work, so it is replaced. Spreadsheets execute nothing in the output.
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\r\n")
    goes_on = output is not None and output.exists() and not anew
    if not goes_on:
        lines.writerow(("campaign", "rater", "link", "expires_at"))
    given = []
    try:
        for link in made:
            given.append(link.rater)
            keys = (f"'{key}" if key.startswith(_RUNS_IN_SPREADSHEETS) else key for key in (link.campaign, link.rater))
            lines.writerow((*keys, link.link, link.expires_at))
    finally:  # each link is shown only once, so those already made are kept even if a later one fails
        if output is None:
            typer.echo(out.getvalue(), nl=False)
        else:
            output.touch(mode=0o600)
            with output.open("a" if goes_on else "w", encoding="utf-8", newline="") as file:
                file.write(out.getvalue())
    typer.echo(f"{len(given)} links created; raters with a working link keep it", err=True)


def _follow(manifest: Manifest, progress: Sequence[tuple[str, Mapping[str, Any] | None]], *, as_json: bool) -> None:
    if as_json:
        items = [{"campaign": key, "progress": one} for key, one in progress]
        typer.echo(json.dumps({"series": manifest.series, "campaigns": items}, ensure_ascii=False))
        return
    headings = ("Campaign", "State", "Tasks", "Handed in", "Judgments", "Done", "Raters", "End (median)")
    rows = tuple(_row(key, one) for key, one in progress)
    table = Table(headings, ("left", "left", *("right",) * 5, "left"), rows)
    Console().print(make_rich_table(table, f"{manifest.series}: {len(progress)} campaigns"))


def _row(key: str, progress: Mapping[str, Any] | None) -> tuple[str, ...]:
    if progress is None:
        return (key, "not created", *["–"] * 6)
    handed_in = sum(state["tasks"] for state in progress["states"] if state["state"] == "handed_in")
    share, forecast = progress["share"], progress["forecast"]
    done = "–" if share is None else f"{100 * share:.0f} %"
    ends = "–" if forecast is None else str(forecast["median"])[:16]
    raters = "–" if progress["raters"] is None else str(len(progress["raters"]))
    total = progress["total"]
    return key, progress["state"], str(total["tasks"]), str(handed_in), str(total["judgments"]), done, raters, ends
