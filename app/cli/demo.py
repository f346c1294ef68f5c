"""`plumbline demo`: creates, plans, ranks and serves a campaign that simulated raters judge over HTTP."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from app.cli.kit import command_database
from app.cli.kit.progress_bar import show_progress_bar
from app.cli.kit.simulated_raters import SimulatedRaterSettings
from app.cli.kit.terminal import format_ranking_table
from app.cli.report import print_report_body
from app.cli.serving.background_server import serve_in_child_process
from app.cli.serving.database_preparation import prepare_database
from app.cli.serving.service import (
    CannotListen,
    format_socket_origin,
    open_listening_socket,
    run_service,
    stop_on_sigterm,
)
from app.cli.simulate import format_rehearsal_summary, run_rehearsal
from app.client.campaign_client import CampaignClient
from app.client.remote_server import RemoteServer
from app.config import Settings
from app.conformance.conformance_run import list_failed_checks, run_conformance_checks
from app.demo import (
    DEMO_SEED,
    DESIGN,
    GUEST,
    PLANTED_ORDER,
    PROTOCOL,
    RATERS,
    STABILITY,
    ensure_demo_campaign,
    make_demo_rater_model,
)
from app.demo.pictures import GUEST_OF_PICTURES, ensure_picture_campaign, make_picture_rater_model
from app.domain.recipe import NAMED
from app.reports.kit.request import ReportRequest
from app.reports.kit.store import find_or_compute_report
from app.reports.ranking import report as ranking_report
from app.reports.stability.report import REPORT as STABILITY_REPORT
from app.services.access import tokens
from app.storage.db import Database

RECIPE = "recommended"
TOKEN_LASTS = timedelta(days=7)
HELPER_LASTS = timedelta(hours=1)


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(run_demo)


def run_demo(
    leave: Annotated[bool, typer.Option("--exit", help="Stop after the reports, without serving.")] = False,
) -> None:
    """Load a made-up campaign, let simulated raters judge it over HTTP, rank it, and serve it until Ctrl+C.

    The last report estimates whether another study would give the same ranking.
    """
    settings, console = Settings.load(), Console()
    with (
        stop_on_sigterm(),
        command_database.provide_owner_url_and_server() as (url, own),
        ExitStack() as stack,
    ):  # users of the database stop before the database does
        role = prepare_database(url, upgrade=True)
        database = stack.enter_context(closing(Database(url, size=2, role=role)))
        campaign = _load(database)
        secret = _issue(database, campaign, ours=settings.database_url is None)
        listener = _bind_configured_or_free_port(stack, settings.host, settings.port)
        with serve_in_child_process(url, role, listener):
            managed = CampaignClient(RemoteServer(format_socket_origin(listener), secret), campaign)
            _say_what_is_there(console, managed, settings)
            _collect(console, database, managed)
            _report(console, database, campaign)
            links = {} if leave else _links(settings.public_url or format_socket_origin(listener), managed, secret)
            if settings.database_url is None and not leave:  # in anybody else's database, the demo is only one campaign
                pictures = _collect_pictures(managed.remote)
                links |= _picture_links(settings.public_url or format_socket_origin(listener), pictures, secret)
        if links:
            _say_where(console, links)
            run_service(url, own, role, listener, web_processes=settings.workers)


def _load(database: Database) -> str:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("loading the demo campaign", total=None)
        return ensure_demo_campaign(database, progress=lambda done, of: progress.update(bar, completed=done, total=of))


def _say_what_is_there(console: Console, managed: CampaignClient, settings: Settings) -> None:
    """Say if this demo continues an earlier one, because its figures then differ from those of a new demo."""
    if managed.fetch_campaign()["state"] == "draft":
        return
    place = settings.data_dir if settings.database_url is None else "the database"
    told = f"The demo campaign already exists in {place}. The demo continues from its judgments."
    console.print(told, highlight=False, markup=False, soft_wrap=True)


def _collect(console: Console, database: Database, managed: CampaignClient) -> None:
    """Plan, open and judge the campaign. Steps that are already done are skipped."""
    if managed.fetch_campaign()["state"] == "draft":
        _say_conformance(console, database, managed.remote.url)
        there = managed.list_active_raters()
        for rater in RATERS:
            if rater not in there:
                managed.enrol_rater(rater, {})
        managed.compile_and_freeze_plan(DESIGN)
    if managed.fetch_campaign()["state"] == "planned":
        managed.change_campaign_state("open")
    if managed.fetch_campaign()["state"] == "open":
        tally = run_rehearsal(managed, make_demo_rater_model(managed.campaign, DEMO_SEED), SimulatedRaterSettings())
        if tally.judgments:
            console.print(
                f"Judged over HTTP: {'; '.join(format_rehearsal_summary(tally))}", highlight=False, markup=False
            )


def _collect_pictures(remote: RemoteServer) -> CampaignClient:
    """Create the campaign with pictures and its manager's own protocol, and have all but the guest judge it."""
    pictures = ensure_picture_campaign(remote)
    about = pictures.fetch_campaign()
    if (about["state"], about["protocol"]) == ("open", "custom"):
        run_rehearsal(pictures, make_picture_rater_model(pictures), SimulatedRaterSettings())
    return pictures


