"""`plumbline hours`: payable hours of raters and teams."""

from __future__ import annotations

import json
from typing import Annotated, Final, Literal
from urllib.parse import quote

import typer
from pydantic import TypeAdapter
from rich.console import Console

from app.cli.kit import command_database
from app.cli.kit.output_formats import Csv, Json, choose_output_format, write_to_stdout
from app.cli.kit.terminal import make_rich_table
from app.client import remote_server as _remote
from app.reports.kit.table import Table
from app.services.access.tokens import THE_OPERATOR
from app.services.people import hours
from app.services.people.hours import CampaignHours
from app.stats.timing.work_time import format_duration

HOURS = TypeAdapter(CampaignHours)
RIGHT: Final[tuple[Literal["right"], ...]] = ("right",)


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("hours")(print_payable_hours)


def print_payable_hours(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    utc_offset: Annotated[int, typer.Option(min=-840, max=840, help="Offset of the days from UTC, in minutes.")] = 0,
    as_json: Json = False,
    csv: Csv = False,
    server: _remote.Server = None,
) -> None:
    """Show payable hours by rater and day, and by team."""
    output_format = choose_output_format(json=as_json, csv=csv, latex=False, markdown=False, svg=False)
    remote = _remote.find_configured_remote_server(server)
    if remote is None:
        with command_database.upgrade_and_open_database() as database, database.transaction(snapshot=True) as session:
            answer = hours.make_hours_report(session, campaign, by=THE_OPERATOR, team=team, utc_offset=utc_offset)
    else:
        query: dict[str, str | int] = {"utc_offset": utc_offset, **({"team": team} if team else {})}
        path = f"/v1/campaigns/{quote(campaign, safe='')}/hours"
        answer = HOURS.validate_json(remote.fetch_body(path, query, accept="application/json"))
    if output_format:
        write_to_stdout(
            [
                hours.encode_hours_csv(answer)
                if output_format == "csv"
                else json.dumps(HOURS.dump_python(answer, mode="json")).encode()
            ]
        )
        return
    Console().print(make_rich_table(_table(answer), f"Payable hours of {answer.campaign}", _notes(answer)))


def _table(hours_paid: CampaignHours) -> Table:
    heard = any(one.heard_seconds for one in hours_paid.raters)
    rows = [
        (
            *(
                one.rater,
                one.team or "",
                format_duration(one.active_seconds),
                _format_signed_hours(one.adjusted_seconds),
            ),
            *(format_duration(one.payable_seconds), str(one.open_disputes or "")),
            *((format_duration(one.heard_seconds or 0.0),) if heard else ()),
        )
        for one in hours_paid.raters
    ]
    headings = ("Rater", "Team", "Measured", "Adjusted", "Payable", "Open disputes", *(("Heard",) if heard else ()))
    return Table(headings, ("left", "left", "right", "right", "right", "right", *RIGHT[:heard]), tuple(rows))


def _format_signed_hours(seconds: int) -> str:
    return f"{'-' if seconds < 0 else '+'}{format_duration(abs(seconds))}" if seconds else ""


def _notes(hours_paid: CampaignHours) -> list[str]:
    of_teams = [f"{one.team or 'no team'}: {format_duration(one.payable_seconds)}" for one in hours_paid.teams]
    rule = (
        f"A gap counts up to {hours_paid.pause_seconds:g} s and {hours_paid.seconds_per_word:g} s a word on the screen."
    )
    return [*of_teams, rule]
