"""`plumbline mturk`: creates a HIT on Mechanical Turk for a campaign, and pays its workers by verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.kit.crowd_platforms import (
    Campaign,
    DryRun,
    Study,
    Tasks,
    Yes,
    create_invitation_and_study,
    fetch_completion_code_templates,
    is_campaign_open,
    list_unclaimed_invitation_ids,
    require_server_option,
    revoke_invitation,
    settle_study_submissions,
)
from app.client import remote_server as _remote
from app.client.mturk import HitDetails, MTurkClient
from app.config import Settings
from app.domain.errors import Invalid, Place, Unavailable


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Create HITs on Mechanical Turk, and pay workers.", no_args_is_help=True)
    group.command("create")(create_study)
    group.command("settle")(settle_submissions)
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
    """Create an invitation, and a HIT on Mechanical Turk that leads to it. Workers see the HIT at once.

    Therefore, the command waits until you have planned the campaign with these places, and opened it.
    Unless PLUMBLINE_MTURK_URL names the marketplace, this uses the sandbox, where nobody is paid.
    """
    remote = require_server_option(server)
    fetch_completion_code_templates(remote, campaign)  # refuses an unknown campaign before it asks anybody
    details = HitDetails(title, description, keywords, minutes, reward, places, days, pay_after)
    total = f"{places * reward / 100:,.2f} dollars, and the fees of Mechanical Turk"
    if dry_run:
        typer.echo(f"It would be a HIT of {places} places for {days} days, {total}. Nothing was made.")
        return
    if yes and not is_campaign_open(remote, campaign):
        why = "workers come at once, and the campaign is not open; without it you can open the campaign meanwhile"
        raise Invalid("the options are not valid", places=(Place(("--yes",), why),))
    mturk = _mturk()
    _offer_to_end_leftovers(mturk, remote, campaign, ask=not yes)

    def offer(link: str, invitation: str) -> str:
        if not yes:
            typer.echo(
                "The invitation is there. Plan the campaign now, because its plan counts the places, and open it."
            )
            _confirm_offer(remote, campaign, f"Offer {places} places to workers now, for {total}?")
        return mturk.create_study(details, link, invitation)

    study = create_invitation_and_study(remote, campaign, {"count": places, "platform": "mturk"}, offer)
    typer.echo(f"{study}\nWorkers can accept the HIT now.")


def settle_submissions(
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
    settle_study_submissions(
        _mturk(), require_server_option(server), campaign, study, tasks=tasks, dry_run=dry_run, yes=yes
    )


def _confirm_offer(remote: _remote.RemoteServer, campaign: str, question: str) -> None:
    """Ask until the campaign is open. If the server does not answer now, it may do so at the next confirmation.

    Raises Exit if the answer is no, Abort if the command is interrupted.
    """
    while True:
        if not typer.confirm(question):
            typer.echo("No HIT is created, and the invitation is ended.")
            raise typer.Exit(1)
        try:
            if is_campaign_open(remote, campaign):
                return
        except (_remote.ServerRefusal, Unavailable) as error:
            typer.echo(f"The campaign cannot be looked at: {error.detail or error.title()}")
            continue
        except KeyboardInterrupt:
            raise typer.Abort from None
        typer.echo("The campaign is not open yet.")


def _offer_to_end_leftovers(mturk: MTurkClient, remote: _remote.RemoteServer, campaign: str, *, ask: bool) -> None:
    """Offer to end invitations that an interrupted run left without a HIT: plans count them, but nobody can come."""
    unused = list_unclaimed_invitation_ids(remote, campaign, "mturk")
    for invitation in sorted(set(unused) - mturk.list_invitations_with_hits()) if unused else ():
        typer.echo(f"No HIT of yours leads to the invitation {invitation}; an earlier run may have been interrupted.")
        if ask and typer.confirm("End this invitation?"):
            revoke_invitation(remote, campaign, invitation)


def _mturk() -> MTurkClient:
    return MTurkClient(Settings.load().mturk_url)