def _say_conformance(console: Console, database: Database, origin: str) -> None:
    """Run the conformance checks on the server with the demo's protocol."""
    with database.transaction() as session:
        ends = datetime.now(UTC) + HELPER_LASTS
        issued = tokens.issue_token(session, role="manager", name="conformance", expires_at=ends)
    try:
        checks = run_conformance_checks(RemoteServer(origin, issued.secret), only_protocol=PROTOCOL)
    finally:
        with database.transaction() as session:
            tokens.revoke_token(session, issued.token.prefix, by=None)
    wrong = list_failed_checks(checks)
    console.print(f"Conformance: {len(checks) - len(wrong)} of {len(checks)} checks hold", highlight=False)
    for check in wrong:
        console.print(f"  {check.name}: {check.detail}", highlight=False, markup=False)


def _report(console: Console, database: Database, campaign: str) -> None:
    body = ranking_report.find_or_compute_ranking(database, campaign, recipe=NAMED[RECIPE]).body
    console.print(format_ranking_table(json.loads(body)))
    console.print(f"True order, best first: {', '.join(PLANTED_ORDER)}", highlight=False)
    console.print("\nReplication forecast")
    with show_progress_bar("simulating studies") as on_progress:
        asking = ReportRequest(STABILITY_REPORT, (campaign,), STABILITY)
        stored = find_or_compute_report(database, asking, on_progress=on_progress)
    print_report_body(console, STABILITY_REPORT, stored.body)


def _issue(database: Database, campaign: str, *, ours: bool) -> str:
    """Issue the token for the printed link. It expires, so that a forgotten demo gives no lasting access.

    ours: the database is the embedded one. In any other database, the link gives access only to the demo.
    """
    ends = datetime.now(UTC) + TOKEN_LASTS
    with database.transaction() as session:
        if ours:
            return tokens.issue_token(session, role="admin", name="demo", expires_at=ends).secret
        return tokens.issue_token(session, role="manager", name="demo", campaign=campaign, expires_at=ends).secret


def _bind_configured_or_free_port(stack: ExitStack, host: str, port: int) -> socket.socket:
    """Open the port in the settings, or a free one if it is taken, so that the demo does not fail because of it."""
    try:
        return stack.enter_context(open_listening_socket(host, port))
    except CannotListen:
        return stack.enter_context(open_listening_socket(host, 0))


def _links(origin: str, managed: CampaignClient, secret: str) -> dict[str, str]:
    """Return the manager's link, and that of a rater who has work left."""
    page = f"/campaigns/{managed.campaign}"
    guest = managed.renew_rater_tokens([GUEST])[GUEST]
    return {
        "As its manager": f"{origin}/#{urlencode({'token': secret, 'next': page}, safe='/')}",
        "As a rater": f"{origin}/#{urlencode({'token': guest})}",
    }


def _picture_links(origin: str, pictures: CampaignClient, secret: str) -> dict[str, str]:
    guest = pictures.renew_rater_tokens([GUEST_OF_PICTURES])[GUEST_OF_PICTURES]
    page = f"/campaigns/{pictures.campaign}"
    return {
        "Descriptions of pictures, as their manager": (
            f"{origin}/#{urlencode({'token': secret, 'next': page}, safe='/')}"
        ),
        "Descriptions of pictures, as a rater": f"{origin}/#{urlencode({'token': guest})}",
    }


def _say_where(console: Console, links: dict[str, str]) -> None:
    for line in ("", *(f"{who}: {link}" for who, link in links.items()), "Ctrl+C ends it."):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
