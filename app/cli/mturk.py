"""`plumbline mturk`: a HIT on Mechanical Turk for a campaign, and paying its workers by their verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.kit.crowd import (
    NOTHING,
    Campaign,
    DryRun,
    Study,
    Tasks,
    Yes,
    find_server,
    invite_study,
    read_verdicts,
    settle_study,
)
from app.client import remote as _remote
from app.client.mturk import HitTexts, MTurkClient
from app.config import Settings


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Create HITs on Mechanical Turk, and pay workers.", no_args_is_help=True)
    group.command("create")(create_study)
    group.command("settle")(settle)
    app.add_typer(group, name="mturk")


def create_study(
    campaign: Campaign,
    title: Annotated[str, typer.Option(help="What workers see in the list of HITs.")],
    description: Annotated[str, typer.Option(help="What workers read before they accept it.")],
    places: Annotated[int, typer.Option(min=1, help="Number of workers.")],
    minutes: Annotated[int, typer.Option(min=1, help="Time that a worker has, in minutes.")],
    reward: Annotated[int, typer.Option(min=1, help="Reward per worker, in cents.")],
    keywords: Annotated[str, typer.Option(help="Separated by commas.")] = "translation, language, rating",
    days: Annotated[int, typer.Option(min=1, max=365, help="Days for which the HIT is offered.")] = 7,
    pay_after: Annotated[
        int, typer.Option(min=1, max=30, help="Days until Mechanical Turk pays undecided assignments.")
    ] = 14,
    dry_run: DryRun = False,
    yes: Yes = False,
    server: _remote.Server = None,
) -> None:
    """Create an invitation, and a HIT on Mechanical Turk that leads to it. It asks first: workers see the HIT at once.

    Unless PLUMBLINE_MTURK_URL names the marketplace, this uses the sandbox, where nobody is paid.
    """
    remote = find_server(server)
    read_verdicts(remote, campaign)  # refuses an unknown campaign before anybody is asked
    texts = HitTexts(title, description, keywords, minutes, reward, places, days, pay_after)
    total = f"{places * reward / 100:,.2f} dollars, and the fees of Mechanical Turk"
    if dry_run:
        typer.echo(f"It would be a HIT of {places} places for {days} days, {total}. Nothing was made.")
        return
    if not (yes or typer.confirm(f"Offer {places} places to workers now, for {total}?")):
        typer.echo(NOTHING)
        raise typer.Exit(1)
    mturk = _mturk()
    wanted = {"count": places, "platform": "mturk"}
    study = invite_study(remote, campaign, wanted, lambda link, name: mturk.create_study(texts, link, name))
    typer.echo(f"{study}\nWorkers can accept the HIT now.")


def settle(
    campaign: Campaign,
    study: Study,
    tasks: Tasks = 1,
    dry_run: DryRun = False,
    yes: Yes = False,
    server: _remote.Server = None,
) -> None:
    """Approve assignments whose codes pass, reject those whose codes fail, and list those left to a person.

    Only work handed in through the HIT's own invitation counts. HITs of other campaigns are refused.
    It asks for confirmation first. Running it again pays nobody twice, and earlier decisions are not changed.
    """
    settle_study(_mturk(), find_server(server), campaign, study, tasks=tasks, dry_run=dry_run, yes=yes)


def _mturk() -> MTurkClient:
    return MTurkClient(Settings.load().mturk_url)
