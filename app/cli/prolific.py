"""`plumbline prolific`: creates a study on Prolific for a campaign, and pays its participants by verdicts."""

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
    require_server_option,
    settle_study_submissions,
)
from app.client import remote_server as _remote
from app.client.crowd_platform import CODE
from app.client.prolific import COMPLETION_URL, ProlificClient, StudyDetails
from app.config import Settings
from app.domain.errors import Invalid, Place


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Create studies on Prolific, and pay participants.", no_args_is_help=True)
    group.command("create")(create_study)
    group.command("settle")(settle_submissions)
    app.add_typer(group, name="prolific")


def create_study(
    campaign: Campaign,
    name: Annotated[str, typer.Option(help="What participants see as the title.")],
    description: Annotated[str, typer.Option(help="What participants read before they take part.")],
    places: Annotated[int, typer.Option(min=1, help="Number of participants.")],
    minutes: Annotated[int, typer.Option(min=1, help="Expected duration in minutes.")],
    reward: Annotated[int, typer.Option(min=1, help="Reward per participant, in cents or pence.")],
    dry_run: DryRun = False,
    server: _remote.Server = None,
) -> None:
    """Create an invitation, and a draft of a study on Prolific that leads to it. Check the draft before you publish it.

    The campaign needs `settings.quality.code_pass` and `code_fail` without {code}: Prolific knows only fixed codes.
    """
    remote = require_server_option(server)
    templates = fetch_completion_code_templates(remote, campaign)
    fixed = (templates.passed, templates.failed)
    if None in fixed or any(CODE in str(code) for code in fixed):
        why = "Prolific knows fixed codes only; set code_pass and code_fail, both without {code}"
        raise Invalid("the campaign's completion codes do not fit", places=(Place(("settings", "quality"), why),))
    details = StudyDetails(name, description, minutes, reward, places)
    codes = {"COMPLETED": str(templates.passed), "FAILED_ATTENTION_CHECK": str(templates.failed)}
    if dry_run:
        typer.echo(f"It would be a study of {places} places, {minutes} minutes, {reward} each. Nothing was made.")
        return
    with _prolific() as prolific:
        wanted = {"count": places, "platform": "prolific", "completion_url": COMPLETION_URL}
        study = create_invitation_and_study(
            remote, campaign, wanted, lambda link, _: prolific.create_study(details, link, codes)
        )
    typer.echo(f"{study}\nThe study is a draft. Look at it on Prolific, and publish it there.")


def settle_submissions(
    campaign: Campaign,
    study: Study,
    tasks: Tasks = 1,
    dry_run: DryRun = False,
    yes: Yes = False,
    server: _remote.Server = None,
) -> None:
    """Approve submissions whose codes pass, ask to return those whose codes fail, and list those left to a person.

    Only work handed in through the study's own invitation counts. Copies and studies of other campaigns are refused.
    It asks for confirmation first. Running it again pays nobody twice, and decisions made on Prolific are not changed.
    """
    remote = require_server_option(server)
    with _prolific() as prolific:
        settle_study_submissions(prolific, remote, campaign, study, tasks=tasks, dry_run=dry_run, yes=yes)


def _prolific() -> ProlificClient:
    settings = Settings.load()
    if settings.prolific_token is None:
        why = "is needed: the API token of a researcher, best as the file /run/secrets/plumbline_prolific_token"
        raise Invalid("the settings are not valid", places=(Place(("PLUMBLINE_PROLIFIC_TOKEN",), why),))
    return ProlificClient(settings.prolific_url, settings.prolific_token.get_secret_value())
