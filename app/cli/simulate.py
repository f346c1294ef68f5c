"""`plumbline simulate`: simulated raters judge a campaign over HTTP, so that a manager can rehearse it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from app.cli.kit import command_database
from app.cli.kit.simulated_raters import (
    RehearsalTally,
    SimulatedRaterSettings,
    run_simulated_raters,
    unwrap_error_group,
)
from app.cli.serving.background_server import serve_on_free_port
from app.cli.serving.database_preparation import prepare_database
from app.cli.serving.service import stop_on_sigterm
from app.client import remote_server as _remote
from app.client.campaign_client import CampaignClient
from app.domain.errors import Invalid, NotFound, Place
from app.services.access import tokens
from app.simulation import RaterModel, encode_rater_model, make_rater_model_template, parse_rater_model
from app.storage.db import Database

TOKEN_LASTS = timedelta(days=2)
COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


class NoSimulatedRaterEnrolled(NotFound):
    """None of the model's raters is enrolled and active in the campaign."""

    published = "NobodyComes"


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate_raters)


def simulate_raters(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign; its raters get new links.")],
    raters: Annotated[Path | None, typer.Option(help="File with the model of the raters.")] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Write a model template for this campaign instead.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the template.")] = None,
    quality: Annotated[
        list[str] | None, typer.Option(help="For the template: SYSTEM=POINTS, 0 to 100; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Replaces the seed of the model.")] = None,
    speed: Annotated[float, typer.Option(min=0, help="Speed relative to people; 0: no pauses.")] = 0.0,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of raters working at the same time.")] = 8,
    patience: Annotated[float, typer.Option(min=0, help="How many seconds a rater waits for work.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
    server: _remote.Server = None,
) -> None:
    """Let simulated raters judge open tasks over HTTP, as people would. Run again to continue."""
    if template == (raters is not None):
        raise Invalid("the options are not valid", places=(Place(("--raters",), "give this or --template"),))
    qualities = _qualities(quality)
    model = None if raters is None else _model(raters, campaign, seed)
    with stop_on_sigterm(), connect_as_campaign_manager(campaign, server) as managed:
        if model is not None:
            _print_tally(
                run_rehearsal(managed, model, SimulatedRaterSettings(workers, speed, patience)), as_json=as_json
            )
            return
        about, outputs = managed.fetch_campaign_for_simulation(), managed.fetch_outputs_for_simulation()
        _write(
            encode_rater_model(
                make_rater_model_template(
                    about, outputs, managed.list_active_raters(), seed=seed or 0, qualities=qualities
                )
            ),
            output,
        )


def _model(path: Path, campaign: str, seed: int | None) -> RaterModel:
    """Read a model from a file. Raises Invalid if it is not a model, or if it is for another campaign."""
    model = parse_rater_model(path.read_bytes())
    if model.campaign != campaign:
        raise Invalid(f"this is a model for {model.campaign}", places=(Place(("campaign",), "is another one"),))
    return model if seed is None else model.model_copy(update={"seed": seed})


def run_rehearsal(
    campaign_client: CampaignClient, model: RaterModel, settings: SimulatedRaterSettings
) -> RehearsalTally:
    """Let the raters of a model judge on a server, and show a progress bar. Raises NoSimulatedRaterEnrolled."""
    there = sorted(model.raters.keys() & set(campaign_client.list_active_raters()))
    if not there:
        raise NoSimulatedRaterEnrolled
    total, links = campaign_client.count_judgments_in_open_tasks(), campaign_client.renew_rater_tokens(there)
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("judging", total=total)
        judging = run_simulated_raters(
            campaign_client.remote.url, model, links, settings, on_progress=lambda n: progress.advance(bar, n)
        )
        try:
            return asyncio.run(judging)
        except BaseExceptionGroup as group:
            raise unwrap_error_group(group) from group


@contextmanager
def connect_as_campaign_manager(campaign: str | None, server: str | None) -> Iterator[CampaignClient]:
    """Connect to a campaign as its manager: on the given server, or on a temporary one over our database.

    campaign: None for a credential that is valid for all campaigns.
    """
    remote = _remote.find_configured_remote_server(server)
    if remote is not None:
        yield CampaignClient(remote, campaign or "")
        return
    with command_database.provide_owner_database_url() as url:
        role = prepare_database(url, upgrade=True)
        with (
            closing(Database(url, size=2, role=role)) as database,
            command_database.use_configured_organization(database),
            create_temporary_manager_token(database, campaign) as secret,
            serve_on_free_port(url, role) as origin,
        ):
            yield CampaignClient(_remote.RemoteServer(origin, secret.get_secret_value()), campaign or "")


@contextmanager
def create_temporary_manager_token(database: Database, campaign: str | None) -> Iterator[SecretStr]:
    """Create a manager's token for the duration of the block; it expires even if this process is killed."""
    with database.transaction() as session:
        ends = datetime.now(UTC) + TOKEN_LASTS
        issued = tokens.issue_token(session, role="manager", name="simulate", campaign=campaign, expires_at=ends)
    try:
        yield SecretStr(issued.secret)
    finally:
        with database.transaction() as session:
            tokens.revoke_token(session, issued.token.prefix, by=None)


def _qualities(given: Sequence[str] | None) -> Mapping[str, float]:
    qualities = {}
    for quality in given or ():
        system, _, points = quality.rpartition("=")
        try:
            qualities[system] = float(points)
        except ValueError:
            why = f"must be SYSTEM=POINTS, not {quality[:80]!r}"
            raise Invalid("the options are not valid", places=(Place(("--quality",), why),)) from None
    return qualities


def _write(data: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        output.write_bytes(data)


def _print_tally(tally: RehearsalTally, *, as_json: bool) -> None:
    told = tally.as_json()
    if as_json:
        typer.echo(json.dumps(told))
        return
    console = Console()
    for line in format_rehearsal_summary(tally):
        console.print(line, highlight=False, markup=False)


def format_rehearsal_summary(tally: RehearsalTally) -> list[str]:
    """Return the summary in words: what was judged, how fast, and who did not finish."""
    told = tally.as_json()
    unfinished = {rater: why for rater, why in sorted(tally.ended.items()) if why != "finished"}
    judged = (
        "{judgments} judgments ({revisions} of them revisions), {tasks_handed_in} tasks handed in, {surplus} surplus"
    )
    sent = (
        "{requests} requests in {seconds} s: {requests_per_second} a second, half within {p50_ms} ms, "
        "99 in 100 within {p99_ms} ms; {retries} tried again"
    )
    return [judged.format_map(told), sent.format_map(told), *(f"{rater}: {why}" for rater, why in unfinished.items())]
